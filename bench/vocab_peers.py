# vocab_peers.py -- how fast others train a tokenizer; run by vocab.sh.
# SPDX-License-Identifier: Apache-2.0
#
#   python vocab_peers.py [NAME FILE THREADS]
#
# prints MB/s of one training, or the versions of the peers that are there.

import importlib.metadata
import os
import sys
import time

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def gigatoken(path, text):
    import gigatoken
    return lambda: gigatoken.train_bpe(path, 6400, SPECIAL)


def rustbpe(path, text):
    import rustbpe
    return lambda: rustbpe.Tokenizer().train_from_iterator([text], 6400 - len(SPECIAL), pattern=GPT2)


def tokenizers(path, text):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=6400, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return lambda: tok.train_from_iterator([text], trainer)


def main():
    if len(sys.argv) < 4:
        for name in "gigatoken", "rustbpe", "tokenizers":
            try:
                print(name, importlib.metadata.version(name))
            except importlib.metadata.PackageNotFoundError:
                print(name, "is not installed: left out")
        return
    name, path, threads = sys.argv[1:]
    os.environ["RAYON_NUM_THREADS"] = threads
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    train = globals()[name](path, text)
    said = os.dup(1)
    os.dup2(2, 1)               # gigatoken talks
    start = time.monotonic()
    train()
    seconds = time.monotonic() - start
    os.dup2(said, 1)
    print(f"{os.path.getsize(path) / seconds / 1e6:.2f}")


main()

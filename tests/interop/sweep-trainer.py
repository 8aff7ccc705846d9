#!/usr/bin/env python3
# sweep-trainer.py -- compare trained vocabularies with HF's on larger corpora; not part of make check.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/sweep-trainer.py ./minimind-train-tokenizer [--size=N] [FILE...]
#
# needs HuggingFace tokenizers.  Each FILE, a text in UTF-8, is one document, and so are generated ones: one symbol,
# a few symbols, random words, random Han, white space, lines that repeat.  Vocabulary and merges must be HF's for
# several numbers of threads, and in 64 MB of memory.  Ends with status 1 if any are not.

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def generated():
    rnd = random.Random(11)
    han = [chr(0x4E00 + i) for i in range(3000)]
    yield "one symbol", "a" * 300000
    yield "runs of one symbol", " ".join("a" * rnd.randint(1, 4000) for _ in range(300))
    yield "DNA", "".join(rnd.choice("ACGT") for _ in range(300000))
    yield "random words", " ".join("".join(rnd.choice("abcdefghij") for _ in range(rnd.randint(2, 20)))
                                   for _ in range(100000))
    yield "random Han", "".join(rnd.choice(han) + rnd.choice(["", "", "", "", "，"]) for _ in range(200000))
    yield "white space", "".join(rnd.choice([" ", "  ", "\n", "\t", "\r\n", "\u3000"]) for _ in range(100000))
    yield "repeating lines", "".join(f"line {i % 97}: the value of x is {i % 13}\n" for i in range(50000))
    yield "tiny", "x"
    yield "empty", ""


def theirs(text, size):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(tok.to_str())["model"]


def ours(tool, path, size, options):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([tool, "-q", "--format=text", f"--vocab-size={size}", *options, path, "-o", folder],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as f:
            return json.load(f)["model"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--size", type=int, default=6400)
    args = parser.parse_args()
    print("tokenizers", tokenizers.__version__)
    texts = [(os.path.basename(f), open(f, encoding="utf-8", newline="").read()) for f in args.files]
    bad = 0
    for name, text in [*texts, *generated()]:
        want = theirs(text, args.size)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".txt") as f:
            f.write(text)
            f.flush()
            for options in ["--threads=1"], ["--threads=2"], ["--threads=5"], ["--threads=2", "--max-memory=64M"]:
                found = ours(args.tool, f.name, args.size, options)
                same = found["vocab"] == want["vocab"] and found["merges"] == want["merges"]
                bad += not same
                print("same" if same else "DIFFERENT", name, len(text.encode()), "bytes,", len(want["vocab"]),
                      "tokens,", *options, flush=True)
    sys.exit(bad > 0)


main()

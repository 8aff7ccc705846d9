#!/usr/bin/env python3
# make-trainer-goldens.py -- small corpora and what HF's BpeTrainer learns from them.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/make-trainer-goldens.py DATA
#
# needs HuggingFace tokenizers; writes tests/interop/text/trained.jsonl: a line is
# [name, documents, vocabulary size wanted, special tokens, tokens reached, merges, SHA-256 of the
# merges as "left right" lines, SHA-256 of the tokens in the order of ids, a line each, pattern].  With DATA
# documents may be the name of a file in DATA/text: a text, or JSON Lines with a field "text".

import hashlib
import json
import os
import random
import sys

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "text")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def english(rnd):
    who = ["the old fisherman", "a small boy", "my grandmother's cat", "the king", "Anna", "they"]
    did = ["walked to the river", "didn't find the lantern", "sang an older song", "counted 12 stars",
           "carried the water home", "couldn't sleep", "looked at the mountain"]
    why = ["because it was raining", "before the others woke", "and nobody knew why", "in 1907",
           "as if nothing had happened", "though it wasn't far"]
    return [" ".join(f"{rnd.choice(who).capitalize()} {rnd.choice(did)} {rnd.choice(why)}."
                     for _ in range(rnd.randint(1, 6))) for _ in range(12)]


def chinese(rnd):
    who = ["老渔夫", "小男孩", "奶奶的猫", "国王", "山里的和尚", "他们"]
    did = ["走到河边", "没有找到灯笼", "唱了一首老歌", "数了十二颗星星", "把水挑回家", "睡不着", "望着那座山"]
    why = ["因为下雨了", "在别人醒来之前", "没有人知道为什么", "好像什么也没有发生", "虽然路并不远"]
    return ["".join(f"{rnd.choice(who)}{rnd.choice(did)}，{rnd.choice(why)}。"
                    for _ in range(rnd.randint(1, 8))) for _ in range(12)]


def code(rnd):
    names = ["i", "n", "sum", "count", "buffer", "size", "row_index"]
    lines = ["for (int {a} = 0; {a} < {b}; {a}++)", "\t{a} += {b}[{c}];", "if ({a} == NULL)",
             "\treturn -1;", "{a} = malloc ({b} * sizeof *{a});", "/* {a} of {b} */", "}}", "{{"]
    return ["\n".join(rnd.choice(lines).format(a=rnd.choice(names), b=rnd.choice(names),
                                                c=rnd.choice(names)) for _ in range(40))]


def corpora():
    rnd = random.Random(7)
    yield "English", english(rnd), 600, SPECIAL
    yield "Chinese", chinese(rnd), 600, SPECIAL
    yield "code", code(rnd), 500, SPECIAL
    yield "both languages", english(rnd) + chinese(rnd), 420, ["<s>", "</s>"]
    yield "runs of one symbol", ["a" * n for n in (1, 2, 3, 5, 8, 40, 77, 200)] + [" " * 31], 330, SPECIAL
    yield "two symbols", ["".join(rnd.choice("ab") for _ in range(n)) for n in range(60)], 700, SPECIAL
    yield "DNA", ["".join(rnd.choice("ACGT") for _ in range(300)) for _ in range(5)], 520, []
    yield "runs and ties", ["aab" * n + "b" * n for n in range(12)] + ["é" * 9, "中" * 7], 300, SPECIAL
    yield "dry", ["one two three one two one"], 400, SPECIAL
    yield "tiny", ["x"], 300, SPECIAL
    yield "empty", [], 300, SPECIAL
    yield "empty documents", ["", "", "\n"], 300, SPECIAL
    yield "bytes only", ["nothing is learnt from this"], 259, SPECIAL
    yield "special tokens in the text", ["<|im_end|> <|im_end|> <|im_end|>x" * 4] * 3, 290, SPECIAL
    yield "special tokens that are bytes", ["!! a!!b ~!~"] * 3, 270, ["!", "<x>"]
    yield "special tokens that merges make", ["the then them the"] * 3, 275, ["the", "ab"]
    yield "Qwen2's pattern", english(rnd) + chinese(rnd) + code(rnd), 500, SPECIAL, "qwen2"
    yield "Llama-3's pattern", code(rnd) + ["12345 1234567 12 (12345)\r\n\r\n IT'S it's" * 9], 450, SPECIAL, "llama3"


CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
QWEN = (CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PATTERNS = {"qwen2": QWEN % r"\p{N}", "llama3": QWEN % r"\p{N}{1,3}"}


def cut_by(pattern):
    if pattern == "gpt2":
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERNS[pattern]), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def learn(documents, vocab_size, special, pattern="gpt2"):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = cut_by(pattern)
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tok.train_from_iterator(documents, trainer)
    model = json.loads(tok.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return (len(tokens), len(model["merges"]), digest(map(" ".join, model["merges"])), digest(tokens),
            pattern)


def digest(lines):
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def main():
    with open(os.path.join(HERE, "trained.jsonl"), "w") as out:
        for name, documents, vocab_size, special, *pattern in corpora():
            row = [name, documents, vocab_size, special, *learn(documents, vocab_size, special, *pattern)]
            out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
        for name in ("tinyshakespeare.txt", "tang_song_poems.jsonl", "c4_demo.jsonl"):
            with open(os.path.join(sys.argv[1], "text", name), newline="") as f:
                text = f.read()
            documents = ([json.loads(line)["text"] for line in text.split("\n") if line]
                         if name.endswith(".jsonl") else [text])
            row = [name, name, 6400, SPECIAL, *learn(documents, 6400, SPECIAL)]
            out.write(json.dumps(row, separators=(",", ":")) + "\n")


main()

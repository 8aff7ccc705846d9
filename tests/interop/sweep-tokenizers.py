#!/usr/bin/env python3
# sweep-tokenizers.py -- compare ids with HF on very many strings; not part of make check.
# SPDX-License-Identifier: Apache-2.0
#
#   make tests/interop/sweep
#   python3 tests/interop/sweep-tokenizers.py tests/interop/sweep TOKENIZER.json...
#
# needs HuggingFace tokenizers.  Every code point alone and between others, pairs of code points
# across classes, --random=N generated strings (100,000), the contents of --text=FILE...; special
# tokens as text and parsed.  Prints the first differences and ends with status 1 if there are any.

import argparse
import random
import struct
import subprocess
import sys
import unicodedata

import tokenizers

from text_cases import all_cases

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def single_points():
    for c in POINTS:
        yield chr(c)
    for c in POINTS:
        yield f"a{chr(c)}1 {chr(c)}"


def pairs():
    """Some code points of each category, each beside each other, with and without neighbours."""
    by_category = {}
    for c in POINTS:
        by_category.setdefault(unicodedata.category(chr(c)), []).append(chr(c))
    some = [c for s in by_category.values() for c in {s[0], s[len(s) // 3], s[2 * len(s) // 3], s[-1]}]
    some += list(" \n\r\t'stremvld0a.\u3000\u00a0\u017f")
    for a in some:
        for b in some:
            yield a + b
            yield f"x{a}{b}'s {a} {b}"


def generated(n, seed, specials):
    """Strings of few kinds of parts, so that rare neighbours meet."""
    rnd = random.Random(seed)
    parts = ([" ", "  ", "\n", "\r\n", "\t", "'", "'s", "'ll", "'RE", "a", "B", "th", "the", " the", "ing",
              "é", "中", "国", "的", "。", "，", "\u3000", "\u00a0", "1", "23", "²", "٣", "<", "|", ">", "_",
              "\u0301", "\U0001f600", "\u200b", "ſ", "𝒳", "!!", "한", "क", "ि", "Ж", "\0", "\ufeff", "\u2028"]
             + specials)
    for _ in range(n):
        if rnd.random() < 0.1:
            yield "".join(chr(rnd.choice(POINTS)) for _ in range(rnd.randint(1, 30)))
            continue
        some = rnd.sample(parts, rnd.randint(2, 10))
        yield "".join(rnd.choice(some) for _ in range(rnd.randint(1, 100)))


def ours(program, tokenizer, texts, special):
    data = b"".join(struct.pack("<I", len(t)) + t for t in (s.encode() for s in texts))
    out = subprocess.run([program, tokenizer, "1" if special else "0"], input=data, check=True,
                         stdout=subprocess.PIPE).stdout
    at = 0
    while at < len(out):
        n, = struct.unpack_from("<I", out, at)
        yield list(struct.unpack_from(f"<{n}I", out, at + 4))
        at += 4 + 4 * n


def compare(program, name, tok, what, texts):
    wrong = n = 0
    batch = []
    for text in texts:
        batch.append(text)
        if len(batch) == 50000:
            n, wrong = n + len(batch), wrong + compare_batch(program, name, tok, batch)
            batch = []
    n, wrong = n + len(batch), wrong + compare_batch(program, name, tok, batch)
    print(f"{name}: {what}: {n} strings, {wrong} different", flush=True)
    return wrong


def compare_batch(program, name, tok, texts):
    wrong = 0
    for special in (False, True):
        tok.encode_special_tokens = not special
        theirs = tok.encode_batch(texts, add_special_tokens=False)
        for text, a, b in zip(texts, theirs, ours(program, name, texts, special)):
            if a.ids != b:
                wrong += 1
                if wrong <= 5:
                    print(f"{name}: {text!r:.300}\n  theirs {a.ids[:50]}\n  ours   {b[:50]}")
    return wrong


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--random", type=int, default=100000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--text", action="append", default=[])
    p.add_argument("program")
    p.add_argument("tokenizers", nargs="+")
    args = p.parse_args()
    print("tokenizers", tokenizers.__version__)
    wrong = 0
    for name in args.tokenizers:
        tok = tokenizers.Tokenizer.from_file(name)
        specials = [t.content for t in tok.get_added_tokens_decoder().values()][:12]
        wrong += compare(args.program, name, tok, "known cases", all_cases())
        wrong += compare(args.program, name, tok, "code points", single_points())
        wrong += compare(args.program, name, tok, "pairs", pairs())
        wrong += compare(args.program, name, tok, "generated",
                         generated(args.random, args.seed, specials))
        for text in args.text:
            with open(text, newline="") as f:
                wrong += compare(args.program, name, tok, text, [f.read()])
    sys.exit(wrong > 0)


main()

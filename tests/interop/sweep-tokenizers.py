#!/usr/bin/env python3
# sweep-tokenizers.py -- compare ids with HF on very many strings; not part of make check.
# SPDX-License-Identifier: Apache-2.0
#
#   make tests/interop/sweep
#   python3 tests/interop/sweep-tokenizers.py --make=DIR FILE...
#   python3 tests/interop/sweep-tokenizers.py tests/interop/sweep TOKENIZER... [--text=FILE]... [--fuzz=SECONDS]
#
# needs HuggingFace tokenizers.  The first form trains one tokenizer for each pipeline of
# text_pipelines.py on FILEs (text, or JSON Lines with a field "text"), the models' own vocabularies
# not being at hand.  The second compares: every code point alone and between others, pairs of code
# points across classes, --random=N generated strings (100,000), the contents of --text=FILE (.gz too),
# by documents of --chunk bytes and whole; special tokens as text and parsed; and decodes what was
# encoded.  --fuzz goes on with strings made afresh for so many seconds.  TOKENIZER is a tokenizer.json,
# or what minimind makes one of (a .tiktoken file ...), which HF then reads.  Prints the first
# differences and ends with status 1 if there are any.

import argparse
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import time
import unicodedata

import tokenizers

from text_cases import all_cases

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
ASSIGNED = [c for c in POINTS if unicodedata.category(chr(c)) not in ("Cn", "Co")]
BATCH = 50000


def single_points():
    for c in POINTS:
        yield chr(c)
    for c in POINTS:
        yield f"a{chr(c)}1 {chr(c)}"


def pairs():
    """Some code points of each category, and some that patterns and normalisation know, each beside
    each other, with and without neighbours."""
    by_category = {}
    for c in POINTS:
        by_category.setdefault(unicodedata.category(chr(c)), []).append(chr(c))
    some = [c for s in by_category.values() for c in {s[0], s[len(s) // 3], s[2 * len(s) // 3], s[-1]}]
    some += list(" \n\r\t'stremvld0a.\u3000\u00a0\u017f/\u3042\u4e2d\u0301\u0327\u0345\u1100\u1161\u11a8\uac00"
                 "\u00e9\u212b\u0958\u2126\u1fff")
    for a in some:
        for b in some:
            yield a + b
            yield f"x{a}{b}'s {a} {b}"


class Generator:
    """Strings of few kinds of parts, so that rare neighbours meet."""

    PARTS = [" ", "  ", "\n", "\r\n", "\t", "'", "'s", "'ll", "'RE", "a", "B", "th", "the", " the", "ing",
             "é", "中", "国", "的", "。", "，", "\u3000", "\u00a0", "1", "23", "²", "٣", "<", "|", ">", "_",
             "\u0301", "\U0001f600", "\u200b", "ſ", "𝒳", "!!", "한", "क", "ि", "Ж", "\0", "\ufeff", "\u2028",
             "\u0300", "\u0323", "\u0345", "\u1100", "\u1161", "\u11a8", "각", "Å", "ﬁ", "ǅ", "ʰ", "あ", "カ",
             "/", "//\n", "\u001c", "\u0085", "e", "E", "Ab", "aB", "ABC", "\u05b0", "\u0f71", "\u0f72", "豈"]

    def __init__(self, seed, specials):
        self.rnd = random.Random(seed)
        self.parts = self.PARTS + specials

    def __iter__(self):
        rnd = self.rnd
        while True:
            kind = rnd.random()
            if kind < 0.08:
                yield "".join(chr(rnd.choice(POINTS)) for _ in range(rnd.randint(1, 30)))
            elif kind < 0.16:
                yield "".join(chr(rnd.choice(ASSIGNED)) for _ in range(rnd.randint(1, 30)))
            elif kind < 0.24:
                start = rnd.choice(ASSIGNED) & ~0x7F
                block = [c for c in range(start, start + 128) if not 0xD800 <= c <= 0xDFFF]
                yield "".join(chr(rnd.choice(block)) if rnd.random() < 0.8 else rnd.choice(self.parts)
                              for _ in range(rnd.randint(1, 40)))
            else:
                some = rnd.sample(self.parts, rnd.randint(2, 10))
                yield "".join(rnd.choice(some) for _ in range(rnd.randint(1, 100)))


# ---- our side ----

def ours(program, tokenizer, texts, special):
    """Our ids of TEXTS with what they decode to."""
    data = b"".join(struct.pack("<I", len(t)) + t for t in (s.encode() for s in texts))
    out = subprocess.run([program, tokenizer, "1" if special else "0"], input=data, check=True,
                         stdout=subprocess.PIPE).stdout
    at = 0
    while at < len(out):
        n, size = struct.unpack_from("<II", out, at)
        at += 8
        if n == 0xFFFFFFFF:
            yield None, b""
            continue
        yield list(struct.unpack_from(f"<{n}I", out, at)), out[at + 4 * n:at + 4 * n + size]
        at += 4 * n + size


class Subject:
    """One tokenizer, theirs and ours."""

    def __init__(self, program, name):
        self.program, self.name = program, name
        text = subprocess.run([program, name, "json"], check=True, stdout=subprocess.PIPE).stdout
        self.tok = tokenizers.Tokenizer.from_str(text.decode())
        added = self.tok.get_added_tokens_decoder().values()
        self.specials = [t.content for t in added][:12]
        self.plain = [t.content for t in added if not t.special]
        # White space that a token swallows does not come back.
        self.swallows = any(t.lstrip or t.rstrip for t in added)

    def wanted_text(self, text):
        return self.tok.normalizer.normalize_str(text) if self.tok.normalizer else text

    def compare_batch(self, texts, shown):
        wrong = 0
        for special in (False, True):
            self.tok.encode_special_tokens = not special
            theirs = self.tok.encode_batch(texts, add_special_tokens=False)
            got = 0
            for text, a, (b, back) in zip(texts, theirs, ours(self.program, self.name, texts, special)):
                got += 1
                if b is None:
                    self.refused += 1
                elif a.ids != b:
                    wrong += 1
                    if wrong + shown <= 5:
                        print(f"{self.name}: {ascii(text):.300}\n  theirs {a.ids[:50]}\n  ours   {b[:50]}")
                elif not self.swallows and back != text.encode() and back != self.wanted(text, special):
                    wrong += 1
                    if wrong + shown <= 5:
                        print(f"{self.name}: {ascii(text):.300}\n  decodes to {back[:200]}")
            assert got == len(texts)
        return wrong

    def wanted(self, text, special):
        """What decoding gives: pieces between added tokens are normalised each alone."""
        if not self.tok.normalizer:
            return text.encode()
        out, rest = [], text
        cuts = [t for t in (self.specials if special else self.plain) if t in text]
        while rest:
            first = min(((rest.find(t), -len(t), t) for t in cuts if t in rest), default=None)
            if first is None:
                out.append(self.wanted_text(rest))
                break
            out += [self.wanted_text(rest[:first[0]]), first[2]]
            rest = rest[first[0] + len(first[2]):]
        return "".join(out).encode()

    def compare(self, what, texts, seconds=None):
        wrong = n = size = self.refused = 0
        batch, start = [], time.time()

        def run():
            nonlocal wrong, n, size, batch
            if batch:
                wrong += self.compare_batch(batch, wrong)
                n += len(batch)
                size += sum(len(t.encode()) for t in batch)
                batch = []

        room = 0
        for text in texts:
            batch.append(text)
            room += len(text)
            if len(batch) == (BATCH if seconds is None else 5000) or room > 8 << 20:
                run()
                room = 0
                if seconds is not None and time.time() - start > seconds:
                    break
        run()
        refused = f", {self.refused // 2} refused" if self.refused else ""
        print(f"{self.name}: {what}: {n} strings, {size} bytes, {wrong} different{refused}", flush=True)
        return wrong


def first(n, texts):
    for _, text in zip(range(n), texts):
        yield text


def contents(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as f:
        return f.read().decode("utf-8", "replace")


def chunks(text, size):
    return (text[i:i + size] for i in range(0, len(text), size))


# ---- tokenizers to compare with ----

def documents(path):
    text = contents(path)
    if path.endswith(".jsonl"):
        return [json.loads(line)["text"] for line in text.splitlines() if line.strip()]
    return text.split("\n\n")


def make(folder, files, vocab_size):
    from text_pipelines import PIPELINES, train
    texts = []
    for path in files:
        some = documents(path)
        total = 0
        for text in some:           # half a megabyte of each, so that none rules the vocabulary
            texts.append(text)
            total += len(text.encode())
            if total > 500000:
                break
    os.makedirs(folder, exist_ok=True)
    for name in PIPELINES:
        train(name, texts, vocab_size).save(os.path.join(folder, name + ".tokenizer.json"))
        print(os.path.join(folder, name + ".tokenizer.json"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--random", type=int, default=100000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--text", action="append", default=[])
    p.add_argument("--chunk", type=int, default=1000)
    p.add_argument("--fuzz", type=float, default=0)
    p.add_argument("--only", default="known,points,pairs,generated,text,fuzz",
                   help="of these parts only some, with commas between")
    p.add_argument("--make", metavar="DIR")
    p.add_argument("--vocab-size", type=int, default=5000)
    p.add_argument("arguments", nargs="+", metavar="PROGRAM TOKENIZER...")
    args = p.parse_args()
    if args.make:
        make(args.make, args.arguments, args.vocab_size)
        return
    print("tokenizers", tokenizers.__version__, "seed", args.seed)
    program, *names = args.arguments
    parts = args.only.split(",")
    wrong = 0
    for name in names:
        s = Subject(program, name)
        sources = [
            ("known", "known cases", all_cases()), ("points", "code points", single_points()),
            ("pairs", "pairs", pairs()),
            ("generated", "generated", first(args.random, Generator(args.seed, s.specials)))]
        for part, what, texts in sources:
            if part in parts:
                wrong += s.compare(what, texts)
        for text in args.text if "text" in parts else []:
            wrong += s.compare(text, chunks(contents(text), args.chunk))
            if os.path.getsize(text) < 4 << 20:
                wrong += s.compare(text + ", whole", [contents(text)])
        if args.fuzz and "fuzz" in parts:
            wrong += s.compare(f"fuzz, {args.fuzz:g} s", Generator(args.seed + 1, s.specials), args.fuzz)
    print("different:", wrong)
    sys.exit(wrong > 0)


main()

#!/usr/bin/env python3
# make-rank-goldens.py -- a rank file, a vocab.json with merges.txt, and the ids that tiktoken gives.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/make-rank-goldens.py
#
# needs tiktoken and HuggingFace tokenizers; reads tests/interop/text/o200k.json and gpt2-legacy.json,
# writes small.tiktoken, small-vocab.json, small-merges.txt and ranks.jsonl beside them: rows [text,
# ids by encoding], special tokens being text.

import base64
import importlib
import json
import os
import random
from unittest import mock

import tiktoken
from tiktoken_ext import openai_public
from tokenizers import normalizers

from text_cases import FACTS, NORMAL, noise
from text_pipelines import QWEN

text_goldens = importlib.import_module("make-text-goldens")
HERE = text_goldens.HERE
TABLE = {}
for byte in range(256):
    kept = 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte
    TABLE[chr(byte if kept else 0x100 + len([c for c in TABLE if ord(c) >= 0x100]))] = byte


def ranks_of(name):
    """Ranks in the order of ids, behind the special tokens; and some that merges hardly reach."""
    with open(os.path.join(HERE, name)) as f:
        vocab = json.load(f)["model"]["vocab"]
    tokens = [bytes(TABLE[c] for c in t) for t in sorted(vocab, key=vocab.get) if not t.startswith("<|")]
    # Made of three parts, only a whole piece; made of a part that comes later; overlapping itself.
    tokens += [t.encode() for t in (" xyzzy", "qwz", "wz", "aab", "abaab", "zzz", "zz", "forest1")]
    ranks = {}
    for t in tokens:
        ranks.setdefault(t, len(ranks))
    return ranks


def encodings(ranks):
    with mock.patch.object(openai_public, "load_tiktoken_bpe", lambda *a, **k: ranks):
        for name in ("r50k_base", "cl100k_base", "o200k_base"):
            yield name, openai_public.ENCODING_CONSTRUCTORS[name]()["pat_str"]
    yield "qwen", QWEN % r"\p{N}"
    yield "llama3", QWEN % r"\p{N}{1,3}"


def words():
    rnd = random.Random(7)
    parts = ["q", "w", "z", "x", "y", "a", "b", "ab", "qwz", " xyzzy", "xyz", "zz", "aab", " ", "forest", "1"]
    for _ in range(60):
        yield "".join(rnd.choice(parts) for _ in range(rnd.randint(1, 12)))


def main():
    nfc = normalizers.NFC().normalize_str       # of the same Unicode version as in the rest of these tests
    ranks = ranks_of("o200k.json")
    with open(os.path.join(HERE, "small.tiktoken"), "wb") as f:
        for token, rank in ranks.items():
            f.write(base64.b64encode(token) + b" %d\n" % rank)
    theirs = {name: tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
              for name, pattern in encodings(ranks)}
    with open(os.path.join(HERE, "ranks.jsonl"), "w") as out:
        for text in FACTS + NORMAL + list(noise(30, 3)) + list(words()):
            row = {}
            for name, enc in theirs.items():
                row[name] = text_goldens.short(
                    enc.encode_ordinary(nfc(text) if name == "qwen" else text))
            text_goldens.dump(out, [text, row])
    with open(os.path.join(HERE, "gpt2-legacy.json")) as f:
        model = json.load(f)["model"]
    with open(os.path.join(HERE, "small-vocab.json"), "w") as f:
        json.dump(model["vocab"], f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")
    with open(os.path.join(HERE, "small-merges.txt"), "w") as f:
        f.write("#version: 0.2\n" + "".join(m + "\n" for m in model["merges"]))


main()

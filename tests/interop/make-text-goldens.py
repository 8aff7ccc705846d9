#!/usr/bin/env python3
# make-text-goldens.py -- tokenizers trained by HF on a few lines, and the ids it gives to strings.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/make-text-goldens.py DATA
#
# needs HuggingFace tokenizers; writes tests/interop/text/.  DATA holds tokenizers/ with the files
# of MiniMind and GPT-2, and text/; ids of those are written where it is given.

import hashlib
import json
import os
import struct
import sys

from tokenizers import AddedToken, Regex, Tokenizer, pre_tokenizers

import text_pipelines
from text_cases import FACTS, ADDED, NORMAL, SPLITS, all_cases
from text_pipelines import BUILT_IN, pre_tokenizer

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "text")
CORPUS = """The old man and the young fox walked through the forest until the morning came.
"Where are you going?" asked the fox; he didn't answer, and they'll never know why.
In the year 1234 there were 5678 trees, 90 of them oaks and 12 of them birches.
从前有一座山，山里有一座庙，庙里有一个老和尚在讲故事。老和尚说：从前有一座山。
小狐狸问老人：你要到哪里去？老人没有回答，他们一起走过了森林，天慢慢亮了。
for (int i = 0; i < n; i++) {
\tsum += x[i] * y[i];
\tif (sum > 100)
\t\treturn sum;
}
The cat's tail, the dog's ear and the bird's wing: who's afraid? We've seen it all before.
aaaa aaaaaaaa banana bananas anagram; Ça va, café, naïve. Привет, привет! これはペンです。
"""


def train(pattern, vocab_size):
    return text_pipelines.train(pattern, CORPUS.split("\n"), vocab_size, think=False)


def add_tokens(tok):
    """Every kind of added token."""
    tok.add_tokens([
        AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False),
        AddedToken("[S]", normalized=False), AddedToken("[L]", lstrip=True, normalized=False),
        AddedToken("[R]", rstrip=True, normalized=False), AddedToken("[N]", normalized=True),
        AddedToken("[B]", lstrip=True, rstrip=True, normalized=True),
        AddedToken("[W]", single_word=True, normalized=False), AddedToken("abc", normalized=False),
        AddedToken("bcde", normalized=False), AddedToken("abcd", normalized=True)])
    tok.add_special_tokens([AddedToken("[S[S]]", normalized=False, special=True)])


def write_tokenizer(tok, name, edit=None):
    root = json.loads(tok.to_str())
    if edit:
        edit(root)
    text = json.dumps(root, ensure_ascii=False, separators=(",", ":"))
    with open(os.path.join(HERE, name), "w") as f:
        f.write(text + "\n")
    return Tokenizer.from_str(text)


def legacy_merges(root):
    root["model"]["merges"] = [" ".join(pair) for pair in root["model"]["merges"]]
    del root["model"]["byte_fallback"], root["model"]["ignore_merges"], root["model"]["type"]


def ignore_merges(root):
    root["model"]["ignore_merges"] = True
    vocab = root["model"]["vocab"]
    for word in (" forest", "birches", "森林"):     # reached by no merge
        [(key, _)] = pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(word)
        vocab.setdefault(key, len(vocab))


def disordered(root):
    """A token made by two rules, the second behind a rule that uses it."""
    vocab, merges = root["model"]["vocab"], root["model"]["merges"]
    extra = [["a", "a"], ["aa", "a"], ["aaa", "b"], ["a", "aa"], ["aa", "aa"], ["aaa", "a"]]
    for pair in extra:
        vocab.setdefault("".join(pair), len(vocab))
    merges[:] = [m for m in merges if m not in extra] + extra


def add_normalized(root):
    """Added tokens that are looked for in normalised text."""
    n = len(root["model"]["vocab"])
    for i, text in enumerate(["[K]", "\u00e9t\u00e9"]):
        root["added_tokens"].append(
            {"id": n + i, "content": text, "single_word": False, "lstrip": i == 0, "rstrip": False,
             "normalized": True, "special": False})


def ids_of(tok, text, special):
    tok.encode_special_tokens = not special
    return tok.encode(text, add_special_tokens=False).ids


def digest(ids):
    return hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).hexdigest()


def short(ids):
    """Long lists as their number and the start of their SHA-256 (as 32-bit little-endian)."""
    return ids if len(ids) <= 8 else [len(ids), digest(ids)[:12]]


def ids_row(tokenizers, text):
    """Ids by tokenizer; under NAME+ those with special tokens parsed, where they differ."""
    row = {}
    for name, tok in tokenizers.items():
        plain, special = ids_of(tok, text, False), ids_of(tok, text, True)
        row[name] = short(plain)
        if special != plain:
            row[name + "+"] = short(special)
    return row


def sizes(splitter, text):
    """Bytes of each piece; many as their number and the start of their SHA-256."""
    return short([len(text[a:b].encode()) for _, (a, b) in splitter.pre_tokenize_str(text)])


def splits_row(text):
    """Pieces by the built-in patterns; 0: the same as before."""
    some = [sizes(pre_tokenizer(p), text) for p in BUILT_IN]
    return [some[0]] + [s if s != before else 0 for before, s in zip(some, some[1:])]


def write_splits(out):
    """Rows [pre-tokenizer, [text, starts and ends of its pieces]...] for splits that are not built in."""
    texts = FACTS[4:44:2] + ["aaabbbaab", "a1b22c333", "xx  yy\n zz\n", "1,234.5 of 6"]
    for steps in SPLITS:
        split = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(s) if isinstance(s, bool)
             else pre_tokenizers.Split(Regex(s[0]) if s[3:] else s[0], s[1], invert=s[2]) for s in steps]
            + [pre_tokenizers.ByteLevel(False, use_regex=False)])
        tok = Tokenizer.from_str('{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{},"merges":[]}}')
        tok.pre_tokenizer = split
        rows = []
        for text in texts:
            at = [len(text[:i].encode()) for i in range(len(text) + 1)]
            rows.append([text, short([at[i] for _, ends in split.pre_tokenize_str(text) for i in ends])])
        dump(out, [json.loads(tok.to_str())["pre_tokenizer"]] + rows)


def write_normal(out, tokenizers):
    """Rows [text, its NFC, ids by tokenizer]."""
    nfc = tokenizers["qwen2.json"].normalizer
    for text in NORMAL:
        dump(out, [text, nfc.normalize_str(text), ids_row(tokenizers, text)])


def dump(out, row):
    out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def write_real(out, data):
    texts = ["tinyshakespeare.txt", "tang_song_poems.jsonl", "c4_demo.jsonl"]
    tokenizers = {name: Tokenizer.from_file(os.path.join(data, "tokenizers", name + ".tokenizer.json"))
                  for name in ("minimind-3", "minimind2", "gpt2")}
    for case in FACTS + ADDED[:14]:
        dump(out, [case, ids_row(tokenizers, case)])
    for text in texts:
        with open(os.path.join(data, "text", text), newline="") as f:
            content = f.read()
        for name, tok in tokenizers.items():
            ids = ids_of(tok, content, False)
            dump(out, [name, text, len(ids), digest(ids)])


def main():
    os.makedirs(HERE, exist_ok=True)
    cases = all_cases()
    gpt2 = train("gpt2", 420)
    add_tokens(gpt2)
    tokenizers = {
        "gpt2-added.json": write_tokenizer(gpt2, "gpt2-added.json"),
        "gpt2-legacy.json": write_tokenizer(train("gpt2", 330), "gpt2-legacy.json", legacy_merges),
        "gpt2-disordered.json": write_tokenizer(train("gpt2", 300), "gpt2-disordered.json", disordered),
        "qwen2.json": write_tokenizer(train("qwen2", 400), "qwen2.json"),
        "llama3-ignore.json": write_tokenizer(train("llama3", 360), "llama3-ignore.json", ignore_merges),
        "cl100k.json": write_tokenizer(train("cl100k", 330), "cl100k.json"),
        "o200k.json": write_tokenizer(train("o200k", 330), "o200k.json"),
        "qwen35.json": write_tokenizer(train("qwen35", 330), "qwen35.json", add_normalized),
        "deepseek3.json": write_tokenizer(train("deepseek3", 330), "deepseek3.json"),
        "deepseek2.json": write_tokenizer(train("deepseek2", 330), "deepseek2.json"),
    }
    with open(os.path.join(HERE, "cases.jsonl"), "w") as out:
        for case in cases:
            dump(out, [case, *splits_row(case), ids_row(tokenizers, case)])
    with open(os.path.join(HERE, "splits.jsonl"), "w") as out:
        write_splits(out)
    with open(os.path.join(HERE, "normal.jsonl"), "w") as out:
        write_normal(out, {n: tokenizers[n] for n in ("qwen2.json", "qwen35.json", "o200k.json")})
    if len(sys.argv) > 1:
        with open(os.path.join(HERE, "real.jsonl"), "w") as out:
            write_real(out, sys.argv[1])


if __name__ == "__main__":
    main()

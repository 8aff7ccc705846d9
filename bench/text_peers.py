#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other tokenizers beside bench/text: prints "NAME VERSION MB_PER_SECOND BYTES IDS" for each (0: not compared).

Usage: text_peers.py TOKENIZER.json TEXT THREADS

gigatoken encodes the whole text, three times with a new tokenizer (its caches cold), the median of the faster of
its two ways: one text, or parts of 64 KiB cut at line ends.  tiktoken and HF tokenizers, which are slower by
far, encode the first 4 MB in such parts, once.  What is not installed is said.
"""
import json
import os
import statistics
import sys
import time

PART, FIRST = 1 << 16, 4 << 20


def parts_of(data):
    """Cut at the last line end of each 64 KiB."""
    parts, at = [], 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + PART) + 1 if at + PART < len(data) else len(data)
        parts.append(data[at:end if end > at else at + PART])
        at += len(parts[-1])
    return parts


def seconds(call):
    began = time.monotonic()
    result = call()
    return time.monotonic() - began, result


def gigatoken_speed(path, data, threads):
    import gigatoken

    ways = {"parts": []}
    parts = parts_of(data)
    for _ in range(3):
        t = gigatoken.Tokenizer(path)
        took, _ = seconds(lambda: t.encode_batch(parts, parallel=threads > 1))
        ways["parts"].append(took)
        if threads == 1:
            t = gigatoken.Tokenizer(path)
            took, ids = seconds(lambda: t.encode(data))
            ways.setdefault("whole", []).append(took)
    return min(statistics.median(w) for w in ways.values()), len(data), len(ids) if threads == 1 else 0


def bytes_of_spelling():
    """The characters that stand for bytes in a byte-level vocabulary."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in own}
    for n, b in enumerate(b for b in range(256) if b not in own):
        table[chr(256 + n)] = b
    return table


def tiktoken_speed(path, data, threads):
    import tiktoken

    with open(path, encoding="utf-8") as f:
        root = json.load(f)
    table, added = bytes_of_spelling(), {t["content"] for t in root["added_tokens"]}
    ranks = {bytes(table[c] for c in text): id_ for text, id_ in root["model"]["vocab"].items() if text not in added}
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    t = tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    parts = [p.decode(errors="ignore") for p in parts_of(data[:FIRST])]
    took, ids = seconds(lambda: t.encode_ordinary_batch(parts, num_threads=threads))
    return took, sum(len(p.encode()) for p in parts), sum(len(row) for row in ids)


def tokenizers_speed(path, data, threads):
    import tokenizers

    t = tokenizers.Tokenizer.from_file(path)
    t.encode_special_tokens = True
    parts = [p.decode(errors="ignore") for p in parts_of(data[:FIRST])]
    took, ids = seconds(lambda: t.encode_batch_fast(parts, add_special_tokens=False))
    return took, sum(len(p.encode()) for p in parts), sum(len(row.ids) for row in ids)


def main():
    path, text, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(text, "rb") as f:
        data = f.read()
    for name, run in (("gigatoken", gigatoken_speed), ("tiktoken", tiktoken_speed), ("tokenizers", tokenizers_speed)):
        try:
            took, size, n = run(path, data, threads)
        except ImportError:
            print(f"{name}: not installed")
            continue
        from importlib.metadata import version

        print(name, version(name), f"{size / took / 1e6:.1f}", size, n)


if __name__ == "__main__":
    threads = sys.argv[3]
    os.environ.update(RAYON_NUM_THREADS=threads, TOKENIZERS_PARALLELISM="true" if threads != "1" else "false")
    main()

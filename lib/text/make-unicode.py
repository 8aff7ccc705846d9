#!/usr/bin/env python3
# make-unicode.py -- write unicode_table.c: the class of every code point, as the engine sees it.
# SPDX-License-Identifier: Apache-2.0
#
# Run by hand where HuggingFace tokenizers is installed, when its Unicode version moves:
#
#   python3 lib/text/make-unicode.py > lib/text/unicode_table.c
#
# Nothing is taken from Python's own tables: \s, \p{L}, \p{N} and the rest come from the regular
# expressions that pre-tokenizers run (Oniguruma), \w from added tokens with single_word (Rust's
# regex crate), digits from the pre-tokenizer Digits (Rust's standard library), what takes part in
# normalisation from the normalizers NFC and NFD (the crate unicode-normalization-alignments).  So the
# classes are those that decide ids, whatever Unicode version each has.

import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK = 128
FLAGS = {r"\p{L}": 0x01, r"\p{N}": 0x02, r"\s": 0x04}
WORD = 0x08
JOINS, LEADS, DIGIT, ASSIGNED = 0x01, 0x02, 0x04, 0x08       # of the second table
CATEGORIES = [r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\p{Lm}", r"\p{Lo}", r"\p{M}", r"\p{P}", r"\p{S}"]


def members(pattern):
    """The code points that PATTERN matches."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    found = set()
    for i in range(0, len(POINTS), 1 << 14):
        text = "".join(map(chr, POINTS[i:i + (1 << 14)]))
        for piece, _ in split.pre_tokenize_str(text):
            found.update(map(ord, piece))
    return found


def word_members():
    """The code points that keep a single_word token beside them from matching."""
    tok = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tok.add_tokens([AddedToken("<T>", single_word=True, normalized=False)])
    found = set()
    for i in range(0, len(POINTS), 1 << 14):
        part = [c for c in POINTS[i:i + (1 << 14)] if c != ord("\n")]
        text = "\n".join(chr(c) + "<T>" for c in part)
        matched = {start for start, _ in tok.encode(text).offsets}
        found.update(c for n, c in enumerate(part) if 5 * n + 1 not in matched)
    return found


def digit_members():
    """The code points that Digits splits off."""
    split = pre_tokenizers.Digits(individual_digits=True)
    found = set()
    for i in range(0, len(POINTS), 1 << 14):
        text = "".join("a" + chr(c) for c in POINTS[i:i + (1 << 14)])
        found.update(ord(piece) for piece, _ in split.pre_tokenize_str(text) if len(piece) == 1)
    return found - {ord("a")}


def normal_members():
    """The code points that NFC changes, moves, or joins to what stands before them; and those that
    something may be joined to."""
    nfc, nfd = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
    joins, leads = set(), set()
    for c in POINTS:
        s = chr(c)
        d = nfd(s)
        if nfc(s) != s:
            joins.add(c)
        elif d != s:
            first = nfc(d[:-1])
            assert len(first) == 1, hex(c)
            joins.add(ord(d[-1]))
            leads.update((ord(first), c))       # its own last mark may move behind what follows
        # A mark moves between marks of the highest class (240) and the lowest (1).
        elif nfd(f"a\u0345{s}\u0334") != f"a\u0345{s}\u0334":
            joins.add(c)
    assert not any(0x4000 <= c < 0xA000 for c in joins)         # what mm_nfc_check skips
    return joins, leads - joins


def more_classes():
    more = [0] * 0x110000
    joins, leads = normal_members()
    unassigned = members(r"\p{Cn}")
    for found, flag in ((joins, JOINS), (leads, LEADS), (digit_members(), DIGIT),
                        (set(POINTS) - unassigned, ASSIGNED)):
        for c in found:
            more[c] |= flag
    return more


def engine_classes():
    classes = [0] * 0x110000
    for pattern, flag in FLAGS.items():
        for c in members(pattern):
            classes[c] |= flag
    for c in word_members():
        classes[c] |= WORD
    for number, pattern in enumerate(CATEGORIES, 1):
        for c in members(pattern):
            assert classes[c] >> 4 == 0, hex(c)
            classes[c] |= number << 4

    return classes


def write_table(out, name, classes):
    blocks, index, number = [], [], {}
    for i in range(0, len(classes), BLOCK):
        block = tuple(classes[i:i + BLOCK])
        if block not in number:
            number[block] = len(blocks)
            blocks.append(block)
        index.append(number[block])
    assert len(blocks) <= 256, "the index is of bytes"
    out(f"const uint8_t {name}_index[{len(index)}] = {{\n")
    lines(out, index)
    out(f"}};\n\nconst uint8_t {name}_blocks[{len(blocks)}][{BLOCK}] = {{\n")
    for block in blocks:
        out(" {\n")
        lines(out, block)
        out(" },\n")
    out("};\n")


def main():
    out = sys.stdout.write
    out("/* unicode_table.c -- the class of every code point; made by make-unicode.py.\n"
        "   SPDX-License-Identifier: Apache-2.0\n\n"
        f"   Classes as in tokenizers {tokenizers.__version__}.  */\n\n"
        "#include <config.h>\n\n#include \"unicode.h\"\n\n")
    write_table(out, "mm_unicode", engine_classes())
    out("\n")
    write_table(out, "mm_unicode_more", more_classes())


def lines(out, values):
    for i in range(0, len(values), 24):
        out("  " + ",".join(map(str, values[i:i + 24])) + ",\n")


main()

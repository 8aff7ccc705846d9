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
# regex crate).  So the classes are those that decide ids, whatever Unicode version each has.

import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK = 128
FLAGS = {r"\p{L}": 0x01, r"\p{N}": 0x02, r"\s": 0x04}
WORD = 0x08
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


def main():
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

    blocks, index = [], []
    for i in range(0, len(classes), BLOCK):
        block = tuple(classes[i:i + BLOCK])
        if block not in blocks:
            blocks.append(block)
        index.append(blocks.index(block))

    out = sys.stdout.write
    out("/* unicode_table.c -- the class of every code point; made by make-unicode.py.\n"
        "   SPDX-License-Identifier: Apache-2.0\n\n"
        f"   Classes as in tokenizers {tokenizers.__version__}.  */\n\n"
        "#include <config.h>\n\n#include \"unicode.h\"\n\n")
    assert len(blocks) <= 256, "the index is of bytes"
    out(f"const uint8_t mm_unicode_index[{len(index)}] = {{\n")
    lines(out, index)
    out(f"}};\n\nconst uint8_t mm_unicode_blocks[{len(blocks)}][{BLOCK}] = {{\n")
    for block in blocks:
        out(" {\n")
        lines(out, block)
        out(" },\n")
    out("};\n")


def lines(out, values):
    for i in range(0, len(values), 24):
        out("  " + ",".join(map(str, values[i:i + 24])) + ",\n")


main()

# text_cases.py -- strings that tokenizers get wrong, for the scripts beside.
# SPDX-License-Identifier: Apache-2.0

import random
import unicodedata

FACTS = [
    "", " ", "\n", "a", "I'll DON'T we'Re 'sx x's", "''s 'S", "a  b   c ", "  \n\n  x", "x \n y",
    "x\n\n\n", "\n x", "hello\r\n\r\nworld", "12345 6789", "a1b2", "１２３", "²½Ⅷ٣", "你好，世界！ok",
    "foo_bar-baz", "#!/bin  //x\n\n//y", "!!!\n\n!!", "\t\tx\ty", "b \u00a0c", "e\u0301a", "a\0b",
    "it\u2019s", "   ", "'\u017fx '\u017f", "'T'LL'vE'Re'M'd'S", "'re've'll'm'd's't're", "'r'v'l'x",
    "\ufeffBOM", "a\u2028b\u2029c\u0085d", "\u3000\u3000全角　空格\u3000", " \u3000x\u3000 y \u3000",
    "naïve café résumé", "Привет, мир! Ёж", "안녕하세요 세계", "こんにちは、世界。カタカナ", "สวัสดีชาวโลก",
    "नमस्ते दुनिया", "שלום עולם", "مرحبا بالعالم ١٢٣", "👩‍👩‍👧‍👦 🇩🇪 👍🏽", "x²+y³=z⁴", "3.14159e-10",
    "\x1c\x1d\x1e\x1f x", "\u180e\u200b\u200d\u2060x", "e\u0301", "\u00e9", "\U00020000\U0002ffff",
    "\U000e0001\U0010ffff\ue000", "\u0378\u0379", "a.b.c...d", "if (x == 0) {\n\treturn -1;\n}\n",
    "https://example.org/a?b=c&d=%20#e", "一二三四五六七八九十" * 4, "䷀䷿hexagrams䷀", "㐀㐁䶿一龥鿿豈",
    "don't can't won't I'm you're he'd they'll we've", "'tis 'twas rock'n'roll O'Neill's",
]

ADDED = [
    "<|im_start|>user\nhi<|im_end|>\n", "<|endoftext|>", "x<|endoftext|>y", "<|im_start|><|im_end|>",
    "<|im_start", "a <|im_end|> b", " <|im_end|>\n\n x", "<<|im_end|>>", "<think>\n\n</think>\n\nok",
    " <think> x </think> ", "<tool_call>{}</tool_call>", "<|im_<|im_end|>", "don<|im_end|>'t",
    "a  <|im_end|>  b", "word[S]word [S] [S]", "x [L] y", "x \u3000[L][L] y", "x [R] \n y", "[R]  [L]",
    "a[W]b", "a [W] b", "é[W]", "\u0301[W] [W]_ ([W])", "[W][W]", "[L] [R] [W] x", "ab abc abcd abcde",
    "abcdabcabcde", "[N] [N]", "x[N]y[S]z", "[S[S]]", "<|im_start|>[W]x", "[B]  [B] x  [B]",
]

# What normalisation changes, moves or leaves, beside what it joins.
NORMAL = [
    "e\u0301", "cafe\u0301 e\u0301te\u0301", "\u212b\u2126\u212a[K]", "[\u212a]", "x [\u212a] y",
    "e\u0301t\u00e9 \u00e9te\u0301s", "\u1100\u1161\u11a8", "\uac00\u11a8x", "\u1100\u1161 \uac00\u11a7",
    "q\u0307\u0323", "q\u0323\u0307", "\u0344", "\u1ffc\u0300", "a\u0345\u0301\u0334", "\u0958\u095b",
    "\u0f71\u0f72\u0f74", "\uf900\uf90a\u8c48", "\u1e9b\u0323", "\U0001d15e\U0001d15f", "\u0b47\u0b56",
    "\U00011935\U00011930", "a\u0898\u0301\u0323", "a\u1abf\u0301", "\u0301", "\u0301a", "<\u0338", "=\u0338|",
    "<|im_end|>\u0301", "e<|im_end|>\u0301", "1\u0301", "\u4e2d\u0301\u0323\u6587", "\u0041\u030a" * 40,
    "a" + "\u0301\u0323\u0345" * 50, "\ufb01 \u2460 \u00bd", "\u09c7\u09be\u09c7\u09d7", "\u0cc6\u0cc2\u0cd5",
]

# Splits that are not built in: (pattern, behaviour, invert[, a regular expression]); a truth value:
# Digits, each by itself or not.
SPLITS = [
    [("a", behavior, invert)] for behavior in
    ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous") for invert in (False, True)
] + [
    [(r"\d|[ab]", behavior, invert, "regex")] for behavior in
    ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous") for invert in (False, True)
] + [
    [True], [False], [(" ", "merged_with_next", False), True],
    [(r"\p{N}{2,3}+", "isolated", False, "regex")],
    [(r"\s+$", "isolated", False, "regex"), (r".", "contiguous", False, "regex")],
    [(r"\S+?(?=\s)|[^\S\r\n]++", "isolated", False, "regex")],
    [(r"(?i:the|[sdmt]|'(?:LL|k))|\p{Lu}\p{Ll}*|[-a-f]{,2}x", "isolated", False, "regex")],
    [(r"\P{L}+|\p{^Lu}", "merged_with_previous", False, "regex")],
    [(r"[\p{Han}\p{Hiragana}]+|[\u0400-\x{4ff}]", "isolated", False, "regex"),
     (r"(?<=\p{P})\w?".replace(r"\w?", r"\p{L}"), "contiguous", False, "regex")],
    [(r"(?>a|ab)b|\t|[\]\[^.]", "merged_with_next", True, "regex")],
    [(r"[\r\n]", "isolated", False, "regex"), (r"\s?\p{L}+", "isolated", False, "regex"),
     (r"\s?\p{P}+", "isolated", False, "regex"), (r"[一-龥ࠀ-一가-\ud7ff]+", "isolated", False, "regex"), True],
    [(r"\p{Sc}|\p{Nd}+|\p{Mn}|\p{Zs}", "isolated", False, "regex")],
]


def classes():
    """For each general category three of its characters, beside others."""
    by_category = {}
    for c in range(0x110000):
        by_category.setdefault(unicodedata.category(chr(c)), []).append(chr(c))
    for name in sorted(by_category):
        if name != "Cs":
            some = by_category[name]
            for c in (some[0], some[len(some) // 2], some[-1]):
                yield f"a{c}b {c} {c}{c}1{c}'s{c}\n"


def borders():
    """What is decided by the next character, around multiples of 64 bytes."""
    tails = [" \u00a0\u3000 y's", "'s't", "\u3000\u3000中 '", "  \n 12", "é'll x", "\U0001f600 \u00a0"]
    for n in range(57, 65):
        for i, tail in enumerate(tails):
            yield "x" * n + tail if (n + i) % 2 else ("ab " * n)[:n] + tail + "z"


def runs():
    yield from ("a" * 1000, " " * 500 + "x", "中" * 300, "'s" * 100, "\n" * 100, "0" * 100, "ab" * 300,
                "é" * 100, "\u3000" * 70 + "x", "!" * 200, " a" * 100, "th" * 40 + "the" * 40)


def noise(n, seed):
    rnd = random.Random(seed)
    parts = [" ", "  ", "\n", "\r", "\t", "'", "s", "'s", "'ll", "'RE", "a", "B", "é", "中", "国", "。",
             "\u3000", "\u00a0", "1", "²", "٣", "<|im_start|>", "<|im_end|>", "[L]", "[R]", "[W]", "[S]",
             "<", "|", "\u0301", "\U0001f600", "\u200b", "ſ", "𝒳", "!!", " the", "ing"]
    for _ in range(n):
        some = rnd.sample(parts, rnd.randint(2, 12))
        yield "".join(rnd.choice(some) for _ in range(rnd.randint(1, 80)))


def all_cases():
    return FACTS + ADDED + list(classes()) + list(borders()) + list(runs()) + list(noise(60, 1))

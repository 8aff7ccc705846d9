#!/usr/bin/env python3
# make-chat-goldens.py -- conversations as transformers' apply_chat_template renders them.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/make-chat-goldens.py DATA
#
# needs transformers; DATA holds tokenizers/ with the files of MiniMind.  Writes tests/interop/chat/cases.jsonl,
# a conversation a line: its row, and for each template the text, or of generated ones the start of its
# SHA-256; null where transformers or chatml cannot render it.  Of ids and targets (with the tokenizer
# tests/interop/text/gpt2-added.json) the start of a SHA-256 over ids as little-endian 32 bits, then the mask, of each
# template that rendered it, chatml first: under "minimind" those of MiniMind's SFTDataset, under "ours" each token of
# whose bytes any is the assistant's (null where somebody typed what looks like a token).
#
# Of the conversations in tests/interop/chat/talk.jsonl it writes talk.NAME for each template NAME: a line for each
# token, its id and "target" where it is one, and an empty line behind each conversation.

import hashlib
import json
import os
import random
import sys

from transformers import PreTrainedTokenizerFast

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chat")
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
          " + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
PROMPTS = {"": {}, "prompt": {"add_generation_prompt": True},
           "on": {"add_generation_prompt": True, "open_thinking": True, "enable_thinking": True},
           "off": {"add_generation_prompt": True, "open_thinking": False, "enable_thinking": False}}

TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "查天气 <b> & \"q\" \\ / \t\b\f\x01\x7f\u2028",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                   "numbers": [0, -1, 2 ** 53, 1.5, 0.1, 1e-5, 0.0001, 1e16, 123456789012345.0, 1e22, -2.5e-300, 1e3,
                               9007199254740993.0, 5e-324, 1.7976931348623157e308, 0.30000000000000004],
                   "none": None, "yes": True, "no": False, "empty": [{}, []]}}}
PLAIN_TOOL = {"type": "function", "function": {"name": "get_weather", "description": "查天气 <b>", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
SMALL_TOOL = {"name": "f", "n": 1.50}
CALL = {"type": "function", "function": {"name": "get_weather", "arguments": {"city": "北京"}}}


def turn(role, content, **more):
    return dict(role=role, content=content, **more)


def user(content="q"):
    return turn("user", content)


def answers(*contents):
    """One conversation for each content of the assistant's turn."""
    return [[user(), turn("assistant", c)] for c in contents]


def cases():
    """(messages, tools)"""
    plain = [
        [user("hi")],
        [turn("system", "You are X."), user("hi")],
        [user("hi"), turn("assistant", "hello")],
        [user("a"), turn("assistant", "b"), user("c"), turn("assistant", "d")],
        [user(), turn("assistant", "ans", reasoning_content="because")],
        [user(), turn("assistant", "ans", reasoning_content="\n\n r \n")],
        [user(), turn("assistant", "<think>x</think>y", reasoning_content="R")],
        [user(), turn("assistant", "<think>x</think>y", reasoning_content="")],
        [user(), turn("system", "mid"), turn("assistant", "a")],
        [turn("system", "s1"), turn("system", "s2"), user()],
        [user(None)], [user(""), turn("assistant", "")], [user(), turn("assistant", None)],
        [turn("system", ""), user()],
        [user(), turn("assistant", "", tool_calls=[CALL])],
        [user(), turn("assistant", None, tool_calls=[CALL])],
        [user(), turn("assistant", "\n", tool_calls=[CALL])],
        [user(), turn("assistant", "let me", tool_calls=[CALL, CALL])],
        [user(), turn("assistant", "<think>t</think>\n", tool_calls=[CALL])],
        [user(), turn("assistant", "", tool_calls=[{"name": "f\"g", "arguments": "{\"a\": 1}"}])],
        [user(), turn("assistant", "", tool_calls=[CALL]), turn("tool", "r1"), turn("tool", "r2"),
         turn("assistant", "done")],
        [user(), turn("assistant", "", tool_calls=[CALL]), turn("tool", "r1")],
        [turn("tool", "first"), user()],
        [user(), turn("assistant", "", tool_calls=[{"name": "f", "arguments": "{\"a\": 1}"}])],
    ]
    plain += answers("<think>\nr1\n</think>\n\nans", "r1\n</think>\nans", "<think>\nunfinished", "<think>a</think>b</think>c",
                     "\n\n  ans\n", "<think><think>a</think>", "a<think>b<think>c</think>\n\nd", "</think>", "</think></think>x",
                     "  two spaces", "\ttab", "<|im_end|> typed", "é\u0301 中文 🐢")
    for messages in plain:
        yield messages, None
    for system in ([], [turn("system", "SYS")]):
        for tools in ([TOOL], [TOOL, TOOL], [PLAIN_TOOL], [PLAIN_TOOL, PLAIN_TOOL], []):
            yield system + [user()], tools


PIECES = ["", "a", " b", "\n", "\n\n", "<think>", "</think>", "\r", "中文", "<|im_start|>", "<|im_end|>", "{\"a\": 1}", "  ",
          "word", "。", "🐢", "\t"]


def generated(rng, pieces):
    def text():
        return "".join(rng.choice(pieces) for _ in range(rng.randrange(6)))

    messages = [turn("system", text())] if rng.random() < 0.3 else []
    for _ in range(rng.randrange(1, 5)):
        role = rng.choice(["user", "assistant", "assistant", "tool", "user", "system"])
        message = turn(role, text())
        if role == "assistant" and rng.random() < 0.3:
            message["reasoning_content"] = text()
        if role == "assistant" and rng.random() < 0.3:
            message["tool_calls"] = [
                {"name": "f" + text(), "arguments": rng.choice([{"x": rng.random() * 10 ** rng.randrange(-9, 20)}, text(),
                                                                 {"k": [text(), None, rng.randrange(10 ** 12)]}])}
                for _ in range(rng.randrange(1, 3))]
        messages.append(message)
    return messages, [SMALL_TOOL] if rng.random() < 0.15 else None


def render(template, row, options, **more):
    messages, tools = row
    if template.chat_template == CHATML and (tools or any(m.get("tool_calls") for m in messages)):
        return None
    # A template that takes null for text fails; ours writes nothing for it.
    try:
        return template.apply_chat_template(messages, tools=tools, **{"tokenize": False, **options, **more})
    except Exception:
        return None


# ---- ids and targets ----

def byte_of():
    """The byte that each character of a byte-level vocabulary stands for."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{chr(b): b for b in shown}, **{chr(256 + i): b for i, b in enumerate(hidden)}}


def digest(labelled):
    data = b"".join(b"".join(i.to_bytes(4, "little") for i in ids) + bytes(mask) for ids, mask in labelled)
    return hashlib.sha256(data).hexdigest()[:8]


def minimind_mask(tok, ids):
    """SFTDataset.generate_labels, as a mask of targets."""
    header, end = (tok(s, add_special_tokens=False).input_ids for s in ("<|im_start|>assistant\n", "<|im_end|>\n"))
    mask, i = [0] * len(ids), 0
    while i < len(ids):
        if ids[i:i + len(header)] != header:
            i += 1
            continue
        first = last = i + len(header)
        while last < len(ids) and ids[last:last + len(end)] != end:
            last += 1
        last = min(last + len(end), len(ids))
        mask[first:last] = [1] * (last - first)
        i = last
    return mask


def our_mask(tok, text, ids):
    """Targets by bytes: from behind a header to behind the next end."""
    data, header, end = text.encode(), b"<|im_start|>assistant\n", b"<|im_end|>\n"
    target, at = bytearray(len(data)), data.find(header)
    while at >= 0:
        first = at + len(header)
        last = data.find(end, first)
        if last < 0:
            break
        last += len(end)
        target[first:last] = b"\1" * (last - first)
        at = data.find(header, last)
    added, bytes_of, mask, at = tok.added_tokens_decoder, byte_of(), [], 0
    for i in ids:
        token = tok.convert_ids_to_tokens(i)
        size = len(added[i].content.encode()) if i in added else len([bytes_of[c] for c in token])
        mask.append(int(any(target[at:at + size])))
        at += size
    assert at == len(data)
    return mask


def typed(messages):
    """Everything that somebody typed, as one string."""
    return json.dumps(messages, ensure_ascii=False)


def encode(templates, row, options):
    """The row's ids under each template that renders it, by apply_chat_template, with MiniMind's targets and ours."""
    minimind, ours = [], []
    for template in templates.values():
        text = render(template, row, options)
        if text is not None:
            ids = render(template, row, options, tokenize=True, return_dict=False)
            minimind.append((ids, minimind_mask(template, ids)))
            ours.append((ids, our_mask(template, text, ids)))
    return minimind, ours


def load(tokenizer_file, data):
    """The tokenizer with each of the three templates."""
    templates = {}
    for name in ("chatml", "minimind2", "minimind-3"):
        templates[name] = PreTrainedTokenizerFast(tokenizer_file=tokenizer_file)
        templates[name].chat_template = CHATML
        if name != "chatml":
            with open(os.path.join(data, "tokenizers", name + ".tokenizer_config.json")) as f:
                templates[name].chat_template = json.load(f)["chat_template"]
    return templates


def write_cases(templates):
    rng = random.Random(1)
    plain = [p for p in PIECES if "<" not in p]
    rows = ([(row, False) for row in cases()] + [(generated(rng, PIECES), True) for _ in range(300)]
            + [(generated(rng, plain), True) for _ in range(60)])
    with open(os.path.join(HERE, "cases.jsonl"), "w") as f:
        for i, (row, short) in enumerate(rows):
            out = {"messages": row[0]} if row[1] is None else {"messages": row[0], "tools": row[1]}
            every = i < 4 or (not short and row[0][-1]["role"] == "tool")
            prompts = PROMPTS if every else [list(PROMPTS)[i % 4]] if short else [""]
            for prompt in prompts:
                texts = {}
                for name, template in templates.items():
                    text = render(template, row, PROMPTS[prompt])
                    if text is not None and short:
                        text = hashlib.sha256(text.encode()).hexdigest()[:8]
                    texts[name] = text
                minimind, ours = encode(templates, row, PROMPTS[prompt])
                clean = "<" not in typed(row[0])
                ids = {"minimind": digest(minimind), "ours": digest(ours) if clean else None}
                print(json.dumps({"row": out, "prompt": prompt, "short": short, "texts": texts, "ids": ids},
                                 ensure_ascii=False, separators=(",", ":")), file=f)


def write_talk(templates):
    with open(os.path.join(HERE, "talk.jsonl")) as f:
        rows = [json.loads(line) for line in f]
    for name, template in templates.items():
        with open(os.path.join(HERE, "talk." + name), "w") as f:
            for row in rows:
                _, [(ids, mask)] = encode({name: template}, (row["messages"], row.get("tools")), {})
                for i, target in zip(ids, mask):
                    print(i, "target" if target else "", file=f, sep=" " if target else "")
                print(file=f)


def main():
    templates = load(os.path.join(HERE, "../text/gpt2-added.json"), sys.argv[1])
    os.makedirs(HERE, exist_ok=True)
    write_cases(templates)
    write_talk(templates)


if __name__ == "__main__":
    main()

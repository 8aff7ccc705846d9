#!/usr/bin/env python3
# make-chat-goldens.py -- conversations as transformers' apply_chat_template renders them.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/make-chat-goldens.py DATA
#
# needs transformers; DATA holds tokenizers/ with the files of MiniMind.  Writes tests/interop/chat/cases.jsonl,
# a conversation a line: its row, and for each template the text, or of generated ones the start of its
# SHA-256; null where transformers or chatml cannot render it.

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
    ]
    plain += answers("<think>\nr1\n</think>\n\nans", "r1\n</think>\nans", "<think>\nunfinished", "<think>a</think>b</think>c",
                     "\n\n  ans\n", "<think><think>a</think>", "a<think>b<think>c</think>\n\nd", "</think>", "</think></think>x",
                     "  two spaces", "\ttab", "<|im_end|> typed", "é\u0301 中文 🐢")
    for messages in plain:
        yield messages, None
    for system in ([], [turn("system", "SYS")]):
        for tools in ([TOOL], [TOOL, TOOL], []):
            yield system + [user()], tools


PIECES = ["", "a", " b", "\n", "\n\n", "<think>", "</think>", "\r", "中文", "<|im_start|>", "<|im_end|>", "{\"a\": 1}", "  ",
          "word", "。", "🐢", "\t"]


def generated(rng):
    def text():
        return "".join(rng.choice(PIECES) for _ in range(rng.randrange(6)))

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


def render(template, row, options):
    messages, tools = row
    if template.chat_template == CHATML and (tools or any(m.get("tool_calls") for m in messages)):
        return None
    # A template that takes null for text fails; ours writes nothing for it.
    try:
        return template.apply_chat_template(messages, tools=tools, tokenize=False, **options)
    except Exception:
        return None


def main():
    data = sys.argv[1]
    templates = {}
    for name in ("minimind-3", "minimind2", "chatml"):
        stem = os.path.join(data, "tokenizers", "minimind2" if name == "chatml" else name)
        templates[name] = PreTrainedTokenizerFast(tokenizer_file=stem + ".tokenizer.json")
        templates[name].chat_template = CHATML
        if name != "chatml":
            with open(stem + ".tokenizer_config.json") as f:
                templates[name].chat_template = json.load(f)["chat_template"]

    rng = random.Random(1)
    rows = [(row, False) for row in cases()] + [(generated(rng), True) for _ in range(300)]
    os.makedirs(HERE, exist_ok=True)
    with open(os.path.join(HERE, "cases.jsonl"), "w") as f:
        for i, (row, short) in enumerate(rows):
            out = {"messages": row[0]} if row[1] is None else {"messages": row[0], "tools": row[1]}
            prompts = PROMPTS if i < 4 else [list(PROMPTS)[i % 4]] if short else [""]
            for prompt in prompts:
                texts = {}
                for name, template in templates.items():
                    text = render(template, row, PROMPTS[prompt])
                    if text is not None and short:
                        text = hashlib.sha256(text.encode()).hexdigest()[:8]
                    texts[name] = text
                print(json.dumps({"row": out, "prompt": prompt, "short": short, "texts": texts}, ensure_ascii=False,
                                 separators=(",", ":")), file=f)


main()

#!/usr/bin/env python3
# sweep-chat.py -- minimind-tokenize on real and made-up conversations, against transformers and MiniMind.
# SPDX-License-Identifier: Apache-2.0
#
#   PATH=BUILD:$PATH python3 tests/interop/sweep-chat.py DATA [N]
#
# needs transformers and safetensors; DATA holds tokenizers/ with the files of MiniMind and chat/ with conversations in
# the layouts of Alpaca and ShareGPT.  For both tokenizers and the three templates: ids equal to apply_chat_template's,
# targets to MiniMind's under --minimind-compatible, to the bytes of the assistant's turns without; of all rows of the
# files and N made up (default 300).  Left out of the comparison of ids are rows in which somebody typed an added token,
# which is text here.

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile

from safetensors.numpy import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("goldens", os.path.join(HERE, "make-chat-goldens.py"))
goldens = importlib.util.module_from_spec(spec)
spec.loader.exec_module(goldens)

ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}


def alpaca(row):
    asked = row["instruction"] + ("\n" + row["input"] if row.get("input") else "")
    return [goldens.turn("user", asked), goldens.turn("assistant", row["output"])], None


def sharegpt(row):
    messages = [goldens.turn("system", row["system"])] if row.get("system") else []
    for m in row["conversations"]:
        if m["from"] == "function_call":
            calls = json.loads(m["value"])
            messages.append(goldens.turn("assistant", "", tool_calls=calls if isinstance(calls, list) else [calls]))
        else:
            messages.append(goldens.turn(ROLES[m["from"]], m["value"]))
    return messages, json.loads(row["tools"]) if row.get("tools") else None


def ordered(row):
    """Does the row begin as a conversation does and go on so?"""
    before, called = None, False
    for m in row[0]:
        role = m["role"]
        fits = {"system": before is None, "user": before in (None, "system", "assistant"),
                "assistant": before in ("user", "tool") or before == "assistant" and not called and m.get("tool_calls"),
                "tool": before == "tool" or before == "assistant" and called}[role]
        if not fits:
            return False
        before, called = role, bool(m.get("tool_calls"))
    return True


def made_up(n):
    rng, rows = random.Random(7), []
    while len(rows) < n:
        row = goldens.generated(rng, goldens.PIECES)
        if ordered(row):
            rows.append(row)
    return rows


def tokenize(rows, stem, template, *options):
    """The documents that minimind-tokenize makes of ROWS: (ids, targets)."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "rows.jsonl"), os.path.join(folder, "tokens")
        with open(path, "w") as f:
            for messages, tools in rows:
                print(json.dumps({"messages": messages, "tools": tools}, ensure_ascii=False), file=f)
        subprocess.run(["minimind-tokenize", "-q", "--tokenizer=" + stem + ".tokenizer.json",
                        "--chat-template=" + template, *options, path, "-o", out], check=True)
        t = load_file(out)
    ends = t["doc_offsets"]
    return [(t["tokens"][a:b].tolist(), t["loss_mask"][a:b].tolist()) for a, b in zip(ends, ends[1:])]


def compare(name, rows, stem, template_name, template):
    kept = [(r, text) for r in rows if (text := goldens.render(template, r, {})) is not None]
    rows = [r for r, _ in kept]
    theirs = tokenize(rows, stem, template_name, "--minimind-compatible")
    ours = tokenize(rows, stem, template_name)
    added = [t.content for t in template.added_tokens_decoder.values()]
    wrong = clean = 0
    for (row, text), (ids, mask), (our_ids, our_mask) in zip(kept, theirs, ours, strict=True):
        want = goldens.render(template, row, {}, tokenize=True, return_dict=False)
        bad = ids != want or mask != goldens.minimind_mask(template, want)
        if not any(a in json.dumps(row, ensure_ascii=False) for a in added):
            clean += 1
            bad |= our_ids != want or our_mask != goldens.our_mask(template, text, want)
        if bad and not wrong:
            print(json.dumps(row, ensure_ascii=False)[:300])
        wrong += bad
    print(f"{name}, {os.path.basename(stem)}, {template_name}: {len(kept)} rows, of them {clean} without added tokens; "
          f"{wrong} differ")
    return wrong


def main():
    data, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    sets = {"made up": made_up(n)}
    for name in sorted(os.listdir(os.path.join(data, "chat"))):
        with open(os.path.join(data, "chat", name)) as f:
            rows = json.load(f)
        if "chosen" not in rows[0]:
            sets[name] = [(alpaca if "instruction" in r else sharegpt)(r) for r in rows]
    wrong = 0
    for stem in ("minimind-3", "minimind2"):
        path = os.path.join(data, "tokenizers", stem)
        for template_name, template in goldens.load(path + ".tokenizer.json", data).items():
            for name, rows in sets.items():
                wrong += compare(name, rows, path, template_name, template)
    sys.exit(wrong > 0)


main()

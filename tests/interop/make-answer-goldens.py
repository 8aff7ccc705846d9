#!/usr/bin/env python3
# make-answer-goldens.py -- what transformers answers in conversations, greedily.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/make-answer-goldens.py DATA
#
# needs torch and transformers; DATA holds tokenizers/ with the files of MiniMind.  Makes tests/interop/answers/: a
# model that was taught the conversations below, each under the templates it is listed with, and cases.txt, for each
# answer a line with options of minimind-generate, one with the conversation and one with the object that --json
# prints: answers of model.generate to prompts of apply_chat_template, with their thoughts, from <think> to </think>,
# taken out.  The tokenizer is tests/interop/text/gpt2-added.json.

import json
import os
import shutil
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "answers")
TOKENIZER = os.path.normpath(os.path.join(HERE, "../text/gpt2-added.json"))
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
          " + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
ALL = ("chatml", "minimind2", "minimind-3")
OPEN = {"open_thinking": True, "enable_thinking": True}


def turn(role, content, **more):
    return dict(role=role, content=content, **more)


def talk(*words, system=None):
    """Question, answer, question ..."""
    turns = [turn("system", system)] if system else []
    return turns + [turn("assistant" if i % 2 else "user", w) for i, w in enumerate(words)]


# Conversations to learn; the templates, of which the first two render no thoughts apart.
TAUGHT = [
    (talk("Who are you?", "I am Nano, a very small model."), ALL),
    (talk("你是谁？", "我是小纳，一个很小的模型。"), ALL),
    (talk("Who are you?", "I am Nano, a very small model.", "And in Chinese?", "我是小纳，一个很小的模型。"), ALL),
    (talk("Hi", "🐢🐢 Ahoy!\n\n- one\n- two\n", system="You are a pirate."), ALL),
    (talk("2 + 3?", "<think>\nTwo and three,\n\nfive.\n</think>\n\n5"), ALL),
]
# Options, conversation, arguments of apply_chat_template, most tokens.
ASKED = ([(name, talk(*words, system=system), {}, 64) for name in ALL for words, system in [
    (["Who are you?"], None), (["你是谁？"], None), (["Hi"], "You are a pirate."), (["2 + 3?"], None),
    (["Who are you?", "I am Nano, a very small model.", "And in Chinese?"], None), (["Tell me a tale."], None)]]
    + [("minimind-3 --thinking=on", talk("2 + 3?"), OPEN, 64), ("minimind-3 --thinking=on", talk("2 + 3?"), OPEN, 7),
       ("chatml", talk("Who are you?"), {}, 5), ("chatml", talk("你是谁？"), {}, 4), ("chatml", talk("Hi"), {}, 0)])


def tokenizers(data):
    out = {}
    for name in ALL:
        out[name] = PreTrainedTokenizerFast(tokenizer_file=TOKENIZER)
        out[name].chat_template = CHATML
        if name != "chatml":
            with open(os.path.join(data, "tokenizers", name + ".tokenizer_config.json")) as f:
                out[name].chat_template = json.load(f)["chat_template"]
    return out


def ids_of(tok, turns, **options):
    return tok(tok.apply_chat_template(turns, tokenize=False, **options), add_special_tokens=False)["input_ids"]


def teach(toks):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = LlamaForCausalLM(LlamaConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=1, head_dim=8,
        intermediate_size=64, vocab_size=432, tie_word_embeddings=True, max_position_embeddings=256,
        bos_token_id=1, eos_token_id=2, pad_token_id=0))
    rows = [torch.tensor(ids_of(toks[name], turns)) for turns, names in TAUGHT for name in names]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    labels = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
    for _ in range(400):
        loss = model(ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    print(f"loss {loss.item():.4f}")
    return model.to(torch.bfloat16)


def split(text, opened):
    """Thought and words of an answer."""
    if opened and "</think>" not in text:
        return text.strip("\n") or None, ""
    if "</think>" in text and (opened or text.startswith("<think>")):
        thought, said = text.split("</think>", 1)
        return thought.removeprefix("<think>").strip("\n") or None, said.lstrip("\n")
    return None, text


def answer(model, tok, turns, options, most):
    prompt = ids_of(tok, turns, add_generation_prompt=True, **options)
    ids = []
    if most:
        ids = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=most, eos_token_id=2,
                             pad_token_id=0)[0, len(prompt):].tolist()
    done = bool(ids) and ids[-1] == 2
    ids = ids[:-1] if done else ids
    # A character that is cut off is left out.
    text = tok.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False).rstrip("\ufffd")
    thought, said = split(text, bool(options))
    return {"role": "assistant", "content": said, "reasoning_content": thought,
            "finish_reason": "stop" if done else "length", "prompt_tokens": len(prompt), "tokens": len(ids)}


def strip_folder():
    """Only what is read here."""
    for name in os.listdir(HERE):
        if name not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(HERE, name))
    os.chmod(os.path.join(HERE, "model.safetensors"), 0o644)


def main():
    toks = tokenizers(sys.argv[1])
    shutil.rmtree(HERE, ignore_errors=True)
    teach(toks).save_pretrained(HERE)
    strip_folder()
    model = LlamaForCausalLM.from_pretrained(HERE, dtype=torch.float32)
    with open(os.path.join(HERE, "cases.txt"), "w") as f:
        for options, turns, arguments, most in ASKED:
            found = answer(model, toks[options.split()[0]], turns, arguments, most)
            print(f"--chat-template={options} --max-tokens={most}", file=f)
            for line in (turns, found):
                print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), file=f)
    print(f"{len(ASKED)} answers, {sum(os.path.getsize(os.path.join(HERE, n)) for n in os.listdir(HERE))} bytes")


main()

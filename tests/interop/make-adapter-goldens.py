#!/usr/bin/env python3
# make-adapter-goldens.py -- adapters as PEFT saves them, and what it makes of them.
# SPDX-License-Identifier: Apache-2.0
#
#   python3 tests/interop/make-adapter-goldens.py            make tests/interop/adapter/ afresh
#   python3 tests/interop/make-adapter-goldens.py --check DIR   load the adapter folder DIR in PEFT: its values
#                                                            must be those of adapter/plain
#
# base/ is a model folder; plain/, patterns/ and rslora/ are adapters for it, each with merged.safetensors, PEFT's
# merge_and_unload, and logits.safetensors, those of base + adapter on the ids 0 1 2 ... 31.

import os
import shutil
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "adapter")
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ADAPTERS = {
    "plain": dict(r=4, lora_alpha=8, target_modules=ALL),
    "patterns": dict(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj"],
                     rank_pattern={"v_proj": 2, r"model.layers.1.self_attn.q_proj": 1},
                     alpha_pattern={r"layers\.\d\.mlp.*": 2.5, "v_proj": 3}),
    "rslora": dict(r=2, lora_alpha=3, target_modules=["o_proj", "up_proj"], use_rslora=True),
}


def base_model():
    return LlamaForCausalLM.from_pretrained(os.path.join(HERE, "base"), dtype=torch.float32)


def strip(folder):
    """Only what is read here."""
    for name in os.listdir(folder):
        if name not in ("adapter_config.json", "adapter_model.safetensors", "config.json", "model.safetensors"):
            os.remove(os.path.join(folder, name))


def make():
    shutil.rmtree(HERE, ignore_errors=True)
    torch.manual_seed(1)
    config = LlamaConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=4,
                         intermediate_size=20, vocab_size=32, tie_word_embeddings=True, initializer_range=0.2,
                         max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
    LlamaForCausalLM(config).save_pretrained(os.path.join(HERE, "base"))
    strip(os.path.join(HERE, "base"))
    for name, options in ADAPTERS.items():
        folder = os.path.join(HERE, name)
        model = get_peft_model(base_model(), LoraConfig(task_type="CAUSAL_LM", **options))
        with torch.no_grad():
            for key, p in model.named_parameters():
                if "lora_" in key:
                    p.normal_(0, 0.2)
            logits = model(torch.arange(32)[None]).logits[0]
        model.save_pretrained(folder)
        strip(folder)
        merged = model.merge_and_unload()
        tensors = {k: v for k, v in merged.state_dict().items() if k != "lm_head.weight"}
        save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(folder, "merged.safetensors"))
        save_file({"logits": logits.contiguous()}, os.path.join(folder, "logits.safetensors"))
    total = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(HERE) for f in files)
    print(f"{HERE}: {total} bytes")


def check(folder):
    ours = PeftModel.from_pretrained(base_model(), folder)
    theirs = PeftModel.from_pretrained(base_model(), os.path.join(HERE, "plain"))
    ids = torch.arange(32)[None]
    with torch.no_grad():
        worst = (ours(ids).logits - theirs(ids).logits).abs().max().item()
    print(f"{folder}: logits in PEFT differ by {worst:.1e}")
    sys.exit(worst > 1e-6)


if len(sys.argv) > 2:
    check(sys.argv[2])
make()

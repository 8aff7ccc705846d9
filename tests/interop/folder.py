#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""folder.py -- model folders exchanged with transformers, in both directions.

    python3 folder.py PROGRAM       PROGRAM is the built tests/interop/folder

For each case of model.py: transformers saves it (in float32, bfloat16 or float16, whole or in
shards), PROGRAM reads that and writes a folder, transformers loads it, finds the same numbers in
each tensor and the same configuration, and generates the same tokens from it.
"""

import os
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import AutoModelForCausalLM

import model as cases

FIELDS = ["hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
          "intermediate_size", "vocab_size", "max_position_embeddings", "rms_norm_eps", "hidden_act",
          "tie_word_embeddings", "attention_bias", "bos_token_id", "eos_token_id", "pad_token_id"]


def theta(config):
    """What this version of transformers goes by."""
    return config.rope_theta if hasattr(config, "rope_theta") else config.rope_parameters["rope_theta"]


def generate(model):
    """Greedy continuation of a short prompt, past eos."""
    prompt = torch.tensor([[3, 1, 4, 1, 5]])
    return model.generate(prompt, max_new_tokens=12, min_new_tokens=12, do_sample=False,
                          pad_token_id=0)[0].tolist()


def exchange(program, name, dtype, shard):
    """What differs after there and back; an empty list if nothing."""
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = os.path.join(folder, "theirs"), os.path.join(folder, "ours")
        model = cases.make_model(name, torch.float32).to(dtype)
        model.save_pretrained(theirs, max_shard_size=shard)
        os.mkdir(ours)
        subprocess.run([program, theirs, ours], check=True)
        shards = len([f for f in os.listdir(theirs) if f.endswith(".safetensors")])
        model = model.to(torch.float32)
        back, info = AutoModelForCausalLM.from_pretrained(ours, output_loading_info=True)
        bad += [f"{k}: {v}" for k, v in info.items() if v]
        bad += [f for f in FIELDS if getattr(model.config, f) != getattr(back.config, f)]
        bad += ["theta"] if theta(model.config) != theta(back.config) else []
        bad += ["class"] if type(model) is not type(back) else []
        bad += ["dtype"] if back.dtype != torch.float32 else []
        want = dict(cases.parameters(model))
        bad += [k for k, p in cases.parameters(back) if not torch.equal(p, want[k])]
        bad += ["generation"] if generate(model) != generate(back) else []
    return bad, shards


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    forms = [(torch.float32, "1GB"), (torch.bfloat16, "1GB"), (torch.float16, "1GB"),
             (torch.float32, "6KB"), (torch.bfloat16, "10KB")]
    failed = 0
    print(f"# transformers {transformers.__version__}")
    for n, name in enumerate(cases.CASES):
        dtype, shard = forms[n % len(forms)]
        bad, shards = exchange(sys.argv[1], name, dtype, shard)
        print(f"{'not ' if bad else ''}ok {n + 1} - {name}, {dtype}, {shards} file(s) {bad or ''}",
              flush=True)
        failed += bool(bad)
    print(f"1..{len(cases.CASES)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

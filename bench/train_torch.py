#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The step of bench/train in PyTorch: prints "NAME TOKENS_PER_SECOND" for each way to run it.

Usage: train_torch.py THREADS

float32 eager, float32 compiled, bfloat16 autocast; each the best of three steps after one to warm up.  Without
torch and transformers it says so.  With BENCH_PYTHON=venv it fetches them into a folder of its own, and removes it.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

VOCAB, SEQ_LEN, ROWS, MICRO, STEPS = 6400, 512, 16, 4, 3


def in_venv():
    """Run this script again in a throw-away environment."""
    folder = tempfile.mkdtemp(prefix="bench-torch.")
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, stdout=sys.stderr)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "torch", "transformers"], check=True, stdout=sys.stderr)
        subprocess.run([python] + sys.argv, check=True, env={**os.environ, "BENCH_PYTHON": python})
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no environment: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tokens_per_second(torch, model, ids, autocast):
    """Best of STEPS: gradients of four micro-batches summed, clip, AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    times = []
    for _ in range(STEPS + 1):
        began = time.monotonic()
        optimizer.zero_grad()
        for first in range(0, ROWS, MICRO):
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                logits = model(input_ids=ids[:, :-1], use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="sum")
            (loss / (ROWS * SEQ_LEN)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.monotonic() - began)
    return ROWS * SEQ_LEN / min(times[1:])


def main():
    try:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError as error:
        print(f"left out: {error.name} is not installed (BENCH_PYTHON names a Python that has it, or is venv)")
        return
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(42)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCAB, hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=1e6, tie_word_embeddings=True,
        max_position_embeddings=32768, attn_implementation="sdpa"))
    model.train()
    ids = torch.randint(VOCAB, (MICRO, SEQ_LEN + 1))
    print("version: torch", torch.__version__, "with", torch.backends.cpu.get_cpu_capability(), flush=True)
    compiled = torch.compile(model)
    for name, module, autocast in (("float32-eager", model, False), ("float32-compiled", compiled, False),
                                   ("bfloat16-eager", model, True), ("bfloat16-compiled", compiled, True)):
        try:
            print(name, f"{tokens_per_second(torch, module, ids, autocast):.1f}", flush=True)
        except Exception as error:  # a compiler may be missing, for one
            print(f"{name}: {str(error).splitlines()[0]}", flush=True)


if os.environ.get("BENCH_PYTHON") == "venv":
    in_venv()
else:
    main()

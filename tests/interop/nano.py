#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference run of tests/digest.c with transformers' LlamaForCausalLM and torch.optim.AdamW, in float64.

Usage: nano.py DIGEST > nano.golden

DIGEST is the built program; it supplies the initial weights and the order of the rows.  Each line of the
output is step, loss, gradient norm, targets; tests/cli/digest.sh compares the program's own with them.  The
last line is the largest difference of a parameter after the last step.
"""
import math
import subprocess
import sys

import numpy
import torch
from transformers import LlamaConfig, LlamaForCausalLM

VOCAB, SEQ_LEN, STEPS, WARMUP, PEAK, FLOOR, CLIP = 320, 37, 20, 4, 1e-2, 0.1, 0.45


def run(*args):
    done = subprocess.run([sys.argv[1], "1", *args], capture_output=True, check=True)
    return numpy.frombuffer(done.stdout, "<f4"), done.stderr.decode()


def make_row(row):
    ids, starts, mask = [], [], []
    key = k = 0
    for i in range(SEQ_LEN + 1):
        start = i == 0 or (row * 7 + i * i * 3) % 11 == 0
        if start:
            key, k = row * 13 + i, 0
        ids.append((key * 17 + k * k * 3 + k) % VOCAB)
        starts.append(start)
        mask.append((row + i) % 5 != 0)
        k += 1
    return ids, starts, mask


def table(model):
    """Parameters in the order of docs/numerics.md's table."""
    named = dict(model.named_parameters())
    layer = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
             "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
    names = ["model.embed_tokens"]
    for i in range(model.config.num_hidden_layers):
        names += [f"model.layers.{i}.{name}" for name in layer]
    return [named[name + ".weight"] for name in names + ["model.norm"]]


def row_loss(model, row):
    """Loss summed over the row's targets, and their number; each document is a sequence of its own."""
    ids, starts, mask = make_row(row)
    bounds = [i for i in range(SEQ_LEN) if starts[i]] + [SEQ_LEN]
    total, count = 0, 0
    for first, end in zip(bounds, bounds[1:]):
        logits = model(torch.tensor([ids[first:end]])).logits[0]
        for i in range(first, end):
            if mask[i + 1] and not starts[i + 1]:
                total = total + torch.nn.functional.cross_entropy(logits[i - first], torch.tensor(ids[i + 1]))
                count += 1
    return total, count


def rate(step):
    if step < WARMUP:
        return PEAK * (step + 1) / WARMUP
    return PEAK * (FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - 1 - WARMUP))))


def main():
    torch.set_default_dtype(torch.float64)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCAB, hidden_size=16, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, rms_norm_eps=1e-5, rope_theta=1e6, tie_word_embeddings=True,
        attn_implementation="eager"))
    parameters = table(model)
    initial, _ = run("0")
    end, log = run()
    at = 0
    for p in parameters:
        p.data = torch.tensor(initial[at:at + p.numel()].reshape(p.shape).astype("float64"))
        at += p.numel()
    model.tie_weights()
    betas = [float(numpy.float32(b)) for b in (0.9, 0.95)]
    optimizer = torch.optim.AdamW([
        {"params": [p for p in parameters if p.ndim == 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0}], betas=betas, eps=1e-8)
    windows = [line.split("rows")[1].split("loss")[0].split() for line in log.splitlines() if "rows" in line]
    for step, rows in enumerate(windows):
        sums = [row_loss(model, int(row)) for row in rows]
        targets = sum(count for _, count in sums)
        loss = sum(total for total, _ in sums) / targets
        optimizer.zero_grad()
        loss.backward()
        norm = math.sqrt(sum((p.grad ** 2).sum().item() for p in parameters))
        for p in parameters:
            p.grad *= min(1, CLIP / norm)
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        print(step + 1, f"{loss.item():.6f} {norm:.6f} {targets}")
    ours = end[:at]
    theirs = numpy.concatenate([p.detach().numpy().ravel() for p in parameters])
    print(f"# parameters differ by at most {abs(ours - theirs).max():.1e}")


main()

#!/usr/bin/env python3
"""Train and evaluate a transformers model on a minimind dataset folder, in plain PyTorch.

The other half of tests/interop/real-text.sh: the same rows in the same order, the same initial weights
and settings as minimind-pretrain, with PyTorch's own kernels, AdamW and cross-entropy.  Prints one JSON
line with the final validation loss.  Needs torch, transformers, safetensors and numpy.
SPDX-License-Identifier: Apache-2.0

  torch_loop.py --init-only DIR --data DATA         write a fresh model folder for both to start from
  torch_loop.py --model DIR --data DATA --steps N   train from it and evaluate
"""

import argparse
import glob
import json
import math
import os
import sys
import time

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import LlamaConfig, LlamaForCausalLM

PRESETS = {
    "minimind2-small": dict(hidden_size=512, num_hidden_layers=8, num_attention_heads=8,
                            num_key_value_heads=2, intermediate_size=1408),
    "tiny": dict(hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
                 num_key_value_heads=2, intermediate_size=384),
}
ORDER_PURPOSE = 2  # enum mm_purpose, MM_RANDOM_ORDER
MASK32 = 0xFFFFFFFF


def philox(seed, purpose, stream, index):
    """First word of Philox 4x32-10, counter (index, stream, purpose), key seed."""
    c = [index & MASK32, index >> 32 & MASK32, stream & MASK32, purpose]
    k = [seed & MASK32, seed >> 32 & MASK32]
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK32, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK32]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return c[0]


def permute(seed, stream, n, index):
    """mm_permute of random.h: a Feistel network with cycle walking."""
    if n == 1:
        return 0
    half = 1
    while 1 << 2 * half < n:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for r in range(8):
            left, right = right, left ^ (philox(seed, ORDER_PURPOSE, stream, r << 32 | right) & mask)
        index = left << half | right
        if index < n:
            return index


class Split:
    """All rows of one split of a dataset folder, in memory."""

    def __init__(self, folder, name):
        parts = [load_file(p) for p in sorted(glob.glob(os.path.join(folder, name + "-*.safetensors")))]
        self.ids = np.concatenate([p["input_ids"] for p in parts]).astype(np.int64)
        self.starts = np.concatenate([p["doc_starts"] for p in parts])
        self.mask = np.concatenate([p.get("loss_mask", np.ones_like(p["doc_starts"])) for p in parts])

    def batch(self, rows):
        """Inputs, targets (-100: none), positions and the additive block-diagonal mask of ROWS."""
        ids, starts, mask = self.ids[rows], self.starts[rows], self.mask[rows]
        targets = np.where((mask[:, 1:] == 1) & (starts[:, 1:] == 0), ids[:, 1:], -100)
        document = np.cumsum(starts[:, :-1], axis=1)
        first = np.maximum.accumulate(
            np.where(starts[:, :-1] == 1, np.arange(ids.shape[1] - 1), 0), axis=1)
        positions = np.arange(ids.shape[1] - 1) - first
        same = document[:, :, None] == document[:, None, :]
        allowed = same & np.tril(np.ones(same.shape[1:], dtype=bool))
        additive = np.where(allowed, 0.0, np.finfo(np.float32).min).astype(np.float32)
        return (torch.from_numpy(ids[:, :-1].copy()), torch.from_numpy(targets),
                torch.from_numpy(positions), torch.from_numpy(additive)[:, None])


def summed_loss(model, batch):
    ids, targets, positions, mask = batch
    logits = model(input_ids=ids, position_ids=positions, attention_mask=mask).logits
    return torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1),
                                             ignore_index=-100, reduction="sum")


def evaluate(model, split):
    total, count = 0.0, 0
    with torch.no_grad():
        for r in range(0, len(split.ids), 4):
            batch = split.batch(np.arange(r, min(r + 4, len(split.ids))))
            total += summed_loss(model, batch).item()
            count += (batch[1] != -100).sum().item()
    return total / count


def init(args, vocab):
    torch.manual_seed(args.seed)
    config = LlamaConfig(vocab_size=vocab, max_position_embeddings=32768, rms_norm_eps=1e-5,
                         rope_theta=1e6, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2,
                         pad_token_id=0, **PRESETS[args.preset])
    LlamaForCausalLM(config).save_pretrained(args.init_only)


def train(args):
    model = LlamaForCausalLM.from_pretrained(args.model, dtype=torch.float32)
    split = Split(args.data, "train")
    decayed = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": args.weight_decay},
                                   {"params": plain, "weight_decay": 0.0}],
                                  lr=args.learning_rate, betas=(0.9, 0.95), eps=1e-8)
    rows, windows = len(split.ids), -(-len(split.ids) // args.global_batch)
    start = time.time()
    for step in range(args.steps):
        epoch, first = divmod(step, windows)
        samples = range(first * args.global_batch, min((first + 1) * args.global_batch, rows))
        batch = split.batch(np.array([permute(args.seed, epoch, rows, i) for i in samples]))
        progress = 1.0 if step + 1 >= args.steps else step / (args.steps - 1)
        rate = args.learning_rate * (args.min_lr_ratio
                                     + (1 - args.min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = summed_loss(model, batch) / (batch[1] != -100).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 20 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}", file=sys.stderr)
    print(json.dumps({"loss": evaluate(model, Split(args.data, "validation")),
                      "seconds": round(time.time() - start, 1)}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--init-only")
    p.add_argument("--model")
    p.add_argument("--preset", default="minimind2-small", choices=PRESETS)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--global-batch", type=int, default=4)
    p.add_argument("--learning-rate", type=float, default=5e-4)
    p.add_argument("--min-lr-ratio", type=float, default=0.1)
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=42)
    args = p.parse_args()
    if args.init_only:
        with open(os.path.join(args.data, "dataset.json"), encoding="utf-8") as f:
            init(args, json.load(f)["tokenizer"]["vocab_size"])
    else:
        train(args)


main()

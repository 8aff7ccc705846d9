#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""window.py -- gradients of the mean loss of one large batch, by transformers and PyTorch in float64.

Writes window.safetensors, which tests/interop/window.c reads: it cuts the same rows into micro-batches, the last one
short, deals them to ranks and sums.  Rows have very different numbers of targets, one of them none, so that a mean of
means would be far off.  Cases, weights and tokens are those of model.py.
"""

import os

import numpy as np
import torch
from safetensors.numpy import save_file

import model

GOLDEN = os.path.join(model.HERE, "window.safetensors")
CASES = ["llama-tied-gqa2", "qwen3-untied-mha"]
ROWS = 7


def limit(row, length):
    """Tokens of ROW from here on are no targets."""
    return [length, 3, length // 2, 0, length, 1, 17][row]


def mean_gradient(name):
    net = model.make_model(name, torch.float64)
    rows = model.case_rows(name, 0, ROWS)
    length = model.case(name)[6]
    _, losses, _ = model.run(net, rows)
    wanted = np.concatenate([np.where(np.arange(length) < limit(r, length), model.targets(*row), -1)
                             for r, row in enumerate(rows)])
    keep = torch.from_numpy(wanted >= 0)
    n = int(keep.sum())
    (losses[keep].sum() / n).backward()
    return {k: p.grad.numpy().reshape(-1) for k, p in model.parameters(net)}, n


def main():
    torch.set_num_threads(1)
    model.use_double_norms()
    tensors = {"cases": model.text(" ".join(CASES))}
    for name in CASES:
        grads, n = mean_gradient(name)
        tensors[name + ".config"] = model.text(model.make_config(name).to_json_string(use_diff=True))
        tensors[name + ".shape"] = model.text(f"{ROWS} {model.case(name)[6]} {n}")
        for k, g in grads.items():
            head = [np.abs(g).max(), np.sqrt((g * g).sum())]
            tensors[f"{name}.grad.{k}"] = np.concatenate([head, g[model.samples(g.size)]]).astype(np.float32)
        print(f"{name}: {n} targets")
    save_file(tensors, GOLDEN)
    print(f"{GOLDEN}: {os.path.getsize(GOLDEN)} bytes")


if __name__ == "__main__":
    main()

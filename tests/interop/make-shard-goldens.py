#!/usr/bin/env python3
"""Shards as other trainers write them, for tests/unit/shards.c.
SPDX-License-Identifier: Apache-2.0

  make-shard-goldens.py FOLDER

needs NumPy.  All hold the ids (i * i + 7 * i + 2) mod 259 for i below 300, among which is 2, the eos of the tests'
tokenizer, three times.  NumPy writes the .npy files; headers of the .bin files follow llm.c's
dev/data/data_common.py, nanoGPT's have none (data/openwebtext/prepare.py: an array's tofile)."""

import os
import sys

import numpy as np

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
i = np.arange(300, dtype=np.int64)
ids = (i * i + 7 * i + 2) % 259


def save(name, array, version):
    with open(os.path.join(folder, name), "wb") as f:
        np.lib.format.write_array(f, array, version=version)


save("u2-v1.npy", ids.astype("<u2"), (1, 0))
save("u4-v2.npy", ids.astype("<u4"), (2, 0))
save("i4-v3.npy", ids.astype("<i4"), (3, 0))
save("i8-v1.npy", ids, (1, 0))
# What is refused.
save("two.npy", ids.astype("<u2").reshape(2, 150), (1, 0))
save("fortran.npy", np.asfortranarray(ids.astype("<u2").reshape(2, 150)), (1, 0))
save("big.npy", ids.astype(">u2"), (1, 0))
save("float.npy", ids.astype("<f4"), (1, 0))
save("scalar.npy", np.array(7, dtype="<u2"), (1, 0))

ids.astype("<u2").tofile(os.path.join(folder, "nanogpt.bin"))
for name, magic, version, kind in (("gpt2.bin", 20240520, 1, "<u2"), ("llama3.bin", 20240801, 7, "<u4")):
    header = np.zeros(256, dtype="<i4")
    header[:3] = magic, version, len(ids)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(header.tobytes())
        f.write(ids.astype(kind).tobytes())

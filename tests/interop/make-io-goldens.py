#!/usr/bin/env python3
"""make-io-goldens.py PROGRAM -- make tests/interop/io/ and check it with the real programs.
SPDX-License-Identifier: Apache-2.0

PROGRAM is the built tests/interop/io; it writes the files called ours.  They are committed only after
safetensors and tensorboard of Python read in them what was meant.
Made with torch 2.15, safetensors of the same day, tensorboard 2.21.
"""
import pathlib
import subprocess
import sys

import safetensors
import safetensors.torch
import torch
from tensorboard.backend.event_processing import event_accumulator, event_file_loader

KIND = '字 "\\\n'
TENSORS = {
    "bf16": (torch.bfloat16, 5), "bool": (torch.bool, 1), "f16": (torch.float16, 2),
    "f32": (torch.float32, 7), "f64": (torch.float64, 2), "i32": (torch.int32, 1),
    "i64": (torch.int64, 2), "i8": (torch.int8, 3), "scalar": (torch.float32, 0),
    "u16": (torch.uint16, 4), "u32": (torch.uint32, 2), "u8": (torch.uint8, 3), KIND: (torch.uint8, 1),
}


def tensor(dtype, rows):
    i = torch.arange(3 * rows if rows else 1)
    x = i % 2 if dtype == torch.bool else 3 * i + 1
    return x.to(dtype).reshape((rows, 3) if rows else ())


def write_theirs(path):
    made = {name: tensor(*what) for name, what in TENSORS.items()}
    made["empty"] = torch.zeros((0, 4), dtype=torch.float32)
    safetensors.torch.save_file(made, path, metadata={"format": "pt", "kind": KIND})


def check_safetensors(path):
    with safetensors.safe_open(path, "pt") as f:
        assert f.metadata() == {"format": "pt", "kind": KIND}, f.metadata()
        assert set(f.keys()) == set(TENSORS), list(f.keys())
        for name, what in TENSORS.items():
            got = f.get_tensor(name)
            assert got.dtype == what[0] and got.shape == tensor(*what).shape, name
            assert (got.to(torch.float64) == tensor(*what).to(torch.float64)).all(), name


def check_tfevents(path):
    events = list(event_file_loader.RawEventFileLoader(str(path)).Load())
    assert len(events) == 4, len(events)
    loaded = list(event_file_loader.EventFileLoader(str(path)).Load())
    assert loaded[0].file_version == "brain.Event:2" and loaded[0].wall_time == 1.0
    assert loaded[1].session_log.status == 1 and loaded[1].step == 300
    named = path.with_name("events.out.tfevents.0000000001.host.1.0")
    named.write_bytes(path.read_bytes())
    a = event_accumulator.EventAccumulator(str(named))
    a.Reload()
    got = {tag: [(e.wall_time, e.step, e.value) for e in a.Scalars(tag)] for tag in a.Tags()["scalars"]}
    named.unlink()
    assert got == {"loss": [(3.0, 300, 0.5), (4.0, 301, 0.5)], "seconds/data": [(3.0, 300, 0.25)]}, got


def main():
    folder = pathlib.Path(__file__).parent / "io"
    folder.mkdir(exist_ok=True)
    (folder / "ours.tfevents").unlink(missing_ok=True)
    write_theirs(folder / "theirs.safetensors")
    subprocess.run([sys.argv[1], "--write", folder], check=True)
    check_safetensors(folder / "ours.safetensors")
    check_tfevents(folder / "ours.tfevents")
    print("good: " + ", ".join(sorted(p.name for p in folder.iterdir())))


main()

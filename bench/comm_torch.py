#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The step of bench/comm in PyTorch: DistributedDataParallel over gloo, two ranks of one thread, float32.

Says its version in one line. Then, for each line read, each rank takes a micro-batch; the seconds of the slower one and
the processor seconds of both are printed; at "last" gradients are summed and the step finished with clip and AdamW. A line that is no number is the
reason why there is none.
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

VOCAB, SEQ_LEN, MICRO, RANKS = 6400, 512, 4, 2


def run(rank, store):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from transformers import LlamaConfig, LlamaForCausalLM

    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[rank % len(cpus)]})
    torch.set_num_threads(1)
    torch.manual_seed(42)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=RANKS)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCAB, hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=1e6, tie_word_embeddings=True,
        max_position_embeddings=32768, attn_implementation="sdpa"))
    model.train()
    ddp = DistributedDataParallel(model, gradient_as_bucket_view=True)
    ids = torch.randint(VOCAB, (MICRO, SEQ_LEN + 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    order = torch.zeros(1)
    if rank == 0:
        print("torch", torch.__version__, "with", torch.backends.cpu.get_cpu_capability(), flush=True)
    while True:
        if rank == 0:
            line = sys.stdin.readline()
            order[0] = {"": 0, "last\n": 2}.get(line, 1)
        dist.broadcast(order, 0)
        began, used = time.monotonic(), time.process_time()
        if order[0] == 0:
            break
        last = order[0] == 2
        with contextlib.nullcontext() if last else ddp.no_sync():
            logits = ddp(input_ids=ids[:, :-1], use_cache=False).logits
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        if last:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        dist.barrier()
        seconds, used = time.monotonic() - began, torch.tensor([time.process_time() - used])
        dist.all_reduce(used)
        if rank == 0:
            print(seconds, used.item(), flush=True)
    dist.destroy_process_group()


def main():
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"left out: {error.name} is not installed (BENCH_PYTHON names a Python that has it)")
        return
    if len(sys.argv) > 1:
        run(1, sys.argv[1])
        return
    with tempfile.TemporaryDirectory(prefix="bench-comm.") as folder:
        store = os.path.join(folder, "store")
        other = subprocess.Popen([sys.executable, sys.argv[0], store], stdin=subprocess.DEVNULL)
        run(0, store)
        other.wait()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The step of bench/train in PyTorch, a micro-batch on request.

Usage: train_torch.py THREADS

Says its version in one line. Then, for each line "MODE" read, takes the next micro-batch of that mode and prints its
seconds; after "MODE last" the step is finished with clip and AdamW. "memory" prints the peak so far, in GB. A line that is
no number is the reason why there is none. Modes: float32-eager, float32-compiled, bfloat16-eager, bfloat16-compiled
(autocast), and with -lora behind it an adapter of PEFT's; each has its model, made and warmed up when it is first asked for. With BENCH_PYTHON=venv torch,
transformers and peft are fetched into a folder that is removed afterwards.
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

VOCAB, SEQ_LEN, MICRO, RANK = 6400, 512, 4, 8


def in_venv():
    """Run this script again in a throw-away environment."""
    folder = tempfile.mkdtemp(prefix="bench-torch.")
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, stdout=sys.stderr)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "torch", "transformers", "peft"], check=True, stdout=sys.stderr)
        subprocess.run([python] + sys.argv, check=True, env={**os.environ, "BENCH_PYTHON": python})
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no environment: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_adapter(model):
    """Model, frozen under an adapter on all linear layers."""
    from peft import LoraConfig, get_peft_model

    return get_peft_model(model, LoraConfig(r=RANK, lora_alpha=2 * RANK, lora_dropout=0.0, target_modules=[
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]))


class Mode:
    """One way to train, warmed up by a whole step."""

    def __init__(self, torch, name):
        from transformers import LlamaConfig, LlamaForCausalLM

        kind, how, *adapter = name.split("-")
        if kind == "bfloat16" and "AVX512" not in torch.backends.cpu.get_cpu_capability():
            raise RuntimeError("left out: without instructions for bfloat16 a micro-batch takes minutes")
        self.torch, self.autocast = torch, kind == "bfloat16"
        self.model = LlamaForCausalLM(LlamaConfig(
            vocab_size=VOCAB, hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8,
            num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=1e6, tie_word_embeddings=True,
            max_position_embeddings=32768, attn_implementation="sdpa"))
        if adapter:
            self.model = with_adapter(self.model)
        self.model.train()
        self.run = torch.compile(self.model) if how == "compiled" else self.model
        self.ids = torch.randint(VOCAB, (MICRO, SEQ_LEN + 1))
        self.optimizer = torch.optim.AdamW(self.trained(), lr=5e-4, betas=(0.9, 0.95), weight_decay=0.1,
                                           fused=True)
        self.turn(True)

    def trained(self):
        return [p for p in self.model.parameters() if p.requires_grad]

    def turn(self, last):
        """Seconds of a micro-batch, and of the update if it is the LAST of a step."""
        torch = self.torch
        began = time.monotonic()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            logits = self.run(input_ids=self.ids[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), self.ids[:, 1:].flatten(), reduction="mean")
        loss.backward()
        if last:
            torch.nn.utils.clip_grad_norm_(self.trained(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
        return time.monotonic() - began


def main():
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"left out: {error.name} is not installed (BENCH_PYTHON names a Python that has it, or is venv)")
        return
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(42)
    print("torch", torch.__version__, "with", torch.backends.cpu.get_cpu_capability(), flush=True)
    modes = {}
    for line in sys.stdin:
        name, *last = line.split()
        try:
            if name == "memory":
                print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-9, flush=True)
                continue
            if name not in modes:
                modes[name] = Mode(torch, name)
            print(modes[name].turn(bool(last)), flush=True)
        except Exception as error:  # a compiler may be missing, for one
            print(f"{name}: {str(error).splitlines()[0]}", flush=True)


if os.environ.get("BENCH_PYTHON") == "venv":
    in_venv()
else:
    main()

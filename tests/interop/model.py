#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""model.py -- golden values of the model, made by transformers, PEFT and PyTorch.

Writes model.safetensors, which tests/interop/model.c reads:

    python3 model.py                  make the golden values afresh
    python3 model.py --check PROGRAM  compare everything, not only what is stored, with what
                                      tests/interop/model --dump=FILE writes

Weights, tokens and document boundaries come from formulas that model.c computes as well.  Each
document is run by itself, so transformers never sees a boundary.  Logits are those of the float32
model; losses, gradients and training runs are float64.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from safetensors.numpy import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "model.safetensors")
COLUMNS = 12  # logits stored of each token
SAMPLES = 32  # elements stored of each tensor's gradient
STEPS = 100   # updates of a training run

# hidden, layers, heads, kv heads, head_dim, ffn, vocabulary
CASES = {
    "llama-tied-gqa2": (LlamaConfig, (32, 2, 4, 2, 8, 45, 61), True, 1e-5, 1e6, 2, 64),
    "llama-untied-mha": (LlamaConfig, (24, 2, 3, 3, 8, 37, 53), False, 1e-6, 1e4, 1, 130),
    "llama-gqa4-wide-heads": (LlamaConfig, (32, 2, 4, 1, 20, 64, 48), True, 1e-5, 1e6, 2, 65),
    "llama-nano": (LlamaConfig, (16, 2, 2, 1, 8, 48, 67), True, 1e-5, 1e6, 3, 64),
    "qwen3-tied-gqa2": (Qwen3Config, (32, 2, 4, 2, 12, 51, 59), True, 1e-6, 1e6, 2, 71),
    "qwen3-untied-mha": (Qwen3Config, (30, 1, 3, 3, 10, 33, 80), False, 1e-5, 5e5, 1, 96),
    "qwen3-gqa4-small-heads": (Qwen3Config, (40, 3, 8, 2, 6, 57, 64), True, 1e-6, 1e5, 2, 80),
}
# Cases with an adapter: the case it belongs to, rank, alpha, targets.
LORA = {
    "llama-tied-gqa2-lora": ("llama-tied-gqa2", 3, 2.5, "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj"),
    "qwen3-gqa4-small-heads-lora": ("qwen3-gqa4-small-heads", 4, 8.0, "q_proj v_proj up_proj down_proj"),
}
SITES = [["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"], ["self_attn.o_proj"],
         ["mlp.gate_proj", "mlp.up_proj"], ["mlp.down_proj"]]
ADAPTER = 1 << 20  # where its parameters stand for the formula
# Cases that are also trained: learning rate, weight decay, clip.
RUNS = {"llama-nano": (2e-3, 0.1, 1.0), "qwen3-untied-mha": (3e-3, 0.01, 0.5),
        "llama-tied-gqa2-lora": (1e-2, 0.05, 1.0)}


# ---- formulas ----

def mix(n):
    """The finalizer of SplitMix64 on an array of 64-bit numbers."""
    with np.errstate(over="ignore"):
        n = np.asarray(n, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        n ^= n >> np.uint64(30)
        n *= np.uint64(0xBF58476D1CE4E5B9)
        n ^= n >> np.uint64(27)
        n *= np.uint64(0x94D049BB133111EB)
        return n ^ (n >> np.uint64(31))


def weights(offset, rows, cols):
    """Parameters that stand at OFFSET of the flat buffer; rows 0: a norm's."""
    n = np.arange(offset, offset + max(rows, 1) * cols) + 1
    u = (mix(n) >> np.uint64(40)).astype(np.float64) / 2**23 - 1
    if rows == 0:
        return (1 + u / 4).astype(np.float32)
    return (u * 2.0 ** -math.floor(math.log2(cols) / 2)).astype(np.float32).reshape(rows, cols)


def tokens(vocab, length, row):
    """A row of LENGTH + 1 ids, and where documents start: mostly a chain, so that it can be learnt."""
    n = 3 * np.arange(length + 1) + 1_000_000 * (row + 1)
    jump, start, where = mix(n), mix(n + 1) % np.uint64(24) == 0, mix(n + 2)
    start[0] = True
    ids = np.zeros(length + 1, np.int64)
    for t in range(length + 1):
        fresh = start[t] or jump[t] % np.uint64(8) == 0
        ids[t] = where[t] % np.uint64(vocab) if fresh else (5 * ids[t - 1] + 3) % vocab
    return ids, start


def targets(ids, start):
    """Next ids; -1 where another document starts and, for some, where a mask would forbid it."""
    out = ids[1:].copy()
    out[start[1:]] = -1
    out[mix(ids[1:] + np.arange(len(out))) % np.uint64(11) == 0] = -1
    return out


# ---- transformers ----

def case(name):
    return CASES[LORA[name][0] if name in LORA else name]


def make_config(name):
    # No pad token: nn.Embedding would withhold the gradient from its row.  theta for versions 4 and 5.
    cls, (h, layers, heads, kv, hd, ffn, vocab), tied, eps, theta, _, _ = case(name)
    return cls(hidden_size=h, num_hidden_layers=layers, num_attention_heads=heads,
               num_key_value_heads=kv, head_dim=hd, intermediate_size=ffn, vocab_size=vocab,
               tie_word_embeddings=tied, rms_norm_eps=eps,
               rope_theta=theta, rope_parameters={"rope_type": "default", "rope_theta": theta},
               bos_token_id=1, eos_token_id=2, pad_token_id=None, max_position_embeddings=256)


def parameters(model):
    """(name, parameter) in the order of our flat buffer."""
    c, own = model.config, dict(model.named_parameters())
    layer = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]
    if isinstance(c, Qwen3Config):
        layer += ["self_attn.q_norm", "self_attn.k_norm"]
    layer += ["self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
              "mlp.down_proj"]
    names = ["model.embed_tokens.weight"]
    for i in range(c.num_hidden_layers):
        names += [f"model.layers.{i}.{s}.weight" for s in layer]
    names += ["model.norm.weight"] + ([] if c.tie_word_embeddings else ["lm_head.weight"])
    assert set(names) == set(own), (names, own.keys())
    return [(n, own[n]) for n in names]


def fill(named, offset, dtype):
    """Values by the formula, from OFFSET of it on."""
    with torch.no_grad():
        for _, p in named:
            rows, cols = p.shape if p.dim() == 2 else (0, p.shape[0])
            p.copy_(torch.from_numpy(weights(offset, rows, cols)).to(dtype))
            offset += p.numel()


def adapter(model):
    """(name, parameter) of PEFT's adapter in the order of our flat buffer: the A of a site, then its B."""
    own = {k.replace(".default", ""): p for k, p in model.named_parameters() if "lora_" in k}
    names = [f"base_model.model.model.layers.{i}.{m}.lora_{which}.weight"
             for i in range(model.config.num_hidden_layers) for site in SITES for which in "AB" for m in site]
    names = [n for n in names if n in own]
    assert set(names) == set(own), (names, own.keys())
    return [(n, own[n]) for n in names]


def trained(model):
    return adapter(model) if hasattr(model, "peft_config") else parameters(model)


def add_adapter(model, name, dtype):
    _, rank, alpha, targets = LORA[name]
    model = get_peft_model(model, LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets.split()),
                           autocast_adapter_dtype=False).to(dtype)
    fill(adapter(model), ADAPTER, dtype)
    return model


def make_model(name, dtype):
    config = make_config(name)
    cls = LlamaForCausalLM if isinstance(config, LlamaConfig) else Qwen3ForCausalLM
    config._attn_implementation = "sdpa"
    model = cls(config).to(dtype)
    model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq.float()
    fill(parameters(model), 0, dtype)
    return add_adapter(model, name, dtype) if name in LORA else model


def use_double_norms():
    """Let RMSNorm of a float64 model be float64, where transformers goes through float32."""
    for cls in (LlamaRMSNorm, Qwen3RMSNorm):
        def forward(self, x, plain=cls.forward):
            if x.dtype != torch.float64:
                return plain(self, x)
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))
        cls.forward = forward


def run(model, rows):
    """Logits of all rows, each document by itself, and the loss of each token (0: no target)."""
    logits, losses = [], []
    for ids, start in rows:
        cuts = list(np.flatnonzero(start[:-1])) + [len(ids) - 1]
        for a, b in zip(cuts, cuts[1:]):
            x = torch.from_numpy(ids[a:b])[None]
            logits.append(model(input_ids=x, use_cache=False).logits[0])
        losses.append(torch.from_numpy(targets(ids, start)))
    logits, wanted = torch.cat(logits), torch.cat(losses)
    losses = torch.nn.functional.cross_entropy(logits, wanted, ignore_index=-1, reduction="none")
    return logits, losses, int((wanted >= 0).sum())


def case_rows(name, first=0, count=None):
    vocab, rows, length = case(name)[1][6], case(name)[5], case(name)[6]
    return [tokens(vocab, length, r) for r in range(first, first + (count or rows))]


def full_values(name):
    """Everything about a case: float32 logits, float64 losses and gradients of the summed loss."""
    rows = case_rows(name)
    with torch.no_grad():
        logits, _, _ = run(make_model(name, torch.float32), rows)
    model = make_model(name, torch.float64)
    _, losses, n = run(model, rows)
    losses.sum().backward()
    grads = {k: p.grad.numpy().reshape(-1) for k, p in trained(model)}
    return logits.numpy(), losses.detach().numpy(), grads, n


def train(name):
    """Mean loss before each update of an AdamW run, in float64."""
    rate, decay, clip = RUNS[name]
    count = case(name)[5]
    model = make_model(name, torch.float64)
    matrices = [p for _, p in trained(model) if p.dim() == 2]
    norms = [p for _, p in trained(model) if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": decay},
                                   {"params": norms, "weight_decay": 0.0}],
                                  lr=rate, betas=(0.9, 0.95), eps=1e-8)
    history = []
    for step in range(STEPS):
        _, losses, n = run(model, case_rows(name, step * count))
        loss = losses.sum() / n
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(matrices + norms, clip)
        optimizer.step()
        history.append(loss.item())
    return np.array(history)


# ---- golden values ----

def columns(vocab, n):
    """The columns of the logits that are stored, for each of N tokens."""
    return (mix(np.arange(n * COLUMNS) + 77) % np.uint64(vocab)).astype(np.int64).reshape(n, COLUMNS)


def samples(size):
    return (mix(np.arange(SAMPLES) + 99) % np.uint64(size)).astype(np.int64)


def text(s):
    """As a tensor: the order of metadata strings in a file is random."""
    return np.frombuffer(s.encode(), np.uint8)


def make_golden():
    tensors = {"cases": text(" ".join([*CASES, *LORA])), "runs": text(" ".join(RUNS))}
    for name in [*CASES, *LORA]:
        logits, losses, grads, n = full_values(name)
        _, _, _, _, _, rows, length = case(name)
        if name in LORA:
            _, rank, alpha, targets = LORA[name]
            tensors[name + ".lora"] = text(f"{rank} {alpha} {targets.replace(' ', ',')}")
        tensors[name + ".config"] = text(make_config(name).to_json_string(use_diff=True))
        tensors[name + ".shape"] = text(f"{rows} {length} {n}")
        tensors[name + ".logits"] = np.take_along_axis(logits, columns(*logits.shape[::-1]), 1)
        tensors[name + ".losses"] = losses.astype(np.float32)
        for k, g in grads.items():
            head = [np.abs(g).max(), np.sqrt((g * g).sum())]
            tensors[f"{name}.grad.{k}"] = np.concatenate([head, g[samples(g.size)]]).astype(np.float32)
        print(f"{name}: {logits.shape[0]} tokens, {n} targets, mean loss {losses.sum() / n:.4f}, "
              f"largest logit {np.abs(logits).max():.2f}")
    for name, (rate, decay, clip) in RUNS.items():
        history = train(name)
        tensors[name + ".run"] = text(f"{rate} {decay} {clip}")
        tensors[name + ".history"] = history
        print(f"{name}: loss {history[0]:.4f} -> {history[-1]:.4f} in {STEPS} steps")
    save_file(tensors, GOLDEN)
    print(f"{GOLDEN}: {os.path.getsize(GOLDEN)} bytes")


# ---- full comparison ----

def check(program):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dump.safetensors")
        subprocess.run([program, "--dump=" + path], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "srcdir": os.path.join(HERE, "../..")})
        ours = load_file(path)
    for name in [*CASES, *LORA]:
        logits, losses, grads, _ = full_values(name)
        errors = {"logits": np.abs(ours[name + ".logits"] - logits).max()}
        for k, g in grads.items():
            mine = ours[f"{name}.grad.{k}"].reshape(-1).astype(np.float64)
            errors[k] = np.abs(mine - g).max() / np.abs(g).max()
        worst = max(list(errors)[1:], key=errors.get)
        print(f"{name}: logits differ by {errors['logits']:.1e}, gradients of {len(grads)} tensors by at "
              f"most {errors[worst]:.1e} of their maximum ({worst})")
        bad += errors["logits"] > 1e-4 or errors[worst] > 1e-4
    for name in RUNS:
        error = np.abs(ours[name + ".history"] - train(name)).max()
        print(f"{name}: losses of {STEPS} steps differ by at most {error:.1e}")
        bad += error > 1e-3
    return int(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", metavar="PROGRAM", help="compare with what PROGRAM --dump writes")
    args = parser.parse_args()
    torch.set_num_threads(1)
    use_double_norms()
    if args.check:
        sys.exit(check(args.check) > 0)
    make_golden()


if __name__ == "__main__":
    main()

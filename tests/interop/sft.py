#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sft.py -- runs of minimind-sft in the current folder, loaded by transformers and PEFT.  Started by sft.sh.

full is a run of the whole model, lora and few are runs of adapters on base, merged is lora in base; all on the dataset
chat, whose loss masks are not all ones.
"""

import json
import sys

import peft
import torch
import transformers
from peft import PeftModel
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

tests = 0
failed = 0


def ok(good, name):
    global tests, failed
    tests += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}", flush=True)


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def adapted(run):
    return PeftModel.from_pretrained(load("base"), f"{run}/latest").eval()


def documents():
    """Ids and mask of each document of the validation rows."""
    rows = load_file("chat/validation-00000-of-00001.safetensors")
    for ids, starts, mask in zip(rows["input_ids"].long(), rows["doc_starts"], rows["loss_mask"]):
        cuts = starts.nonzero().flatten().tolist() + [len(ids)]
        for a, b in zip(cuts, cuts[1:]):
            yield ids[a:b], mask[a:b].bool()


def validation_loss(model):
    """Mean over the targets: tokens that the mask lets through, but the first of a document."""
    total, count = 0.0, 0
    for ids, mask in documents():
        if len(ids) > 1:
            with torch.no_grad():
                logits = model(ids[None, :-1]).logits[0].double()
            losses = torch.nn.functional.cross_entropy(logits, ids[1:], reduction="none")
            total += losses[mask[1:]].sum().item()
            count += mask[1:].sum().item()
    return total / count, count


def told(run):
    """What the run said of its last validation."""
    with open(f"{run}/log/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    last = [line for line in lines if "validation_loss" in line][-1]
    return last["validation_loss"], last["validation_tokens"]


def check_loss(run, model):
    (loss, count), (ours, targets) = validation_loss(model), told(run)
    ok(count == targets, f"{run}: as many targets ({count})")
    ok(abs(loss - ours) < 1e-5, f"{run}: the validation loss ({abs(loss - ours):.1e})")


def check_adapter(run, rank, alpha, modules):
    model = adapted(run)
    config = model.peft_config["default"]
    ok((config.r, config.lora_alpha, sorted(config.target_modules)) == (rank, alpha, sorted(modules)),
       f"{run}: PEFT reads its configuration")
    name = f"{run}/latest/adapter_model.safetensors"
    want = load_file(name)
    found = {k.replace(".default", ""): v for k, v in model.state_dict().items() if "lora_" in k}
    ok(found.keys() == want.keys() and all(torch.equal(found[k], want[k]) for k in want),
       f"{run}: PEFT loads each tensor ({len(want)})")
    with safe_open(name, "pt") as f:
        ok(f.metadata()["format"] == "pt", f"{run}: metadata")
    check_loss(run, model)
    return model


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    print(f"# transformers {transformers.__version__}, peft {peft.__version__}")
    check_loss("full", load("full/latest"))
    check_adapter("few", 2, 3, ["k_proj", "o_proj", "down_proj"])
    model = check_adapter("lora", 3, 6, ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    ids = torch.tensor([[5, 90, 104, 35, 7]])
    with torch.no_grad():
        diff = (model(ids).logits - load("merged")(ids).logits).abs().max().item()
    ok(diff < 1e-4, f"merged: PEFT's logits ({diff:.1e})")
    merged, ours = model.merge_and_unload().state_dict(), load_file("merged/model.safetensors")
    worst = max(((merged[k] - ours[k]).abs().max() / ours[k].abs().max()).item() for k in ours)
    ok(worst < 1e-6, f"merged: PEFT's weights, of their largest ({worst:.1e})")
    print(f"1..{tests}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

#!/bin/sh
# Real text through the whole chain, and the same training in PyTorch beside it.
# SPDX-License-Identifier: Apache-2.0
#
#   PYTHON=VENV/bin/python tests/interop/real-text.sh WORKDIR CORPUS...
#
# For each corpus (text or JSON Lines): train a tokenizer, tokenize, pack, let transformers write the
# initial weights, train minimind2-small for STEPS (200) steps of 4 rows here and in PyTorch, evaluate
# both on the same validation rows.  Prints both losses and their ratio; fails when they differ by more
# than 2%.  The tools are found on PATH; PYTHON needs torch, transformers, safetensors, numpy.  Without
# PYTHON only our half runs.
set -eu
work=$1; shift
here=$(cd "$(dirname "$0")" && pwd)
steps=${STEPS:-200}
status=0

for corpus in "$@"; do
  name=$(basename "$corpus"); name=${name%%.*}
  dir=$work/$name
  rm -rf "$dir"; mkdir -p "$dir"
  minimind-train-tokenizer -q --vocab-size=6400 "$corpus" -o "$dir/tokenizer.json"
  minimind-tokenize -q --tokenizer="$dir/tokenizer.json" "$corpus" -o "$dir/tokens.safetensors"
  minimind-pack --seq-len=512 --validation=0.05 "$dir/tokens.safetensors" -o "$dir/data"
  if test "${PYTHON-}"; then
    "$PYTHON" "$here/torch_loop.py" --init-only="$dir/init" --data="$dir/data"
    start=--model=$dir/init
  else
    start=--preset=minimind2-small
  fi
  minimind-pretrain --data="$dir/data" --output="$dir/run" "$start" \
    --global-batch=4 --steps="$steps" --save-every=0
  minimind-eval -q --model="$dir/run" --data="$dir/data" --json >"$dir/ours.json"
  minimind-generate -q --model="$dir/run" --max-tokens=40 --seed=1 "The" || status=1
  echo
  test "${PYTHON-}" || { echo "$name: $(cat "$dir/ours.json")"; continue; }
  "$PYTHON" "$here/torch_loop.py" --model="$dir/init" --data="$dir/data" --steps="$steps" >"$dir/torch.json"
  "$PYTHON" - "$name" "$dir/ours.json" "$dir/torch.json" <<'END' || status=1
import json, sys
ours, torch = (json.load(open(p))["loss"] for p in sys.argv[2:4])
print(f"{sys.argv[1]}: validation loss {ours:.4f} here, {torch:.4f} in PyTorch, ratio {ours / torch:.4f}")
sys.exit(abs(ours / torch - 1) > 0.02)
END
done
exit $status

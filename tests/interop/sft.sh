# sft.sh -- what minimind-sft writes, loaded by transformers and PEFT, where they are installed.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
script=$(cd "$srcdir" && pwd)/tests/interop/sft.py
python=${PYTHON:-python3}
"$python" -c 'import torch, transformers, peft, safetensors' 2>/dev/null || skip_all "no PEFT for $python"
tune ()
{
  minimind-sft -q --threads=1 --model=base --data=chat --global-batch=8 --micro-batch=2 --steps=20 --learning-rate=1e-2 \
    --eval-every=20 "$@"
}
"$builddir/tests/make-dataset" chat 40 6 32 2 259 mask && "$builddir/tests/make-input" model base \
  && tune --output=full && tune --output=lora --lora-rank=3 \
  && tune --output=few --lora-rank=2 --lora-alpha=3 --lora-targets=k,o,down \
  && minimind-lora-merge -q --base=base --adapter=lora -o merged || exit 99
PYTHONDONTWRITEBYTECODE=1 "$python" "$script"

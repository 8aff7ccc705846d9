# memory.sh -- what --dry-run says a run will take is what it takes, within a tenth.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"

peak=$builddir/tests/peak-memory
test "$($peak true)" -gt 0 || skip_all "sanitizers take memory of their own"
awk -f "$srcdir/examples/tales.awk" | head -n 2000 >tales.jsonl
{ minimind-train-tokenizer -q --vocab-size=2000 tales.jsonl -o tokenizer.json \
    && minimind-tokenize -q --tokenizer=tokenizer.json tales.jsonl -o tok \
    && minimind-pack -q --seq-len=256 tok -o d; } >made 2>&1 || { sed 's/^/# /' made; exit 99; }

# bytes TEXT: of "83 MB" and the like.
bytes () { echo "$1" | awk '{ k = index ("kMGT", substr ($2, 1, 1)); print $1 * 1000 ^ k }'; }

# measured OPTION...: what the trainer says, and its peak; with several ranks, of rank 0.
ranks=1 trainer=pretrain
measured ()
{
  if test $trainer = sft; then set -- --model=base "$@"; else set -- --preset=tiny "$@"; fi
  if test $ranks = 1; then $peak minimind-$trainer "$@"
  else minimind-launch -n $ranks -- $peak minimind-$trainer "$@" | grep -v '^\[rank'; fi
}

# as_told OPTION...: a run takes as much more than a dry run, which opens and links the same, as the latter told.
as_told ()
{
  empty=$(measured --data=d "$@" --dry-run 2>&1 | tee told | tail -n 1)
  told=$(bytes "$(sed -n 's/^  total  *\([0-9.]* [kMGT]*B\)$/\1/p' told)")
  rm -rf run
  took=$(measured -q --data=d "$@" --output=run --steps=2)
  echo "told $told, took $took, of that without training $empty"
  awk -v told="$told" -v took="$((took - empty))" 'BEGIN { print took / told; exit !(took > 0.9 * told && took < 1.1 * told) }'
}
for threads in 1 2; do
  for micro in 1 2 4 8; do
    ok "$threads threads, micro-batch $micro" as_told --threads=$threads --global-batch=8 --micro-batch=$micro
  done
done
minimind-pretrain -q --data=d --preset=tiny --output=base --steps=1 --global-batch=8 || exit 99
trainer=sft
for micro in 1 4; do
  ok "fine-tuned, micro-batch $micro" as_told --threads=1 --global-batch=8 --micro-batch=$micro
  ok "an adapter, micro-batch $micro" as_told --threads=1 --global-batch=8 --micro-batch=$micro --lora-rank=8
done
trainer=pretrain
ranks=2
for zero in 0 1; do
  ok "two ranks, ZeRO $zero" as_told --threads=1 --global-batch=8 --micro-batch=4 --zero=$zero
done
tap_done

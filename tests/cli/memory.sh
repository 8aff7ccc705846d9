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

# measured OPTION...: what pretrain says, and its peak; with several ranks, of rank 0.
ranks=1
measured ()
{
  if test $ranks = 1; then $peak minimind-pretrain "$@"
  else minimind-launch -n $ranks -- $peak minimind-pretrain "$@" | grep -v '^\[rank'; fi
}

# as_told OPTION...: a run takes as much more than a dry run, which opens and links the same, as the latter told.
as_told ()
{
  empty=$(measured --data=d --preset=tiny "$@" --dry-run 2>&1 | tee told | tail -n 1)
  told=$(bytes "$(sed -n 's/^  total  *\([0-9.]* [kMGT]*B\)$/\1/p' told)")
  rm -rf run
  took=$(measured -q --data=d --preset=tiny "$@" --output=run --steps=2)
  echo "told $told, took $took, of that without training $empty"
  awk -v told="$told" -v took="$((took - empty))" 'BEGIN { print took / told; exit !(took > 0.9 * told && took < 1.1 * told) }'
}
for threads in 1 2; do
  for micro in 1 2 4 8; do
    ok "$threads threads, micro-batch $micro" as_told --threads=$threads --global-batch=8 --micro-batch=$micro
  done
done
ranks=2
for zero in 0 1; do
  ok "two ranks, ZeRO $zero" as_told --threads=1 --global-batch=8 --micro-batch=4 --zero=$zero
done
tap_done

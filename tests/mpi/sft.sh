# sft.sh -- fine-tuning with ranks: one digest over ranks, threads, ZeRO and stops, whole and by an adapter.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/mpi/ranks-lib.sh"
"$builddir/tests/make-dataset" chat 84 6 32 2 259 mask && "$builddir/tests/make-input" model base \
  && "$builddir/tests/make-input" model other 259 2 || exit 99

# sft OUT OPTION...: 12 steps; an epoch ends with a short window.
sft ()
{
  out=$1; shift
  echo minimind-sft -q --model=base --data=chat --output="$out" --global-batch=16 --micro-batch=2 --steps=12 \
    --learning-rate=1e-2 --save-every=5 "$@"
}
same () { found=$(digest_of "$1"); echo "found $found, want $2"; test "$found" = "$2"; }
# straight GOAL LORA RANKS THREADS ZERO
straight () { rm -rf next; ranks "$3" $(sft next $2 --threads="$4" --zero="$5") && same next "$1"; }
# resumed GOAL LORA RANKS THREADS ZERO RANKS: stopped after 7 steps, then on another number of ranks, ZeRO the other way.
resumed ()
{
  rm -rf next
  status_is 75 ranks "$3" $(sft next $2 --threads="$4" --zero="$5" --stop-after=7) \
    && ranks "$6" $(sft next $2 --threads="$4" --zero=$((1 - $5))) && same next "$1"
}

for lora in '' --lora-rank=3; do
  rm -rf one
  $(sft one $lora --threads=1) || exit 99
  goal=$(digest_of one)
  for cell in '1 2 1' '2 1 0' '2 2 1' '3 1 1' '3 2 0'; do
    ok "${lora:-whole}: ranks, threads, ZeRO: $cell" straight "$goal" "$lora" $cell
  done
  for cell in '1 2 0 3' '2 1 1 1' '3 1 1 2'; do
    ok "${lora:-whole}: ranks, threads, ZeRO, ranks after the stop: $cell" resumed "$goal" "$lora" $cell
  done
done

# ---- one rank that differs ----

touch stdout stderr             # of refused

differing ()
{
  ranks 2 sh -c 'extra=$1; shift; test $MM_RANK = 1 || extra=; exec "$@" $extra' sh "$1" $(sft none --lora-rank=3)
}
refused "one rank with another base" 78 'rank 1 has another base model' differing --model=other
refused "one rank with another rank of the adapter" 78 'rank 1 has another run than rank 0' differing --lora-rank=2

# ---- what is summed ----

told () { ranks 2 minimind-sft --model=base --data=chat --output=seen --global-batch=16 --micro-batch=2 --steps=2 --lora-rank=2 2>said
          cat said; grep -F '10368 parameters, frozen, and an adapter of 1216' said; }
ok "what is trained is told once" told
fast () { rm -rf next; ranks 3 $(sft next --lora-rank=3 --reduce=fast --zero="$1") && digest_of next >fast-"$1"; }
ok "sums of float32" fast 0
ok "shared out, too" fast 1
ok "are the same either way" cmp fast-0 fast-1
tap_done

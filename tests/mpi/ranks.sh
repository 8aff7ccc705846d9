# ranks.sh -- training with ranks: the same bits for any number of them; refusals; ranks that are lost.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/mpi/ranks-lib.sh"

$(pretrain one) || exit 99
goal=$(digest_of one)

# same NAME: the run NAME ended in the one process's bits.
same () { found=$(digest_of "$1"); echo "found $found, want $goal"; test "$found" = "$goal"; }

# ---- the same bits ----

# straight RANKS THREADS ZERO
straight () { rm -rf next; ranks "$1" $(pretrain next --threads="$2" --zero="$3") && same next; }
# resumed RANKS THREADS ZERO RANKS: stopped after 7 steps, then on another number of ranks, ZeRO the other way.
resumed ()
{
  rm -rf next
  status_is 75 ranks "$1" $(pretrain next --threads="$2" --zero="$3" --stop-after=7) \
    && ranks "$4" $(pretrain next --threads="$2" --zero=$((1 - $3))) && same next
}
# cell RANKS THREADS ZERO TRANSPORT [RANKS]
cell () { if test "${5-}"; then resumed $1 $2 $3 $5; else straight $1 $2 $3; fi; }
test "${MM_LONG-}" && matrix cell shm
for cell in '2 1 0' '2 2 1' '3 1 1' '3 2 0' '4 1 0' '4 1 1' '5 1 1' '8 1 0' '8 1 1'; do
  ok "ranks, threads, ZeRO: $cell" straight $cell
done
for cell in '1 2 0 3' '2 1 1 1' '2 1 0 5' '3 1 1 2' '5 2 0 4' '4 1 1 8' '8 1 1 1'; do
  ok "ranks, threads, ZeRO, ranks after the stop: $cell" resumed $cell
done

# ---- other ways to sum ----

small_buckets () { rm -rf next; ranks 3 $(pretrain next --bucket-mb=1 --check-replicas=2 --eval-every=4) && same next; }
ok "small buckets, replica checks and evaluations change no bit" small_buckets
$(buckets tiny) || exit 99
goal_of_tiny=$(digest_of tiny)
many_buckets () { rm -rf next; ranks "$1" $(buckets next --zero="$2") && test "$(digest_of next)" = "$goal_of_tiny"; }
for cell in '2 0' '3 1' '4 0'; do
  ok "many buckets, summed while backward runs: ranks, ZeRO: $cell" many_buckets $cell
done
many_resumed ()
{
  rm -rf next
  status_is 75 ranks 3 $(buckets next --zero=1 --stop-after=1) && ranks 2 $(buckets next --bucket-mb=2 --balance) \
    && test "$(digest_of next)" = "$goal_of_tiny"
}
ok "stopped, and resumed in other buckets on another number of ranks" many_resumed
fast () { rm -rf next; ranks 3 $(pretrain next --reduce=fast --zero="$1"); digest_of next >fast-"$1"; }
ok "sums of float32" fast 0
ok "shared out, too" fast 1
ok "are the same either way" cmp fast-0 fast-1
ok "and not the exact ones" sh -c '! test "$(cat fast-0)" = "$0"' "$goal"
fast_then_exact () { status_is 78 run ranks 2 $(pretrain next --steps=14 --schedule=constant); says 'reduce: want absent'; }
ok "a run that was summed as float32 does not go on exactly by mistake" fast_then_exact

# ---- unequal ranks ----

# balanced RANKS OPTION...: rank 1 computes with the plain kernels, far slower than others.
unequal () { size=$1; shift; ranks "$size" sh -c 'test $MM_RANK != 1 || export MM_CPU=generic; exec "$@"' sh "$@"; }
balanced () { rm -rf next; unequal "$@" $(buckets next --balance --steps=12 --zero=1); }
last_shares () { sed -n 's/.*"event": *"balance".*"micro_batches": *\[\([0-9, ]*\)\].*/\1/p' next/log/events.jsonl | tail -n 1; }
slow_has_less () { echo "shares: $(last_shares)"; last_shares | tr -d ' ' | awk -F, '{ exit !($1 + $2 == 8 && $2 < $1) }'; }
rm -rf next
$(buckets twelve --steps=12) || exit 99
ok "--balance changes no bit" balanced 2
ok "the same bits" sh -c 'test "$(minimind-ckpt-inspect --sha256 next | sed "s/ .*//")" = "$(minimind-ckpt-inspect --sha256 twelve | sed "s/ .*//")"'
case $(minimind-pretrain --version) in
  *"generic "*) ok "a rank that is slower gets less" slow_has_less ;;
  *) tap_skip "a rank that is slower gets less" "there is one set of kernels only" ;;
esac
balanced_resumed ()
{
  rm -rf next
  status_is 75 unequal 3 $(pretrain next --threads=1 --balance --stop-after=7) \
    && unequal 2 $(pretrain next --threads=1 --balance --zero=1) && same next
}
ok "stopped, and resumed on another number of ranks" balanced_resumed
ok "what is printed tells" sh -c "$(pretrain dry --balance --dry-run) && minimind-launch -n 3 -- $(pretrain dry --balance --dry-run) >said-dry && grep 'at first: then dealt by measured speed' said-dry"

# ---- what is told ----

told () { grep -F -e "$1" "$tap_dir/stderr"; }
rm -rf next
ok "without -q" run ranks 2 $(pretrain next | sed 's/ -q / /')
ok "the ranks are listed once" told "2 ranks, transport shm"
ok "each with its place" told "rank 1  $(uname -n)"
ok "the equation names them" told "8 micro-batches of 2 on 2 ranks"
ok "what the sum took is told" told "% summing gradients"
once () { test "$(grep -c 'parameters;' "$tap_dir/stderr")" = 1; }
ok "nothing is said twice" once
ok "the log knows the ranks" grep -q '"ranks": *2' next/log/events.jsonl
ok "and the time that they waited" grep -q '"wait"' next/log/metrics.jsonl

# ---- refusals ----

# differing OPTION: rank 1 gets it, rank 0 does not.
differing ()
{
  ranks 2 sh -c 'extra=$1; shift; test $MM_RANK = 1 || extra=; exec "$@" $extra' sh "$1" $(pretrain none)
}
"$builddir/tests/make-dataset" data2 84 7 32 || exit 99
refused "one rank with another dataset" 78 'rank 1 has another dataset' differing --data=data2
refused "one rank with another model" 78 'rank 1 has another model' differing --preset=tiny
refused "one rank with other steps" 78 'rank 1 has another command line than rank 0: found .*--steps=9' differing --steps=9
refused "one rank with another learning rate" 78 'rank 1 has another run' differing --learning-rate=1e-3
too_many () { status_is 64 run ranks 9 $(pretrain none) && test "$(grep -c 'at most 8 ranks' "$tap_dir/stderr")" = 1; }
ok "more ranks than micro-batches" too_many
refused "a file that only one rank lacks" 66 'rank 1: nowhere' differing --data=nowhere
alone () { env "$1=2" $(pretrain none); }
for variable in OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_NTASKS WORLD_SIZE; do
  refused "a lone process under $variable" 64 "$variable is 2" alone $variable
done
refused "a rank without its launcher" 64 'nothing to join' env MM_RANK=0 MM_WORLD_SIZE=2 MM_LOCAL_RANK=0 \
  MM_LOCAL_SIZE=2 $(pretrain none)
ok "unless it is to be alone" env SLURM_NTASKS=2 $(pretrain alone --transport=self)
busy () { (exec 9>>one/LOCK; flock 9; true); status_is 64 run ranks 2 $(pretrain one --resume=never)
          test "$(grep -c 'is there already' "$tap_dir/stderr")" = 1; }
ok "a refusal of rank 0 is told once" busy

# ---- ranks that are lost ----

# A run that lasts until it is ended, in the background, as $launcher; wait for its first checkpoint.  TIMEOUT: of ranks,
# longer than a save takes on a busy machine.
long_run ()
{
  rm -rf long
  minimind-launch -n 3 -- $(pretrain long --steps=1000000 --save-every=50 --keep=2 --timeout="$1" --threads=1) \
    2>said & launcher=$!
  i=0; while test ! -e long/latest && test $i -lt 400; do sleep 0.05; i=$((i + 1)); done
}
# The process of rank R of the run.
rank_process () { for p in $(pgrep -P $launcher); do tr '\0' '\n' </proc/$p/environ | grep -q -x "MM_RANK=$1" && echo $p; done; }
all_gone ()
{
  i=0
  while test -n "$(pgrep -f 'output=long' -g "$group")" && test $i -lt 100; do sleep 0.05; i=$((i + 1)); done
  test -z "$(pgrep -f 'output=long' -g "$group")"
}
lost ()
{
  long_run "$4"
  group=$(rank_process 0) victim=$(rank_process "$1")
  kill -"$2" "$victim"
  wait $launcher; result=$?
  cat said
  test $result = 75 && grep -e "$3" said && all_gone && minimind-ckpt-inspect --verify long
}
if command -v pgrep >/dev/null; then
  ok "a rank that is killed is named, status 75, checkpoints stand" lost 1 KILL 'rank 1 of 3 (process [0-9]*) ended' 600
  ok "rank 0, too" lost 0 KILL 'rank 0 of 3 (process [0-9]*) ended' 600
  ok "a rank that hangs is named at the deadline" lost 2 STOP 'rank 2 of 3 has not come to a .* within 8 s' 8
  saved () { long_run 600; group=$(rank_process 0); kill -TERM $launcher; wait $launcher; test $? = 75 && grep 'stopped and saved' said && all_gone; }
  ok "SIGTERM to the launcher: saved, status 75" saved
else
  tap_skip "ranks that are lost" "no pgrep"
fi
tap_done

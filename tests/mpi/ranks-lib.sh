# ranks-lib.sh -- sourced by the tests of training with ranks: a small run, its digest, ways to start ranks.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/cli/said.sh"

# What the MPI library keeps to its end is no leak of ours.
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0; export ASAN_OPTIONS

touch after                     # of refused
"$builddir/tests/make-dataset" data 84 6 32 || exit 99

# pretrain OUT OPTION...: 12 steps of nano; an epoch of 84 rows ends with a short window of 4 rows, two micro-batches.
pretrain ()
{
  out=$1; shift
  echo minimind-pretrain -q --preset=nano --data=data --output="$out" --global-batch=16 --micro-batch=2 \
    --steps=12 --learning-rate=1e-2 --save-every=5 "$@"
}

# buckets OUT OPTION...: three steps of tiny, whose gradient is nine buckets.
buckets () { out=$1; shift; pretrain "$out" --preset=tiny --steps=3 --bucket-mb=1 --threads=1 "$@"; }

# ranks N COMMAND...: start it as N ranks, or as one process.
ranks ()
{
  size=$1; shift
  if test "$size" = 1; then "$@"; else minimind-launch -n "$size" -- "$@"; fi
}

# gone PID: it ends within ten seconds; what nobody has waited for counts.
gone ()
{
  for i in 1 2 3 4 5 6 7 8 9 10; do
    state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)
    case $state in ''|Z) return 0 ;; esac
    sleep 1
  done
  echo "process $1 is still there: $state"
  return 1
}

# matrix FUNCTION TRANSPORT: all ranks, threads, ZeRO; straight, and resumed on another number of ranks.  What ok calls
# runs in this shell: no function sets these variables.
matrix ()
{
  for matrix_ranks in 1 2 3 4 5 8; do
    case $matrix_ranks in 1) other=5 ;; 2) other=3 ;; 3) other=8 ;; 4) other=1 ;; 5) other=2 ;; 8) other=4 ;; esac
    for matrix_threads in 1 2; do
      for matrix_zero in 0 1; do
        set -- "$1" "$2" $matrix_ranks $matrix_threads $matrix_zero $other
        ok "$2: $3 ranks, $4 threads, ZeRO $5" "$1" $3 $4 $5 $2
        ok "$2: $3 ranks, $4 threads, ZeRO $5, then $6 ranks" "$1" $3 $4 $5 $2 $6
      done
    done
  done
}

digest_of () { minimind-ckpt-inspect --sha256 "$1" | sed 's/ .*//'; }

# mpi.sh -- ranks started by mpirun: the same bits as of one process, through shared memory and by messages only.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/mpi/ranks-lib.sh"

command -v mpirun >/dev/null || skip_all "no mpirun"
minimind-pretrain --version | grep -q '^transports: .*mpi' || skip_all "built without MPI"
case $(cat "$builddir/config.status") in *fsanitize*) skip_all "MPI libraries are not built for sanitizers" ;; esac

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM

# mpi N COMMAND...
# One way to send messages, the same for all: ranks that choose for themselves may differ.
mpi () { size=$1; shift; mpirun --mca pml ob1 --oversubscribe --bind-to none -n "$size" "$@"; }

$(pretrain one) || exit 99
goal=$(digest_of one)
same () { found=$(digest_of "$1"); echo "found $found, want $goal"; test "$found" = "$goal"; }

# straight RANKS THREADS ZERO TRANSPORT
straight () { rm -rf next; mpi "$1" $(pretrain next --threads="$2" --zero="$3" --transport="$4") && same next; }
# cell RANKS THREADS ZERO TRANSPORT [RANKS]
cell ()
{
  if test -z "${5-}"; then straight "$@"; return; fi
  rm -rf next
  status_is 75 mpi $1 $(pretrain next --threads=$2 --zero=$3 --transport=$4 --stop-after=7) \
    && mpi $5 $(pretrain next --threads=$2 --zero=$((1 - $3)) --transport=$4) && same next
}
if test "${MM_LONG-}"; then
  matrix cell mpi
  matrix cell auto
fi
for cell in '2 1 0 mpi' '3 1 1 mpi' '5 1 0 mpi' '4 1 1 auto' '3 2 0 auto'; do
  ok "ranks, threads, ZeRO, transport: $cell" straight $cell
done

$(buckets tiny) || exit 99
goal_of_tiny=$(digest_of tiny)
many_buckets ()
{
  rm -rf next
  mpi "$1" $(buckets next --zero="$2" --transport="$3") && test "$(digest_of next)" = "$goal_of_tiny"
}
for cell in '3 0 mpi' '2 1 mpi' '3 1 auto'; do
  ok "many buckets, summed while backward runs: ranks, ZeRO, transport: $cell" many_buckets $cell
done

# Rank 1 computes with the plain kernels, far slower than others.
balanced ()
{
  rm -rf next
  mpi 3 sh -c 'test $OMPI_COMM_WORLD_RANK != 1 || export MM_CPU=generic; exec "$@"' sh \
    $(buckets next --balance --steps=12 --zero="$1" --transport="$2") && test "$(digest_of next)" = "$goal_of_twelve"
}
$(buckets twelve --steps=12) || exit 99
goal_of_twelve=$(digest_of twelve)
for cell in '0 mpi' '1 auto'; do
  ok "dealt by measured speed: ZeRO, transport: $cell" balanced $cell
done

# Begun through messages, gone on with through shared memory, and the other way round.
resumed ()
{
  rm -rf next
  status_is 75 mpi 3 $(pretrain next --threads=1 --zero=1 --transport=mpi --stop-after=7) \
    && ranks 2 $(pretrain next --threads=1) && same next
}
ok "stopped under mpirun, resumed under minimind-launch" resumed
resumed_by_mpi ()
{
  rm -rf next
  status_is 75 ranks 4 $(pretrain next --threads=1 --stop-after=7) \
    && mpi 2 $(pretrain next --threads=1 --zero=1 --transport=mpi) && same next
}
ok "and the other way round" resumed_by_mpi
by_launch () { rm -rf next; minimind-launch -n 3 --hosts=localhost:3 --no-pin -- $(pretrain next --threads=1) && same next; }
ok "minimind-launch --hosts" by_launch

rm -rf next
ok "without -q" run mpi 2 $(pretrain next | sed 's/ -q / /')
ok "the transport is told" says '2 ranks, transport mpi+shm'
once () { test "$(grep -c 'parameters;' "$tap_dir/stderr")" = 1; }
ok "nothing is said twice" once

# ---- misuse ----

disagrees () { status_is 64 run mpi 2 env WORLD_SIZE=3 $(pretrain none); says 'WORLD_SIZE is 3'; }
ok "another launcher's number of ranks is refused" disagrees
status_of_all () { status_is 64 run mpi 9 $(pretrain none); says 'at most 8 ranks'; }
ok "more ranks than micro-batches" status_of_all
if strace -o trace true 2>/dev/null; then
  slow_to_tell ()
  {
    status_is 64 run mpi 9 sh -c 'test $OMPI_COMM_WORLD_RANK = 0 || exec "$@"
      exec strace -f -o trace -e trace=write,writev -e inject=write,writev:delay_enter=30000 "$@"' sh $(pretrain none)
    says 'at most 8 ranks'
  }
  ok "told also by a rank 0 that is slow" slow_to_tell
else
  tap_skip "a rank 0 that is slow to tell" "strace cannot trace here"
fi
lost ()
{
  rm -rf long
  mpi 3 $(pretrain long --steps=1000000 --save-every=50 --threads=1 --transport="$1" --timeout=8) 2>said &
  i=0; while test ! -e long/latest && test $i -lt 400; do sleep 0.05; i=$((i + 1)); done
  for p in $(pgrep -f 'output=long .*transport='"$1"); do
    if tr '\0' '\n' <"/proc/$p/environ" | grep -q -x OMPI_COMM_WORLD_RANK=1; then victim=$p; fi
  done
  kill -"$2" "$victim"
  wait $!; result=$?
  cat said
  test $result = "$3" && minimind-ckpt-inspect --verify long && gone "$victim"
}
if command -v pgrep >/dev/null; then
  ok "a rank that hangs is named by those that share its host" lost auto STOP 75
  ok "and by messages that do not come" lost mpi STOP 75
  ok "with its number" grep 'rank 1 has not answered' said
else
  tap_skip "ranks that hang" "no pgrep"
fi

# Too little of /dev/shm, in a mount namespace of its own.
if unshare -m true 2>/dev/null && unshare -m mount -t tmpfs -o size=1m tmpfs /dev/shm 2>/dev/null; then
  cramped () { unshare -m sh -c 'mount -t tmpfs -o size="$1" tmpfs /dev/shm; shift; exec "$@"' sh "$@"; }
  too_small ()
  {
    status_is 74 run cramped "$1" mpirun --mca btl self,tcp --mca pml ob1 --oversubscribe -n 2 $(pretrain none)
    says '/dev/shm has .* left: mount it larger'
  }
  ok "too little shared memory to begin with is told" too_small 1m
  if strace -o trace true 2>/dev/null; then
    slow_and_small ()
    {
      status_is 74 run cramped 1m mpirun --mca btl self,tcp --mca pml ob1 --oversubscribe -n 2 sh -c '
        test $OMPI_COMM_WORLD_RANK = 0 || exec "$@"
        exec strace -f -o trace -e trace=write,writev -e inject=write,writev:delay_enter=30000 "$@"' sh $(pretrain none)
      says '/dev/shm has .* left: mount it larger'
    }
    ok "told also by a rank 0 that is slow" slow_and_small
  else
    tap_skip "a rank 0 that is slow to tell" "strace cannot trace here"
  fi
  flat ()
  {
    rm -rf next
    cramped 1m mpirun --mca btl self,tcp --mca pml ob1 --oversubscribe -n 2 $(pretrain next --transport=mpi) && same next
  }
  ok "and what helps helps" flat
else
  tap_skip "too little shared memory" "mount namespaces are not permitted"
fi
tap_done

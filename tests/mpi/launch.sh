# launch.sh -- minimind-launch: what ranks inherit, how they end together, whose status it passes on.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/cli/said.sh"

# ---- what ranks find ----

each_rank_once ()
{
  minimind-launch -n 3 --no-prefix -- sh -c 'echo "$MM_RANK of $MM_WORLD_SIZE, $MM_LOCAL_RANK of $MM_LOCAL_SIZE"' | sort >ranks
  printf '%s of 3, %s of 3\n' 0 0 1 1 2 2 | cmp - ranks
}
ok "each rank learns which it is" each_rank_once

prefixed ()
{
  minimind-launch -n 2 -- sh -c 'echo out; echo err >&2; test $MM_RANK = 0 || printf end' >said-1 2>said-2
  grep -x -c out said-1 && grep -x '\[rank 1\] out' said-1 && grep -x '\[rank 1\] err' said-2 \
    && grep -x '\[rank 1\] end' said-1 && ! grep '\[rank 0\]' said-1 said-2
}
ok "lines of ranks beyond 0 carry their rank, the last one without an end, too" prefixed

long_lines ()
{
  minimind-launch -n 2 -- sh -c 'test $MM_RANK = 0 || yes "a line" | head -n 20000' >lines
  test "$(grep -c -x '\[rank 1\] a line' lines)" = 20000
}
ok "all lines arrive, whole" long_lines

input_goes_to_rank_0 () { test "$(echo hello | minimind-launch -n 2 --no-prefix -- cat)" = hello; }
ok "standard input goes to rank 0" input_goes_to_rank_0

if test "$(getconf _NPROCESSORS_ONLN)" -ge 2 && command -v taskset >/dev/null; then
  masks () { minimind-launch -n 2 --no-prefix "$@" -- sh -c 'taskset -cp $$ | sed "s/.*: //"' | sort -u | wc -l; }
  ok "ranks are bound to different processors" test "$(masks)" = 2
  ok "unless asked not to" test "$(masks --no-pin)" = 1
else
  tap_skip "ranks are bound to different processors" "one processor, or no taskset"
  tap_skip "unless asked not to" "one processor, or no taskset"
fi

# ---- how they end ----

ok "all ranks succeed" minimind-launch -n 3 -- true
ok "a rank's status is passed on" status_is 7 minimind-launch -n 3 -- sh -c 'test $MM_RANK = 1 && exit 7; exit 0'
ok "and the others are ended" status_is 7 minimind-launch -n 3 -- sh -c 'test $MM_RANK = 2 && exit 7; exec sleep 1000'
ok "another status comes before 75" status_is 65 minimind-launch -n 2 -- sh -c \
  'if test $MM_RANK = 1; then sleep 1; exit 65; fi; exit 75'
# Told to end again and again: ranks that ignore it are killed.
insist ()
{
  minimind-launch -n 2 --grace=0.2 -- sh -c 'trap "" TERM; echo up; while :; do sleep 1; done' >up 2>insisted & pid=$!
  while test "$(grep -c up up)" != 2 && kill -0 $pid; do sleep 0.1; done
  while kill $pid 2>/dev/null; do sleep 0.1; done
  wait $pid
  cat insisted
  grep 'killing them' insisted
}
ok "a launcher that is told to end twice kills ranks that do not" insist
ok "a rank that ignores SIGTERM is killed after the grace" status_is 3 minimind-launch -n 2 --grace=0.2 -- sh -c \
  'test $MM_RANK = 1 && exit 3; trap "" TERM; while :; do sleep 0.1; done'

killed ()
{
  status_is 75 run minimind-launch -n 2 -- sh -c 'test $MM_RANK = 1 && kill -9 $$; exec sleep 1000' \
    && says 'rank 1 (process [0-9]*) was killed by signal 9'
}
ok "a rank that is killed is named, with status 75" killed

no_command () { status_is 66 run minimind-launch -n 2 -- ./no-such-tool && says 'no-such-tool: No such file'; }
ok "a command that is not there is named" no_command

# How often the command ran: once a restart.
restarted ()
{
  rm -f runs
  status_is 75 minimind-launch -n 2 --max-restarts=2 -- sh -c 'echo run >>runs; exit 75' && test "$(wc -l <runs)" = 6
}
ok "status 75 starts all ranks again, as often as allowed" restarted
recovered ()
{
  rm -f runs
  minimind-launch -n 1 --max-restarts=5 -- sh -c 'echo run >>runs; test $(wc -l <runs) = 3 || exit 75' \
    && test "$(wc -l <runs)" = 3
}
ok "until they succeed" recovered
not_restarted () { rm -f runs; status_is 65 minimind-launch -n 1 --max-restarts=2 -- sh -c 'echo run >>runs; exit 65'
                   test "$(wc -l <runs)" = 1; }
ok "other failures do not" not_restarted

# ---- signals ----

# The ranks write their process numbers; wait for COUNT of them.
wait_for_ranks () { i=0; while test "$(cat pid.* 2>/dev/null | wc -l)" -lt "$1" && test $i -lt 200; do
                      sleep 0.05; i=$((i + 1)); done; }
all_gone () { i=0; while kill -0 $(cat pid.*) 2>/dev/null && test $i -lt 200; do sleep 0.05; i=$((i + 1)); done
              for pid in $(cat pid.*); do ! kill -0 "$pid" 2>/dev/null || return 1; done; }

passed_on ()
{
  rm -f pid.* got.*
  minimind-launch -n 2 -- sh -c 'trap "echo got >>got.$MM_RANK; exit 75" USR1; echo $$ >pid.$MM_RANK
                        while :; do sleep 0.05; done' &
  wait_for_ranks 2
  kill -USR1 $!
  wait $!; result=$?
  test $result = 75 && cat got.0 got.1 && test "$(cat got.* | wc -l)" = 2
}
ok "a signal reaches each rank once" passed_on

# Even where a shell stands between: it starts another process, and waits.
launcher_killed ()
{
  rm -f pid.*
  minimind-launch -n 2 -- sh -c 'echo $$ >pid.$MM_RANK; while :; do sleep 0.05; done' &
  wait_for_ranks 2
  kill -KILL $!
  wait $!
  all_gone
}
ok "when the launcher is killed, no rank stays" launcher_killed

grandchild ()
{
  rm -f pid.*
  status_is 5 minimind-launch -n 1 -- sh -c 'sleep 1000 & echo $! >pid.0; exit 5'
  all_gone
}
ok "nor does what a rank has started" grandchild

# ---- misuse ----

usage ()
{
  what=$1 pattern=$2; shift 2
  misused () { status_is 64 run "$@" && says "$pattern"; }
  ok "$what" misused "$@"
}
usage "no number of ranks" 'give -n RANKS' minimind-launch -- true
usage "no tool" 'give the tool to start' minimind-launch -n 2
usage "an evaluation is of one process" 'minimind-eval works as one process' minimind-launch -n 2 -- minimind-eval --model=. --data=.
usage "so is an answer" 'minimind-generate works as one process' minimind-launch -n 2 -- minimind-generate --model=. x
usage "no ranks" 'ranks=0' minimind-launch -n 0 -- true
usage "too many ranks" 'from 1 to 1024' minimind-launch -n 1025 -- true
tap_done

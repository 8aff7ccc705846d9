# signals.sh -- each tool, told to end at system calls of its own: nothing half-written stays, pretrain saves and goes on
# to the same bits; a reader that goes away is a failed write.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/fault/faults.sh"
{ make_inputs && train run --keep=0; } >made 2>&1 || { sed 's/^/# /' made; exit 99; }
mkdir base && train base/run --stop-after=5 2>/dev/null
test -d base/run/step-00000005 || exit 99
go_on () { train "$1/run" --stop-after=5 --keep=0; }

# ended SIGNAL NUMBER CALL N TOOL: the tool's folder W is as before or as a run that was left alone made it, GOOD.
ended ()
{
  rm -rf w && cp -r base w
  traced -o /dev/null -e trace=$3 -e inject=$3:signal=$1:when=$4 -- $5 w >/dev/null 2>said
  status=$?
  test -z "$(leftovers w)" || { echo "status $status"; cat said; leftovers w; return 1; }
  rm -rf w/run/log
  case $status in
    $good_status) same_bits w good ;;
    $((128 + $2))) { same_bits w base || same_bits w good; } && ! grep '^minimind' said ;;
    *) echo "status $status"; cat said; false ;;
  esac
}

# The run W is in order, and the next start ends in the same bits.
goes_on () { all_intact w/run && train w/run --keep=0 && same_bits run/step-00000020 w/run/step-00000020; }

# saved SIGNAL NUMBER CALL N: a run of many steps saves and leaves; by the signal only if it has not begun.
saved ()
{
  rm -rf w && cp -r base w
  traced -o /dev/null -e trace=$3 -e inject=$3:signal=$1:when=$4 -- train w/run --keep=0 2>said
  status=$?
  case $status in
    0 | 75) ;;
    $((128 + $2))) same_bits w base || same_bits w/run/step-00000020 run/step-00000020 || { echo "ended without a save"; return 1; } ;;
    *) echo "status $status"; cat said; return 1 ;;
  esac
  goes_on && { leftovers w; test -z "$(leftovers w)"; }
}

next_signal () { case $signal in TERM*) signal="INT 2" ;; INT*) signal="HUP 1" ;; *) signal="TERM 15" ;; esac; }

# each TEST CALLS TOOL: the test at each of the calls, with one signal after the other, or all three for check-long.
each ()
{
  while read -r call n; do
    for i in 1 ${MM_LONG:+2 3}; do
      ok "$3: $signal at $call $n" $1 $signal $call $n $3
      next_signal
    done
  done <"$2"
}

signal="TERM 15"
if strace_works && env --default-signal=INT,HUP,TERM true 2>/dev/null; then
  # A shell starts jobs in the background with SIGINT ignored, and whoever runs the tests may have others ignored.
  for tool in learn tokens rows; do
    rm -rf good && cp -r base good && $tool good >/dev/null 2>&1
    good_status=$?
    rm -rf good/run/log
    rm -rf w && cp -r base w
    calls_of $tool w | grep -v '^exec' >calls
    ok "$tool: calls were seen" test "$(wc -l <calls)" -gt 5
    some_of calls >chosen
    each ended chosen $tool
    ok "$tool: a broken pipe is no end" ended PIPE 13 $(tail -n 1 calls) $tool
  done
  rm -rf w && cp -r base w
  calls_of train w/run --keep=0 | grep -v '^exec' >calls
  ok "pretrain: calls were seen" test "$(wc -l <calls)" -gt 100
  some_of calls >chosen
  each saved chosen pretrain
else
  tap_skip "signals at system calls" "strace cannot trace here"
fi

# ---- a reader that goes away ----

# unheard COMMAND...: its output goes to a pipe that nobody reads; its status goes to the file status.  Where whoever
# runs the tests has SIGPIPE ignored, it is told.
unheard ()
{
  rm -f closed
  { until test -e closed; do sleep 0.01; done; "$@" 2>said; echo $? >status; } | { exec <&-; : >closed; }
  cat said status
  if test "$(cat status)" -eq 74; then
    grep 'standard output' said && test "$(wc -l <said)" -eq 1
  else
    test "$(cat status)" -eq 141 && test ! -s said
  fi
}
ok "eval is not heard" unheard minimind-eval --model=run --data=d
ok "generate" unheard minimind-generate --model=run --max-tokens=100000 --ignore-eos a
ok "ckpt-inspect" unheard minimind-ckpt-inspect run
ok "tokenize" unheard minimind-tokenize -q --tokenizer=tokenizer.json --output-format=text t.jsonl -o -
ok "tokenize --decode" unheard minimind-tokenize -q --decode tok
ok "tokenize --count" unheard minimind-tokenize -q --tokenizer=tokenizer.json --count t.jsonl
ok "pretrain --dry-run" unheard train x --dry-run
ok "--help" unheard minimind-pretrain --help
tap_done

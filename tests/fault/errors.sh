# errors.sh -- each tool, when a system call fails: status 74 and a line that names the file, or the whole result;
# never half of one under its name.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/fault/faults.sh"
strace_works || skip_all "strace cannot trace here"
make_inputs >made 2>&1 || { sed 's/^/# /' made; exit 99; }
mkdir base && train base/run --stop-after=5 2>/dev/null
test -d base/run/step-00000005 || exit 99

go_on () { train "$1/run" --stop-after=5; }
evaluate () { $under minimind-eval --threads=1 --model=base/run --data=d >"$1/out"; }
talk () { $under minimind-generate --threads=1 --model=base/run --max-tokens=3 --temperature=0 a >"$1/out"; }
inspect () { $under minimind-ckpt-inspect --verify base/run d tok tokenizer.json >"$1/out"; }

# failed ERROR CALL NUMBER TOOL: the tool's folder W afterwards is as before or as a run without faults left it, GOOD.
failed ()
{
  rm -rf w && cp -r base w
  traced -o /dev/null -e trace=$2 -e inject=$2:error=$1:when=$3 -- $4 w 2>said
  status=$?
  case $1 in EIO) reason="Input/output error" ;; *) reason="No space left on device" ;; esac
  test -z "$(leftovers w)" || { echo "$2 $3: status $status"; cat said; leftovers w; return 1; }
  rm -rf w/run/log
  case $status in
    0 | 75) test $status -eq $good_status && same_bits w good && return 0 ;;
    74)
      # A result that stands there complete is told of; so is a checkpoint that could not be read back.
      { same_bits w base || { grep -q -e 'stands there complete' -e 'just written' said && same_bits w good; }; } \
        && test "$(grep -v ': warning: ' said | wc -l)" -eq 1 && return 0
      case $4 in evaluate | talk | inspect) test "$(grep -c -v ': warning: ' said)" -eq 1 && return 0 ;; esac ;;
  esac
  # No checkpoint that can be read is no valid checkpoint.
  test $status -eq 65 && grep -q "warning.*$reason; this checkpoint is passed over" said && return 0
  echo "$4: $2 $3: status $status"; cat said; (cd w && find . -type f); return 1
}

# interrupted CALL NUMBER TOOL: as if nothing had been.
interrupted ()
{
  rm -rf w && cp -r base w
  traced -o /dev/null -e trace=$1 -e inject=$1:error=EINTR:when=$2 -- $3 w 2>said
  status=$?
  cat said
  rm -rf w/run/log
  test $status -eq $good_status && same_bits w good && test -z "$(leftovers w)"
}

turn=EIO                        # of the two errors, where one has to do
for tool in learn tokens rows go_on evaluate talk inspect; do
  rm -rf good && cp -r base good && $tool good >/dev/null 2>&1
  good_status=$?
  rm -rf good/run/log
  rm -rf w && cp -r base w
  calls_of $tool w | grep -v '^exec' >calls
  ok "$tool: calls were seen" test "$(wc -l <calls)" -gt 5
  some_of calls >chosen
  while read -r call n; do
    for error in EIO ENOSPC; do
      if test "$MM_LONG" || test $error = $turn; then ok "$tool: $error at $call $n" failed $error $call $n $tool; fi
    done
    if test $turn = EIO; then turn=ENOSPC; else turn=EIO; fi
  done <chosen
  case $tool in evaluate | talk | inspect) continue ;; esac
  grep '^p*\(read\|write\)' chosen >transfers
  while read -r call n; do ok "$tool: interrupted at $call $n" interrupted $call $n $tool; done <transfers
done
tap_done

# rivals.sh -- two runs that write to one output: one of them wins as a whole, the other says so.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/fault/faults.sh"
{ make_inputs && train run --keep=0; } >made 2>&1 || { sed 's/^/# /' made; exit 99; }
for tool in learn tokens rows; do mkdir good-$tool && $tool good-$tool 2>/dev/null; done

# ---- one behind the other ----

if strace_works; then
  for tool in learn tokens rows; do
    # The last fsync before an output appears; behind it each result's folder is synced, train-tokenizer has two.
    mkdir w-$tool
    n=$(calls_of $tool w-$tool | grep -c fsync)
    case $tool in learn) n=$((n - 2)) ;; *) n=$((n - 1)) ;; esac
    rm -rf w-$tool && mkdir w-$tool
    ok "$tool: one is stopped before its output appears" stopped_at fsync $n $tool w-$tool
    ok "$tool: nothing is there yet" test -z "$(ls w-$tool)"
    ok "$tool: another one ends" $tool w-$tool
    ok "$tool: the first one is refused: 64" go_on_to 64
    ok "$tool: and told why" grep -F exists said
    ok "$tool: the other's result stands, nothing else" same_bits good-$tool w-$tool
  done

  ok "pretrain: a run is stopped in a save" stopped_at fsync 5 train w-train --keep=0
  ok "another one is refused: 73" status_is 73 train w-train
  rm -rf w-train
  ok "unless the folder is taken away" train w-train --keep=0
  ok "then the first one notices" go_on_to 74
  ok "and the other's result stands" same_bits run w-train
  rm -rf w-train
  ok "pretrain: a run is stopped between two saves" stopped_at symlink 1 train w-train --keep=0
  mv w-train old
  ok "its folder is moved, another run begins" train w-train --keep=0
  ok "the first one sees the other's lock: 73" go_on_to 73
  ok "which it names" grep -F w-train/LOCK said
  ok "and the other's result stands" same_bits run w-train
else
  tap_skip "one behind the other" "strace cannot trace here"
fi

# ---- at once ----

# both TOOL: of two at once one ends well, the other is refused.
both ()
{
  rm -rf w && mkdir w
  $1 w 2>said1 & first=$!
  $1 w 2>said2; b=$?
  wait $first; a=$?
  cat said1 said2
  echo "statuses $a $b"
  case "$a $b" in "0 64" | "64 0") ;; *) return 1 ;; esac
  same_bits good-$1 w && test -z "$(leftovers w)"
}
for tool in learn tokens rows; do
  for i in 1 2 3; do ok "$tool: two at once, $i" both $tool; done
done

forced () { minimind-tokenize -q --force --threads=1 --tokenizer=tokenizer.json t.jsonl -o w/tok; }
forced_rows () { minimind-pack -q --force --seq-len=32 --validation=0.1 tok -o w/d; }
# with_force COMMAND GOOD: both may end well; the result is whole.
with_force ()
{
  rm -rf w && mkdir w
  $1 2>said1 & first=$!
  $1 2>said2; b=$?
  wait $first; a=$?
  cat said1 said2
  echo "statuses $a $b"
  test "$a $b" = "0 0" && same_bits $2 w && test -z "$(leftovers w)"
}
for i in 1 2 3; do
  ok "tokenize: two at once with --force, $i" with_force forced good-tokens
  ok "pack: two at once with --force, $i" with_force forced_rows good-rows
done

# pretrain: one holds the folder, the other is told who.
trained_by_two ()
{
  rm -rf w
  train w --keep=0 2>said1 & first=$!
  train w --keep=0 2>said2; b=$?
  wait $first; a=$?
  cat said1 said2
  echo "statuses $a $b"
  case "$a $b" in
    "0 73") grep 'in use by another run' said2 ;;
    "73 0") grep 'in use by another run' said1 ;;
    "0 0") ;;                   # one after the other
    *) false ;;
  esac && same_bits run w
}
for i in 1 2 3; do ok "pretrain: two at once, $i" trained_by_two; done
tap_done

# kill.sh -- pretrain killed at system calls of a save and of what follows: the newest checkpoint is whole, and the next
# start ends in the same bits.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/fault/faults.sh"
strace_works || skip_all "strace cannot trace here"
{ make_inputs && train run --keep=0; } >made 2>&1 || { sed 's/^/# /' made; exit 99; }
train base --stop-after=5 2>/dev/null
ok "a run to go on with" all_intact base

# The step from 5 to 10: its save, and the removal of the older checkpoint.
go_on () { train "$1" --stop-after=5 --keep=1; }
cp -r base plain
calls_of go_on plain | grep '^\(open\|p*write\|fsync\|mkdir\|rename\|link\|symlink\|unlink\|rmdir\|fallocate\|ftruncate\)' >calls
ok "a save is seen" grep '^renameat' calls
ok "and what is synced" test "$(grep -c fsync calls)" -gt 8

# killed CALL NUMBER.
killed ()
{
  rm -rf w && cp -r base w
  traced -o /dev/null -e trace=$1 -e inject=$1:signal=KILL:when=$2 -- go_on w >/dev/null 2>&1
  test $? -gt 128 || { echo "$1 $2: not killed"; return 1; }
  all_intact w || { echo "$1 $2: a step folder is damaged"; return 1; }
  minimind-ckpt-inspect --sha256 w || return 1
  train w --keep=0 || return 1
  same_bits run/step-00000020 w/step-00000020 || { echo "$1 $2: other bits"; return 1; }
  test -z "$(leftovers w)" || { leftovers w; return 1; }
}
some_of calls >chosen
while read -r call n; do
  ok "killed at $call $n" killed $call $n
done <chosen
tap_done

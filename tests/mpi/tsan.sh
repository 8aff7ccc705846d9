# tsan.sh -- short runs of what has threads, in a build with ThreadSanitizer: `make tsan'.
# SPDX-License-Identifier: Apache-2.0
#
# A race in any process is written into a file of its own; then the run has failed, whatever its status.
. "$srcdir/tests/mpi/ranks-lib.sh"
grep -q fsanitize=thread "$builddir/config.status" || skip_all "not a build with --enable-tsan"

TSAN_OPTIONS="log_path=$PWD/race exitcode=66"; export TSAN_OPTIONS
clean () { "$@"; r=$?; cat race.* 2>/dev/null; test $r = 0 && test ! -e "$(echo race.*)"; }

# A race that there is: else a clean run would say nothing.
cat >racy.c <<'END'
#include <pthread.h>
static int x;
static void *add (void *p) { x++; return p; }
int main (void) { pthread_t t; pthread_create (&t, 0, add, 0); x++; pthread_join (t, 0); return 0; }
END
if ${CC:-cc} -fsanitize=thread -g racy.c -o racy -pthread 2>said; then
  finds () { ./racy; test -e "$(echo race.*)" && rm race.*; }
  ok "a race is found" finds
else
  tap_skip "a race is found" "$(head -n 1 said)"
fi

ok "two threads" clean $(pretrain one --steps=4 --threads=2 --eval-every=2)
goal=$(digest_of one)
two_ranks () { rm -rf next; clean ranks 2 $(pretrain next --steps=4 --eval-every=2 "$@") && test "$(digest_of next)" = "$goal"; }
ok "two ranks that share memory" two_ranks --threads=1
ok "of two threads, with moments shared out, balanced" two_ranks --threads=2 --zero=1 --balance --check-replicas=1
ok "two ranks, many buckets" clean ranks 2 $(buckets tiny)
tap_done

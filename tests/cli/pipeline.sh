# pipeline.sh -- the whole way by examples/pipeline/Makefile: the same bits as on other machines, whatever is
# interrupted on the way; what is made stays, what changes is made afresh.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
make -v 2>/dev/null | grep -q GNU || skip_all "no GNU make"
pipeline () { make -s -f "$srcdir/examples/pipeline/Makefile" "$@"; }
digests=$srcdir/examples/pipeline/digests.sha256

mkdir whole && cd whole || exit 99
ok "from raw text to an answer, steps beside each other" pipeline -j4
ok "the same bits as on other machines" pipeline verify
ok "which cover a checkpoint of each run" test "$(grep -c 'run/step-.*/MANIFEST$' "$digests")" -eq 3
ok "the model says its name" sh -c 'printf "> Who are you?\nI am Momo, a very small model that tells tales.\n> 你是谁？\n我是墨墨，一个讲故事的小模型。\n" \
   | cmp - answer.txt'
ok "there is nothing more to do" pipeline -q
touch identity.jsonl
ok "a changed step" status_is 1 pipeline -q
ok "is made again" sh -c 'make -s -f "$0" >/dev/null && make -s -f "$0" -q' "$srcdir/examples/pipeline/Makefile"
ok "with the same bits" pipeline verify
ok "another number of steps" pipeline ADAPTER_STEPS=20 adapter.run/step-00000020/MANIFEST
ok "after which there is something to do" status_is 1 pipeline -q
ok "a changed variable" status_is 1 pipeline -q ADAPTER_STEPS=20 VOCAB=400
ok "and back" pipeline -j2 verify
echo 'changed' >answer.txt
ok "a changed bit is found" status_is 2 pipeline verify

# Each of the three runs is stopped after 60 steps once; then the way goes on.
cd .. && mkdir stopped && cd stopped || exit 99
stops=0
until pipeline TRAIN='--threads=1 --stop-after=60' >said 2>&1 || test $stops -gt 3; do stops=$((stops + 1)); done
ok "stopped three times" test $stops -eq 3
ok "it ends in the same bits, by one thread" pipeline verify
ok "clean leaves nothing" sh -c 'rm said && make -s -f "$0" clean && test -z "$(ls -A)"' \
   "$srcdir/examples/pipeline/Makefile"
tap_done

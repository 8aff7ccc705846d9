# resume.sh -- runs that are stopped, killed, damaged or changed go on in the same bits, or say why not.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/runs.sh"
# A run in the background must not outlive a test that ends early.
pid=
tap_end () { test -z "$pid" || kill -KILL $pid 2>/dev/null; }
$make_dataset other 40 6 32 2 || exit 99
train data run --keep=0 || exit 99

# Wait for COMMAND to succeed, a minute at most.
until_true ()
{
  tries=0
  until "$@"; do
    tries=$((tries + 1)); test $tries -lt 1200 || return 1
    sleep 0.05
  done
}

# ---- stopped ----

ok "--stop-after ends with 75" status_is 75 train data run-stop --stop-after=7 --keep=0
ok "saved where it stopped" intact run-stop/step-00000007
ok "and so again" status_is 75 train data run-stop --stop-after=1 --keep=0 --threads=1
ok "then goes on" train data run-stop --keep=0 --threads=3
for step in 05 10 15 20; do
  ok "interrupted twice: the bits of step $step" same_bits run/step-000000$step run-stop/step-000000$step
done
ok "--resume=DIR goes on in another folder" train data run-from --resume=run/step-00000010
ok "with the same bits" same_bits run/step-00000020 run-from/step-00000020
ok "from a run folder's newest" status_is 75 train data run-from2 --resume=run-stop/step-00000007 --stop-after=3
ok "with the same bits again" same_bits run/step-00000010 run-from2/step-00000010

# ---- signals ----

# A run that does not end by itself, in the background, without anything between it and its parent; a shell
# starts such jobs with SIGINT ignored, env puts it back.
begin ()
{
  env --default-signal=INT minimind-pretrain -q --threads=1 --preset=nano --data=data --output="$1" \
    --global-batch=8 --micro-batch=2 --steps=1000000 --save-every=0 2>said &
  pid=$!
  until_true test -s "$1/log/metrics.jsonl"
}
env --default-signal=INT true || exit 99

for signal in TERM INT HUP USR1; do
  begin run-$signal
  kill -$signal $pid; wait $pid; status=$?; pid=
  ok "SIG$signal saves and ends with 75" test $status -eq 75
  ok "what SIG$signal saved is intact" intact run-$signal/latest/
done

begin run-two
kill -STOP $pid; kill -TERM $pid; kill -INT $pid; kill -CONT $pid; wait $pid; status=$?; pid=
ok "a second signal ends it at once" test $status -gt 128
ok "without a save" test ! -e run-two/latest

begin run-kill
ok "a second run in the same folder is refused" refused 73 run-kill train data run-kill
kill -KILL $pid; wait $pid 2>/dev/null; pid=
ok "killed before it saved, it has no checkpoint" test ! -e run-kill/latest
ok "nor does it hold the folder" status_is 75 train data run-kill --stop-after=1

# Killed at the K-th call of a system call that a save makes: the older checkpoint stands, and the next start
# ends in the same bits.
for call in fsync:1 fsync:9 renameat2:1 rename:1; do
  if ! strace -o trace true 2>/dev/null; then
    tap_skip "killed at $call" "strace cannot trace here"
    continue
  fi
  dir=run-$call
  train data $dir --stop-after=5 2>/dev/null
  strace -f -o trace -e trace=${call%:*} -e inject=${call%:*}:signal=KILL:when=${call#*:} \
    minimind-pretrain -q --threads=1 --preset=nano --data=data --output=$dir --global-batch=8 --micro-batch=2 \
    --epochs=4 --learning-rate=1e-2 --save-every=5 2>/dev/null
  ok "killed at $call" test $? -gt 128
  ok "killed at $call: the last good checkpoint stands" intact $dir/step-00000005
  ok "killed at $call: a newer one is whole or not there" \
     sh -c 'test ! -e "$1" || (cd "$1" && sha256sum --quiet -c MANIFEST)' sh $dir/step-00000010
  train data $dir --keep=0
  ok "killed at $call: resumed to the same bits" same_bits run/step-00000020 $dir/step-00000020
  ok "killed at $call: nothing is left over" test -z "$(ls -A $dir | grep '^\.')"
done

# ---- damage ----

cp -r run run-bit
printf '\377' | dd of=run-bit/step-00000020/model.safetensors bs=1 seek=6000 conv=notrunc 2>/dev/null
train data run-bit --keep=0 2>messages
ok "a flipped byte: the checkpoint before is taken" test $? -eq 0
ok "with a warning that names the file" grep -F step-00000020/model.safetensors messages
ok "and the same bits in the end" same_bits run/step-00000020 run-bit/step-00000020
rm -rf run-bit/step-00000005 run-bit/step-0000001? run-bit/*.damaged
: >run-bit/step-00000020/trainer.json
ok "only damaged checkpoints: 65" status_is 65 train data run-bit
file_limit () { (trap '' XFSZ; ulimit -f 40; train data "$@"); }
train data run-full --stop-after=5 2>/dev/null
ok "no room for a checkpoint: 74" status_is 74 file_limit run-full
ok "the one before stands" intact run-full/step-00000005
ok "nothing half-written stays" test "$(ls -A run-full | grep -c -e '^\.' -e step-00000010)" -eq 0

# ---- conflicts ----

cp -r run-from2 run-78
conflict () { want=$1; shift; refused 78 "$want" train "$@"; }
ok "another global batch" conflict "global_batch: want 16, found 8" data run-78 --global-batch=16
ok "another micro-batch" conflict "micro_batch: want 4, found 2" data run-78 --micro-batch=4
ok "another seed" conflict "seed: want 1, found 42" data run-78 --seed=1
ok "another length under cosine" conflict "steps: want 25, found 20" data run-78 --epochs=5
ok "another rate" conflict "learning_rate: want 0.02, found 0.01" data run-78 --learning-rate=2e-2
ok "with what to do" conflict "--accept=learning_rate goes on" data run-78 --learning-rate=2e-2
ok "another dataset" conflict "dataset_sha256: want" other run-78
ok "another model" conflict "hidden_size: want 128, found 16" data run-78 --preset=tiny
ok "with what to do about it" conflict "another --output begins anew" data run-78 --preset=tiny
ok "another version of the numerics" sh -c '
  cp -r run-78 run-old && cd run-old/step-00000010 && sed -i "s/\"numerics_version\": [0-9]*/\"numerics_version\": 0/" trainer.json \
    && sum=$(sha256sum trainer.json) && sed -i "s/.*  trainer.json/$sum/" MANIFEST && sha256sum --quiet -c MANIFEST'
ok "is refused" conflict "numerics_version: want" data run-old
ok "unless accepted" status_is 75 train data run-old --accept=numerics_version --stop-after=1
ok "a conflict that is accepted" status_is 75 train data run-78 --learning-rate=2e-2 --accept=learning_rate --stop-after=1
ok "--resume=never where there is a checkpoint: 64" refused 64 "--resume=never" train data run-78 --resume=never
tap_done

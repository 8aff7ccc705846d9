# pretrain.sh -- runs of nano: their files, the same bits whatever else is asked for, refusals, a loss without
# bounds.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/runs.sh"
$make_dataset other 40 6 32 2 && $make_dataset big 40 0 32 1 300 || exit 99

# ---- a run ----

ok "a run of four epochs" train data run --keep=0
ok "has its checkpoints" test -d run/step-00000005 -a -d run/step-00000010 -a -d run/step-00000015
ok "the last is intact by sha256sum" intact run/step-00000020
ok "latest points to it" test "$(readlink run/latest)" = step-00000020
ok "a line of metrics for each step" test "$(wc -l <run/log/metrics.jsonl)" -eq 20
for key in step loss learning_rate grad_norm target_tokens tokens_per_second peak_share seconds data forward \
    backward reduce update save eval; do
  ok "with $key" test "$(grep -c "\"$key\":" run/log/metrics.jsonl)" -eq 20
done
falls ()
{
  sed 's/.*"loss":\([0-9.]*\).*/\1/' run/log/metrics.jsonl \
    | awk 'NR == 1 { first = $1 } { last = $1 } END { print first, last; exit !(last < first - 1) }'
}
ok "the loss falls" falls
ok "started again, it has nothing to do" train data run --keep=0
ok "and nothing changes" test "$(ls run | grep -c step-)" -eq 4

# ---- the same bits ----

for threads in 1 2 3 7; do
  train data run-t$threads --threads=$threads
  ok "$threads threads: the same bits" same_bits run/step-00000020 run-t$threads/step-00000020
done
MM_CPU=generic train data run-generic
ok "generic kernels: the same bits" same_bits run/step-00000020 run-generic/step-00000020

ok "--keep=3 is the default" test "$(ls run-t1 | grep -c step-)" -eq 3

train data run-seen --save-every=7 --eval-every=3 --log-every=4 --sample-every=6 --sample-prompt="the cat" \
  --metrics-file=copy.jsonl
ok "evaluating, sampling, reporting and saving at other steps: the same bits" \
   same_bits run/step-00000020 run-seen/step-00000020
ok "evaluations are in the metrics" test "$(grep -c validation_loss run-seen/log/metrics.jsonl)" -eq 7
ok "--log-every=4: five lines" test "$(grep -c learning_rate run-seen/log/metrics.jsonl)" -eq 5
ok "--metrics-file has the same lines" cmp copy.jsonl run-seen/log/metrics.jsonl
samples () { minimind-pretrain --threads=1 --model=run --data=data -o run-said --global-batch=8 --steps=1 \
  --sample-every=1 --sample-prompt="the cat" 2>&1 | grep "^step 1: the cat"; }
ok "a sample goes on from its prompt" samples

profile () { minimind-pretrain -v --threads=1 --preset=nano --data=data -o run-told --global-batch=8 --steps=2 \
  --resume=never >told 2>&1; grep -E "$1" told; }
ok "-v tells where the time went" profile "^linear_grad_weight +[0-9.]+ +[0-9.]+% +[0-9.]+ +[0-9.]+ +[0-9.]+%$"
rm -rf run-told
ok "and what is none of an operation's" profile "^between them +[0-9.]+ +[0-9.]+%$"
ok "beside the machine's limits" grep -q "^FMA peak .* sustained; memory is read at" told
rm -rf run-told
ok "without -v there is none" sh -c 'minimind-pretrain --threads=1 --preset=nano --data=data -o run-told \
  --global-batch=8 --steps=2 2>&1 | awk "/^linear/ { exit 1 }"'

# ---- refusals ----

ok "a global batch that is no multiple: 64" refused 64 "--global-batch=8" train data x --micro-batch=3
ok "fewer rows than the global batch: 64, with values that fit" \
   refused 64 "--global-batch=40 --micro-batch=2 fits" train data x --global-batch=64
ok "a warm-up longer than the run: 64" refused 64 "--warmup=21" train data x --warmup=21
ok "no validation rows: 64" refused 64 "no validation rows" train big x --eval-every=5
ok "no dataset: 66" refused 66 "nowhere" train nowhere x
ok "a file as dataset: 66 or 74" sh -c '"$@" --data=data/dataset.json -o x 2>err; s=$?; cat err; test $s -eq 74 -o $s -eq 66' \
   sh minimind-pretrain --preset=nano
ok "standard output: 64" refused 64 "folder cannot go to standard output" train data -
ok "a file as output: 74" refused 74 "data/dataset.json" train data data/dataset.json
cp -r data cut; dd if=/dev/null of=cut/train-00000-of-00001.safetensors bs=1 seek=9000 2>/dev/null
ok "a truncated part: 65" refused 65 "cut/train-00000-of-00001.safetensors" train cut x
cp -r data rot; printf '\1' | dd of=rot/train-00000-of-00001.safetensors bs=1 seek=5000 conv=notrunc 2>/dev/null
ok "a flipped byte in a part: 65" refused 65 "rot/train-00000-of-00001.safetensors" train rot x
sed 's/"vocab_size": [0-9]*/"vocab_size": 100/' run/step-00000020/config.json >small.json
ok "ids beyond the model's vocabulary: 64" refused 64 "vocab_size is 100" \
   minimind-pretrain --config=small.json --data=data -o x
sed 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 16/' run/step-00000020/config.json >short.json
ok "rows longer than the model's positions: 64" refused 64 "16 positions" \
   minimind-pretrain --config=short.json --data=data -o x
ok "two models asked for: 64" status_is 64 train data x --model=run
ok "no --data: 64" status_is 64 minimind-pretrain -o x
ok "no --output: 64" status_is 64 minimind-pretrain --data=data
ok "--steps and --epochs: 64" status_is 64 train data x --steps=3
for bad in betas=0.9 betas=1,0.9 betas=0.9,1 schedule=sine accept=seed accept= steps=0 keep=-1 micro-batch=0 \
    learning-rate=x grad-clip=-1 epochs=0; do
  ok "--$bad: 64" status_is 64 train data x --$bad
done
ok "none of these left anything" test ! -e x

# ---- another start ----

ok "--model starts from a run's newest weights" \
   minimind-pretrain -q --model=run --data=other -o run-model --global-batch=8 --micro-batch=2 --steps=3
ok "of that shape" sh -c 'grep "\"hidden_size\": 16" run-model/step-00000003/config.json'
ok "with a fresh optimizer, at step 0" sh -c 'grep "\"updates\": 3," run-model/step-00000003/trainer.json'
ok "--model with another tokenizer: 78" refused 78 "tokenizer.json" minimind-pretrain --model=run --data=big -o x
ok "--config as a checkpoint's" \
   minimind-pretrain -q --config=run/step-00000020/config.json --data=data -o run-config --global-batch=8 \
     --micro-batch=2 --steps=20 --learning-rate=1e-2 --save-every=5
ok "gives the preset's bits" same_bits run/step-00000020 run-config/step-00000020

# ---- not finite ----

# A NaN in the embedding, which a tied model's head reads for each token.
cp -r run/step-00000020 nan; rm nan/MANIFEST
printf '\0\0\300\177' | dd of=nan/model.safetensors bs=1 seek=4096 conv=notrunc 2>/dev/null
from_nan () { minimind-pretrain -q --threads=1 --model=nan --data=data --global-batch=8 --micro-batch=2 --steps=20 "$@"; }
from_nan -o run-nan 2>messages; status=$?
ok "ten steps without an update: 70" test $status -eq 70
ok "each is named with its cause and its samples" \
   test "$(grep -c 'no update: model.embed_tokens.weight is not finite (samples' messages)" -eq 10
ok "and logged" test "$(grep -c '"skip"' run-nan/log/events.jsonl)" -eq 10
ok "a loss that is no number is null" test "$(grep -c '"loss":null' run-nan/log/metrics.jsonl)" -eq 9
ok "nothing is saved" test ! -e run-nan/latest
from_nan -o run-nan2 --stop-after=1 2>messages; status=$?
ok "nor when asked to stop: 70" test $status -eq 70
ok "which names the tensor" grep 'model.embed_tokens.weight is not finite: nothing is saved' messages

# ---- dry run ----

ok "--dry-run needs no output folder" minimind-pretrain --data=data --preset=nano --global-batch=8 --dry-run
ok "tells the parameters" sh -c 'minimind-pretrain --data=data --preset=nano --global-batch=8 --dry-run | grep -E "total +10368"'
if test -w /dev/full; then
  ok "a full disk is noticed" \
     status_is 74 sh -c 'minimind-pretrain --data=data --preset=nano --global-batch=8 --dry-run >/dev/full'
fi
ok "and writes nothing" sh -c 'minimind-pretrain --data=data --preset=nano --global-batch=8 --dry-run -o x && test ! -e x'
tap_done

# sft.sh -- fine-tuning, whole and by an adapter: its files, the same bits however it is run, refusals.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/runs.sh"
make_input=$builddir/tests/make-input
$make_dataset chat 40 6 32 2 259 mask && $make_dataset big 40 0 32 1 300 && "$make_input" model base \
  && "$make_input" model other 259 2 || exit 99

# tune OUT OPTION...: 20 steps on chat, from base.
tune ()
{
  out=$1; shift
  minimind-sft -q --threads=1 --model=base --data=chat --output="$out" --global-batch=8 --micro-batch=2 --epochs=4 \
    --learning-rate=1e-2 --save-every=5 --keep=0 "$@"
}
adapt () { tune "$@" --lora-rank=2; }
# resign DIR FILE: put FILE's hash into the MANIFEST.
resign () { (cd "$1" && sum=$(sha256sum "$2") && sed -i "s/.*  $2/$sum/" MANIFEST && sha256sum --quiet -c MANIFEST); }
falls ()
{
  sed 's/.*"loss":\([0-9.]*\).*/\1/' "$1/log/metrics.jsonl" \
    | awk 'NR == 1 { first = $1 } { last = $1 } END { print first, last; exit !(last < first - '"$2"') }'
}
files () { ls "$1" | tr '\n' ' '; }
files_are () { found=$(files "$1"); echo "$found"; test "$found" = "$2 "; }

# ---- whole ----

ok "a model is fine-tuned" tune full
ok "its loss falls" falls full 1
ok "its checkpoint is a model folder" files_are full/step-00000020 \
  'MANIFEST config.json generation_config.json model.safetensors optimizer.safetensors tokenizer.json tokenizer_config.json trainer.json'
ok "intact by sha256sum" intact full/step-00000020
ok "of another model than the base" sh -c '! cmp -s base/model.safetensors full/step-00000020/model.safetensors'
ok "two thirds of the tokens are targets" sh -c '
  sed -n "s/.*\"target_tokens\":\([0-9]*\).*/\1/p" full/log/metrics.jsonl \
    | awk "{ n += \$1 } END { print n; exit !(n > 0.55 * 20 * 8 * 32 && n < 0.75 * 20 * 8 * 32) }"'
ok "which generates" minimind-generate -q --model=full --max-tokens=3 x
ok "trainer.json tells the base" grep -E '"base_sha256": "[0-9a-f]{64}"' full/step-00000020/trainer.json
ok "stopped" status_is 75 tune full-stop --stop-after=7
ok "and resumed, with more threads" tune full-stop --threads=3
ok "it ends in the same bits" same_bits full/step-00000020 full-stop/step-00000020
ok "a base from a run folder" tune second --model=full
ok "is its newest checkpoint" tune third --model=full/step-00000020
ok "by the bits" same_bits second/step-00000020 third/step-00000020
ok "a dataset without a mask is fine" tune plain --data=data --epochs=1

# ---- an adapter ----

ok "an adapter is trained" adapt lora
ok "its loss falls" falls lora 0.05
ok "its checkpoint is an adapter folder" files_are lora/step-00000020 \
  'MANIFEST adapter_config.json adapter_model.safetensors optimizer.safetensors tokenizer.json tokenizer_config.json trainer.json'
ok "intact by sha256sum" intact lora/step-00000020
ok "whose parameters are counted" sh -c 'minimind-ckpt-inspect lora | grep "  parameters: 1216$"'
ok "which names no path" grep '"base_model_name_or_path": null' lora/step-00000020/adapter_config.json
base_of () { sed -n 's/.*"base_sha256": "\([0-9a-f]*\)".*/\1/p' lora/step-00000020/trainer.json; }
ok "but its base's hash" grep -a -F -q "\"base_sha256\":\"$(base_of)\"" lora/step-00000020/adapter_model.safetensors
ok "the default of alpha is twice the rank" grep '"lora_alpha": 4,' lora/step-00000020/adapter_config.json
ok "latest points to it" test "$(readlink lora/latest)" = step-00000020
ok "started again, it has nothing to do" adapt lora
ok "stopped" status_is 75 adapt lora-stop --stop-after=7
ok "and again" status_is 75 adapt lora-stop --stop-after=1
ok "and resumed, with more threads" adapt lora-stop --threads=2
for step in 05 10 15 20; do
  ok "interrupted twice: the bits of step $step" same_bits lora/step-000000$step lora-stop/step-000000$step
done
ok "--resume=DIR goes on in another folder" adapt lora-from --resume=lora/step-00000010
ok "with the same bits" same_bits lora/step-00000020 lora-from/step-00000020
ok "evaluating, sampling and saving at other steps" adapt lora-seen --save-every=7 --eval-every=3 --sample-every=6
ok "the same bits" same_bits lora/step-00000020 lora-seen/step-00000020
MM_CPU=generic adapt lora-generic
ok "generic kernels: the same bits" same_bits lora/step-00000020 lora-generic/step-00000020
ok "--keep keeps so many" adapt lora-keep --keep=2
ok "of adapters too" test "$(ls lora-keep | grep -c step-)" -eq 2
ok "some layers, another alpha" adapt lora-qv --lora-targets=q,v_proj --lora-alpha=1
ok "are what is written" sh -c '
  grep "\"lora_alpha\": 1," lora-qv/latest/adapter_config.json && ! grep -a -q k_proj lora-qv/latest/adapter_model.safetensors'
ok "another seed is another adapter" sh -c '! cmp -s lora/latest/adapter_model.safetensors lora-seed/latest/adapter_model.safetensors' \
  "$(adapt lora-seed --seed=7)"
ok "merged into its base" minimind-lora-merge -q --base=base --adapter=lora -o merged
ok "it generates" minimind-generate -q --model=merged --max-tokens=3 x
damaged ()
{
  cp -r lora lora-bit
  printf '\377' | dd of=lora-bit/step-00000020/adapter_model.safetensors bs=1 seek=4099 conv=notrunc 2>/dev/null
  adapt lora-bit 2>said && grep -F step-00000020/adapter_model.safetensors said
}
ok "a flipped byte: the checkpoint before is taken, which is told" damaged
ok "and the same bits in the end" same_bits lora/step-00000020 lora-bit/step-00000020

# Killed at the K-th call of a system call that a save makes: the checkpoint before stands, and the next start ends in
# the same bits.
for call in fsync:2 fsync:7 renameat2:1; do
  if ! strace -o trace true 2>/dev/null; then
    tap_skip "killed at $call" "strace cannot trace here"
    continue
  fi
  dir=lora-$call
  adapt $dir --stop-after=5 2>/dev/null
  strace -f -o trace -e trace=${call%:*} -e inject=${call%:*}:signal=KILL:when=${call#*:} \
    minimind-sft -q --threads=1 --model=base --data=chat --output=$dir --global-batch=8 --micro-batch=2 --epochs=4 \
    --learning-rate=1e-2 --save-every=5 --keep=0 --lora-rank=2 2>/dev/null
  ok "killed at $call" test $? -gt 128
  ok "killed at $call: the last good checkpoint stands" intact $dir/step-00000005
  ok "killed at $call: resumed" adapt $dir
  ok "killed at $call: to the same bits" same_bits lora/step-00000020 $dir/step-00000020
  ok "killed at $call: nothing is left over" test -z "$(ls -A $dir | grep '^\.')"
done

# ---- looked at ----

inspect () { minimind-ckpt-inspect "$@" >shown; s=$?; cat shown; return $s; }
shows () { text=$1; shift; inspect "$@" && grep -F -e "$text" shown; }
ok "ckpt-inspect knows an adapter's checkpoint" shows 'lora/step-00000020: adapter checkpoint' lora/step-00000020
ok "its configuration" shows 'lora_alpha: 4' lora
ok "its tensors" shows 'base_model.model.model.layers.1.mlp.down_proj.lora_B.weight  F32      [16, 2]' lora
ok "its run" shows 'steps: ["step-00000005","step-00000010","step-00000015","step-00000020"]' lora
ok "it verifies" shows 'adapter checkpoint, valid' --verify lora/step-00000020
ok "the run, too" shows 'run folder, valid' --verify lora
ok "the digest is that of the newest" shows "$(grep -v '^#' lora/step-00000020/MANIFEST | sha256sum | cut -d' ' -f1)" --sha256 lora
ok "runs are compared" shows 'same: 84 tensors compared, 0 differ' --diff=lora-stop lora
ok "a plain adapter, too" sh -c '
  mkdir peft && cp lora/latest/adapter* peft && minimind-ckpt-inspect --verify peft | grep -F "peft: adapter folder, valid"'
ok "a damaged one is told" status_is 65 minimind-ckpt-inspect --verify lora-bit/step-00000020.damaged
no_partner () { sed 's/layers\.1\.mlp\.down_proj\.lora_B/layers.1.mlp.down_proj.lora_C/' lora/latest/adapter_model.safetensors >peft/adapter_model.safetensors
                refused 65 "has no partner of its rank" minimind-ckpt-inspect --verify peft; }
ok "so is one of something else" no_partner

# ---- what goes on only as it began ----

conflict () { want=$1 run=$2; shift 2; refused 78 "$want" tune "$run" "$@"; }
cp -r full-stop full-78; rm -rf full-78/step-00000020
cp -r lora-stop lora-78; rm -rf lora-78/step-00000020
ok "another base, whole" conflict "base_sha256: want" full-78 --model=other
ok "another base, an adapter" conflict "base_sha256: want" lora-78 --model=other --lora-rank=2
cp -r base turned; sed -i 's/1e+06/10000.0/' turned/config.json
ok "another configuration, whole" conflict "rope_theta: want 10000" full-78 --model=turned
ok "another configuration, an adapter" conflict "base_config_sha256: want" lora-78 --model=turned --lora-rank=2
ok "another rank" conflict "lora_rank: want 3, found 2" lora-78 --lora-rank=3
ok "which nothing makes acceptable" sh -c '! grep -e --accept said'
ok "another alpha" conflict "lora_alpha: want 2.0, found 4.0" lora-78 --lora-rank=2 --lora-alpha=2
ok "other layers" conflict "lora_targets: want" lora-78 --lora-rank=2 --lora-targets=q
ok "a model in place of an adapter" conflict "is of a LoRA adapter, want a whole model" lora-78
ok "an adapter in place of a model" conflict "is of a whole model, want an adapter" full-78 --lora-rank=2
ok "the dataset of another tokenizer" conflict "base/tokenizer.json: want the tokenizer of big" none --data=big

# ---- refusals ----

nan_adapter ()
{
  cp -r lora-78 lora-nan
  printf '\0\0\300\177' | dd of=lora-nan/step-00000015/adapter_model.safetensors bs=1 seek=4096 conv=notrunc 2>/dev/null
  resign lora-nan/step-00000015 adapter_model.safetensors || return 1
  before=$(bits lora-nan/step-00000015)
  refused 65 "holds a value that is not finite" adapt lora-nan && test "$(ls lora-nan | grep -c step-)" -eq 5 \
    && test "$before" = "$(bits lora-nan/step-00000015)"
}
ok "an adapter with NaN in a step folder: 65, nothing written" nan_adapter
ok "a rank beyond a matrix: 64" refused 64 "k_proj: rank 9, want at most 8" tune none --lora-rank=9
ok "which fits where there is none such" tune wide --lora-rank=9 --lora-targets=q,up --epochs=1
ok "no --model: 64" status_is 64 minimind-sft --data=chat -o none
ok "no --data: 64" status_is 64 minimind-sft --model=base -o none
ok "a model that is not there: 66" refused 66 nowhere tune none --model=nowhere
ok "an adapter as model: 65" refused 65 "lora: a LoRA adapter, want a model: minimind-lora-merge" tune none --model=lora
ok "its step folder, too" refused 65 "LoRA adapter" tune none --model=lora/step-00000020
ok "a model to go on from that is no checkpoint: 65" refused 65 "base: is no complete checkpoint: base/MANIFEST" tune none --resume=base
ok "a model to go on from, where an adapter is trained: 78" conflict "of a whole model" none --lora-rank=2 --resume=full
for bad in lora-rank=0 lora-rank=x lora-rank=-1 'lora-rank=2 --lora-alpha=0' 'lora-rank=2 --lora-targets=w' lora-alpha=4 \
    lora-targets=q 'lora-rank=2 --lora-targets='; do
  ok "--$bad: 64" status_is 64 tune none --$bad
done
ok "none of these left anything" test ! -e none
cp -r base nan; printf '\0\0\300\177' | dd of=nan/model.safetensors bs=1 seek=4096 conv=notrunc 2>/dev/null
from_nan () { tune nan-run --model=nan --lora-rank=2 2>said; s=$?; cat said; test $s -eq 70 && grep "$1" said; }
ok "a base with NaN: 70, its tensor named" from_nan 'no update: model.embed_tokens.weight is not finite'

file_limit () { (trap '' XFSZ; ulimit -f 10; adapt "$@"); }
ok "no room for a checkpoint: 74" status_is 74 file_limit full-disk
ok "nothing half-written stays" test "$(ls -A full-disk | grep -c -e '^\.' -e step-)" -eq 0

# ---- dry run ----

dry () { minimind-sft --model=base --data=chat --global-batch=8 --dry-run "$@" >dry; cat dry; }
ok "a dry run" dry --lora-rank=2
ok "tells the adapter's parameters" grep -E 'adapter, trained alone +1216 ' dry
ok "beside the model's" grep -E 'total +11584 ' dry
ok "moments of the adapter alone" grep -E 'moments m and v, float32 +9.7 kB' dry
ok "its files" grep -F adapter_model.safetensors dry
ok "and its learning rate" grep -F 'rate      0.0001,' dry
ok "a whole model" dry
ok "has another" grep -F 'rate      2e-05,' dry
ok "less arithmetic with an adapter" sh -c '
  mflop () { minimind-sft --model=base --data=chat --global-batch=8 --dry-run "$@" | sed -n "s/^time *\([0-9.e-]*\) TFLOP.*/\1/p"; }
  a=$(mflop --lora-rank=1 --lora-targets=q) b=$(mflop); echo "$a $b"; awk "BEGIN { exit !($a < 0.8 * $b && $a > 0.6 * $b) }"'
tap_done

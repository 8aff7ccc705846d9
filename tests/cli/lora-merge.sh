# lora-merge.sh -- real runs of minimind-lora-merge: what is merged, what is refused.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
make_input=$builddir/tests/make-input
golden=$(cd "$srcdir" && pwd)/tests/interop/adapter
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"

"$make_input" model base && "$make_input" model other 259 2 && "$make_input" model wide 300 \
  && "$make_input" adapter one base && "$make_input" adapter two base 2 \
  && "$make_input" adapter zero base zero && "$make_input" adapter nan base nan && "$make_input" adapter huge base huge || exit 99

merge () { minimind-lora-merge --base=base "$@"; }

# ---- merging ----

ok "merge" run merge --adapter=one -o merged
ok "each matrix is told of" says 'model.layers.1.mlp.down_proj.weight: norm [0-9.]*, added [0-9.]* .*change'
ok "the result is a model" minimind-ckpt-inspect merged --stats
ok "with the base's tokenizer" cmp base/tokenizer.json merged/tokenizer.json
ok "and its configuration" cmp base/config.json merged/config.json
ok "it generates" minimind-generate -q --model=merged --max-tokens=3 x
ok "the weights are not the base's" sh -c '! cmp -s base/model.safetensors merged/model.safetensors'
ok "the same bytes again" run merge -q --adapter=one -o again --threads=3
ok "whatever the threads" cmp merged/model.safetensors again/model.safetensors
ok "a probe" run merge -q --adapter=one -o probed --probe="tale 7"
ok "tells of base and merged" grep '^base and merged: logits differ by at most [0-9.]*[1-9]' "$tap_dir/stdout"
ok "and that merging is applying" grep '^adapter applied and merged: .* at [0-9]* of' "$tap_dir/stdout"
ok "within rounding" awk '/^adapter applied/ { exit !($10 + 0 < 1e-5) }' "$tap_dir/stdout"

ok "two adapters" run merge -q --adapter=one --adapter=two:0.5 -o both
ok "a weight" run merge -q --adapter=one:-1 -o minus
ok "other weights, other models" sh -c '! cmp -s both/model.safetensors minus/model.safetensors'
ok "bf16" run merge -q --adapter=one -o half --dtype=bf16
ok "is said by the configuration" grep '"dtype": "bfloat16"' half/config.json
ok "and has half the size" sh -c 'test $(wc -c <half/model.safetensors) -lt $(($(wc -c <merged/model.safetensors) * 2 / 3))'
ok "it generates, too" minimind-generate -q --model=half --max-tokens=3 x
ok "f16" run merge -q --adapter=one -o f16 --dtype=f16
"$make_input" adapter three merged 3 || exit 99
ok "a merged model is a base" run minimind-lora-merge -q --base=merged --adapter=three -o x

ok "PEFT's adapter" run minimind-lora-merge --base="$golden/base" --adapter="$golden/plain" -o peft
ok "which does not say its base" says 'warning: .*plain: does not say which base it was trained on'

# ---- refusals ----

ok "no base" status_is 64 run minimind-lora-merge --adapter=one -o out
ok "no base: words" says 'give --base=DIR'
ok "a weight of 0" status_is 64 run merge --adapter=one:0 -o out
ok "a weight of 0: words" says 'weight that is not 0'
refused "a base that is not there" 66 'nowhere' minimind-lora-merge --base=nowhere --adapter=one -o out
refused "an adapter that is not there" 66 'nowhere: ' merge --adapter=nowhere -o out
refused "a model as adapter" 65 'a model folder, want an adapter (adapter_config.json)' merge --adapter=other -o out
refused "an adapter as base" 65 'LoRA adapter, want a model: minimind-lora-merge' minimind-lora-merge --base=two --adapter=one -o out
refused "another base" 78 'trained on the weights' minimind-lora-merge --base=other --adapter=one -o out
refused "merged already" 78 'merged into merged already' minimind-lora-merge --base=merged --adapter=one -o out
refused "given twice" 78 'given twice' merge --adapter=one --adapter=one:0.5 -o out
refused "an adapter as it starts" 65 'zero: changes nothing' merge -q --adapter=zero -o out
refused "too large for float16" 65 'not finite as F16' merge -q --adapter=huge --dtype=f16 -o out
refused "not a number" 65 'not finite' merge --adapter=nan -o out
mkdir broken && cp one/* broken && sed 's/"use_dora": false/"use_dora": true/' one/adapter_config.json >broken/adapter_config.json
refused "DoRA" 65 'use_dora: this variant' merge --adapter=broken -o out
# other_config NAME PATTERN SED: with such a configuration neither it is merged nor it is sound.
other_config ()
{
  sed "$3" one/adapter_config.json >broken/adapter_config.json
  refused "$1" 65 "$2" merge --adapter=broken -o out
  refused "$1: ckpt-inspect --verify" 65 "$2" minimind-ckpt-inspect --verify broken
}
other_config "alpha that is text" 'lora_alpha: want a number' 's/"lora_alpha": 4/"lora_alpha": "x"/'
other_config "no alpha" 'lora_alpha: want a number that is not 0' 's/"lora_alpha": 4/"lora_alpha": 0/'
other_config "an alpha of text for some" 'alpha_pattern: "q_proj": want a number' 's/"alpha_pattern": {}/"alpha_pattern": {"q_proj": "x"}/'
other_config "another rank" 'gives model.layers.[01].*_proj the rank 3, but its tensors have 2' 's/"r": 2/"r": 3/'
other_config "half a rank" 'the rank 2.5, but' 's/"r": 2/"r": 2.5/'
other_config "another rank of some" 'gives model.layers.1.self_attn.v_proj the rank 1' \
  's/"rank_pattern": {}/"rank_pattern": {"1.self_attn.v_proj": 1}/'
other_config "a rank's pattern that is none" 'rank_pattern: "(" is no pattern' 's/"rank_pattern": {}/"rank_pattern": {"(": 1}/'
sed '/"r": 2/d' one/adapter_config.json >broken/adapter_config.json
ok "a configuration without a rank" run merge -q --adapter=broken -o no-rank
cp one/adapter_config.json broken
LC_ALL=C sed 's/layers\.1\.mlp/layers.01.mlp/; s/}} /}}/' one/adapter_model.safetensors >broken/adapter_model.safetensors
refused "a layer by another number" 65 'layers.01.mlp.* is no A or B of a linear layer' merge --adapter=broken -o out
cp one/* broken && LC_ALL=C sed -i 's/\("base_sha256":"\)[0-9a-f]/\1z/' broken/adapter_model.safetensors
refused "a hash that is none" 65 'base_sha256: want 64 hexadecimal digits' merge --adapter=broken -o out
ok "which ckpt-inspect sees, too" status_is 65 minimind-ckpt-inspect --verify broken
printf '{' >broken/adapter_config.json
refused "a damaged configuration" 65 'adapter_config.json: byte 1' merge --adapter=broken -o out
cp one/adapter_config.json broken && head -c 900 one/adapter_model.safetensors >broken/adapter_model.safetensors
refused "a truncated file" 65 'adapter_model.safetensors' merge --adapter=broken -o out
rm broken/adapter_model.safetensors && : >broken/adapter_model.bin
refused "a pickle" 65 'a pickle' merge --adapter=broken -o out
refused "another shape" 65 'want \[' minimind-lora-merge --base="$golden/base" --adapter=one -o out
mkdir out && : >out/mine
ok "an existing output" status_is 64 run merge --adapter=one -o out
ok "stays" test -e out/mine

tap_done

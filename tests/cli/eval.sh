# eval.sh -- real runs of minimind-eval: the same bits for any batch and threads, and refusals.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
make_input=$builddir/tests/make-input
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"

awk 'BEGIN { for (i = 1; i <= 120; i++) { s = "tale " i ":"
       for (k = 0; k < i % 13; k++) s = s " word" k; print s } }' >text
"$make_input" tokens tokens <text && "$make_input" tokens other.tokens 300 <text \
  && "$make_input" model model && "$make_input" model wide 300 \
  && minimind-pack -q --seq-len=48 --validation=0.2 tokens -o data \
  && minimind-pack -q --seq-len=48 --validation=0.2 other.tokens -o other \
  && minimind-pack -q --seq-len=48 --validation=0 tokens -o train-only || exit 99

evaluate () { minimind-eval --model=model --data=data "$@"; }
field () { sed -n "s/.*\"$1\":\\([^,}]*\\).*/\\1/p" "$2"; }

# ---- figures ----

ok "figures in words" run evaluate
for figure in loss perplexity bits_per_byte tokens; do
  ok "$figure stands there" grep "^$figure  *[0-9]" "$tap_dir/stdout"
done
evaluate --json >json || exit 99
ok "figures as an object" grep '^{"loss":[0-9.]*,"perplexity":[0-9.]*,"bits_per_byte":[0-9.]*,"tokens":[0-9]*,' json
# Random weights tell little more than nothing: ln 259 = 5.557.
ok "the loss of a random model" awk -v loss="$(field loss json)" 'BEGIN { exit !(loss > 5.3 && loss < 5.9) }'
ok "perplexity is exp (loss)" awk -v loss="$(field loss json)" -v p="$(field perplexity json)" \
   'BEGIN { d = exp (loss) / p - 1; exit !(d < 1e-9 && d > -1e-9) }'
# Each target is a byte but eos, which has none.
ok "bits per byte" awk -v loss="$(field loss json)" -v n="$(field tokens json)" -v bytes="$(field bytes json)" \
   -v b="$(field bits_per_byte json)" \
   'BEGIN { d = loss * n / log (2) / bytes / b - 1; exit !(bytes < n && d < 1e-9 && d > -1e-9) }'
targets=$(tr -d ' \n' <data/dataset.json | sed 's/.*"validation":{"rows":[^}]*"targets":\([0-9]*\).*/\1/')
ok "tokens are the targets of the dataset" test "$(field tokens json)" = "$targets"

for options in --batch=1 --batch=7 --batch=65536 --threads=1 --threads=3 "--batch=3 --threads=2"; do
  ok "the same bits with $options" sh -c 'minimind-eval --model=model --data=data --json $0 | cmp - json' "$options"
done
ok "the same bits with the plain kernels" \
   sh -c 'MM_CPU=generic minimind-eval --model=model --data=data --json | cmp - json'

evaluate --losses 2>"$tap_dir/stderr" >losses || exit 99
ok "--losses has a line a target" test "$(wc -l <losses)" -eq "$(field tokens json)"
cut -f4 losses | while read -r loss; do printf '%.9f\n' "$loss"; done >decimal
ok "whose mean is the loss" awk -v loss="$(field loss json)" \
   '{ s += $1 } END { d = s / NR - loss; exit !(NR > 0 && d < 1e-6 && d > -1e-6) }' decimal
evaluate --losses --batch=5 --threads=2 >again 2>"$tap_dir/stderr" || exit 99
ok "the same bits, target by target" cmp losses again
ok "the train split" sh -c 'minimind-eval --model=model --data=data --split=train --json | grep "\"split\":\"train\""'

# ---- what does not go together ----

refused "no validation rows" 65 'train-only: no validation rows' \
        minimind-eval --model=model --data=train-only
ok "its train rows do" run minimind-eval --model=model --data=train-only --split=train
hash () { sha256sum "$1/tokenizer.json" | cut -c1-64; }
refused "another tokenizer" 78 "tokenizer $(hash model), but other has $(hash other)" \
        minimind-eval --model=model --data=other
cp -r model strange && cp wide/model.safetensors strange
refused "weights of another size" 65 'strange' minimind-eval --model=strange --data=data
cp -r model short && sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 47/' short/config.json
refused "rows longer than the positions" 78 'short: 47 positions, but rows of data have 48 tokens' \
        minimind-eval --model=short --data=data
cp -r model bare && rm bare/tokenizer*
ok "a model without tokenizer is trusted" run minimind-eval --model=bare --data=data
ok "with a warning" says 'warning: bare holds no tokenizer.json'
ok "but not with ids that it has not" status_is 78 run minimind-eval --model=bare --data=other
ok "which are named" says 'bare: vocabulary of 259, but other has ids up to 299'

# ---- bad input ----

damaged () { rm -rf broken && cp -r "$1" broken; }

refused "no such model" 66 nowhere minimind-eval --model=nowhere --data=data
refused "no such dataset" 66 nowhere minimind-eval --model=model --data=nowhere
refused "a file in place of a model" 65 text minimind-eval --model=text --data=data
refused "a folder that is no model" 65 data minimind-eval --model=data --data=data
"$make_input" adapter adapter model 3 || exit 99
refused "an adapter" 65 'minimind-lora-merge --base=MODEL --adapter=adapter -o DIR makes one first' \
        minimind-eval --model=adapter --data=data
refused "a folder that is no dataset" 66 dataset.json minimind-eval --model=model --data=model
damaged model && echo '{' >broken/config.json
refused "a damaged config.json" 65 broken/config.json minimind-eval --model=broken --data=data
damaged model && head -c 5000 model/model.safetensors >broken/model.safetensors
refused "a truncated model" 65 broken/model.safetensors minimind-eval --model=broken --data=data
damaged model && rm broken/model.safetensors && mkdir broken/model.safetensors
refused "a directory in place of weights" 74 broken/model.safetensors \
        minimind-eval --model=broken --data=data
damaged model && rm broken/model.safetensors
refused "no weights" 66 broken minimind-eval --model=broken --data=data
# The embedding begins at byte 4096: a NaN in the row of 'o' (114).
damaged model && printf '\000\000\300\177' | dd of=broken/model.safetensors bs=1 \
  seek=$((4096 + 114 * 16 * 4)) conv=notrunc 2>/dev/null
refused "weights that are not finite" 65 'broken: a loss in rows .* is not finite' \
        minimind-eval --model=broken --data=data
damaged data && echo '[]' >broken/dataset.json
refused "a damaged dataset.json" 65 broken/dataset.json minimind-eval --model=model --data=broken
damaged data && head -c 4200 data/validation-00000-of-00001.safetensors >broken/validation-00000-of-00001.safetensors
refused "a truncated part" 65 broken/validation minimind-eval --model=model --data=broken
damaged data && printf '\377\377' | dd of=broken/validation-00000-of-00001.safetensors bs=1 \
  seek=$((4096 + 2 * (49 + 7))) conv=notrunc 2>/dev/null
refused "an id beyond the vocabulary" 65 'row 1, position 7: id 65535, the vocabulary has 259 ids' \
        minimind-eval --model=model --data=broken

# ---- the command line ----

if test -w /dev/full; then
  ok "a full standard output" status_is 74 \
     sh -c 'minimind-eval --model=model --data=data >/dev/full'
fi
ok "no model" status_is 64 minimind-eval --data=data
ok "no data" status_is 64 minimind-eval --model=model
ok "an operand" status_is 64 evaluate more
ok "--json with --losses" status_is 64 evaluate --json --losses
for bad in split=test batch=0 batch=x batch=65537; do
  ok "--$bad is refused" status_is 64 evaluate --$bad
done
tap_done

# ckpt-inspect.sh -- every kind is shown, verified and compared; every kind of damage is named.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"

command -v minimind-ckpt-inspect >/dev/null || skip_all "minimind-ckpt-inspect is not built"
built=$(dirname "$(command -v minimind-ckpt-inspect)")
inspect=minimind-ckpt-inspect
mkdir good
(cd good && "$built"/tests/cli/samples) || exit 99
cp -R good work
cd work || exit 99

# shows TEXT ARGS...: the output has TEXT.
shows () { text=$1; shift; "$inspect" "$@" >shown && grep -F -e "$text" shown; }

# refuses STATUS TEXT ARGS...: that status, and a message with TEXT.
refuses ()
{
  want=$1; text=$2; shift 2
  "$inspect" "$@" >refused 2>&1
  status=$?
  cat refused
  test $status -eq "$want" && grep -F -e "$text" refused
}

status_is_one_of () { list=$1; shift; "$@"; case " $list " in *" $? "*) ;; *) return 1 ;; esac; }

# restore PATH: as it was made.
restore () { rm -rf "$1"; cp -R "../good/$1" "$1"; }

# flip FILE BYTE: change one bit.
flip ()
{
  printf "\\$(printf %o $(($(od -An -tu1 -j"$2" -N1 "$1") ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>dd.err
}

size () { wc -c <"$1"; }

# ---- showing ----

ok "run folder" shows 'steps: ["step-00000001","step-00000002"]' run
ok "its newest checkpoint" shows 'path: run/step-00000002' run
ok "parameters" shows 'parameters: 19260' run/step-00000001
ok "configuration" shows 'architectures: ["Qwen3ForCausalLM"]' run/step-00000001
ok "state of the training" shows 'step: 1' run/step-00000001
ok "tensors of the model" shows '  model.layers.1.mlp.up_proj.weight               F32      [33, 20]' run
ok "tensors of the optimizer" shows '  v.model.norm.weight ' run
ok "safetensors file" shows '  weight ' plain.safetensors
ok "control characters of a name are not sent" shows '  odd\x1b[2J ' plain.safetensors
ok "token file" shows 'documents: 4' text.tokens
ok "control tokens" shows 'Once upon\na time\[<|im_end|>]' text.tokens
ok "characters, and control characters as hex" shows '字\x1b[2J\[<|im_end|>]' text.tokens
ok "half a character as hex" shows 'half \xe5\xad\[<|im_end|>]' text.tokens
ok "three samples" sh -c '"$0" text.tokens | grep -c "document [0-9]" | grep "^3$"' "$inspect"
ok "or as many as asked for" shows 'a\\b\[<|im_end|>]' --samples=4 text.tokens
ok "none" sh -c '! "$0" --samples=0 text.tokens | grep samples' "$inspect"
ok "targets" shows 'hi\n\{yes\}!' chat.tokens
ok "dataset folder" shows 'train_rows: 3' data
ok "rows: documents and targets" shows 'one \{row\};\|two rows' data
ok "dataset part" shows 'input_ids   U16      [1, 16]' data/train-00001-of-00002.safetensors
ok "its rows" shows 'one \{row\};\|two rows' data/train-00001-of-00002.safetensors
ok "tokenizer" shows 'vocab_size: 259' tokenizer.json
ok "its kind" shows 'model: BPE' tokenizer.json
ok "what comes before the model" shows 'pre_tokenizer: ByteLevel' tokenizer.json
ok "its sizes" shows 'merges: 0' tokenizer.json
ok "how many special tokens" shows 'special_tokens: 3' tokenizer.json
ok "and which" shows '     2  \[<|im_end|>]' tokenizer.json
ok "few of the other tokens" test "$("$inspect" tokenizer.json | grep -c '^ *[0-9][0-9]*  ')" -eq 11
ok "the first" shows '     3  \x00' tokenizer.json
ok "all of them when asked" test "$("$inspect" --samples=1000 tokenizer.json | grep -c '^ *[0-9][0-9]*  ')" -eq 259
ok "or none" test "$("$inspect" --samples=0 tokenizer.json | grep -c '^ *[0-9][0-9]*  ')" -eq 3
ok "bytes as hex" shows '   258  \xff' tokenizer.json
ok "a folder with one" shows 'tokenizer folder' .
ok "several paths" sh -c '"$0" run data tokenizer.json | grep -c "^[a-z.]*: " | grep "^3$"' "$inspect"

# ---- numbers ----

ok "statistics" shows '-1           3         0.8        1.47       3.742           2           1' \
  --stats plain.safetensors
ok "statistics as JSON" shows '"min":-1.0,"max":3.0,"mean":0.8,"std":1.469' --stats --json plain.safetensors
ok "norm, zeros and non-finite values" shows '"zeros":2,"nonfinite":1}' --stats --json plain.safetensors
ok "without --stats there are none" sh -c '! "$0" plain.safetensors | grep 3.742' "$inspect"
ok "JSON: one line a path" sh -c '"$0" --json run data text.tokens | wc -l | grep "^3$"' "$inspect"
ok "JSON: tensors" shows '{"name":"weight","dtype":"F32","shape":[2,3],"bytes":24}' --json plain.safetensors

# ---- digests ----

digest () { "$inspect" --sha256 "$1" | cut -d' ' -f1; }
is_digest () { test "$(digest "$1")" = "$(eval "$2" | cut -d' ' -f1)"; }

ok "a checkpoint's digest is that of its MANIFEST" is_digest run/step-00000001 \
  "grep -v '^#' run/step-00000001/MANIFEST | sha256sum"
ok "MANIFEST is for sha256sum too" sh -c 'cd run/step-00000001 && sha256sum -c --strict MANIFEST'
ok "a file's digest is its SHA-256" is_digest plain.safetensors "sha256sum plain.safetensors"
ok "a run's digest names its newest checkpoint" shows 'run/step-00000002' --sha256 run
ok "JSON: digest" shows '"sha256":"' --sha256 --json text.tokens

# ---- differences ----

ok "the same" shows 'same: 75 tensors compared, 0 differ' --diff=run/step-00000002 run
ok "different: status 1" status_is 1 "$inspect" --diff=run/step-00000001 run
differs () { text=$1; shift; "$inspect" "$@" >shown; test $? -eq 1 && grep -F -e "$text" shown; }
ok "how many and how much" differs 'model.embed_tokens.weight: 1 of 5180 elements differ, by at most 0.5' \
  --diff=run/step-00000001 run/step-00000002
ok "other files" differs 'trainer.json: the files differ' --diff=run/step-00000001 run/step-00000002
ok "missing tensors" differs 'weight: only in the first' --diff=run/step-00000001/model.safetensors plain.safetensors
ok "tensors too many" differs 'weight: only in the second' --diff=plain.safetensors run/step-00000001/model.safetensors
ok "another shape" differs 'tokens: U16 [37], U16 [7]' --diff=chat.tokens text.tokens
ok "datasets by part" differs 'train-00001-of-00002.safetensors/input_ids: only in the second' --diff=data run
ok "tokenizers" sh -c 'cp tokenizer.json other.json; "$0" --diff=other.json tokenizer.json; echo >>other.json
  "$0" --diff=other.json tokenizer.json; test $? -eq 1' "$inspect"
ok "JSON: difference" differs '"differing":1,"max_abs_diff":0.5' --json --diff=run/step-00000001 run
ok "a tokenizer and a model cannot be compared" refuses 65 'cannot be compared' --diff=tokenizer.json run

# ---- verifying: what is good ----

for path in run run/step-00000001 data data/train-00001-of-00002.safetensors text.tokens chat.tokens \
    tokenizer.json . plain.safetensors; do
  ok "$path is valid" shows ', valid' --verify $path
done
ok "JSON: valid" shows '"kind":"dataset folder","valid":true' --verify --json data
mkdir model
cp run/step-00000001/*.json run/step-00000001/model.safetensors model
rm -f model/trainer.json
ok "a model folder" shows 'model folder, valid' --verify model

# ---- verifying: what is damaged ----

for member in MANIFEST config.json generation_config.json model.safetensors optimizer.safetensors tokenizer.json \
    tokenizer_config.json trainer.json; do
  file=run/step-00000001/$member
  flip $file $(($(size $file) / 2))
  ok "$member with a flipped bit" refuses 65 "step-00000001" --verify run
  restore run
  dd if=/dev/null of=$file bs=1 seek=$(($(size $file) - 1)) 2>dd.err
  ok "$member cut off" refuses 65 "$member" --verify run/step-00000001
  rm $file
  ok "$member missing" refuses 65 "$member" --verify run/step-00000001
  mkdir $file
  ok "a folder in place of $member" status_is_one_of "65 74" "$inspect" --verify run/step-00000001
  restore run
done

for file in text.tokens chat.tokens plain.safetensors tokenizer.json data/train-00000-of-00002.safetensors; do
  for n in 0 4 100 $(($(size $file) - 1)); do
    dd if=/dev/null of=$file bs=1 seek=$n 2>dd.err
    ok "$file cut off at $n" refuses 65 "$file" $file
    ok "$file cut off at $n, verified" refuses 65 "$file" --verify $file
    restore $file
  done
  rm $file
  mkdir $file
  ok "a folder in place of $file" refuses 65 "$file" $file
  ok "$file missing" refuses 66 "$file.none" $file.none
  restore $file
done

flip data/train-00000-of-00002.safetensors $(($(size data/train-00000-of-00002.safetensors) - 1))
ok "a part with a flipped bit" refuses 65 'train-00000-of-00002.safetensors' --verify data
ok "by itself" refuses 65 'has SHA-256' --verify data/train-00000-of-00002.safetensors
restore data
rm data/train-00001-of-00002.safetensors
ok "a part missing" status_is_one_of "65 66" "$inspect" data
restore data
ok "what describes a dataset" refuses 65 'data/dataset.json: describes a dataset' data/dataset.json
rm data/dataset.json
ok "a part without its dataset" refuses 65 'dataset.json' --verify data/train-00001-of-00002.safetensors
restore data
flip data/tokenizer.json 100
ok "a dataset's tokenizer with a flipped bit" refuses 65 'tokenizer' --verify data
restore data

# The high byte of the first token, behind five offsets.
printf '\377' | dd of=text.tokens bs=1 seek=$((4096 + 5 * 8 + 1)) conv=notrunc 2>dd.err
ok "an id beyond the vocabulary" refuses 65 'text.tokens' --verify text.tokens
restore text.tokens

rm -r run/step-00000001
flip run/step-00000002/model.safetensors 5000
ok "no valid checkpoint" refuses 65 'its only checkpoint is not valid' run
restore run

sed 's/"vocab_size": 259/"vocab_size": 258/' run/step-00000001/config.json >model/config.json
ok "a model whose tensors are not its configuration's" refuses 65 'model.safetensors' --verify model

# ---- other paths ----

mkdir nothing
ok "a folder of nothing" refuses 65 'nothing' nothing
ok "a missing path" refuses 66 'none' none
ok "a missing path to compare with" refuses 66 'none' --diff=none run
ok "a missing path to hash" refuses 66 'none' --sha256 none
printf 'PK\003\004xxxxxxxxxxxxxxxx' >model.pth
ok "a zip file" refuses 65 'zip' model.pth
printf 'GGUF\003\000\000\000xxxxxxxxxxxxxxxx' >model.gguf
ok "a GGUF file" refuses 65 'GGUF' model.gguf
printf 'just text, longer than eight bytes' >text
ok "a text" refuses 65 'text' text
printf '{"a": 1}' >a.json
ok "any JSON" refuses 65 'a.json' a.json
if test -w /dev/full; then
  ok "a device" refuses 74 '/dev/full' /dev/full
  for action in "" --verify --sha256 --json --diff=plain.safetensors; do
    ok "a full disk${action:+ with $action}" status_is 74 sh -c '"$@" >/dev/full' sh "$inspect" $action plain.safetensors
  done
fi

# ---- command line ----

ok "no path" refuses 64 'PATH' --json
ok "two actions" refuses 64 'one of' --verify --sha256 run
ok "two paths to compare" refuses 64 'found 2' --diff=run run data
ok "statistics of a digest" refuses 64 'do not go' --stats --sha256 run
ok "a negative number" refuses 64 'samples' --samples=-1 run
ok "no number" refuses 64 'samples' --samples=x run
tap_done

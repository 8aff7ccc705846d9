# short.sh -- every fuzzing target for a moment: examples as they are, then changed at random, the same on every
# machine.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
interop=$srcdir/tests/interop

# survives TARGET RUNS FOLDER: with the examples in FOLDER.
survives ()
{
  (cd "$3" && "$builddir/tests/fuzz/$1" "$2" ./*) && return
  echo "the input in base64:" && base64 "$3/input" | head -n 40
  return 1
}

# short TARGET RUNS.
short ()
{
  ok "$1" survives "$1" "$2" "$1"
  rm -r "$1"
}

# little NUMBER: two bytes.
little () { printf "\\$(printf %03o $(($1 % 256)))\\$(printf %03o $(($1 / 256)))"; }

# ---- conversations: a byte that chooses template, thinking, prompt and labels, and a row ----

mkdir chat
row () { n=$((n + 1)); printf "\\$(printf %03o "$1")%s" "$2" >chat/$n; }
n=0
row 1 '{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q <think> <|im_end|>"},{"role":"assistant","content":"<think>t</think>\n\na","weight":1}]}'
row 2 '{"conversations":[{"role":"user","content":null},{"role":"assistant","reasoning_content":"r","content":"","tool_calls":"[{\"name\":\"f\",\"arguments\":{\"a\":1.5}}]"},{"role":"tool","content":"1"},{"role":"tool","content":"2"},{"role":"assistant","content":"é中"}]}'
row 66 '{"system":"s","tools":[{"name":"f"}],"conversations":[{"from":"human","value":"e\u0301"},{"from":"function_call","value":"{\"name\": \"f\", \"arguments\": \"x\"}"},{"from":"observation","value":"o"},{"from":"gpt","value":"a"}]}'
row 32 '{"instruction":"i","input":"n","output":"o","history":[["a","b"],["c","d"]],"system":"s"}'
row 12 '[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"<|im_start|>"}]}]'
short chat 50000

# ---- adapters: the size of the configuration, the configuration, the tensors ----

mkdir adapter
for name in plain patterns rslora; do
  folder=$interop/adapter/$name
  { little "$(wc -c <"$folder/adapter_config.json")"; cat "$folder/adapter_config.json" "$folder/adapter_model.safetensors"; } \
    >adapter/$name
done
short adapter 3000

# ---- files of tensors, models, runs and data ----

mkdir safetensors
cp "$interop/io/theirs.safetensors" "$interop/io/ours.safetensors" safetensors
short safetensors 10000
mkdir config
cp "$interop/adapter/base/config.json" config
short config 5000
mkdir dataset
printf '{"kind": "minimind-dataset", "version": 1, "seq_len": 8, "tokenizer": {"vocab_size": 300, "sha256": "%064d", "config_sha256": null}, "train": {"rows": 2, "parts": [{"rows": 2, "sha256": "%064d"}]}, "validation": {"rows": 0, "parts": []}, "report": {}}' 1 2 >dataset/1
short dataset 2000
mkdir trainer
printf '{"format": 1, "numerics": 1, "settings": {}, "step": 3, "updates": 3, "skipped": 0, "epoch": 0, "row": 24, "losses": [1.5, 2.0]}' >trainer/1
short trainer 2000
mkdir manifest
printf '%064d  config.json\n# 12 config.json\n%064d  model.safetensors\n' 1 2 >manifest/1
short manifest 2000
mkdir shards
n=0
for file in u2-v1.npy u4-v2.npy i4-v3.npy; do { printf '\4'; cat "$interop/shards/$file"; } >shards/$((n += 1)); done
{ printf '\1'; cat "$interop/shards/gpt2.bin"; } >shards/4
{ printf '\2'; cat "$interop/shards/nanogpt.bin"; } >shards/5
short shards 2000

# ---- tokenizers ----

mkdir tokenizer
cp "$interop/text/gpt2-added.json" "$interop/text/qwen2.json" tokenizer
short tokenizer 300
mkdir ranks
{ printf '\0'; cat "$interop/text/small.tiktoken"; } >ranks/1
{ printf '\200'; cat "$interop/text/small-vocab.json"; printf '\0'; cat "$interop/text/small-merges.txt"; } >ranks/2
short ranks 300

# ---- documents ----

mkdir documents
n=0
for head in '\000\003' '\001\000' '\002\003' '\003\002' '\004\002' '\006\003' '\007\000' '\215\002' '\024\003'; do
  n=$((n + 1))
  { printf "$head"; printf 'text,id\n"a ""b"" c",1\n\n\nplain,2\n'; } >documents/rows$n
  { printf "$head"; printf '{"text": "one \\u00e9"}\n\n{"text": "two", "a": [1, {"b": null}]}\n{"text": 3}\n'; } >documents/lines$n
  { printf "$head"; printf '[{"messages": [{"role": "user", "content": "q"}]},\n "s", {"text": "t"}]'; } >documents/array$n
done
short documents 5000
mkdir json
printf '\1{"a": {"b": "x \\ud83d\\ude00"}, "c": [1e3, true]}' >json/1
printf '\0[{"a": {"b": "x"}}, "y", {"a": 1}]' >json/2
short json 20000
mkdir rows
printf '\1a,"b ""c""\n",d\r\n,"",x\n' >rows/1
printf '\2a\tb\tc\n"d"\t"e\tf"\tg' >rows/2
short rows 20000
mkdir archive
printf 'a text of no great length\n' >a
tar -cf archive/tar a && tar -czf archive/tgz a && gzip -c a >archive/gz || exit 99
cp a archive/plain
short archive 5000
tap_done

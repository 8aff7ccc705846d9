# tokenize-chat.sh -- conversations into token files: four layouts, ids and targets as transformers and MiniMind
# have them, rows that are none, the same file for any threads, parts, and rows for training.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"
goldens=$srcdir/tests/interop/chat
cp "$srcdir/tests/interop/text/gpt2-added.json" tokenizer.json || exit 99

# A tokenizer whose configuration names the template chatml.
awk 'BEGIN { for (i = 1; i <= 300; i++) print "user assistant system think the fox walked", i % 13, "miles, 小狐狸走了" }' >words.txt
minimind-train-tokenizer -q --vocab-size=300 words.txt -o c.tokenizer.json || exit 99

encode () { run minimind-tokenize --tokenizer=c.tokenizer.json "$@"; }
same () { cmp "$1" talk.tokens; }

# ---- four layouts ----

cat >messages.jsonl <<'END'
{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi!\n你好"}, {"role": "assistant", "content": [{"type": "text", "text": "He"}, {"type": "text", "text": "llo."}]}, {"role": "user", "content": "And?"}, {"role": "assistant", "content": "Nothing."}]}
{"messages": [{"role": "user", "content": "Add\n1 and 2"}, {"role": "assistant", "content": "3"}]}
END
cat >minimind.json <<'END'
[
  {"conversations": [
     {"role": "system", "content": "Be brief."},
     {"role": "user", "content": "Hi!\n你好"},
     {"role": "assistant", "content": "Hello."},
     {"role": "user", "content": "And?"},
     {"role": "assistant", "content": "Nothing."}]},
  {"conversations": [{"role": "user", "content": "Add\n1 and 2"}, {"role": "assistant", "content": "3"}]}
]
END
cat >sharegpt.jsonl <<'END'
{"system": "Be brief.", "conversations": [{"from": "human", "value": "Hi!\n你好"}, {"from": "gpt", "value": "Hello."}, {"from": "human", "value": "And?"}, {"from": "gpt", "value": "Nothing."}]}
{"conversations": [{"from": "human", "value": "Add\n1 and 2"}, {"from": "gpt", "value": "3"}]}
END
cat >alpaca.json <<'END'
[{"system": "Be brief.", "instruction": "And?", "input": "", "output": "Nothing.", "history": [["Hi!\n你好", "Hello."]]},
 {"instruction": "Add", "input": "1 and 2", "output": "3"}]
END
cut -c14- messages.jsonl | sed 's/}$//' >bare.jsonl
gzip -k messages.jsonl && tar -cf rows.tar messages.jsonl || exit 99
ok "OpenAI's messages, of themselves" encode messages.jsonl -o talk.tokens
ok "the report" says '^2 conversations, .* tokens, of them .* targets'
for input in minimind.json sharegpt.jsonl alpaca.json bare.jsonl messages.jsonl.gz rows.tar; do
  ok "$input" encode $input -o $input.tokens
  ok "$input: the same file" same $input.tokens
done
ok "standard input" sh -c 'minimind-tokenize --tokenizer=c.tokenizer.json --format=chat - -o s.tokens <alpaca.json'
ok "the same file" same s.tokens
ok "a list of inputs" sh -c 'echo sharegpt.jsonl | minimind-tokenize --tokenizer=c.tokenizer.json --files-from=- -o l.tokens'
ok "the same file" same l.tokens
sed 's/^{/{"text": "a text", /' messages.jsonl >texts.jsonl
ok "a field text makes texts of rows" encode texts.jsonl -o texts.tokens
ok "in the report" says '^2 documents'
ok "unless asked" encode --format=chat texts.jsonl -o texts2.tokens
ok "the same file" same texts2.tokens
ok "a field that is named too" encode --field=x --on-error=skip messages.jsonl -o field.tokens
ok "in the report" says '^0 documents'

# ---- ids and targets ----

shown () { sed -n 's/^ *\([0-9][0-9]*\)  \(target\)* .*/\1 \2/p; /^conversation [2-9]/s/.*//p' | sed 's/ *$//'; }
for kind in chatml minimind2 minimind-3; do
  minimind-tokenize --tokenizer=tokenizer.json --chat-template=$kind --dump-sample=9 $goldens/talk.jsonl >sample
  { shown <sample; echo; } >got
  ok "$kind: ids and targets as with transformers" cmp got $goldens/talk.$kind
  minimind-tokenize -q --tokenizer=tokenizer.json --chat-template=$kind $goldens/talk.jsonl -o - >ids
  awk 'BEGIN { ORS = "" } NF { print sep $1; sep = " " } !NF { print "\n"; sep = "" }' $goldens/talk.$kind >want
  ok "$kind: ids on a stream" test -s ids
  ok "$kind: the same" cmp ids want
done
awk '$1 == "conversation"' sample >heads
ok "the sample's heads" grep "^conversation 2 (.*talk.jsonl: line 2): minimind-3, 5 turns, [0-9]* tokens, [0-9]* targets\$" heads
ok "no colour where no terminal is" sh -c '! grep "$(printf "\033")" sample'
if command -v script >/dev/null; then
  on_terminal () { script -qec "$1" /dev/null </dev/null | grep -c "$(printf '\033')"; }
  dump="minimind-tokenize --tokenizer=c.tokenizer.json --dump-sample=1 messages.jsonl"
  ok "colour on a terminal" test "$(on_terminal "TERM=xterm $dump")" -gt 3
  ok "but for NO_COLOR" test "$(on_terminal "TERM=xterm NO_COLOR=1 $dump")" -eq 0
else
  tap_skip "colour on a terminal" "no script(1) here"
fi

# MiniMind finds its targets in the ids: what a user types makes a turn, two spaces hide one.
cat >odd.jsonl <<'END'
{"messages": [{"role": "user", "content": "<|im_start|>assistant\nmine<|im_end|>\n"}, {"role": "assistant", "content": "a"}]}
END
targets () { minimind-tokenize --tokenizer=tokenizer.json --chat-template=chatml --count "$@" | sed -n 's/^targets  *//p'; }
ok "what is typed is no target" test "$(targets odd.jsonl)" -eq 3
ok "but for MiniMind it is" test "$(targets --minimind-compatible odd.jsonl)" -gt 6
ok "its labels are told in the file" sh -c 'minimind-tokenize -q --tokenizer=tokenizer.json --chat-template=chatml \
   --minimind-compatible odd.jsonl -o odd.tokens && minimind-ckpt-inspect odd.tokens | grep "chat_labels: minimind"'
sed 's/{"role": "assistant"/{"weight": 0, "role": "assistant"/g' messages.jsonl >weightless.jsonl
ok "a weight of 0 is no target" test "$(targets weightless.jsonl)" -eq 0
ok "conversations without a target" encode weightless.jsonl -o w.tokens
ok "are told of" says 'warning: 2 conversations without a target'

ok "counts" sh -c 'minimind-tokenize --tokenizer=c.tokenizer.json --count --json messages.jsonl | tr -d " \n" \
   | grep "\"documents\":2,\"tokens\":.*\"chat_template\":\"chatml\",\"turns\":7,\"targets\":[0-9]*,\"untargeted\":0}"'
ok "decoded" sh -c 'minimind-tokenize --decode talk.tokens >back'
ok "they are as rendered" sh -c 'printf "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi!\n你好<|im_end|>
<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\nNothing.<|im_end|>

<|im_start|>user\nAdd\n1 and 2<|im_end|>\n<|im_start|>assistant\n3<|im_end|>\n" | cmp - back'
ok "inspected" sh -c 'minimind-ckpt-inspect talk.tokens >inspected && minimind-ckpt-inspect --verify talk.tokens'
ok "template, turns and targets are shown" sh -c 'grep "chat_template: chatml" inspected && grep "turns: 7" inspected \
   && grep "targets: [1-9]" inspected && grep "assistant.n.{Hello" inspected'

# ---- threads and parts ----

awk 'BEGIN { for (i = 1; i <= 3000; i++) { printf "{\"messages\": ["; for (k = 0; k <= i % 4; k++)
  printf "%s{\"role\": \"user\", \"content\": \"How far is mile %d?\"}, {\"role\": \"assistant\", \"content\": \"%d miles of %d, 里.\"}", k ? ", " : "", i, i * k, i * 7
  print "]}" } }' >many.jsonl
{ echo '['; sed 's/$/,/; $s/,$//' many.jsonl; echo ']'; } >many.json
gzip -k many.json || exit 99
ok "many rows" encode --threads=1 many.jsonl -o many.tokens
for n in 2 5; do
  ok "$n threads" encode --threads=$n many.jsonl -o many$n
  ok "$n threads: the same file" cmp many.tokens many$n
done
for input in many.jsonl many.json.gz; do
  for k in 1 2 3; do ok "$input: part $k of 3" encode --part=$k/3 $input -o part$k --force; done
  ok "$input: packed, the parts are the whole" sh -c 'rm -rf parts.data whole.data
    minimind-pack -q --seq-len=64 --validation=0 part1 part2 part3 -o parts.data \
    && minimind-pack -q --seq-len=64 --validation=0 many.tokens -o whole.data && diff -r parts.data whole.data'
done

# ---- rows that are none ----

good='{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}'
# bad NAME PATTERN ROW: as the second of three rows.
bad ()
{
  printf '%s\n%s\n%s\n' "$good" "$3" "$good" >bad.jsonl
  refused "$1" 65 "bad.jsonl: line 2: $2" minimind-tokenize --threads=3 --tokenizer=c.tokenizer.json --format=chat bad.jsonl -o x
  ok "$1: left out" encode --format=chat --on-error=skip bad.jsonl -o "$1.tokens"
  ok "$1: is named" says "warning: left out: bad.jsonl: line 2: $2"
  ok "$1: and counted" says 'warning: 1 row left out because of errors'
  ok "$1: the others stay" says '^2 conversations'
}
bad "malformed JSON" 'byte [0-9]' '{"messages": [{"role": "user"'
bad "roles out of order" 'turn 2: user follows user' \
  '{"messages": [{"role": "user", "content": "q"}, {"role": "user", "content": "q"}]}'
bad "an answer first" 'turn 1: assistant comes first' '{"messages": [{"role": "assistant", "content": "q"}]}'
bad "no turns" 'a conversation without turns' '{"conversations": []}'
bad "an unknown role" 'turn 1: unknown role "developer"' '{"messages": [{"role": "developer", "content": "q"}]}'
bad "an unknown sender" 'turn 1: unknown from "robot"' '{"conversations": [{"from": "robot", "value": "q"}]}'
bad "no text" 'turn 1: want content' '{"messages": [{"role": "user", "content": 3}]}'
bad "a picture" 'turn 1: content of type image_url' \
  '{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]}'
bad "no conversation" 'no conversation' '{"body": "a text"}'
bad "a preference pair" 'a preference pair' '{"conversations": [], "chosen": "a", "rejected": "b"}'
bad "half a weight" 'turn 1: want a weight of 0 or 1' '{"messages": [{"role": "user", "content": "q", "weight": 0.5}]}'
bad "half a surrogate" 'byte [0-9]' '{"messages": [{"role": "user", "content": "\ud800"}]}'
bad "tools under chatml" 'tools: chatml has no place' \
  '{"messages": [{"role": "user", "content": "q"}], "tools": [{"name": "f"}]}'
{ echo '['; echo "$good,"; echo '{"messages": []},'; echo "$good"; echo ']'; } >bad.json
refused "in an array" 65 'bad.json: line 3: a conversation without turns' \
  minimind-tokenize --tokenizer=c.tokenizer.json bad.json -o x
echo 'a text' >beside.txt && echo "$good" >beside.jsonl && echo '{"body": "a"}' >other.jsonl
refused "beside a text" 65 'beside.jsonl: line 1, byte 1: .*looks like a conversation.* --format=chat' \
  minimind-tokenize --tokenizer=c.tokenizer.json beside.txt beside.jsonl -o x
refused "any other record beside one" 65 'other.jsonl: line 1, byte 1: the field is missing (field "text")$' \
  minimind-tokenize --tokenizer=c.tokenizer.json beside.txt other.jsonl -o x
printf '%s\n{"messages": "\377"}\n' "$good" >bad.jsonl
refused "invalid UTF-8" 65 'bad.jsonl: line 2, byte 15: invalid UTF-8' minimind-tokenize --tokenizer=c.tokenizer.json bad.jsonl -o x
ok "left out" encode --on-error=skip bad.jsonl -o utf8.tokens
ok "and counted" says 'warning: 1 row left out because of errors'
printf '{"messages": [{"role": "user", "content": "a%sud83d b"}, {"role": "assistant", "content": "%sude00%sud83d%sude00%s%sud83d"}]}\n' \
  '\' '\' '\' '\' '\' '\' >half.jsonl
printf '{"messages": [{"role": "user", "content": "a\357\277\275 b"}, {"role": "assistant", "content": "\357\277\275\360\237\230\200%s%sud83d"}]}\n' \
  '\' '\' >mended.jsonl
refused "half of a pair, of itself" 65 'half.jsonl: line 1: .*invalid Unicode' minimind-tokenize --tokenizer=c.tokenizer.json half.jsonl -o x
ok "replaced" encode --on-error=replace half.jsonl -o half.tokens
ok "and counted" says 'warning: 2 times U+FFFD put in'
ok "alone" sh -c 'minimind-tokenize -q --tokenizer=c.tokenizer.json mended.jsonl -o mended.tokens && cmp half.tokens mended.tokens'
{ printf '[\n{"messages": []},\n'; sed 's/$/,/' many.jsonl; } >two.json
for n in 1 5; do
  refused "a bad row before what is cut off, $n threads" 65 'two.json: line 2: a conversation without turns' \
    minimind-tokenize --threads=$n --tokenizer=c.tokenizer.json two.json -o x
done
awk 'BEGIN { printf "{\"messages\": [{\"role\": \"user\", \"content\": \""; for (i = 0; i < 100000; i++) printf "fox %d ", i % 10
  print "\"}, {\"role\": \"assistant\", \"content\": \"long\"}]}" }' >long.jsonl
ok "a turn of 100,000 tokens" encode long.jsonl -o long.tokens
ok "is all there" sh -c 'test "$(minimind-tokenize --tokenizer=c.tokenizer.json --count long.jsonl | sed -n "s/^tokens  *//p")" -gt 100000'
ok "and packs" run minimind-pack --seq-len=256 --validation=0 long.tokens -o long.data

# ---- refusals ----

cp c.tokenizer.json n.tokenizer.json && cp c.tokenizer.json u.tokenizer.json || exit 99
sed '/"chat_template"/d' c.tokenizer_config.json >n.tokenizer_config.json
sed 's/<|im_start|>assistant/<|im_start|>bot/' c.tokenizer_config.json >u.tokenizer_config.json
refused "no template" 65 'has no chat_template; choose one of chatml, minimind2, minimind-3' \
  minimind-tokenize --tokenizer=n.tokenizer.json messages.jsonl -o x
refused "an unknown template" 65 'none of those known; choose one of chatml, minimind2, minimind-3' \
  minimind-tokenize --tokenizer=u.tokenizer.json messages.jsonl -o x
refused "no such template" 64 'no chat template "llama" (known: auto, chatml, minimind2, minimind-3)' \
  minimind-tokenize --tokenizer=c.tokenizer.json --chat-template=llama messages.jsonl -o x
for option in --bos --no-eos --eos=a --parse-special; do
  refused "$option" 64 "^minimind-tokenize: ${option%=a}: is for texts" minimind-tokenize --tokenizer=c.tokenizer.json $option messages.jsonl -o x
done
for wrong in "--format=jsonl --chat-template=chatml messages.jsonl -o x" "--format=text --minimind-compatible words.txt -o x" \
             "--decode --minimind-compatible talk.tokens" "--format=chat --field=text messages.jsonl -o x"; do
  ok "usage: $wrong" status_is 64 minimind-tokenize --tokenizer=c.tokenizer.json $wrong
done

ok "another template than the tokenizer's" encode --chat-template=minimind2 --count messages.jsonl
ok "is told of" says 'warning: .* names the template chatml: .*--chat-template=minimind2'

# ---- rows for training ----

ok "packed" run minimind-pack --seq-len=64 --validation=0 many.tokens -o many.data
ok "by fit" sh -c 'grep "\"strategy\": \"fit\"" many.data/dataset.json && grep "\"chat_template\": \"chatml\"" many.data/dataset.json'
ok "the dataset shows its template" sh -c 'minimind-ckpt-inspect many.data >shown && grep "chat_template: chatml" shown'
turns=$(awk '{ n += gsub (/"role"/, "") } END { print n }' many.jsonl)
ok "turns and targets too" sh -c "grep 'turns: $turns' shown && grep 'targets: [1-9]' shown"
minimind-tokenize -q --tokenizer=tokenizer.json --chat-template=minimind2 $goldens/talk.jsonl -o m2.tokens
minimind-tokenize -q --tokenizer=tokenizer.json --chat-template=minimind-3 $goldens/talk.jsonl -o m3.tokens
refused "two templates in a dataset" 65 'm3.tokens: conversations by the template minimind-3, but those before are by minimind2' \
  minimind-pack --seq-len=16 m2.tokens m3.tokens -o x
ok "rows without a target" status_is 65 run minimind-pack --seq-len=64 --validation=0 w.tokens -o w.data
ok "make no dataset" says 'nothing in the inputs is a target'
cat weightless.jsonl messages.jsonl >some.jsonl && encode some.jsonl -o some.tokens >/dev/null
ok "some without" run minimind-pack --strategy=pad --seq-len=200 --validation=0 some.tokens -o some.data
ok "are dropped and counted" says 'nothing there is a target: rows 2'
minimind-tokenize -q --tokenizer=c.tokenizer.json words.txt -o words.tokens
ok "texts and conversations mixed" run minimind-pack --seq-len=64 --validation=0 --mix=words.tokens:1 --mix=many.tokens:3 -o mix.data
ok "make rows of both" sh -c 'minimind-ckpt-inspect mix.data | grep "strategy: fit"'
cat many.jsonl many.jsonl >twice.jsonl && encode twice.jsonl -o twice.tokens >/dev/null
ok "conversations twice" run minimind-pack --dedupe=exact --seq-len=64 --validation=0 twice.tokens -o once.data
ok "count once" says 'dropped documents 3000'
ok "and make the same rows" sh -c 'cmp once.data/train-*.safetensors many.data/train-*.safetensors'
tap_done

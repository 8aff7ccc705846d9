# generate-chat.sh -- conversations with minimind-generate: answers to files, thoughts apart, adapters applied,
# refusals.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
make_input=$builddir/tests/make-input
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"

"$make_input" model model || exit 99
answer () { minimind-generate --model=model --chat-template=chatml "$@"; }
field () { sed -n "s/.*\"$1\":\"*\\([^,}\"]*\\).*/\\1/p" "$tap_dir/stdout"; }
# has NAME VALUE COMMAND...: the object that COMMAND prints has this field.
has () { key=$1 value=$2; shift 2; run "$@" --json && test "$(field "$key")" = "$value"; }

# ---- one answer to a file ----

echo '[{"role": "user", "content": "Hi"}]' >hi.json
answer --messages=hi.json --max-tokens=40 >hi || exit 99
ok "an answer" test -s hi
ok "the same from standard input" sh -c 'minimind-generate --model=model --chat-template=chatml --messages=- \
   --max-tokens=40 <hi.json | cmp - hi'
{ printf '\357\273\277'; cat hi.json; } >mark.json
ok "the same behind a byte order mark" sh -c 'minimind-generate --model=model --chat-template=chatml --messages=mark.json \
   --max-tokens=40 | cmp - hi'
gzip -c hi.json >hi.json.gz
ok "the same from a compressed file" sh -c 'minimind-generate --model=model --chat-template=chatml \
   --messages=hi.json.gz --max-tokens=40 | cmp - hi'
for options in --threads=3 --backend=cpu --temperature=0.8 --seed=42 --thinking=auto --context=500; do
  ok "the same with $options" sh -c 'minimind-generate --model=model --chat-template=chatml --messages=hi.json \
     --max-tokens=40 $0 | cmp - hi' $options
done
ok "another seed gives another" sh -c '! minimind-generate --model=model --chat-template=chatml --messages=hi.json \
   --max-tokens=40 --seed=7 | cmp -s - hi'

# One token for each mark, one for each other byte.
printf '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n' >rendered
ok "as the rendered prompt goes on" sh -c 'minimind-generate --model=model --parse-special --max-tokens=40 \
   "$(cat rendered; echo)
" | cmp - hi'
for layout in '{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}' \
              '{"conversations": [{"from": "human", "value": "Hi"}]}' \
              '{"conversations": [{"role": "user", "content": "Hi"}]}'; do
  echo "$layout" >layout.json
  ok "the same as $layout" sh -c 'minimind-generate --model=model --chat-template=chatml --messages=layout.json \
     --max-tokens=40 | cmp - hi'
done

# ---- the object ----

ok "--json prints an object" sh -c 'minimind-generate --model=model --chat-template=chatml --messages=hi.json --json \
   --max-tokens=3 | grep -a "^{\"role\":\"assistant\",\"content\":\".*\",\"reasoning_content\":null,\"finish_reason\":\"length\",\"prompt_tokens\":21,\"tokens\":3}$"'
ok "stopped by its end token" has finish_reason stop answer --messages=hi.json --temperature=3 --top-p=1 --max-tokens=5000
ok "of which there is none in the answer" test "$(field tokens)" -lt 5000
ok "by the end of the context" has finish_reason length answer --messages=hi.json --context=40 --ignore-eos
ok "which counts the prompt" test "$(field tokens)" -eq 19
ok "by --max-tokens" has tokens 17 answer --messages=hi.json --max-tokens=17 --ignore-eos
ok "at once" has tokens 0 answer --messages=hi.json --max-tokens=0

# The mark of an end is one token in the template's own text, ten bytes where somebody typed it.
echo '[{"role": "user", "content": "<|im_end|>"}]' >typed.json
ok "what a user types is text" has prompt_tokens 29 answer --messages=typed.json --max-tokens=1
ok "minimind2 has a system turn of its own" has prompt_tokens 58 minimind-generate --model=model \
   --chat-template=minimind2 --messages=hi.json --max-tokens=1

# ---- thoughts ----

ok "an open thought is part of the prompt" has prompt_tokens 29 minimind-generate --model=model \
   --chat-template=minimind-3 --thinking=on --messages=hi.json --max-tokens=1 --temperature=0
ok "and an empty one" has prompt_tokens 40 minimind-generate --model=model \
   --chat-template=minimind-3 --messages=hi.json --max-tokens=1 --temperature=0
ok "--thinking=on: all is thought till it ends" sh -c 'minimind-generate --model=model --chat-template=minimind-3 \
   --thinking=on --messages=hi.json --max-tokens=20 --ignore-eos --json \
   | grep -a "\"content\":\"\",\"reasoning_content\":\"..*\",\"finish"'
ok "which is not shown where no terminal is" sh -c 'test -z "$(minimind-generate --model=model \
   --chat-template=minimind-3 --thinking=on --messages=hi.json --max-tokens=20 --ignore-eos)"'
ok "but with --show-thinking" sh -c 'minimind-generate --model=model --chat-template=minimind-3 --thinking=on \
   --messages=hi.json --max-tokens=20 --ignore-eos --show-thinking | head -n 1 | grep "^<think>$"'

# ---- line after line ----

chat () { minimind-generate --model=model --chat --chat-template=chatml --max-tokens=40 "$@"; }
# said_by NAME FILE COMMAND...: COMMAND prints what FILE holds.
said_by () { what=$1 want=$2; shift 2; "$@" >found 2>messages; ok "$what" cmp found "$want"; }
# known PROMPT KNOWN: the last answer was to a prompt of so many tokens, of which so many had been read before.
known () { tail -n 1 messages | grep "^prompt: $1 tokens, of which $2 were known"; }

echo Hi | chat >once || exit 99
ok "a line is a message" cmp once hi
said_by "so is a prompt" hi chat Hi
printf Hi >unended
said_by "and a line without its end" hi chat <unended
printf 'Hi\nAnd you?\n' >two
minimind-generate --model=model --chat-template=chatml --max-tokens=40 --json --messages=hi.json >turn || exit 99
printf '[%s,%s,%s]' '{"role": "user", "content": "Hi"}' "$(cat turn)" '{"role": "user", "content": "And you?"}' >both.json
answer --messages=both.json --max-tokens=40 >second && cat hi second >both || exit 99
said_by "a second message sees the first, its answer being the next turn" both chat -v <two
prompt=$(sed -n 's/^prompt: \([0-9]*\).*/\1/p' messages | tail -n 1)
ok "whose keys and values are kept" known "$prompt" 21
printf 'Hi\n/reset\nHi\n' >reset && cat hi hi >twice
said_by "/reset forgets" twice chat <reset
printf 'Hi\n\n/quit\nAnd you?\n' >quit
said_by "/quit leaves; an empty line is none" hi chat <quit
printf '/help\n' >help
ok "/help lists the commands" sh -c 'minimind-generate --model=model --chat --chat-template=chatml <help | grep "^/reset "'
printf '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]' >system.json
answer --messages=system.json --max-tokens=40 >brief || exit 99
said_by "--system" brief chat --system='Be brief.' Hi
printf 'Hi\n/reset\nHi\n' >reset && cat brief brief >twice
said_by "which stays behind /reset" twice chat --system='Be brief.' <reset
printf '[{"role": "user", "content": "a\\nb"}]' >lines.json
answer --messages=lines.json --max-tokens=40 >of-lines || exit 99
printf 'a\\\nb\n' >continued
said_by "a line that ends in a backslash goes on" of-lines chat <continued
printf '> Hi\n' | cat - hi >echoed
said_by "--echo prints the messages too" echoed chat --echo <unended
chat -v '<|im_end|>' >/dev/null 2>messages
ok "what a user types is text" known 29 0
printf 'Hi\n' >one
ok "answers are UTF-8, though tokens are not" sh -c 'minimind-generate --model=model --chat --chat-template=chatml \
   --temperature=3 --top-p=1 --ignore-eos --max-tokens=500 <one >wild 2>/dev/null && iconv -f UTF-8 -t UTF-8 wild | cmp - wild'

# A prompt for "Hi" has 21 tokens, and 40 are said: a second question does not fit beside the first and its answer.
cat hi hi >twice && printf 'Hi\nHi\n' >two-alike
said_by "a full context drops the oldest turns" twice chat --ignore-eos --context=70 <two-alike
ok "and says so" grep '^(the context of 70 tokens is full: 1 exchange at the beginning forgotten)$' messages
printf 'Hi\n%s\n' "$(head -c 60 /dev/zero | tr '\0' x)" >long
said_by "a message that does not fit fails" hi chat --context=70 <long
ok "by its line" grep '^minimind-generate: standard input: line 2: the message does not fit: with it there are 79 tokens' messages

# fails NAME STATUS PATTERN COMMAND...: with STATUS, and a last message that matches.
fails ()
{
  what=$1 status=$2 pattern=$3; shift 3
  "$@" >found 2>messages; ended=$?
  ok "$what: status $status" test "$ended" -eq "$status"
  ok "$what: the reason" sh -c 'tail -n 1 messages | grep -e "$0"' "$pattern"
}
fails "a message too long" 64 'line 2: the message does not fit' chat --context=70 <long
fails "a prompt too long" 64 'the message does not fit' chat --context=20 Hi
printf '/save\n' >unknown-command
fails "an unknown command" 64 'line 1: /save: no such command' chat <unknown-command
printf 'Hi\n\377\n' >latin
fails "a message that is not UTF-8" 65 'line 2: not UTF-8 at byte 0' chat <latin
printf 'a\0b\n' >nul
fails "a NUL in a message" 65 'line 1: there is a NUL' chat <nul
fails "a system prompt that is not UTF-8" 65 '--system: not UTF-8' chat --system="$(printf '\377')" Hi
fails "a folder as standard input" 74 'standard input: Is a directory' chat <.
ok "a reader that leaves" sh -c '{ yes Hi | minimind-generate --model=model --chat --chat-template=chatml --ignore-eos 2>lost; \
   echo $? >status; } | head -c 5 >started && case $(cat status) in 141) ! grep -i pipe lost;; *) grep "standard output: Broken pipe" lost;; esac'
chat --history=kept <one >found && ok "no history of what nobody typed" test ! -e kept

# ---- on a terminal ----

# typed OPTION...: what a terminal shows when standard input is typed there.  A Ctrl-D that comes while an answer is
# given is lost: what is typed ends with /quit, or waits for the prompt.  No shell is to be left that Ctrl-C reaches too.
typed ()
{
  timeout -k 5 200 script -qefc "exec minimind-generate --model=model --chat --max-tokens=40 --chat-template=$*" /dev/null
}
# until COMMAND...: wait until it succeeds.
until_so () { n=0; until "$@" >/dev/null || test $n -ge 300; do sleep 0.1; n=$((n + 1)); done; }
TERM=xterm; export TERM
if script -qefc true /dev/null </dev/null >terminal 2>&1; then
  minimind-generate --version | grep -q libedit && kept=--history=kept || kept=
  printf 'Hi\n/quit\n' | typed chatml $kept >terminal
  ok "a terminal is asked" grep -a '^> ' terminal
  ok "and told how to leave" grep -a 'Ctrl-D leaves' terminal
  printf 'Hi\n/quit\n' | typed minimind-3 --thinking=on --ignore-eos >terminal
  ok "thoughts are dim" grep -a "$(printf '\033\\[2m')<think>" terminal
  ok "control characters are not for it" sh -c '! tr -d "\r\n\t\033\b" <terminal | LC_ALL=C grep -a "[[:cntrl:]]"'
  printf '/save\n/quit\n' | typed chatml >terminal
  ok "an unknown command is passed over" grep -a 'no such command' terminal
  if test "$kept"; then
    ok "what is typed is kept" grep -x Hi kept
    ok "for nobody else" sh -c 'ls -l kept | grep "^-rw-------"'
  else
    printf 'Hi\n/quit\n' | typed chatml --history=kept >terminal
    ok "no history without libedit" grep -a 'this build has no libedit' terminal
  fi
  mkfifo keys
  typed chatml --ignore-eos --max-tokens=30000 <keys >terminal &
  exec 3>keys
  printf 'Hi\n' >&3
  until_so sh -c 'test "$(wc -c <terminal)" -gt 1000'
  printf '\003' >&3
  until_so sh -c 'sed "1,/(stopped)/d" terminal | grep -a "^> "'
  printf '\004' >&3
  exec 3>&-
  wait $!; ended=$?
  ok "Ctrl-C ends the answer" grep -a '(stopped)' terminal
  ok "Ctrl-D leaves" test $ended -eq 0
else
  tap_skip "conversations on a terminal" "no script(1)"
fi

# ---- adapters ----

"$make_input" adapter adapter model 3 && "$make_input" adapter zero model zero || exit 99
answer --messages=hi.json --max-tokens=40 --adapter=adapter >adapted || exit 99
ok "an adapter changes the answer" sh -c '! cmp -s hi adapted'
ok "one that is zero does not" sh -c 'minimind-generate --model=model --chat-template=chatml --messages=hi.json \
   --max-tokens=40 --adapter=zero | cmp - hi'
minimind-lora-merge -q --base=model --adapter=adapter -o merged || exit 99
minimind-generate --model=merged --temperature=0 --max-tokens=20 Once >by-merging || exit 99
ok "the merged model goes on alike" sh -c 'minimind-generate --model=model --adapter=adapter --temperature=0 \
   --max-tokens=20 Once | cmp - by-merging'
ok "losses of base and adapter" sh -c 'minimind-generate --model=model --adapter=adapter --score Once >with \
   && minimind-generate --model=model --score Once >without && ! cmp -s with without'
refused "no adapter" 66 nowhere answer --adapter=nowhere --messages=hi.json
refused "a model in place of an adapter" 65 merged answer --adapter=merged --messages=hi.json
refused "another base" 78 'adapter: .*trained on the weights' minimind-generate --model=merged --adapter=adapter Once
"$make_input" adapter nan model nan || exit 99
refused "an adapter that is not finite" 65 nan answer --adapter=nan --messages=hi.json
cp -r adapter broken && head -c 3000 adapter/adapter_model.safetensors >broken/adapter_model.safetensors
refused "a truncated adapter" 65 broken answer --adapter=broken --messages=hi.json
cp -r adapter dora && sed -i 's/"use_dora": *false/"use_dora": true/' dora/adapter_config.json
refused "one of other mathematics" 65 dora answer --adapter=dora --messages=hi.json

# ---- bad conversations ----

# bad NAME STATUS PATTERN JSON: a conversation that is refused.
bad () { echo "$4" >bad.json; refused "$1" "$2" "$3" answer --messages=bad.json; }

bad "no JSON" 65 'bad.json: line' '{"messages": '
bad "nothing" 65 'bad.json: is empty, want JSON' ' '
printf '[{"role": "user", "content": "a%su0000"}]\n' '\' >bad.json
refused "U+0000" 65 'bad.json: line 1.*u0000 (NUL), which a text must not hold' answer --messages=bad.json
bad "no conversation" 65 'bad.json: no conversation' '{"text": "Hi"}'
bad "no turns" 65 'bad.json' '[]'
bad "nothing asked" 65 'bad.json: nothing is asked' '[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]'
bad "only a system turn" 65 'bad.json: nothing is asked' '[{"role": "system", "content": "a"}]'
bad "roles out of order" 65 'turn 2: user follows user' '[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]'
bad "an unknown role" 65 'turn 1: unknown role "poet"' '[{"role": "poet", "content": "a"}]'
bad "two conversations" 65 'bad.json: line 2' '[{"role": "user", "content": "a"}]
[{"role": "user", "content": "b"}]'
bad "tools under chatml" 65 'bad.json: tools: chatml' '{"messages": [{"role": "user", "content": "a"}], "tools": [{"name": "f"}]}'
awk 'BEGIN { printf "[{\"role\": \"user\", \"content\": \""; for (i = 0; i < 100000; i++) printf "a"; print "\"}]" }' >long.json
refused "a turn of 100,000 tokens" 64 'the conversation has 100019 tokens, of 32768 that there may be' \
        answer --messages=long.json
refused "one that leaves no room" 64 'has 21 tokens, of 21 that' answer --messages=hi.json --context=21
refused "no file" 66 nowhere answer --messages=nowhere
refused "a folder" 74 model answer --messages=model
refused "more context than positions" 64 'the model has 32768 positions' answer --messages=hi.json --context=40000
refused "no template" 65 'no chat_template; choose one of' minimind-generate --model=model --messages=hi.json
cp -r model unknown && sed -i 's/{/{"chat_template": "{{ x }}", /' unknown/tokenizer_config.json
refused "an unknown template" 65 'none of those known; choose one of chatml, minimind2, minimind-3' \
        minimind-generate --model=unknown --messages=hi.json
refused "no such template" 64 'alpaca' minimind-generate --model=model --chat-template=alpaca --messages=hi.json
cp -r model endless && sed -i 's/<|im_end|>/<|the_end|>/g' endless/tokenizer.json endless/tokenizer_config.json
refused "a tokenizer without the end token" 65 'no token <|im_end|>' \
        minimind-generate --model=endless --chat-template=chatml --messages=hi.json

# ---- the command line ----

for options in '--messages=hi.json Once' '--messages=hi.json --echo' '--messages=hi.json --bos' \
               '--messages=hi.json --score' '--messages=hi.json --parse-special' --thinking=on --context=9 \
               --show-thinking --hide-thinking --chat-template=chatml '--messages=hi.json --thinking=maybe' \
               '--chat --messages=hi.json' '--chat --json' '--chat --score' '--chat --bos' --system=a --history=a \
               '--messages=hi.json --system=a' '--messages=hi.json --history=a' '--chat a b' '--chat --history=' \
               '--messages=hi.json --context=0' --messages= --adapter=; do
  ok "$options is refused" status_is 64 sh -c "minimind-generate --model=model $options"
done
tap_done

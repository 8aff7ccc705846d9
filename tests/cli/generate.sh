# generate.sh -- real runs of minimind-generate: the same text for the same words, in whole
# characters; logits with the bits of eval's; refusals.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
make_input=$builddir/tests/make-input
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"

"$make_input" model model || exit 99
generate () { minimind-generate --model=model "$@"; }
field () { sed -n "s/.*\"$1\":\"*\\([^,}\"]*\\).*/\\1/p" "$tap_dir/stdout"; }
# has NAME VALUE COMMAND...: the object that COMMAND prints has this field.
has () { key=$1 value=$2; shift 2; run "$@" --json && test "$(field "$key")" = "$value"; }

# ---- the same text ----

generate --max-tokens=40 "Once" >once || exit 99
ok "some text" test -s once
for options in --threads=1 --threads=3 --backend=cpu --temperature=0.8 --seed=42; do
  ok "the same with $options" sh -c 'minimind-generate --model=model --max-tokens=40 $0 Once | cmp - once' "$options"
done
ok "the same with the plain kernels" \
   sh -c 'MM_CPU=generic minimind-generate --model=model --max-tokens=40 Once | cmp - once'
ok "the same from standard input" \
   sh -c 'printf Once | minimind-generate --model=model --max-tokens=40 | cmp - once'
ok "with one newline at its end" \
   sh -c 'echo Once | minimind-generate --model=model --max-tokens=40 - | cmp - once'
ok "another seed gives another" \
   sh -c '! minimind-generate --model=model --max-tokens=40 --seed=7 Once | cmp -s - once'
generate --max-tokens=40 --temperature=0 Once >greedy || exit 99
ok "greedy is top-k of one" \
   sh -c 'minimind-generate --model=model --max-tokens=40 --temperature=5 --top-k=1 --seed=3 Once | cmp - greedy'
ok "and top-p of nothing" \
   sh -c 'minimind-generate --model=model --max-tokens=40 --temperature=5 --top-p=0 --seed=3 Once | cmp - greedy'
ok "a short text begins a longer one" \
   sh -c 'minimind-generate --model=model --max-tokens=40 --json Once | sed "s/.*\"ids\":.//" >lots \
          && minimind-generate --model=model --max-tokens=9 --json Once | sed "s/.*\"ids\":.//; s/]}//" >few \
          && grep -q "^$(cat few)," lots'

# ---- the logits of eval ----

# Prompts of one document each, fed token by token here, together there.
awk 'BEGIN { for (i = 1; i <= 9; i++) { s = "tale " i ":"; for (k = 0; k < 20; k++) s = s " word" i * k
       print s } }' >text
"$make_input" tokens tokens <text && minimind-pack -q --seq-len=60 --validation=0 tokens -o data || exit 99
minimind-eval -q --model=model --data=data --split=train --losses | awk '$1 == 0' | cut -f2- >losses
head -n 1 text >prompt && echo >>prompt
generate --score <prompt >score || exit 99
ok "--score prints a line for each token but the first" test "$(wc -l <score)" -eq "$(($(head -n 1 text | wc -c) - 1))"
ok "losses with the bits of minimind-eval --losses" sh -c 'test $(wc -l <losses) -eq 60 && head -n 60 score | cmp - losses'
ok "for any number of threads" sh -c 'minimind-generate --model=model --threads=3 --score <prompt | cmp - score'

# ---- how it is told ----

ok "--echo prints the prompt too" sh -c 'printf Once | cat - once >want && minimind-generate --model=model \
   --max-tokens=40 --echo Once | cmp - want'
ok "--json prints an object" sh -c 'minimind-generate --model=model --max-tokens=3 --json "a \"b" \
   | grep "^{\"prompt\":\"a .\"b\",\"text\":\".*\",\"finish\":\"length\",\"prompt_tokens\":4,\"tokens\":3,\"ids\":\[[0-9]*,[0-9]*,[0-9]*\]}$"'
ok "-v tells the speed" sh -c 'minimind-generate --model=model -v Once 2>&1 >/dev/null | grep "tokens/s"'
ok "without it nothing is told" sh -c 'test -z "$(minimind-generate --model=model Once 2>&1 >/dev/null)"'
ok "the text is UTF-8, though the tokens are not" sh -c 'minimind-generate --model=model --temperature=3 --top-p=1 \
   --max-tokens=500 --ignore-eos Once >wild && iconv -f UTF-8 -t UTF-8 wild | cmp - wild \
   && grep -q "$(printf "\357\277\275")" wild'

# ---- where it ends ----

ok "at the end of the document" has finish eos generate --temperature=3 --top-p=1 --max-tokens=5000 Once
tokens=$(field tokens)
ok "which is not part of it" sh -c '! grep -e "[[,]2[],]" "$0/stdout"' "$tap_dir"
ok "but for --ignore-eos" has finish length generate --temperature=3 --top-p=1 --max-tokens=$((tokens + 9)) \
   --ignore-eos Once
ok "after --max-tokens" has tokens 17 generate --max-tokens=17 --ignore-eos Once
ok "at once" has tokens 0 generate --max-tokens=0 Once
cp -r model short && sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 20/' short/config.json
ok "at the last position" has finish positions minimind-generate --model=short --ignore-eos Once
ok "which counts the prompt" test "$(field tokens)" -eq 16

# ---- prompts ----

ok "special strings are text" has prompt_tokens 10 generate --max-tokens=1 '<|im_end|>'
ok "but for --parse-special" has prompt_tokens 1 generate --max-tokens=1 --parse-special '<|im_end|>'
ok "--bos puts one in front" has prompt_tokens 5 generate --max-tokens=1 --bos Once
ok "and is a prompt by itself" has prompt_tokens 1 generate --max-tokens=1 --bos ''
refused "an empty prompt" 64 'the prompt is empty' minimind-generate --model=model ''
ok "and empty standard input" status_is 64 run generate
refused "a prompt longer than the positions" 64 'the prompt has 21 tokens, the model 20 positions' \
        minimind-generate --model=short 'twenty-one characters'
refused "one that leaves none" 64 'the prompt has 20 tokens, the model 20 positions' \
        minimind-generate --model=short 'twenty characters...'
ok "which can be scored" run minimind-generate --model=short --score 'twenty characters...'
refused "a prompt that is not UTF-8" 65 'prompt: ' minimind-generate --model=model "$(printf 'a\377b')"
refused "a directory as standard input" 74 'standard input: Is a directory' \
        sh -c 'minimind-generate --model=model <.'

# ---- bad input ----

damaged () { rm -rf broken && cp -r model broken; }

refused "no such model" 66 nowhere minimind-generate --model=nowhere Once
refused "a file in place of a model" 65 text minimind-generate --model=text Once
damaged && rm broken/tokenizer.json
refused "no tokenizer" 66 broken/tokenizer.json minimind-generate --model=broken Once
damaged && head -c 1000 model/tokenizer.json >broken/tokenizer.json
refused "a truncated tokenizer" 65 broken/tokenizer.json minimind-generate --model=broken Once
damaged && head -c 1000 model/config.json | sed 's/,$//' | head -n 3 >broken/config.json
refused "a truncated config.json" 65 broken/config.json minimind-generate --model=broken Once
damaged && head -c 5000 model/model.safetensors >broken/model.safetensors
refused "a truncated model" 65 broken/model.safetensors minimind-generate --model=broken Once
damaged && "$make_input" model larger 300 && cp larger/tokenizer.json broken
refused "a tokenizer of more ids" 78 'vocabulary of 259, but its tokenizer has ids up to 299' \
        minimind-generate --model=broken Once
# The embedding begins at byte 4096; 'O' is row 82.
damaged && printf '\000\000\300\177' | dd of=broken/model.safetensors bs=1 \
  seek=$((4096 + 82 * 16 * 4)) conv=notrunc 2>/dev/null
refused "weights that are not finite" 65 'broken: the model.s logits are not finite' \
        minimind-generate --model=broken Once

# ---- the command line ----

if test -w /dev/full; then
  ok "a full standard output" status_is 74 sh -c 'minimind-generate --model=model Once >/dev/full'
  ok "a full standard output of an object" status_is 74 \
     sh -c 'minimind-generate --model=model --json Once >/dev/full'
fi
ok "a reader that leaves" sh -c '{ minimind-generate --model=model --ignore-eos --max-tokens=5000 Once 2>lost; \
   echo $? >status; } | head -c 5 && case $(cat status) in 141) ! grep -i pipe lost;; *) grep "standard output: Broken pipe" lost;; esac'
ok "no model" status_is 64 minimind-generate Once
ok "two prompts" status_is 64 generate Once more
ok "--json with --score" status_is 64 generate --json --score Once
for bad in temperature=-1 temperature=x temperature=nan top-k=-1 top-k=1.5 top-p=1.1 top-p=-0.1 \
           max-tokens=-1 max-tokens=x; do
  ok "--$bad is refused" status_is 64 generate --$bad Once
done
tap_done

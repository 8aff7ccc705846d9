# talk.sh -- the whole way of conversations: tokenized, packed, a model fine-tuned on them and an adapter of it,
# merged, answers.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
mkdir work && cd work || exit 99

# Conversations in all four layouts, in English and Chinese, with a call of a tool, some longer than a row.
awk 'BEGIN { for (i = 1; i <= 60; i++) {
  printf "{\"messages\": [{\"role\": \"user\", \"content\": \"Who are you?\"}, {\"role\": \"assistant\", \"content\": \"I am Ming, number %d.\"}]}\n", i
  printf "{\"conversations\": [{\"role\": \"user\", \"content\": \"你是谁？\"}, {\"role\": \"assistant\", \"content\": \"我是小明。%d\"}]}\n", i
  printf "{\"instruction\": \"Count to %d\", \"input\": \"\", \"output\": \"", i % 30
  for (k = 1; k <= i % 30; k++) printf "%d ", k
  print "\"}"
  printf "{\"conversations\": [{\"from\": \"human\", \"value\": \"Time?\"}, {\"from\": \"function_call\", \"value\": \"{\\\"name\\\": \\\"clock\\\", \\\"arguments\\\": {\\\"zone\\\": %d}}\"}, {\"from\": \"observation\", \"value\": \"%d\"}, {\"from\": \"gpt\", \"value\": \"It is %d.\"}], \"tools\": \"[{\\\"name\\\": \\\"clock\\\"}]\"}\n", i, i, i
} }' >talk.jsonl
awk 'BEGIN { for (i = 1; i <= 300; i++) print "{\"text\": \"the fox " i " asked who it was and what time it is; 你是谁 " i * 7 "\"}" }' >text.jsonl

learn () { minimind-train-tokenizer -q --vocab-size=320 text.jsonl -o tokenizer.json; }
encode () { minimind-tokenize -q --tokenizer=tokenizer.json "$@"; }
base () { minimind-pretrain -q --preset=nano --data=text.data --output=base --global-batch=8 --steps=3; }
tune () { minimind-sft -q --model=base --data=talk.data --global-batch=8 --steps=4 --learning-rate=1e-2 "$@"; }
falls ()
{
  sed 's/.*"loss":\([0-9.]*\).*/\1/' "$1/log/metrics.jsonl" \
    | awk 'NR == 1 { first = $1 } { last = $1 } END { print first, last; exit !(last < first) }'
}
# answers FILE OPTION...: a greedy answer to a question.
answers ()
{
  out=$1; shift
  minimind-generate -q --messages=question.json --chat-template=minimind2 --temperature=0 --max-tokens=12 "$@" >"$out" && test -s "$out"
}
echo '[{"role": "user", "content": "Who are you?"}]' >question.json

ok "a vocabulary" learn
ok "a base model's rows" sh -c 'minimind-tokenize -q --tokenizer=tokenizer.json text.jsonl -o text.tokens \
  && minimind-pack -q --seq-len=64 text.tokens -o text.data'
ok "a base model" base
ok "conversations" encode --chat-template=minimind2 talk.jsonl -o talk.tokens
ok "their rows" minimind-pack -q --seq-len=64 talk.tokens -o talk.data
ok "a model of them" tune --output=full
ok "learns" falls full
ok "and answers" answers full.txt --model=full
ok "an adapter of them" tune --lora-rank=2 --output=lora
ok "learns" falls lora
ok "and answers" answers lora.txt --model=base --adapter=lora/latest
ok "merged" minimind-lora-merge -q --base=base --adapter=lora/latest -o merged
ok "it answers" answers merged.txt --model=merged
ok "the same" cmp lora.txt merged.txt
ok "texts and conversations in one dataset" sh -c '
  minimind-pack -q --seq-len=64 --mix=text.tokens:1 --mix=talk.tokens:1 -o mix.data \
  && minimind-sft -q --model=base --data=mix.data --output=mix --global-batch=8 --steps=1'
tap_done

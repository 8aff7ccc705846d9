# answers.sh -- greedy answers in conversations are those of transformers (make-answer-goldens.py).
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
golden=$srcdir/tests/interop

mkdir model && cp "$golden/answers/config.json" "$golden/answers/model.safetensors" model \
  && cp "$golden/text/gpt2-added.json" model/tokenizer.json || exit 99

# Three lines a case: options, conversation, object.
while IFS= read -r options && IFS= read -r conversation && IFS= read -r want; do
  printf '%s\n' "$conversation" >messages
  printf '%s\n' "$want" >want
  # shellcheck disable=SC2086
  minimind-generate --model=model --temperature=0 --json --messages=messages $options >found
  ok "$options $conversation" cmp found want

  # A question that has nothing before it, as a line of a conversation.
  question=$(printf '%s' "$conversation" | sed -n 's/^\[{"role":"user","content":"\([^"]*\)"}\]$/\1/p')
  test "$question" || continue
  # shellcheck disable=SC2086
  minimind-generate --model=model --temperature=0 --messages=messages $options --show-thinking >want
  # shellcheck disable=SC2086
  printf '%s\n' "$question" | minimind-generate -q --model=model --temperature=0 --chat $options --show-thinking >found
  ok "$options --chat: $question" cmp found want
done <"$golden/answers/cases.txt"
ok "cases were found" test $tap_n -gt 30
tap_done

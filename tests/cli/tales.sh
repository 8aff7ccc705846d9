# tales.sh -- the sample corpus, tales and dialogues, is the same everywhere, and is JSON Lines in UTF-8.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"

tales=$srcdir/examples/tales.awk
want=695a4e0b09b3398a4e519b1b8caf930224596d22aa2b98fd2e5f7f2a5207a355
want_dialogues=4827504b2e7bbd16899c156f307e61664359fa36f911e9f1ecb176d67ce9b27d
want_identity=8bd581de1291c5e7e5e747e6698cad882cddd30eda07379aa0e7966d9d0c3406

digest_is () { test "$(cat | sha256sum | sed 's/ .*//')" = "$1"; }

made_by () { "$@" -v tales=500 -f "$tales" | digest_is $want; }
dialogues=$srcdir/examples/dialogues.awk
answered_by () { "$@" -v tales=0 -v dialogues=500 -f "$tales" -f "$dialogues" | digest_is $want_dialogues; }
named_by () { "$@" -f "$srcdir/examples/identity.awk" | digest_is $want_identity; }

for awk in awk mawk gawk original-awk 'busybox awk'; do
  $awk 'BEGIN { exit 0 }' 2>/dev/null || continue
  ok "the same bytes by $awk" made_by $awk
  ok "the same dialogues by $awk" answered_by $awk
  ok "the same identity by $awk" named_by $awk
done
awk -v tales=500 -f "$tales" >a
ok "one object a line" sh -c 'test $(grep -c "^{\"text\": \".*\"}$" a) = 500'
ok "no control characters, no stray quotes" sh -c \
  '! sed "s/^{\"text\": \"//; s/\"}$//; s/\\\\\"//g" a | LC_ALL=C grep "[[:cntrl:]\"\\\\]"'
ok "valid UTF-8" iconv -f UTF-8 -t UTF-16 a
ok "both languages" sh -c 'grep -q "Once upon a time" a && grep -q 从前 a'
ok "another seed, other tales" sh -c 'awk -v tales=500 -v seed=2 -f "$1" >b; ! cmp -s a b' sh "$tales"
awk -v tales=0 -v dialogues=500 -f "$tales" -f "$dialogues" >c
awk -v name=Nana -v zh_name=娜娜 -f "$srcdir/examples/identity.awk" >d
grep '"Tell me a tale' c >e
ok "tales are told when they are asked for" sh -c 'test -s e && ! grep -v "\"content\": \"\(Once\|Long\)" e'
ok "the conversations are those of chat data" sh -c 'awk -v tales=300 -f "$0" >t.jsonl \
   && minimind-train-tokenizer -q --vocab-size=300 t.jsonl -o tokenizer.json && cat c d >talk.jsonl \
   && minimind-tokenize --tokenizer=tokenizer.json talk.jsonl -o talk.tokens 2>said && grep "^544 conversations" said' "$tales"
ok "the name is the one given" sh -c 'grep -q "I am Nana" d && grep -q 我叫娜娜 d && ! grep -e Momo -e 墨墨 d'
tap_done

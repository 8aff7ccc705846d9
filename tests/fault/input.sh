# input.sh -- inputs that are fair but far from usual: long prompts, archives whose members point elsewhere, characters
# cut wherever a buffer ends.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/fault/faults.sh"
{ make_inputs && train run --keep=1; } >made 2>&1 || { sed 's/^/# /' made; exit 99; }

# ---- prompts ----

# 100,000 tokens: what the corpus does not have was not merged.
awk 'BEGIN { while (n++ < 100000) printf "%c", 33 + n * n % 7 }' >long.txt
talk () { minimind-generate --threads=1 --max-tokens=4 --temperature=0 "$@"; }
tokens_of () { minimind-tokenize --tokenizer=tokenizer.json --no-eos --count "$1" | sed -n 's/^tokens *//p'; }
ok "a long prompt" test "$(tokens_of long.txt)" -eq 100000
count=$(tokens_of long.txt)
too_long ()
{
  talk --model=run <long.txt 2>said; status=$?
  cat said
  test $status -eq 64 && grep -F "prompt has $count tokens, the model 32768 positions" said
}
ok "longer than the model's positions: 64, which tells both" too_long
cp -r run/step-00000020 wide
sed -i 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 131072/' wide/config.json
rm wide/MANIFEST
head -c ${MM_LONG:+1}20000 long.txt >some.txt
with_room () { talk --model=wide --json <some.txt >said && cat said && grep "\"prompt_tokens\": *$(tokens_of some.txt)" said; }
ok "a model with room for a long one goes on" with_room

# ---- archives ----

# What a member is called is for messages only: nothing is written by that name.
mkdir -p a/b && cp t.jsonl a/t.jsonl && cp t.jsonl a/b/t.jsonl
inside=$(pwd)
(cd a/b && tar -cPf ../../dots.tar ../t.jsonl) && tar -cPf absolute.tar "$inside/a/t.jsonl" || exit 99
(cd a && tar -cf ../plain.tar t.jsonl)
rm -rf a
encode () { minimind-tokenize -q --tokenizer=tokenizer.json "$1" -o "$2"; }
for archive in dots absolute plain; do
  ok "$archive.tar is read" encode $archive.tar $archive.tok
  ok "$archive.tar: the tokens of its member" cmp tok $archive.tok
done
ok "nothing was unpacked" test ! -e a -a ! -e ../t.jsonl -a ! -e t.jsonl.1
printf 'not \377 text\n' >bad.txt
mkdir b && (cd b && tar -cPf ../bad.tar ../bad.txt)
named () { minimind-tokenize -q --tokenizer=tokenizer.json --format=text bad.tar -o x 2>said; cat said; grep -F 'bad.tar(../bad.txt)' said; }
ok "a member's name stands in messages" named

# ---- characters across buffers ----

# Characters of two, three and four bytes, whose beginnings move along the 64 kB of every buffer.
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "%s%s", substr ("abc", 1, i % 4), i % 3 ? "\344\270\200" : i % 2 ? "\303\251" : "\360\237\246\212"
             print "" }' >characters.txt
ok "text over several buffers" test "$(wc -c <characters.txt)" -gt 150000

# there_and_back FILE COMMAND-THAT-PRINTS-IT...: tokens, and the text from them, whatever pieces it comes in.
there_and_back ()
{
  file=$1; shift
  rm -f here there back
  minimind-tokenize -q --tokenizer=tokenizer.json --format=text --no-eos "$file" -o here || return 1
  "$@" | minimind-tokenize -q --tokenizer=tokenizer.json --format=text --no-eos --threads=3 - -o there || return 1
  cmp here there || return 1
  minimind-tokenize -q --decode here >back && cmp back "$file"
}
for shift in 0 1 2 3 4 5 6 7; do
  { head -c $shift long.txt; cat characters.txt; } >shifted.txt
  ok "shifted by $shift" there_and_back shifted.txt cat shifted.txt
done
for size in 1 7 4095 65537; do
  head -c 9000 long.txt >piped.txt; { test $size -gt 1 && cat characters.txt || head -c 30001 characters.txt; } | iconv -c -f utf-8 -t utf-8 >>piped.txt
  ok "through a pipe, $size bytes at a time" there_and_back piped.txt dd if=piped.txt bs=$size status=none
done
ok "compressed" sh -c 'gzip -c characters.txt >c.gz'
compressed () { minimind-tokenize -q --tokenizer=tokenizer.json --format=text --no-eos c.gz -o c.tok && minimind-tokenize -q --decode c.tok >back && cmp back characters.txt; }
ok "and read" compressed

# JSON Lines: lines of all lengths around a buffer's end.
awk 'BEGIN { while (n++ < 65530) s = s "a"; for (k = 0; k < 14; k++) { print "{\"text\": \"" s "\344\270\200\303\251\"}"; s = s "b" } }' >lines.jsonl
lines () { minimind-tokenize -q --tokenizer=tokenizer.json --no-eos lines.jsonl -o l.tok \
  && minimind-tokenize -q --decode --format=jsonl l.tok >back.jsonl && cmp back.jsonl lines.jsonl; }
ok "lines of JSON that end around a buffer's end" lines

# A prompt from standard input, cut in a character by the size of a read.
cut_prompt ()
{
  { awk 'BEGIN { while (n++ < 13107) printf " word" }'; printf '\344\270\200'; } \
    | talk --model=wide --max-tokens=0 --echo >said
  tail -c 5 said | od -c
  test "$(tail -c 4 said | head -c 3)" = "$(printf '\344\270\200')"
}
ok "a prompt with a character across a read" cut_prompt
tap_done

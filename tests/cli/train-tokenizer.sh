# train-tokenizer.sh -- real runs of minimind-train-tokenizer: the same vocabulary however the
# documents come, honest reports, refusals.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"

awk 'BEGIN { for (i = 1; i <= 300; i++) print "the " i % 7 "th fox walked " i % 13 " miles, 小狐狸走了"
             i % 5 "里路, and didn'"'"'t stop" }' >lines.txt
sed 's/.*/{"id": 1, "text": "&"}/' lines.txt >lines.jsonl
sed 's/.*/{"body": "&"}/' lines.txt >body.jsonl
mkdir in && cd in && split -l 1 -a 3 ../lines.txt d && for f in d*; do
  printf %s "$(cat $f)" >$f.txt && rm $f; done && cd .. || exit 99
tar -cf lines.tar -C in . && gzip -k lines.jsonl || exit 99

train () { run minimind-train-tokenizer --vocab-size=290 "$@"; }
same_tokenizer () { cmp "$1" tokenizer.json && cmp "${1%.json}_config.json" tokenizer_config.json; }
vocab_of () { awk '/"vocab": {/ { on = 1; next } on && /^    }/ { exit } on { n++ } END { print n }' "$1"; }

# ---- the same vocabulary ----

ok "lines of JSON" train lines.jsonl -o tokenizer.json
ok "the report" says '^300 documents, .* 290 tokens'
ok "the configuration beside it" grep -q '"eos_token": "<|im_end|>"' tokenizer_config.json
ok "lines of text" train --delimiter='\n' lines.txt -o a.tokenizer.json
ok "give the same files" same_tokenizer a.tokenizer.json
for n in 1 2 3 7; do
  ok "$n threads" train --threads=$n lines.jsonl -o t$n.tokenizer.json
  ok "$n threads: the same files" same_tokenizer t$n.tokenizer.json
done
ok "bounded memory" train --max-memory=64M --threads=2 lines.jsonl -o mm.tokenizer.json
ok "gives the same files" same_tokenizer mm.tokenizer.json
if command -v xz >/dev/null; then xz -k lines.jsonl; else tap_skip "lines.jsonl.xz" "no xz"; fi
for input in lines.jsonl.gz lines.jsonl.xz lines.tar; do
  test -f $input || continue
  ok "$input" train $input -o $input.tokenizer.json
  ok "$input: the same files" same_tokenizer $input.tokenizer.json
done
ok "standard input" sh -c 'minimind-train-tokenizer --vocab-size=290 - -o s.tokenizer.json <lines.jsonl'
ok "standard input: the same files" same_tokenizer s.tokenizer.json
ok "another field" train --field=body body.jsonl -o b.tokenizer.json
ok "another field: the same files" same_tokenizer b.tokenizer.json
ok "two halves" sh -c 'sed 150q lines.jsonl >1.jsonl; sed 1,150d lines.jsonl >2.jsonl'
ok "as two inputs" train 2.jsonl 1.jsonl -o h.tokenizer.json
ok "give the same files" same_tokenizer h.tokenizer.json
mkdir folder
ok "into a folder" train lines.jsonl -o folder
ok "has the same files" same_tokenizer folder/tokenizer.json
ok "quietly" run minimind-train-tokenizer -q --vocab-size=280 lines.jsonl -o q.tokenizer.json
ok "nothing is said" test ! -s "$tap_dir/stderr"

# ---- what is in them ----

ok "290 tokens" test "$(vocab_of tokenizer.json)" -eq 290
ok "special tokens of one's own" train --special='<s>' --special='</s>' --bos='<s>' --eos='</s>' \
   lines.jsonl -o own.tokenizer.json
ok "in their order" sh -c 'tr -d " \n" <own.tokenizer.json | grep -q "\"vocab\":{\"<s>\":0,\"</s>\":1,\"!\":2"'
ok "with their roles" sh -c 'tr -d " \n" <own.tokenizer_config.json \
   | grep "\"bos_token\":\"<s>\".*\"eos_token\":\"</s>\".*\"pad_token\":\"<s>\""'
ok "without a chat template" sh -c '! grep -q chat_template own.tokenizer_config.json'
ok "a small corpus" run minimind-train-tokenizer --vocab-size=5000 lines.jsonl -o dry.tokenizer.json
ok "runs dry, and says how far it came" says 'warning: the corpus ran dry: [0-9]* tokens reached, 5000'
reached=$(sed -n 's/.*ran dry: \([0-9]*\) .*/\1/p' "$tap_dir/stderr")
ok "that many are there" test "$(vocab_of dry.tokenizer.json)" -eq "$reached"
: >nothing.txt
ok "an empty corpus" run minimind-train-tokenizer nothing.txt -o n.tokenizer.json
ok "gives the bytes" says '259 tokens reached, 6400'

# ---- the report ----

json () { minimind-train-tokenizer -q --json --vocab-size=290 "$@" >report.json 2>"$tap_dir/stderr"; }
field () { tr -d ' \n' <report.json | grep -e "$1"; }
ok "as JSON" json lines.jsonl lines.txt --format=auto -o j.tokenizer.json
ok "the whole" field '"documents":301,.*"vocab_size":290,"tokens":[0-9]*,"bytes_per_token":[1-9]'
ok "by input" field '{"input":"lines.jsonl","bytes":[0-9]*,"whole":true,"tokens":[0-9]*,.*{"input":"lines.txt"'
ok "the longest" field '"longest":\[{"id":[0-9]*,"token":"[^"]*","bytes":'
ok "special tokens and their roles" field '"token":"<|endoftext|>","bytes":13,"roles":\["pad","unk"\]'
ok "for people" train lines.jsonl -o l.tokenizer.json
ok "bytes a token" says '[0-9] in lines.jsonl'
ok "roles" says 'special token 2 <|im_end|>: eos'

# ---- patterns ----

ok "another pattern" train --pattern=llama3 lines.jsonl -o p.tokenizer.json
ok "is written" grep -q 'p{N}{1,3}' p.tokenizer.json
ok "no such pattern" status_is 64 minimind-train-tokenizer --pattern=llama9 lines.jsonl -o x.tokenizer.json

# ---- more of a tokenizer ----

ok "extended" run minimind-train-tokenizer --from=own.tokenizer.json --extend-to=300 lines.txt -o e.tokenizer.json
ok "10 more tokens" test "$(vocab_of e.tokenizer.json)" -eq 300
ok "the same configuration" cmp own.tokenizer_config.json e.tokenizer_config.json
ok "the old ones where they were" sh -c '
  sed -n "/\"vocab\"/,/}/p" own.tokenizer.json | sed "1d; \$d; s/,$//" >old.vocab
  sed -n "/\"vocab\"/,/}/p" e.tokenizer.json | sed "1d; \$d; s/,$//" | head -n 290 | cmp - old.vocab'
ok "any threads and memory" run minimind-train-tokenizer --from=own.tokenizer.json --extend-to=300 --threads=3 \
   --max-memory=64M lines.txt -o e3.tokenizer.json
ok "give the same file" cmp e.tokenizer.json e3.tokenizer.json
refused "no more than it has" 64 'has 290, want more' \
        minimind-train-tokenizer --from=own.tokenizer.json --extend-to=290 lines.txt -o x.tokenizer.json
ok "one without the other" status_is 64 minimind-train-tokenizer --from=own.tokenizer.json lines.txt -o x.tokenizer.json
ok "and its special tokens" status_is 64 minimind-train-tokenizer --from=own.tokenizer.json --extend-to=300 \
   --special=x lines.txt -o x.tokenizer.json
refused "a tokenizer that is not there" 66 'gone' \
        minimind-train-tokenizer --from=gone.json --extend-to=300 lines.txt -o x.tokenizer.json

# ---- refusals ----

refused "too little memory" 64 '1 MB of memory are too little for 2 threads: want at least [0-9]* MB' \
        minimind-train-tokenizer --max-memory=1M --threads=2 lines.jsonl -o x.tokenizer.json
refused "far too little" 64 ' 1 B of memory are too little' \
        minimind-train-tokenizer --max-memory=1 --threads=2 lines.jsonl -o x.tokenizer.json
seq 1000000 1700000 >numbers.txt
refused "too little memory for very many pieces" 64 '40 MB of memory are too little for .* distinct pieces: want at least 5' \
        minimind-train-tokenizer --max-memory=40M --threads=2 numbers.txt -o x.tokenizer.json
rm -f numbers.txt

refused "no room for the bytes" 64 'at least 259' \
        minimind-train-tokenizer --vocab-size=258 lines.jsonl -o x.tokenizer.json
refused "another name" 64 'tokenizer.json' minimind-train-tokenizer lines.jsonl -o x.json
refused "a role for no token" 64 '</s>' minimind-train-tokenizer --eos='</s>' lines.jsonl -o x.tokenizer.json
refused "a token twice" 64 'twice' \
        minimind-train-tokenizer --special=a --special=a lines.jsonl -o x.tokenizer.json
refused "an existing file" 64 'tokenizer.json.*exists' minimind-train-tokenizer lines.jsonl -o tokenizer.json
ok "but for --force" run minimind-train-tokenizer --force --vocab-size=290 lines.jsonl -o tokenizer.json
rm q.tokenizer.json
refused "an existing configuration" 64 'q.tokenizer_config.json' \
        minimind-train-tokenizer lines.jsonl -o q.tokenizer.json
ok "--format=chat" status_is 64 run minimind-train-tokenizer --format=chat lines.jsonl -o x.tokenizer.json
ok "is refused" says 'a vocabulary is learnt from texts.*--format=text'
ok "no output" status_is 64 minimind-train-tokenizer lines.jsonl
ok "no input" status_is 64 minimind-train-tokenizer -o x.tokenizer.json
ok "a number out of range" status_is 64 minimind-train-tokenizer --vocab-size=99999999 lines.jsonl -o x.tokenizer.json

# ---- bad input ----

bad () { refused "$1" "$2" "$3" minimind-train-tokenizer "$4" -o x.tokenizer.json; }
printf 'fine\nnot \377 fine\n' >utf8.txt
printf '{"text": "a"}\n{"text": 5}\n' >type.jsonl
printf '{"text": "a"}\n{"text": "b"\n' >json.jsonl
head -c 500 lines.jsonl.gz >cut.gz
head -c 2000 lines.tar >cut.tar
bad "a missing file" 66 'nowhere' nowhere
bad "a directory" 74 'folder' folder
bad "invalid UTF-8" 65 'utf8.txt: line 2, byte 5: invalid UTF-8' utf8.txt
bad "a field of another type" 65 'type.jsonl: line 2, byte 10: the field is not a string' type.jsonl
bad "a bad line" 65 'json.jsonl: line 2, byte 13' json.jsonl
bad "a truncated file" 65 'cut.gz' cut.gz
bad "a truncated archive" 65 'cut.tar' cut.tar
ok "skip them" run minimind-train-tokenizer --on-error=skip type.jsonl json.jsonl utf8.txt -o k.tokenizer.json
ok "with a count" says 'warning: 3 documents left out because of errors'
ok "and the first one's place" says 'type.jsonl: line 2'
ok "replace what is not UTF-8" run minimind-train-tokenizer --on-error=replace utf8.txt -o r.tokenizer.json
ok "with a count" says 'warning: 1 time U+FFFD'
mkdir locked && chmod 555 locked
if ! touch locked/x 2>/dev/null; then
  ok "a folder that cannot be written" status_is 74 minimind-train-tokenizer lines.jsonl -o locked
fi
ok "a folder that is not there" sh -c '! minimind-train-tokenizer lines.jsonl -o gone/tokenizer.json'
tap_done

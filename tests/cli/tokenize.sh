# tokenize.sh -- real runs of minimind-tokenize: the same tokens however documents come, text back
# from tokens, honest reports, refusals.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"

awk 'BEGIN { for (i = 1; i <= 400; i++) print "the " i % 7 "th fox walked " i % 13 " miles, 小狐狸走了"
             i % 5 "里路, and didn'"'"'t stop" }' >lines.txt
sed 's/.*/{"id": 1, "text": "&"}/' lines.txt >lines.jsonl
tar -cf lines.tar lines.jsonl && gzip -k lines.jsonl || exit 99
minimind-train-tokenizer -q --vocab-size=300 lines.jsonl -o tokenizer.json || exit 99

encode () { run minimind-tokenize --tokenizer=tokenizer.json "$@"; }
count_of () { minimind-tokenize --tokenizer=. --count "$@" | sed -n 's/^tokens  *//p'; }
decodes () { minimind-tokenize --decode "$@" >back && cmp back "$want"; }

# ---- the same tokens ----

ok "lines of JSON" encode lines.jsonl -o tokens
ok "the report" says '^400 documents, .* tokens'
for n in 1 2 3 7; do
  ok "$n threads" encode --threads=$n lines.jsonl -o tokens$n
  ok "$n threads: the same file" cmp tokens tokens$n
done
for input in lines.jsonl.gz lines.tar; do
  ok "$input" encode $input -o $input.tokens
  ok "$input: the same file" cmp tokens $input.tokens
done
ok "standard input" sh -c 'minimind-tokenize --tokenizer=. - -o s.tokens <lines.jsonl'
ok "standard input: the same file" cmp tokens s.tokens
ok "lines of text" encode --delimiter='\n' lines.txt -o l.tokens
ok "lines of text: the same file" cmp tokens l.tokens
ok "an existing file" status_is 64 encode lines.jsonl -o tokens
ok "but for --force" encode --force lines.jsonl -o tokens

# A document longer than a part, and longer than one thread's share.
awk '{ for (k = 0; k < 12; k++) print $0, NR * k }' lines.txt >some.txt
for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do cat some.txt; done >long.txt
ok "a long document" encode --threads=1 long.txt -o long1
ok "on three threads" encode --threads=3 long.txt -o long3
ok "is the same" cmp long1 long3
for cpu in generic avx2; do
  MM_CPU=$cpu
  export MM_CPU
  ok "MM_CPU=$cpu" encode long.txt -o "long.$cpu"
  unset MM_CPU
  ok "MM_CPU=$cpu: the same file" cmp long1 "long.$cpu"
done

# ---- and back ----

want=lines.txt
ok "documents with line ends between them" sh -c 'minimind-tokenize --decode tokens >back && echo >>back'
ok "are the lines" cmp back lines.txt
want=long.txt; ok "a long document" decodes long1
minimind-tokenize -q --tokenizer=. --bos --format=text lines.txt -o b.tokens
# Words of more than a million ids, which cannot be cut; each is a segment, the shorter ones share the batch.
awk 'BEGIN { w = "qzxj"; while (length (w) < 1200000) w = w w
             for (i = 1; i <= 3; i++) printf "{\"text\": \"%s\"}\n{\"text\": \"the fox %d\"}\n", w, i }' >words.jsonl
ok "endless words" encode --threads=1 words.jsonl -o words1
ok "by two threads" encode --threads=2 words.jsonl -o words2
ok "the same file" cmp words1 words2
sed 's/{"text": "\(.*\)"}/\1/' words.jsonl >words.txt
ok "and back" sh -c 'minimind-tokenize --decode words1 >back && echo >>back && cmp back words.txt'
want=lines.txt; ok "bos and eos are left out" decodes b.tokens
ok "as JSON Lines" run minimind-tokenize --decode --format=jsonl --field=body tokens -o back.jsonl
ok "they encode again" encode --field=body back.jsonl -o again
ok "to the same file" cmp tokens again
printf 'a \\ "b"\tc\001d\n\r\177 \303\251' >odd.txt
minimind-tokenize -q --tokenizer=. odd.txt -o odd.tokens
want=odd.txt; ok "odd characters" decodes odd.tokens
minimind-tokenize --decode --format=jsonl odd.tokens >odd.jsonl
minimind-tokenize -q --tokenizer=. odd.jsonl -o odd2.tokens
ok "through JSON too" cmp odd.tokens odd2.tokens
ok "eos is kept when asked" sh -c 'minimind-tokenize --decode --no-eos tokens | head -1 | grep "<|im_end|>"'
ok "another delimiter" sh -c 'test "$(minimind-tokenize --decode --delimiter=\\t tokens | tr -cd "\t" | wc -c)" = 399'

# ---- ids for others ----

ok "ids as text" sh -c 'minimind-tokenize -q --tokenizer=. lines.jsonl -o - >ids.txt'
ok "a line for each document" test "$(wc -l <ids.txt)" -eq 400
ok "ids as integers" sh -c 'minimind-tokenize -q --tokenizer=. --output-format=raw lines.jsonl -o - >ids.raw'
ok "the same ids" sh -c 'od -An -v -tu2 --endian=little ids.raw | tr -s " \n" "\n\n" | grep . >a; \
   tr " " "\n" <ids.txt >b; cmp a b'
ok "as many as there are" test "$(wc -l <b)" -eq "$(count_of lines.jsonl)"
ok "both to files" sh -c 'minimind-tokenize -q --tokenizer=. --output-format=text lines.jsonl -o ids2.txt \
   && minimind-tokenize -q --tokenizer=. --output-format=raw lines.jsonl -o ids2.raw'
ok "with the same bytes" sh -c 'cmp ids.txt ids2.txt && cmp ids.raw ids2.raw'

want=lines.txt
ok "text from them" sh -c 'minimind-tokenize --decode=text --tokenizer=. ids.txt >back && echo >>back'
ok "is the text" cmp back lines.txt
ok "from integers too" sh -c 'minimind-tokenize --decode=raw --tokenizer=. - <ids.raw >back && echo >>back'
ok "is it" cmp back lines.txt
printf '5 6\n7 99999\n' >wrong.txt
refused "no id of the tokenizer" 65 'wrong.txt: line 2: 99999 is no id' minimind-tokenize --decode=text --tokenizer=. wrong.txt -o x
printf '5 6\n7 six\n' >wrong.txt
refused "no numbers" 65 'wrong.txt: line 2: want ids' minimind-tokenize --decode=text --tokenizer=. wrong.txt -o x
printf '\0\0\0' >wrong.raw
refused "half an integer" 65 'wrong.raw: ends within' minimind-tokenize --decode=raw --tokenizer=. wrong.raw -o x

# ---- parts ----

for k in 1 2 3; do ok "part $k of 3" encode --part=$k/3 lines.jsonl lines.tar -o part$k; done
ok "the whole" encode lines.jsonl lines.tar -o whole
ok "packed, the parts are it" sh -c 'minimind-pack -q --seq-len=32 --validation=0 part1 part2 part3 -o parts.data \
   && minimind-pack -q --seq-len=32 --validation=0 whole -o whole.data \
   && cmp parts.data/train-*.safetensors whole.data/train-*.safetensors'
ok "with their text" sh -c 'minimind-tokenize --decode part1 part2 part3 >a && minimind-tokenize --decode whole >b && cmp a b'
refused "a part of standard input" 64 'standard input' minimind-tokenize --tokenizer=. --part=1/2 - -o x

# ---- inputs of other kinds ----

{ echo '['; sed 's/$/,/; $s/,$//' lines.jsonl; echo ']'; } >lines.json
{ echo 'id,text'; sed 's/.*/1,"&"/' lines.txt; } >lines.csv
sed 's/.*/{"a": {"b": "&"}}/' lines.txt >nested.jsonl
for input in lines.json lines.csv; do
  ok "$input" encode $input -o $input.tokens
  ok "$input: the same file" cmp tokens $input.tokens
done
ok "a field inside an object" encode --field=a.b nested.jsonl -o nested.tokens
ok "the same file" cmp tokens nested.tokens
ok "a list of inputs" sh -c 'printf "lines.csv\0" | minimind-tokenize -q --tokenizer=. --files-from=- -0 -o list.tokens'
ok "the same file" cmp tokens list.tokens

# ---- options ----

n=$(count_of --no-eos lines.jsonl)
ok "eos is one token a document" test "$(count_of lines.jsonl)" -eq $((n + 400))
ok "bos another" test "$(count_of --bos lines.jsonl)" -eq $((n + 800))
ok "any token may be eos" test "$(count_of --eos='<|endoftext|>' lines.jsonl)" -eq $((n + 400))
ok "--count --json" sh -c 'minimind-tokenize --tokenizer=. --count --json lines.jsonl \
   | tr -d " \n" | grep "^{\"documents\":400,\"tokens\":[0-9]*,\"bytes\":[0-9]*,\"bytes_per_token\":"'
printf 'x<|im_end|>y' >special.txt
ok "special tokens in a text" encode special.txt -o sp1
ok "are told of" says 'warning: special tokens such as <|im_end|>'
ok "and are text" test "$(count_of --no-eos special.txt)" -gt 3
ok "unless asked" test "$(count_of --no-eos --parse-special special.txt)" -eq 3
printf 'y <|im_end|>\n' >ended.txt
ok "a document that ends with eos" encode --parse-special ended.txt -o sp2
ok "is told of" says 'warning: documents end with <|im_end|> already'
ok "unless eos is left out" sh -c '! minimind-tokenize --tokenizer=. --no-eos --parse-special ended.txt \
   -o sp3 2>&1 | grep already'
ok "a sample" sh -c 'minimind-tokenize --tokenizer=. --dump-sample=2 lines.jsonl >sample'
ok "of two documents" test "$(grep -c '^document' sample)" -eq 2
ok "with its special tokens" test "$(grep -c '"<|im_end|>"  special' sample)" -eq 2
printf '\303\251' >accent.txt
ok "bytes that are no character" sh -c \
   'minimind-tokenize --tokenizer=. --dump-sample=1 accent.txt | grep -e "\"\\\\xc3\"\$"'
printf '\n' >nl.txt
ok "and line ends" sh -c 'minimind-tokenize --tokenizer=. --dump-sample=9 nl.txt | grep "  \"\\\\n\"$"'
: >nothing.txt
ok "an empty document" encode nothing.txt -o empty.tokens
ok "is left out" says '^1 empty document left out'

# ---- refusals ----

refused "an output in the way" 64 'tokens.*exists' minimind-tokenize --tokenizer=. lines.jsonl -o tokens
refused "no such eos" 64 'no-such' minimind-tokenize --tokenizer=. --eos=no-such lines.jsonl -o x
sed 's/"eos_token": "[^"]*"/"eos_token": null/; s/"bos_token": "[^"]*"/"bos_token": null/' \
    tokenizer_config.json >n.tokenizer_config.json
cp tokenizer.json n.tokenizer.json
refused "no eos" 64 'no-eos' minimind-tokenize --tokenizer=n.tokenizer.json lines.jsonl -o x
refused "no bos" 64 'bos' minimind-tokenize --tokenizer=n.tokenizer.json --bos lines.jsonl -o x
ok "--no-eos needs none" run minimind-tokenize --tokenizer=n.tokenizer.json --no-eos lines.jsonl -o n.tokens
for wrong in "" "-o x" "--tokenizer=." "--tokenizer=. lines.txt" "--tokenizer=. --count -o x lines.txt" \
             "--count --decode tokens" "--tokenizer=. --json lines.txt -o x" \
             "--tokenizer=. --output-format=tokens lines.txt -o -" "--tokenizer=. --output-format=raw --count lines.txt" \
             "--tokenizer=. --part=0/2 lines.txt -o x" "--tokenizer=. --part=3/2 lines.txt -o x" \
             "--tokenizer=. --part=2 lines.txt -o x" "--decode=text lines.txt -o x" "--decode --part=1/2 tokens" \
             "--decode=words --tokenizer=. lines.txt" "--tokenizer=. --eos=a --no-eos lines.txt -o x" "--tokenizer=. --dump-sample=0 lines.txt" \
             "--tokenizer=. --on-error=shrug lines.txt -o x" "--tokenizer=. --delimiter=\\q lines.txt -o x"; do
  ok "usage: $wrong" status_is 64 minimind-tokenize $wrong
done

# ---- bad tokenizers and input ----

echo '{"model": {"type": "WordPiece", "vocab": {"a": 0}}, "version": "1.0"}' >w.tokenizer.json
head -c 3000 tokenizer.json >cut.tokenizer.json
refused "another kind of tokenizer" 65 'w.tokenizer.json: model WordPiece' \
        minimind-tokenize --tokenizer=w.tokenizer.json lines.jsonl -o x
refused "a tokenizer cut in half" 65 'cut.tokenizer.json' \
        minimind-tokenize --tokenizer=cut.tokenizer.json lines.jsonl -o x
refused "no tokenizer" 66 'nowhere' minimind-tokenize --tokenizer=nowhere lines.jsonl -o x
bad () { refused "$1" "$2" "$3" minimind-tokenize --tokenizer=. "$4" -o x; }
mkdir folder
printf 'fine\nnot \377 fine\n' >utf8.txt
printf '{"text": "a"}\n{"text": "b"\n' >json.jsonl
head -c 500 lines.jsonl.gz >cut.gz
head -c 3000 lines.tar >cut.tar
cp lines.jsonl twin.jsonl && tar -cf two.tar lines.jsonl twin.jsonl
size=$(wc -c <lines.jsonl)
printf 'damaged' | dd of=two.tar bs=1 seek=$((612 + (size + 511) / 512 * 512)) conv=notrunc 2>/dev/null
bad "a missing file" 66 'nowhere' nowhere
bad "a directory" 74 'folder' folder
bad "a damaged archive" 65 'two.tar' two.tar
bad "invalid UTF-8" 65 'utf8.txt: line 2, byte 5: invalid UTF-8' utf8.txt
bad "a bad line" 65 'json.jsonl: line 2, byte 13' json.jsonl
bad "a truncated file" 65 'cut.gz' cut.gz
bad "a truncated archive" 65 'cut.tar' cut.tar
ok "skip them" encode --on-error=skip utf8.txt json.jsonl -o skip.tokens
ok "with a count" says 'warning: 2 documents left out because of errors'
ok "replace what is not UTF-8" encode --on-error=replace utf8.txt -o r.tokens
ok "with a count" says 'warning: 1 time U+FFFD'
ok "as U+FFFD" sh -c "minimind-tokenize --decode r.tokens | grep '$(printf '\357\277\275') fine'"
refused "decoding a text" 65 'lines.txt' minimind-tokenize --decode lines.txt -o x
refused "decoding nothing" 66 'nowhere' minimind-tokenize --decode nowhere -o x
head -c 2000 tokens >cut.tokens
refused "decoding half a file" 65 'cut.tokens' minimind-tokenize --decode cut.tokens -o x
if test -w /dev/full; then
  ok "a full disk when decoding" status_is 74 sh -c 'minimind-tokenize --decode tokens >/dev/full'
  ok "a full disk when counting" status_is 74 sh -c 'minimind-tokenize --tokenizer=. --count lines.txt >/dev/full'
  ok "a token file on a full device" sh -c '! minimind-tokenize --tokenizer=. lines.txt --force -o /dev/full'
fi
if mkdir disk && mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null; then
  ok "a small disk" status_is 74 encode long.txt -o disk/x
  ok "nothing is left there" test -z "$(ls -A disk)"
  umount disk
else
  tap_n=$((tap_n + 1)); echo "ok $tap_n - a small disk # SKIP no mount here"
fi
tap_done

# pack.sh -- real runs of minimind-pack: the same bytes each time, honest reports, refusals.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
make_input=$builddir/tests/make-input
mkdir work && cd work || exit 99

# 150 documents of some 7,000 tokens, and a few of them.
awk 'BEGIN { for (i = 1; i <= 150; i++) { s = "document " i ":"
       for (k = 0; k < i % 17; k++) s = s " word" k; print s } }' >many.txt
sed 12q many.txt >few.txt
"$make_input" tokens many <many.txt && "$make_input" tokens few <few.txt \
  && "$make_input" tokens other 300 <few.txt || exit 99

. "$srcdir/tests/cli/said.sh"
same_folder () { (cd "$1" && sha256sum -- *) >a && (cd "$2" && sha256sum -- *) >b && cmp a b; }
counts () { tr -d ' \n' <"$1/dataset.json" | grep -e "$2"; }

# ---- what it makes ----

ok "a dataset of many documents" run minimind-pack --seq-len=64 many -o d
ok "its report" says '^train .* rows of 64; tokens [1-9]'
ok "and what is held out" says 'whole documents, by a hash of seed 42'
ok "the same again" run minimind-pack --seq-len=64 many -o d2
ok "has the same bytes" same_folder d d2
ok "the tokenizer goes along" test -s d/tokenizer.json -a -s d/tokenizer_config.json
cp many renamed
ok "a renamed input" run minimind-pack -q --seq-len=64 renamed -o d3
ok "gives the same bytes" same_folder d d3
ok "quietly" test ! -s "$tap_dir/stderr"

ok "another seed" run minimind-pack --seq-len=64 --seed=1 many -o seed1
ok "holds out other documents" sh -c '! cmp -s d/dataset.json seed1/dataset.json'
for strategy in concat fit pad; do
  ok "--strategy=$strategy" run minimind-pack --seq-len=40 --strategy=$strategy many few -o $strategy
  ok "--strategy=$strategy is told" counts $strategy "\"strategy\":\"$strategy\""
done
ok "padding is told" says 'is padding'
ok "documents cut are told" says 'longer than a row and cut: documents [1-9]'
ok "concat has no mask" sh -c '! grep -q loss_mask concat/train-00000-of-00001.safetensors'
ok "pad has one" grep -q loss_mask pad/train-00000-of-00001.safetensors

ok "parts of 30 rows" run minimind-pack --seq-len=64 --shard-rows=30 many -o parts
ok "are named by their number" sh -c 'n=$(ls parts | grep -c ^train-) \
   && test $n -gt 1 && test -f "$(printf "parts/train-%05d-of-%05d.safetensors" $((n - 1)) $n)"'
ok "nothing held out" run minimind-pack --seq-len=64 --validation=0 many -o all
ok "leaves no validation part" sh -c '! ls all | grep validation'
ok "and tells the source by SHA-256" sh -c 'tr -d " \n" <all/dataset.json | grep -Eq "\"sha256\":\"[0-9a-f]{64}\",\"documents\""'
ok "which XXH3 does where it chooses" sh -c 'tr -d " \n" <parts/dataset.json | grep -Eq "\"xxh128\":\"[0-9a-f]{32}\",\"documents\""'
ok "few documents" run minimind-pack --seq-len=16 few -o few.d
ok "hold out the tail and say so" says 'fewer than 100 documents'
ok "of one row at least" counts few.d '"validation":{"rows":1,'
ok "few rows come with a batch that fits" says 'train with --global-batch='
ok "--json prints the report" run minimind-pack -q --json --seq-len=16 --force few -o few.d
ok "as an object" grep '^{"strategy":"concat",.*"dropped_tail":[0-9]' "$tap_dir/stdout"

# ---- mixes, duplicates, shards of others ----

awk 'BEGIN { for (i = 1; i <= 40; i++) { s = "domain " i ":"; for (k = 0; k < i % 9; k++) s = s " term" k; print s } }' \
  | "$make_input" tokens domain
ok "a mix of 8 to 2" run minimind-pack --seq-len=32 --mix=many:8 --mix=domain:2 -o mix
ok "says the share of each" says 'many: weight 8, \(79\.[5-9]\|80\.[0-4]\).*read 1\.00 times'
ok "and how often it was read" says 'domain: weight 2, \(19\.[5-9]\|20\.[0-4]\).*read \([2-9]\|[1-9][0-9]*\)\.'
ok "the others are one source of weight 1" run minimind-pack --seq-len=32 --mix=domain:0.25 many few -o mix2
ok "which is told" says 'many and more: weight 1, '
ok "the same mix" run minimind-pack --seq-len=32 --mix=many:8 --mix=domain:2 --threads=1 -o mix3
ok "has the same bytes" same_folder mix mix3
ok "a dry run" run minimind-pack --seq-len=32 --mix=many:8 --mix=domain:2 --dry-run --json
ok "says that it is one" says 'nothing was written: this is a dry run for a dataset of [0-9]'
ok "and reports what the run would" sh -c 'tr -d " \n" <mix/dataset.json | grep -qF "$(sed "s/ //g" "$tap_dir/stdout")"'
ok "copies are dropped" run minimind-pack --seq-len=32 --dedupe=exact many many -o deduped
ok "and counted" says 'dedupe *dropped documents 150, tokens [1-9]'
ok "with nothing held out too" run minimind-pack --seq-len=32 --dedupe=exact --validation=0 many many -o deduped0
ok "the same number" says 'dedupe *dropped documents 150, tokens [1-9]'

# Ids of few, as nanoGPT keeps them; they stand behind 13 offsets.
tokenizer=d/tokenizer.json
dd if=few of=nano.bin bs=1 skip=$((4096 + 8 * 13)) count=1200 2>/dev/null
ok "nanoGPT's shard" run minimind-pack --tokenizer=$tokenizer --split-at-eos --seq-len=16 nano.bin -o nano
ok "has documents that end at eos" counts nano '"documents":1[0-9],'
ok "as one document" run minimind-pack --tokenizer=$tokenizer --seq-len=16 --validation=0 nano.bin -o nano1
ok "has one" counts nano1 '"documents":1,'
refused "a shard without a tokenizer" 64 'nano.bin: .*--tokenizer=FILE' minimind-pack --seq-len=16 nano.bin -o x
refused "even behind a token file" 64 'nano.bin: .*--tokenizer=FILE' minimind-pack --seq-len=16 few nano.bin -o x
refused "a tokenizer that is not the file's" 65 'other: tokenizer .* but d/tokenizer.json has ' \
        minimind-pack --tokenizer=$tokenizer --seq-len=16 other -o x
cp nano.bin beyond.bin && printf '\377\377' | dd of=beyond.bin bs=1 seek=20 conv=notrunc 2>/dev/null
refused "an id the tokenizer lacks" 65 'beyond.bin: token 10 is 65535, the vocabulary has 259 ids' \
        minimind-pack --tokenizer=$tokenizer --seq-len=16 beyond.bin -o x
printf '\223NUMPY\001\000\377\377' >short.npy
refused "a cut array" 65 'short.npy: ends inside' minimind-pack --tokenizer=$tokenizer --seq-len=16 short.npy -o x
cp many.txt text.npy
refused "a text called .npy" 65 'text.npy' minimind-pack text.npy -o x

ok "llm.c's files" run minimind-pack --output-format=llmc --seq-len=32 --shard-rows=50 few many -o llmc
ok "say what is lost" says 'eos alone'
ok "are of 50 times 32 tokens" test "$(wc -c <llmc/train_000000.bin)" = $((1024 + 2 * 1600))
ok "are listed" counts llmc '"kind":"minimind-llmc".*"tokens":1600'
ok "and read again" run minimind-pack --tokenizer=$tokenizer --split-at-eos --seq-len=32 llmc/train_*.bin -o again
refused "for another trainer" 65 'llmc/dataset.json: kind is minimind-llmc' minimind-eval --model=x --data=llmc
refused "too many tokens for llm.c" 64 'more than llm.c can read' \
        minimind-pack --output-format=llmc --shard-rows=9000000000 few -o x

# ---- memory ----

# The least address space in which the small file is packed, in steps of 4 MB, is enough but for
# 8 MB for one of 25 MB.  Sanitizers reserve terabytes: there is no such limit then.
least=0
for kb in $(seq 20000 4000 120000); do
  (ulimit -v $kb && minimind-pack -q --seq-len=16 few -o tiny) 2>"$tap_dir/stderr" && least=$kb && break
done
if test $least -gt 0; then
  yes "$(sed -n '17,30p' many.txt | tr '\n' ' ')" | head -c 12000000 | "$make_input" tokens large || exit 99
  for strategy in concat fit pad; do
    ok "memory does not grow with the input under $strategy" \
       sh -c 'ulimit -v $0 && minimind-pack -q --strategy=$1 --seq-len=512 large -o large.$1' $((least + 8000)) $strategy
  done
  rm -rf large large.*
fi

# ---- too little, or there already ----

refused "too little text" 64 'at most --seq-len=[0-9]' minimind-pack few -o x
fits=$(sed -n 's/.*at most --seq-len=\([0-9]*\).*/\1/p' "$tap_dir/stderr")
ok "the length it names fits" run minimind-pack --seq-len="$fits" few -o fits
refused "one more does not" 64 'at most --seq-len=' minimind-pack --seq-len=$((fits + 1)) few -o x
refused "too many parts" 64 'take --shard-rows=[0-9]' \
        minimind-pack --seq-len=8 --shard-rows=1 many -o x

cp -r d kept
refused "an existing dataset" 64 'd.*exists' minimind-pack --seq-len=32 many -o d
ok "stays as it was" same_folder d kept
ok "but for --force" run minimind-pack --seq-len=32 --force many -o d
ok "which replaces it" sh -c '! cmp -s d/dataset.json kept/dataset.json'
mkdir mine && echo precious >mine/letter
refused "a folder that is no dataset" 64 mine minimind-pack --seq-len=32 --force many -o mine
ok "is not replaced" grep -q precious mine/letter
refused "standard output" 64 'a folder cannot go to standard output' minimind-pack --seq-len=32 many -o -
ok "makes no folder of that name" sh -c '! test -e -'

# ---- bad input ----

refused "a missing file" 66 'nowhere' minimind-pack --seq-len=32 nowhere -o x
refused "a directory" 74 'kept' minimind-pack --seq-len=32 kept -o x
refused "a text" 65 'many.txt' minimind-pack --seq-len=32 many.txt -o x
refused "a dataset's part" 65 'kind is minimind-rows' \
        minimind-pack --seq-len=32 kept/train-00000-of-00001.safetensors -o x
head -c 6000 many >cut
refused "a truncated file" 65 'cut: ' minimind-pack --seq-len=32 cut -o x
{ printf '\377\377\377\377\377\377\377\377'; tail -c +9 many; } >header
refused "a damaged header" 65 'header: ' minimind-pack --seq-len=32 header -o x
refused "two tokenizers" 65 'other: tokenizer .* but few has ' \
        minimind-pack --seq-len=16 few other -o x

# Token 9 becomes 65535.  The data begin at byte 4096 with 13 offsets.
cp few bad && printf '\377\377' | dd of=bad bs=1 seek=$((4096 + 8 * 13 + 2 * 9)) conv=notrunc 2>/dev/null
refused "an id beyond the vocabulary" 65 'bad: token 9 is 65535, the vocabulary has 259 ids' \
        minimind-pack --seq-len=16 bad -o x
# The second document's offset becomes negative.
cp few bad && printf '\377' | dd of=bad bs=1 seek=$((4096 + 8 + 7)) conv=notrunc 2>/dev/null
refused "a damaged offset" 65 'bad: document 0 goes from' minimind-pack --seq-len=16 bad -o x

# ---- output that cannot be ----

refused "a folder inside a file" 74 'many' minimind-pack --seq-len=32 many -o many/x
refused "a full disk" 74 'File too large' \
        sh -c 'trap "" XFSZ; ulimit -f 16; minimind-pack --seq-len=32 many -o x'
if test -w /dev/full; then
  ok "a full standard output" status_is 74 \
     sh -c 'minimind-pack -q --json --seq-len=32 many -o report >/dev/full'
fi

# ---- the command line ----

ok "no input" status_is 64 minimind-pack -o x
ok "no output" status_is 64 minimind-pack many
ok "rows in llm.c's files" status_is 64 minimind-pack --output-format=llmc --strategy=fit many -o x
ok "a split without a tokenizer" status_is 64 minimind-pack --split-at-eos many -o x
for bad in mix=many mix=:2 mix=many: mix=many:0 mix=many:-1 mix=many:x dedupe=near output-format=txt tokenizer= threads=0 \
           seq-len=0 seq-len=x seq-len=1048577 seq-len= strategy=best validation=0.51 \
           validation=-1 validation=nan shard-rows=0 seed=-1; do
  ok "--$bad is refused" status_is 64 minimind-pack --$bad many -o x
done
tap_done

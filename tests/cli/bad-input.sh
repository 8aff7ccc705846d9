# bad-input.sh -- a table of what goes wrong: each line damages something, runs a tool, and wants a status, words
# in one line of message, and a folder that is as it was.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
mkdir good work && cd good || exit 99

awk 'BEGIN { for (i = 1; i <= 150; i++) { s = "{\"text\": \"document " i ":"
       for (k = 0; k < i % 13; k++) s = s " word" k; print s "\"}" } }' >t.jsonl
{ minimind-train-tokenizer -q --vocab-size=300 t.jsonl -o tokenizer.json \
    && minimind-tokenize -q --tokenizer=tokenizer.json t.jsonl -o tok \
    && minimind-pack -q --seq-len=32 --validation=0.1 tok -o d \
    && minimind-pretrain -q --preset=nano --data=d -o run --global-batch=8 --steps=2 --save-every=1 --schedule=constant \
    && gzip -c t.jsonl >t.gz && tar cf t.tar t.jsonl \
    && minimind-train-tokenizer -q --vocab-size=280 t.jsonl -o o.tokenizer.json \
    && minimind-tokenize -q --tokenizer=o.tokenizer.json t.jsonl -o o.tok \
    && minimind-pack -q --seq-len=32 --validation=0.1 o.tok -o o; } >../made 2>&1 \
  || { sed 's/^/# /' ../made; exit 99; }
cp -r run/step-00000002 m && rm m/MANIFEST && cd ../work || exit 99

# What is done to the copies of good things in this folder.
half () { head -c $(($(wc -c <"$1") / 2)) "$1" >half && mv half "$1"; }
empty () { : >"$1"; }
zeros () { n=$(wc -c <"$1") && head -c "$n" /dev/zero >"$1"; }
folder () { rm -rf "$1" && mkdir "$1"; }
pipe () { rm -rf "$1" && mkfifo "$1"; }
gone () { rm -r "$1"; }
loop () { rm -r "$1" && ln -s "$1" "$1"; }
# poke FILE OFFSET OCTAL...: bytes in place.
poke () { file=$1 at=$2; shift 2; printf "$@" | dd of="$file" bs=1 seek="$at" conv=notrunc 2>/dev/null; }
# field FILE KEY VALUE: another number or word in a JSON file with a key a line.
field () { sed -i "s/\"$2\": [^,]*\\(,*\\)\$/\"$2\": $3\\1/" "$1"; }
# without FILE KEY: the lines of KEY with a plain value go.
without () { sed -i "/\"$2\": [^[{]*,\$/d" "$1"; }

# The words that stand for commands in the table.
start () { minimind-pretrain -q --threads=1 --global-batch=8 --steps=3 --schedule=constant "$@"; }
train () { start --preset=nano "$@"; }
tokenize () { minimind-tokenize -q --tokenizer=tokenizer.json "$@"; }
learn () { minimind-train-tokenizer -q --vocab-size=300 "$@"; }
rows () { minimind-pack -q --seq-len=32 "$@"; }
evaluate () { minimind-eval --threads=1 "$@"; }
talk () { minimind-generate --threads=1 --max-tokens=2 "$@"; }
inspect () { minimind-ckpt-inspect "$@"; }

# row STATUS WORDS DAMAGE COMMAND.
row ()
{
  status=$1 words=$2 damage=$3 command=$4
  rm -rf ./* ./.[!.]* && cp -r ../good/. . && eval "$damage" || exit 99
  ls -A >../before
  eval "$command" >../stdout 2>../stderr </dev/null
  found=$?
  ls -A >../after
  tap_n=$((tap_n + 1))
  if test $found -eq "$status" && grep -v ': warning: ' ../stderr | grep -F -q -e "$words" \
    && cmp -s ../before ../after \
    && { test "$status" -eq 64 || test "$(grep -c -v ': warning: ' ../stderr)" -eq 1; }; then
    echo "ok $tap_n - $status $words: $command"
  else
    echo "not ok $tap_n - $status $words: $command"
    { echo "after $damage: status $found"; head -n 5 ../stderr; diff ../before ../after; } | sed 's/^/# /'
  fi
}

# Columns: status ; words ; damage ; command.
table ()
{
  sed -n 's/  *;  */;/gp' >../table
  while IFS=';' read -r status words damage command; do
    row "$status" "$words" "$damage" "$command"
  done <../table
}

table <<'END'
# ---- a folder, a pipe, nothing in place of a file ----
66 ; nowhere                    ; :                                ; learn nowhere -o x.tokenizer.json
66 ; nowhere                    ; :                                ; tokenize nowhere -o x
66 ; nowhere                    ; :                                ; rows nowhere -o x
66 ; nowhere                    ; :                                ; train --data=nowhere -o x
66 ; nowhere                    ; :                                ; evaluate --model=nowhere --data=d
66 ; nowhere                    ; :                                ; talk --model=nowhere a
66 ; nowhere                    ; :                                ; inspect nowhere
74 ; d: is a folder             ; :                                ; learn d -o x.tokenizer.json
74 ; d: is a folder             ; :                                ; tokenize d -o x
74 ; d: is a folder             ; :                                ; rows d -o x
74 ; m/model.safetensors        ; folder m/model.safetensors       ; start --model=m --data=d -o x
74 ; m/model.safetensors        ; folder m/model.safetensors       ; evaluate --model=m --data=d
74 ; m/model.safetensors        ; folder m/model.safetensors       ; talk --model=m a
74 ; m/model.safetensors        ; folder m/model.safetensors       ; inspect m
66 ; m/model.safetensors        ; ln -sf nowhere m/model.safetensors ; inspect m
74 ; tokenizer.json: is a folder; folder tokenizer.json && folder tokenizer.json/tokenizer.json ; tokenize t.jsonl -o x
74 ; d/dataset.json             ; folder d/dataset.json            ; train --data=d -o x
74 ; m/config.json              ; pipe m/config.json               ; talk --model=m a
74 ; m/model.safetensors        ; pipe m/model.safetensors         ; talk --model=m a
74 ; m/tokenizer.json           ; pipe m/tokenizer.json            ; talk --model=m a
74 ; d/dataset.json             ; pipe d/dataset.json              ; evaluate --model=m --data=d
74 ; d/validation-00000         ; pipe d/validation-00000-of-00001.safetensors ; evaluate --model=m --data=d
74 ; tok: is a pipe             ; pipe tok                         ; rows tok -o x
74 ; tokenizer.json: is a pipe  ; pipe tokenizer.json              ; tokenize t.jsonl -o x
74 ; tok: is a pipe             ; pipe tok                         ; inspect tok
74 ; symbolic links             ; loop tok                         ; rows tok -o x
66 ; d/validation-00000         ; gone d/validation-00000-of-00001.safetensors ; evaluate --model=m --data=d
66 ; d/train-00000              ; gone d/train-00000-of-00001.safetensors ; train --data=d -o x
66 ; d/tokenizer.json           ; gone d/tokenizer.json            ; train --data=d -o x
66 ; m: holds neither model.saf  ; gone m/model.safetensors         ; talk --model=m a
66 ; m/tokenizer.json           ; gone m/tokenizer.json            ; talk --model=m a
# ---- cut short, emptied, overwritten ----
65 ; t.gz                       ; half t.gz                        ; learn t.gz -o x.tokenizer.json
65 ; t.gz                       ; half t.gz                        ; tokenize t.gz -o x
65 ; t.tar                      ; head -c 4096 t.tar >z && mv z t.tar ; tokenize t.tar -o x
65 ; t.jsonl: line 2            ; printf '{"text": "a"}\n{"text": "b' >t.jsonl ; tokenize t.jsonl -o x
65 ; tokenizer.json             ; half tokenizer.json              ; tokenize t.jsonl -o x
65 ; tokenizer_config.json      ; half tokenizer_config.json       ; tokenize t.jsonl -o x
65 ; tok: truncated             ; half tok                         ; rows tok -o x
65 ; tok                        ; zeros tok                        ; rows tok -o x
65 ; tok                        ; empty tok                        ; rows tok -o x
65 ; d/dataset.json             ; half d/dataset.json              ; train --data=d -o x
65 ; d/train-00000              ; half d/train-00000-of-00001.safetensors ; train --data=d -o x
65 ; d/validation-00000         ; half d/validation-00000-of-00001.safetensors ; train --data=d --eval-every=1 -o x
65 ; d/tokenizer.json           ; half d/tokenizer.json            ; train --data=d -o x
65 ; m/config.json              ; half m/config.json               ; start --model=m --data=d -o x
65 ; m/config.json              ; half m/config.json               ; start --config=m/config.json --data=d -o x
65 ; m/model.safetensors        ; half m/model.safetensors         ; start --model=m --data=d -o x
65 ; m/config.json              ; empty m/config.json              ; talk --model=m a
65 ; m/model.safetensors        ; zeros m/model.safetensors        ; talk --model=m a
65 ; m/tokenizer.json           ; zeros m/tokenizer.json           ; talk --model=m a
65 ; m/tokenizer.json           ; half m/tokenizer.json            ; inspect m/tokenizer.json
65 ; step-00000002/model.saf    ; half run/step-00000002/model.safetensors ; inspect --verify run/step-00000002
65 ; run: none of its 2         ; half run/step-00000001/MANIFEST && half run/step-00000002/MANIFEST ; train --data=d -o run
65 ; run: none of its 2         ; gone run/step-00000001/MANIFEST && half run/step-00000002/trainer.json ; talk --model=run a
# ---- a header's claims ----
65 ; tok                        ; poke tok 0 '\377\377\377\377\377\377\377\177' ; rows tok -o x
65 ; m/model.safetensors        ; poke m/model.safetensors 3 '\1'  ; talk --model=m a
65 ; m/model.safetensors        ; sed -i 's/"shape":\[300,16\]/"shape":[999,16]/' m/model.safetensors ; talk --model=m a
65 ; m/config.json: hidden_size ; field m/config.json hidden_size 2147483647 ; talk --model=m a
65 ; m/config.json: vocab_size  ; field m/config.json vocab_size 2147483647 ; talk --model=m a
65 ; m/config.json: num_hidden  ; field m/config.json num_hidden_layers 2147483647 ; inspect m
65 ; m/config.json: intermediate; field m/config.json intermediate_size 99999999999 ; talk --model=m a
65 ; m/config.json: num_att     ; field m/config.json num_attention_heads 0 ; start --config=m/config.json --data=d -o x
65 ; m/config.json: hidden_size ; field m/config.json hidden_size '"many"' ; talk --model=m a
65 ; m/config.json: hidden_size ; without m/config.json hidden_size ; talk --model=m a
65 ; m/config.json: model_type  ; field m/config.json model_type 7 ; talk --model=m a
65 ; moe                        ; field m/config.json model_type '"qwen3_moe"' ; talk --model=m a
65 ; dataset.json wants         ; field d/dataset.json seq_len 31 ; evaluate --model=m --data=d
65 ; dataset.json wants         ; field d/dataset.json rows 9223372036854775807 ; train --data=d -o x
65 ; d/dataset.json             ; field d/dataset.json version 99 ; train --data=d -o x
65 ; tokenizer.json             ; field tokenizer.json type '"Unigram"' ; tokenize t.jsonl -o x
65 ; tokenizer.json             ; sed -i 's/"id": 0,/"id": -1,/' tokenizer.json ; tokenize t.jsonl -o x
65 ; tokenizer.json             ; sed -i 's/"!": 3/"!": 4/' tokenizer.json ; tokenize t.jsonl -o x
65 ; tokenizer.json             ; sed -i 's/"!": 3/"!": 4294967299/' tokenizer.json ; tokenize t.jsonl -o x
65 ; tokenizer.json             ; sed -i 's/"merges": \[/"merges": [ 7,/' tokenizer.json ; tokenize t.jsonl -o x
# ---- what does not belong together ----
78 ; tokenizer                  ; :                                ; evaluate --model=m --data=o
78 ; tokenizer.json             ; :                                ; start --model=m --data=o -o x
65 ; o.tok: tokenizer           ; :                                ; rows tok o.tok -o x
65 ; tokenizer.json has SHA-256 ; cp o/tokenizer.json d            ; train --data=d -o x
65 ; d/train-00000              ; cp o/train-*.safetensors d       ; train --data=d -o x
65 ; d/validation-00000         ; cp d/train-*.safetensors d/validation-00000-of-00001.safetensors ; train --data=d -o x
78 ; the checkpoint             ; :                                ; train --data=o -o run
78 ; the checkpoint             ; :                                ; start --preset=tiny --data=d -o run
64 ; vocab_size is 200          ; field m/config.json vocab_size 200 ; start --config=m/config.json --data=d -o x
# ---- ids beyond the vocabulary ----
65 ; tok: token 0 is 65535      ; poke tok $((4096 + 8 * 151)) '\377\377' ; rows tok -o x
65 ; tok: token 0 is 65535      ; poke tok $((4096 + 8 * 151)) '\377\377' ; minimind-tokenize -q --decode tok -o x
65 ; id 65535                   ; poke d/validation-00000-of-00001.safetensors 4096 '\377\377' ; evaluate --model=m --data=d
65 ; d/train-00000              ; poke d/train-00000-of-00001.safetensors 4096 '\377\377' ; train --data=d -o x
# ---- not finite ----
65 ; not finite                 ; poke m/model.safetensors 4096 '\0\0\300\177' ; evaluate --model=m --data=d
# ---- text that is none ----
65 ; t.txt: line 2, byte 3      ; printf 'good\nab\377\n' >t.txt   ; tokenize t.txt -o x
65 ; t.txt: line 2, byte 3      ; printf 'good\nab\377\n' >t.txt   ; learn t.txt -o x.tokenizer.json
65 ; t.jsonl: line 2            ; printf '{"text":"a"}\n{"text":7}\n' >t.jsonl ; tokenize t.jsonl -o x
65 ; t.jsonl: line 1            ; printf '{"texts":"a"}\n' >t.jsonl ; tokenize t.jsonl -o x
65 ; one: too few tokens                  ; printf a >t.txt && tokenize --no-eos t.txt -o one ; rows one -o x
65 ; z.jsonl: line 2, byte 13   ; printf '{"text":"a"}\n{"text":"b" 1}\n' >z.jsonl ; tokenize z.jsonl -o x
65 ; z.tar(t.jsonl): line 151   ; printf '{' >>t.jsonl && tar cf z.tar t.jsonl ; tokenize z.tar -o x
65 ; z.json: line 2, byte 1     ; printf '["a",\n7]' >z.json        ; tokenize z.json -o x
65 ; z.json: line 1, byte 5     ; printf '["a"' >z.json             ; tokenize z.json -o x
65 ; z.csv: line 3, byte 1      ; printf 'text,b\nx,y\nz\n' >z.csv ; tokenize z.csv -o x
65 ; z.csv: line 2, byte 1: the quote ; printf 'text\n"x\n' >z.csv ; tokenize --on-error=skip z.csv -o x
65 ; no column is called "text" ; printf 'a,b\nx,y\n' >z.csv       ; learn z.csv -o x.tokenizer.json
65 ; z: is a Parquet file       ; printf 'PAR1\025\004' >z          ; tokenize --on-error=replace z -o x
65 ; z: is UTF-16               ; printf '\377\376a\0' >z          ; tokenize --on-error=skip z -o x
65 ; looks like ISO-8859-1      ; printf 'caf\351, d\351j\340 vu' >z ; tokenize z -o x
65 ; tok: is a safetensors file ; :                                ; tokenize tok -o x
66 ; nowhere                    ; echo nowhere >z                  ; tokenize --files-from=z -o x
66 ; nowhere                    ; :                                ; tokenize --files-from=nowhere -o x
65 ; z: names no input          ; empty z                          ; tokenize --files-from=z -o x
64 ; --null                     ; :                                ; tokenize -0 t.jsonl -o x
64 ; field a..b                 ; :                                ; tokenize --field=a..b t.jsonl -o x
64 ; number for                 ; :                                ; tokenize --format=csv --no-header t.jsonl -o x
# ---- outputs ----
64 ; tok: exists                ; :                                ; tokenize t.jsonl -o tok
64 ; tokenizer.json: exists     ; :                                ; learn t.jsonl -o tokenizer.json
64 ; tokenizer_config.json: exists ; gone tokenizer.json           ; learn t.jsonl -o tokenizer.json
64 ; d: exists                  ; :                                ; rows tok -o d
64 ; d: is a dataset folder     ; :                                ; train --data=d -o d
64 ; m: is a model folder       ; :                                ; start --model=m --data=d -o m
65 ; d: a dataset folder, want a model ; :                         ; evaluate --model=d --data=d
64 ; run: holds files           ; :                                ; rows --force tok -o run
64 ; want the name              ; :                                ; rows tok -o .
74 ; d: is a folder             ; :                                ; tokenize --force t.jsonl -o d
74 ; tok/x                      ; :                                ; rows tok -o tok/x
74 ; none/x                     ; :                                ; tokenize t.jsonl -o none/x
74 ; none/x                     ; :                                ; rows tok -o none/x
74 ; none/                      ; :                                ; learn t.jsonl -o none/tokenizer.json
74 ; tok                        ; :                                ; train --data=d -o tok
74 ; tok/x                      ; :                                ; train --data=d -o tok/x
74 ; none/metrics               ; :                                ; train --data=d -o x --metrics-file=none/metrics
66 ; nowhere                    ; :                                ; train --data=d -o x --resume=nowhere
74 ; /dev/full                  ; :                                ; tokenize t.jsonl -o /dev/full
74 ; standard output            ; :                                ; minimind-tokenize -q --decode tok >/dev/full
74 ; standard output            ; :                                ; evaluate --model=m --data=d >/dev/full
74 ; standard output            ; :                                ; talk --model=m a >/dev/full
74 ; standard output            ; :                                ; inspect m >/dev/full
74 ; standard output            ; :                                ; inspect --json m >/dev/full
74 ; standard output            ; :                                ; train --data=d --dry-run >/dev/full
# ---- the command line ----
64 ; --output                   ; :                                ; learn t.jsonl -o ""
64 ; --output                   ; :                                ; tokenize t.jsonl -o ""
64 ; --tokenizer                ; :                                ; minimind-tokenize --tokenizer= t.jsonl -o x
64 ; --output                   ; :                                ; rows tok -o ""
64 ; --output                   ; :                                ; train --data=d -o ""
64 ; --data                     ; :                                ; train --data= -o x
64 ; --model                    ; :                                ; evaluate --model= --data=d
64 ; --data                     ; :                                ; evaluate --model=m --data=
64 ; --model                    ; :                                ; talk --model= a
66 ; ''                         ; :                                ; tokenize "" -o x
66 ; ''                         ; :                                ; rows "" -o x
66 ; ''                         ; :                                ; inspect ""
64 ; --threads=0                ; :                                ; train --data=d -o x --threads=0
64 ; --threads=1025             ; :                                ; tokenize t.jsonl -o x --threads=1025
64 ; --vocab-size=1e9           ; :                                ; learn t.jsonl -o x.tokenizer.json --vocab-size=1e9
64 ; --seq-len=99999999999999999999 ; :                            ; rows tok -o x --seq-len=99999999999999999999
64 ; --learning-rate=nan        ; :                                ; train --data=d -o x --learning-rate=nan
64 ; --epochs=inf               ; :                                ; train --data=d -o x --epochs=inf
64 ; --temperature=nan          ; :                                ; talk --model=m --temperature=nan a
64 ; --top-p=-0.1               ; :                                ; talk --model=m --top-p=-0.1 a
64 ; the prompt is empty        ; :                                ; talk --model=m ""
END
for tool in $tools; do
  row 64 --nonsense : "$tool --nonsense"
done
tap_done

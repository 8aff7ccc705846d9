# faults.sh -- sourced by the tests of faults: good things made by the real tools, system calls to fail or die at.
# SPDX-License-Identifier: Apache-2.0
#
# What is slow is done in part by `make check' and as a whole by `make check-long', which sets MM_LONG.

# A corpus, a tokenizer, tokens and a dataset in the present folder.
make_inputs ()
{
  awk 'BEGIN { for (i = 1; i <= 150; i++) { s = "{\"text\": \"document " i ":"
         for (k = 0; k < i % 13; k++) s = s " word" k; print s "\"}" } }' >t.jsonl
  minimind-train-tokenizer -q --vocab-size=300 t.jsonl -o tokenizer.json \
    && minimind-tokenize -q --tokenizer=tokenizer.json t.jsonl -o tok \
    && minimind-pack -q --seq-len=32 --validation=0.1 tok -o d
}

# The tools on these inputs, one thread; `traced' puts them under strace.
under=
learn () { $under minimind-train-tokenizer -q --vocab-size=300 t.jsonl -o "$1/tokenizer.json"; }
tokens () { $under minimind-tokenize -q --threads=1 --tokenizer=tokenizer.json t.jsonl -o "$1/tok"; }
rows () { $under minimind-pack -q --seq-len=32 --validation=0.1 tok -o "$1/d"; }
train ()
{
  out=$1; shift
  $under minimind-pretrain -q --threads=1 --preset=nano --data=d --output="$out" --global-batch=8 --micro-batch=2 \
    --steps=20 --learning-rate=1e-2 --save-every=5 "$@"
}

# One digest of all files below a folder, names included, but not of a run's log and lock.
bits () { (cd "$1" && find . -type f ! -path '*/log/*' ! -name LOCK | sort | xargs sha256sum | sha256sum); }
same_bits () { a=$(bits "$1") && b=$(bits "$2") && echo "$a $b" && test "$a" = "$b"; }

# Hidden names below a folder: what is left of something unfinished.
leftovers () { find "$1" -name '.*' ! -name . ! -name ..; }

# Each step folder of a run is whole.
all_intact ()
{
  for step in "$1"/step-*; do
    (cd "$step" && sha256sum --quiet -c MANIFEST) || return 1
  done
}

# ---- system calls ----

strace_works () { strace -o "$tap_dir/trace" true 2>/dev/null; }

# traced STRACE-ARGUMENT... -- COMMAND...: one of the tools above, under strace.
traced ()
{
  # Leaks cannot be looked for in a process that is traced.
  under="strace -f -E ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0"
  while test "$1" != --; do under="$under $1"; shift; done
  shift
  "$@"; traced_status=$?
  under=
  return $traced_status
}

# calls_of COMMAND...: "CALL NUMBER" for each system call that the tool's first thread makes on a file of this folder.
calls_of ()
{
  traced -y -o "$tap_dir/trace" -e trace=%file,%desc -- "$@" >/dev/null 2>&1
  awk -v here="<$(pwd -P)/" '
    NR == 1 { main = $1 }
    $1 == main && $2 !~ /^(<|\+|-)/ {
      call = $2; sub (/\(.*/, "", call); n[call]++
      # By name, from the present folder; by a descriptor.
      if ($0 ~ /\((AT_FDCWD(<[^>]*>)?, )?"[^\/"]/ || index ($0, here)) print call, n[call]
    }' "$tap_dir/trace"
}

# some_of FILE: all its lines for check-long; else of each call one in the middle and the last.
some_of ()
{
  if test "$MM_LONG"; then cat "$1"
  else
    awk '{ if (!($1 in count)) order[++k] = $1; line[$1, ++count[$1]] = $0 }
         END { for (i = 1; i <= k; i++) { c = order[i]; n = count[c]
                 if (n > 1) print line[c, int (n / 2)]; print line[c, n] } }' "$1"
  fi
}

# stopped_at CALL NUMBER COMMAND...: one of the tools above in the background, stopped at that call; $pid is the
# tool's, $job strace's.  What it says goes to the file said.
stopped_at ()
{
  call=$1 when=$2; shift 2
  : >stops
  traced -o stops -e trace=$call -e inject=$call:signal=STOP:when=$when -- "$@" 2>said &
  job=$!
  until grep -q 'stopped by SIGSTOP' stops; do
    kill -0 $job 2>/dev/null || { cat said; return 1; }
    sleep 0.02
  done
  pid=$(awk '/stopped by SIGSTOP/ { print $1; exit }' stops)
}

# Let it go on, and see its status.
go_on_to () { kill -CONT $pid && wait $job; status=$?; pid=; cat said; test $status -eq "$1"; }

pid=
tap_end () { test -z "$pid" || kill -KILL $pid 2>/dev/null; test ! -e "$tap_dir/disk" || umount "$tap_dir/disk" 2>/dev/null; }

# disk OPTIONS: an empty file system in memory at disk; false where that is not allowed.
disk () { mkdir -p disk; umount disk 2>/dev/null; mount -t tmpfs -o "$1" tmpfs disk 2>/dev/null; }

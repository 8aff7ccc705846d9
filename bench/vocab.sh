#!/bin/sh
# vocab.sh -- benchmark: training a tokenizer of 6,400 tokens, beside gigatoken, rustbpe and HF tokenizers.
# SPDX-License-Identifier: Apache-2.0
#
#   sh bench/vocab.sh [THREADS...]            in the build folder; 1 and 2 threads without arguments
#
# English and Chinese are those of bench/text: make-text.py fills the folder BENCH_TEXT from packages of the
# distribution, whose names and sizes are printed.  BENCH_PYTHON names a Python that has the peers; those it lacks are
# left out.  All are given the same number of threads and one file, each byte once.  Our time is that of the whole
# program, start, reading and writing included; peers' that of the training call.  Rounds alternate; medians.
export LC_ALL=C
here=$(dirname "$0")
work=$(mktemp -d "${TMPDIR:-/tmp}/minimind.XXXXXX") || exit 1
trap 'rm -rf "$work"' 0

texts=${BENCH_TEXT:-/tmp/bench-text.$(id -u)}
python3 "$here/make-text.py" "$texts" || exit 1

median () { sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int ((NR + 1) / 2)]; else print "-" }'; }

# ours FILE THREADS: MB/s.
ours ()
{
  start=$(date +%s%N)
  ./minimind-train-tokenizer -q --format=text --force --threads="$2" "$1" -o "$work/tokenizer.json" || exit 1
  echo "$(stat -c %s "$1") $start $(date +%s%N)" | awk '{ printf "%.2f\n", $1 / ($3 - $2) * 1000 }'
}

peer () { "${BENCH_PYTHON:-python3}" "$here/vocab_peers.py" "$1" "$2" "$3" 2>/dev/null; }

sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sed q
"${BENCH_PYTHON:-python3}" "$here/vocab_peers.py"
cat "$texts/sources"
for file in english.txt chinese.txt; do
  size=$(stat -c %s "$texts/$file")
  echo "$file: $size bytes, sha256 $(sha256sum <"$texts/$file" | cut -c1-12)"
  test "$size" -ge 1000000 || { echo "$file: no text found, left out"; continue; }
  for threads in ${*:-1 2}; do
    : >"$work/ours"; : >"$work/gigatoken"; : >"$work/rustbpe"; : >"$work/tokenizers"
    for round in 1 2 3; do
      ours "$texts/$file" "$threads" >>"$work/ours"
      peer gigatoken "$texts/$file" "$threads" >>"$work/gigatoken"
      test $round -gt 1 || for name in rustbpe tokenizers; do
        peer $name "$texts/$file" "$threads" >>"$work/$name"
      done
    done
    line="$file, $threads threads, MB/s:"
    for name in ours gigatoken rustbpe tokenizers; do line="$line $name $(median <"$work/$name")"; done
    echo "$line"
  done
done

#!/bin/sh
# vocab_memory.sh -- benchmark: the memory and time of minimind-train-tokenizer for inputs of any size.
# SPDX-License-Identifier: Apache-2.0
#
#   sh bench/vocab_memory.sh [MB...]          in the build folder; 10, 100 and 1000 without arguments
#
# Text is made on the fly by bench/vocab_text and comes through a pipe; needs GNU time.  BENCH_MEMORY is what
# --max-memory gets (256M); the vocabulary has 6,400 tokens, threads are as many as there are processors.
work=$(mktemp -d "${TMPDIR:-/tmp}/minimind.XXXXXX") || exit 1
trap 'rm -rf "$work"' 0
sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sed q
echo "input, option: MB of input, s, MB at the most, spoken of by the tool"
for kind in words han; do
  for limit in "" --max-memory=${BENCH_MEMORY:-256M}; do
    for mb in ${*:-10 100 1000}; do
      bench/vocab_text $kind $mb | command time -o "$work/time" -f '%e %M' ./minimind-train-tokenizer --format=text \
        --force $limit - -o "$work/tokenizer.json" 2>"$work/said" || exit 1
      echo "$kind ${limit:-unbounded}: $mb $(awk '{ printf "%.1f %.0f", $1, $2 / 1024 }' "$work/time")" \
           "$(sed -n 's/.*, \([0-9]* distinct\).*/\1/p' "$work/said")" \
           "$(sha256sum <"$work/tokenizer.json" | cut -c1-8)"
    done
  done
done

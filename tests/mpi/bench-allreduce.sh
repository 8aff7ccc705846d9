# bench-allreduce.sh -- real runs of minimind-bench-allreduce: sums are right, the figures are what they say.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
mkdir work && cd work || exit 99
. "$srcdir/tests/cli/said.sh"

bench () { minimind-bench-allreduce --min-bytes=24 --max-bytes=9000 --iterations=3 "$@"; }
launch () { n=$1; shift; minimind-launch -n "$n" -- minimind-bench-allreduce --min-bytes=24 --max-bytes=9000 --iterations=3 "$@"; }

# ---- tables ----

ok "one rank" run bench
ok "has no bus" grep '^float32  sum  *24 .* n/a  *n/a  right$' "$tap_dir/stdout"
for n in 2 3 5; do
  ok "$n ranks" run launch $n
  ok "$n ranks: every sum is right" sh -c '! grep -q WRONG "$0" && test "$(grep -c " right$" "$0")" -ge 18' "$tap_dir/stdout"
  ok "$n ranks: formulas and n" grep "busbw = algbw \* 2 (n - 1) / n, n = $n" "$tap_dir/stdout"
done
ok "some types and algorithms" run launch 2 --dtype=int64 --algorithm=copy,memcpy
ok "are all" sh -c 'test "$(grep -c "^int64  *\(copy\|memcpy\) " "$0")" = 8 && ! grep -q "^float32" "$0" && ! grep -q " sum " "$0"' \
   "$tap_dir/stdout"

ok "bfloat16" run launch 3 --dtype=bfloat16
ok "every sum is the rounded one" sh -c '! grep -q WRONG "$0" && test "$(grep -c "^bfloat16 .* right$" "$0")" -ge 9' "$tap_dir/stdout"
if command -v mpirun >/dev/null && minimind-pretrain --version | grep -q '^transports: .*mpi' \
   && ! grep -q fsanitize "$builddir/config.status"; then
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
  by_mpi () { mpirun --mca pml ob1 --oversubscribe --bind-to none -n 3 minimind-bench-allreduce --min-bytes=24 \
                --max-bytes=9000 --iterations=3 "$@"; }
  ok "under mpirun" run by_mpi --transport=mpi
  ok "the library has no bfloat16" grep '^bfloat16 mpi  *9000 .* n/a$' "$tap_dir/stdout"
  ok "all else is right" sh -c '! grep -q WRONG "$0" && grep -q "^float32  mpi .* right$" "$0" && grep -q "^bfloat16 sum .* right$" "$0"' \
     "$tap_dir/stdout"
  # Three ranks do not share a message's most evenly.
  ok "more than fits in a message" run by_mpi --transport=mpi --algorithm=sum --dtype=int64 --min-bytes=16M --max-bytes=16M
  ok "is right too" grep '^int64  *sum  *16777216 .* right$' "$tap_dir/stdout"
else
  tap_skip "under mpirun" "no MPI, or a build for sanitizers"
fi

launch 2 --json >json 2>"$tap_dir/stderr" || exit 99
ok "an object" grep '"ranks": 2' json
ok "algbw is bytes over seconds" awk '/"bytes":/ { b = $2 + 0 } /"seconds":/ { s = $2 + 0 }
     /"algbw":/ { n++; d = b / s / 1e9 / ($2 + 0) - 1; if (d > 1e-6 || d < -1e-6) bad = 1; a = $2 + 0 }
     /"busbw":/ && $2 != "null," { d = a / ($2 + 0) - 1; if (d > 1e-6 || d < -1e-6) bad = 1 }
     END { exit !(n > 12 && !bad) }' json

# ---- predictions ----

# 25.83 million parameters; 8 sequences of 0.25 s, and a link of 1 GB/s without latency:
# two ranks take 1 s and 4 P or 8 P bytes.
predict () { bench --predict=minimind2-small --global-batch=8 --micro-batch=1 --step-seconds=2 --latency=0 "$@"; }
ok "a link" run predict --link=1
ok "two ranks" awk '$1 == 2 && $5 == "|" { found = $4 == "1.0000" && $6 == "1.2066" && $10 == "1.1033" } END { exit !found }' \
   "$tap_dir/stdout"
ok "four ranks" awk '$1 == 4 && $5 == "|" { found = $4 == "0.5000" && $6 == "0.8100" && $8 == "2.47" } END { exit !found }' \
   "$tap_dir/stdout"
ok "no more ranks than micro-batches" sh -c '! grep -q "^ *16 " "$0" && grep -q "more than 8 ranks have no micro-batch" "$0"' \
   "$tap_dir/stdout"
ok "from what was measured" run launch 2 --predict=tiny --seq-len=16 --global-batch=64 --micro-batch=2 --threads=1
ok "as it says" grep '^inside a node of 1024 ranks: int64 .* as measured on 2$' "$tap_dir/stdout"
ok "nodes of two, and a link" run launch 2 --predict=tiny --seq-len=16 --global-batch=64 --micro-batch=2 --step-seconds=1 --link=5
ok "sixteen ranks on eight nodes" grep '^ *16  *8  *2 ' "$tap_dir/stdout"
if command -v gnuplot >/dev/null; then
  ok "a picture" run predict --link=1 --plot=plot.svg
  ok "is one" grep '</svg>' plot.svg
else
  tap_skip "a picture" "no gnuplot"
fi
mkdir empty
ok "without gnuplot" status_is 65 run env PATH="$PWD/empty" "$(command -v minimind-bench-allreduce)" --max-bytes=1K \
   --iterations=1 --predict=tiny --step-seconds=1 --link=1 --plot=x.svg
ok "without gnuplot: words" says 'there is no gnuplot'
ok "without gnuplot: no picture" test ! -e x.svg

# ---- refusals ----

wrong () { name=$1 words=$2; shift 2; ok "$name" status_is 64 run "$@"; ok "$name: words" says "$words"; }
wrong "sizes the wrong way round" 'min-bytes is more than' minimind-bench-allreduce --min-bytes=2K --max-bytes=1K
wrong "more than there is memory for" 'that this host has left: --max-bytes=' minimind-bench-allreduce --max-bytes=900G
wrong "an unknown type" 'dtype' bench --dtype=float8
wrong "an unknown algorithm" 'algorithm' bench --algorithm=ring
wrong "MPI without mpirun" 'mpirun' bench --algorithm=mpi
wrong "nothing to predict from" 'give --link=GBPS' bench --predict=tiny
wrong "an unknown preset" 'huge' bench --predict=huge --link=1
wrong "a batch that does not divide" 'no multiple' bench --predict=tiny --link=1 --global-batch=9 --micro-batch=2
wrong "an unknown transport" 'pigeon' bench --transport=pigeon
ok "a full disk" status_is 74 sh -c 'minimind-bench-allreduce --max-bytes=1K --iterations=1 >/dev/full'

tap_done

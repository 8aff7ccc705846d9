# comm.sh -- sums over ranks beside MPI's and the machine's limit; training on two ranks; what is predicted, and memory.
# SPDX-License-Identifier: Apache-2.0
#
#   sh bench/comm.sh [sums|steps|memory]...       in the build folder; default: all three
#
# Two ranks, 26 million parameters.  BENCH_PYTHON names a Python with torch and transformers, for DDP; BENCH_ROUNDS
# how often everybody runs [3].
PATH=$PWD:$PATH
rounds=${BENCH_ROUNDS-3}
folder=$(mktemp -d "${TMPDIR:-/tmp}/bench-comm.XXXXXX") || exit 1
trap 'rm -rf "$folder"' 0
median () { sort -g | awk '{ x[NR] = $1 } END { print NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'; }

# seconds DTYPE ALGORITHM <JSON
seconds ()
{
  awk -v dtype="\"$1\"," -v algorithm="\"$2\"," '/"dtype":/ { d = $2 } /"algorithm":/ { a = $2 }
    /"seconds":/ && d == dtype && a == algorithm { print $2 + 0; exit }'
}

# Each round: limit, sum and MPI's own, one behind the other; ratios by round.
sums ()
{
  if command -v mpirun >/dev/null && minimind-pretrain --version | grep -q '^transports: .*mpi'; then
    start="mpirun --bind-to core -n 2" algorithms=sum,limit,mpi
  else start="minimind-launch -n 2 --" algorithms=sum,limit; fi
  for round in $(seq $((rounds + 2))); do
    $start minimind-bench-allreduce --min-bytes=103M --max-bytes=103M --algorithm=$algorithms --dtype=float32,int64 \
      --iterations=7 --json >"$folder/json" || return 1
    for dtype in float32 int64; do
      for algorithm in sum limit mpi; do echo "$dtype $algorithm $(seconds $dtype $algorithm <"$folder/json")"; done
    done >"$folder/sums.$round"
  done
  for dtype in float32 int64; do
    for other in limit mpi; do
      cat "$folder"/sums.* | awk -v d=$dtype -v o=$other '$1 == d && $2 == "sum" { s = $3 }
        $1 == d && $2 == o && $3 > 0 { l = $3; print l / s; s = 0 }' | median >"$folder/ratio"
      test -s "$folder/ratio" && echo "$dtype, 103 MB: all-reduce at $(cat "$folder/ratio") times the speed of $other"
    done
    echo "$dtype, 103 MB: $(cat "$folder"/sums.* | awk -v d=$dtype '$1 == d && $2 == "sum" { print 1e3 * $3 }' | median) ms"
  done
}

# What --predict says of two ranks before and after, and what they take.
predicted ()
{
  minimind-launch -n 2 -- minimind-bench-allreduce --min-bytes=16M --max-bytes=64M --factor=2 --algorithm=sum \
    --dtype=float32,int64 --iterations=3 --predict=minimind2-small --global-batch=16 --threads=1 \
    | awk '$1 == 2 && $5 == "|" { print $6 }'
}
steps ()
{
  predicted >"$folder/predicted"
  bench/comm "$rounds" ${BENCH_CONTENDERS-one,two,ddp} >"$folder/steps" || return 1
  predicted >>"$folder/predicted"
  cat "$folder/steps"
  step=$(sed -n 's/^two ranks, 1 thread each .* tokens.s, \([0-9.]*\) s a step.*/\1/p' "$folder/steps")
  echo "predicted for two ranks: $(tr '\n' ' ' <"$folder/predicted")s a step; measured over predicted:" \
    "$(awk -v step="$step" '{ sum += $1 } END { print step / (sum / NR) }' "$folder/predicted")"
}

# A dry run opens and links the same: what a run takes beyond it is what was told.
memory ()
{
  tests/make-dataset "$folder/data" 32 1 512 || return 1
  run () { minimind-launch -n 2 -- tests/peak-memory minimind-pretrain --data="$folder/data" --preset=minimind2-small \
             --global-batch=16 --zero=1 --threads=1 "$@" | grep -v '^\[rank'; }
  run --dry-run >"$folder/told" 2>/dev/null
  empty=$(tail -n 1 "$folder/told")
  told=$(sed -n 's/^  total  *\([0-9.]* [kMGT]*B\)$/\1/p' "$folder/told" \
         | awk '{ print $1 * 1000 ^ index ("kMGT", substr ($2, 1, 1)) }')
  took=$(run -q --output="$folder/run" --steps=1)
  echo "a rank with --zero=1: $told bytes told, $((took - empty)) taken:" \
    "$(awk -v told="$told" -v took="$((took - empty))" 'BEGIN { print took / told }')"
}

grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'
for part in ${@:-sums steps memory}; do
  echo "-- $part"
  $part || exit 1
done

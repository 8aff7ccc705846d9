# runs.sh -- sourced by the tests of training: a small dataset, a run of nano, ways to compare.
# SPDX-License-Identifier: Apache-2.0

make_dataset=$builddir/tests/make-dataset
$make_dataset data 40 6 32 || exit 99

# The run that most tests repeat: 20 steps, an epoch of five.
train ()
{
  data=$1 out=$2; shift 2
  minimind-pretrain -q --threads=1 --preset=nano --data="$data" --output="$out" --global-batch=8 \
    --micro-batch=2 --epochs=4 --learning-rate=1e-2 --save-every=5 "$@"
}

# One digest of a checkpoint's files.
bits () { (cd "$1" && sha256sum -- * | sha256sum); }
same_bits () { a=$(bits "$1") && b=$(bits "$2") && echo "$a $b" && test "$a" = "$b"; }
intact () { (cd "$1" && sha256sum --quiet -c MANIFEST); }

# refused STATUS MESSAGE COMMAND...: COMMAND ends with STATUS, and says MESSAGE in one line.
refused ()
{
  want=$1 message=$2; shift 2
  "$@" 2>said; found=$?
  cat said
  test $found -eq "$want" && grep -F -q -e "$message" said && test "$(wc -l <said)" -eq 1
}

# digest.sh -- sourced by the tests that build the reference run with other compilers: its sources alone,
# with no library but libc, libm and threads.  Needs $srcdir and $simd_sources.
# SPDX-License-Identifier: Apache-2.0

digest_sources="
  tests/digest.c
  lib/base/error.c lib/base/memory.c lib/base/thread.c lib/base/log.c
  lib/base/elementary.c lib/base/random.c lib/base/normal.c
  lib/data/batch.c lib/data/order.c
  lib/model/config.c lib/model/params.c lib/model/model.c lib/model/forward.c lib/model/backward.c
  lib/model/pass.c lib/model/lora.c lib/model/lora_pass.c
  lib/train/schedule.c lib/train/optimizer.c"

# build_digest DIR COMPILER... : leave DIR/digest.  The kernel sets to build are those that DIR/config.h
# defines; simd_flags_SET holds the flags of one.
build_digest ()
{
  dir=$1; shift
  flags="-std=gnu11 -ffp-contract=off -fno-math-errno -pthread -I$dir -I$srcdir/lib"
  set_objects=
  for set in avx2 avx512 neon; do
    SET=$(echo "$set" | tr a-z A-Z)
    grep -q "HAVE_KERNELS_$SET 1" "$dir/config.h" || continue
    eval "set_flags=\$simd_flags_$set"
    mkdir -p "$dir/$set"
    for source in $simd_sources; do
      case $source in *.c) ;; *) continue ;; esac
      object=$dir/$set/$(echo "${source%.c}" | tr / _).o
      "$@" $flags $set_flags -DMM_ISA=$set -DMM_ISA_$SET -c -o "$object" "$srcdir/$source" || return 1
      set_objects="$set_objects $object"
    done
  done
  (cd "$srcdir" && "$@" $flags -o "$dir/digest" $digest_sources \
     lib/backend/*.c lib/backend/cpu/*.c lib/backend/cpu/ref/*.c $set_objects -lm)
}

simd_flags_avx2="-mavx2 -mfma"
simd_flags_avx512="-mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma -mprefer-vector-width=512"
simd_flags_neon=

# config_h DIR SET... : the configuration of a build with these kernel sets.
config_h ()
{
  mkdir -p "$1"
  { echo "#define _GNU_SOURCE 1"
    echo "#define PACKAGE_VERSION \"digest\""
    shift
    for set; do echo "#define HAVE_KERNELS_$(echo "$set" | tr a-z A-Z) 1"; done
  } >"$1/config.h"
}

# digest_is NAME COMMAND... : a test that COMMAND, a reference run, gives the committed bits; skipped when
# the processor lacks the kernels that MM_CPU names.
digest_is ()
{
  name=$1; shift
  "$@" >state 2>messages </dev/null; result=$?
  if test $result -eq 77; then tap_skip "$name" "$(sed -n 's/^digest: //p' messages)"
  else ok "$name" committed $result; fi
}
committed () { cat messages; test "$1" -eq 0 && sha256sum -c "$srcdir/tests/nano.digest" <state; }

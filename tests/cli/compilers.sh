# Compiler and optimisation do not show in the bits: gcc and clang, -O1 and -O3, by the generic kernels and by
# the widest that the processor has.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/digest.sh"

widest=$("$builddir/tests/digest" 1 0 2>&1 >/dev/null | sed -n 's/ kernels, .*//p')
test "$widest" = generic && widest=

for compiler in gcc clang; do
  for level in -O1 -O3; do
    if ! command -v $compiler >/dev/null; then
      tap_skip "$compiler $level" "no $compiler"
      continue
    fi
    dir=$tap_dir/$compiler$level
    config_h "$dir" $widest
    ok "$compiler $level builds the reference run" build_digest "$dir" $compiler $level
    for kernels in generic $widest; do
      MM_CPU=$kernels; export MM_CPU
      digest_is "$compiler $level, $kernels kernels" "$dir/digest" 2
    done
  done
done
tap_done

# fast-math.sh -- a compiler told to reorder arithmetic is stopped, not silently obeyed.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"

echo '#include <minimind/thread.h>' >a.c
tried=
for compiler in cc gcc clang; do
  command -v $compiler >/dev/null || continue
  tried=yes
  ok "$compiler compiles the header" $compiler -I"$srcdir/lib" -c a.c
  for flag in -ffast-math -Ofast -ffinite-math-only; do
    ok "$compiler $flag is refused" status_is 1 $compiler $flag -I"$srcdir/lib" -c a.c
  done
done
test "$tried" || skip_all "no cc, gcc or clang"
tap_done

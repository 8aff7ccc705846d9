# The reference run gives the committed digest, whatever the kernels and the number of threads, and its
# losses and norms are PyTorch's.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/digest.sh"

digest=$builddir/tests/digest

for kernels in generic avx2 avx512 neon; do
  MM_CPU=$kernels; export MM_CPU
  for threads in 1 2 3 7; do
    digest_is "$kernels kernels, $threads threads" "$digest" $threads
  done
done

# Step, loss, norm, targets, as interop/nano.golden has them.
MM_CPU=generic "$digest" 1 2>&1 >/dev/null \
  | sed -n 's/^step \([0-9]*\) .*loss \([0-9.]*\)  norm \([0-9.]*\)  targets \([0-9]*\)$/\1 \2 \3 \4/p' >ours
grep -v '^#' "$srcdir/tests/interop/nano.golden" >theirs

# Losses and norms within 2e-5 after twenty steps in float32, the same targets.
near ()
{
  paste -d ' ' ours theirs | awk '
    function off (a, b) { return a > b ? a - b : b - a }
    { n++ }
    $1 != $5 || off($2, $6) > 2e-5 || off($3, $7) > 2e-5 || $4 != $8 { print; bad++ }
    END { exit bad > 0 || n != 20 }'
}
ok "losses and norms of twenty steps are those of PyTorch in float64" near
tap_done

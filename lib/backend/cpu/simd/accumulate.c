/* accumulate.c -- float32 gradients into fixed point, 16 at a time.
   SPDX-License-Identifier: Apache-2.0  */

#include "simd.h"

bool
mm_kernel (accumulate) (const float *g, size_t n, int64_t *acc)
{
  m16 bad = m16_none ();
  size_t i = 0;

  for (; i + 16 <= n; i += 16)
    bad = m16_or (bad, v16_add_fixed (acc + i, v16_load (g + i)));
  if (i < n)
    bad = m16_or (bad, v16_add_fixed_n (acc + i, v16_load_n (g + i, n - i), n - i));
  return m16_any (bad);
}

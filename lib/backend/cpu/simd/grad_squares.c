/* grad_squares.c -- gradients back from fixed point, and the squares of their blocks.
   SPDX-License-Identifier: Apache-2.0  */

#include "gradient.h"

/* Elements ahead of those at hand that are asked for: the processor's own prefetch keeps up with half of the memory's
   speed where one stream is read.  */
enum { AHEAD = 1024 };

static double
block_squares (const int64_t *acc, size_t n, v16 targets)
{
  d16 lane = d16_zero ();
  size_t i = 0;

  for (; i + 16 <= n; i += 16)
    {
      d16 g = d16_from_v16 (v16_gradient (v16_from_i64 (acc + i), targets));

      __builtin_prefetch (acc + i + AHEAD);
      __builtin_prefetch (acc + i + AHEAD + 8);
      lane = d16_fma (g, g, lane);
    }
  if (i < n)
    {
      d16 g = d16_from_v16 (v16_gradient (v16_from_i64_n (acc + i, n - i), targets));

      lane = d16_fma (g, g, lane);      /* + 0 where there is none: no sum is -0 */
    }
  return d16_sum (lane);
}

void
mm_kernel (grad_squares) (const int64_t *acc, size_t n, uint64_t n_targets, double *partial)
{
  v16 targets = v16_set1 ((float) n_targets);

  for (size_t at = 0; at < n; at += MM_GRAD_BLOCK)
    *partial++ = block_squares (acc + at, n - at < MM_GRAD_BLOCK ? n - at : MM_GRAD_BLOCK, targets);
}

void
mm_kernel (grad_values) (const int64_t *acc, size_t n, uint64_t n_targets, float *g)
{
  v16 targets = v16_set1 ((float) n_targets);
  size_t i = 0;

  for (; i + 16 <= n; i += 16)
    v16_store (g + i, v16_gradient (v16_from_i64 (acc + i), targets));
  if (i < n)
    v16_store_n (g + i, v16_gradient (v16_from_i64_n (acc + i, n - i), targets), n - i);
}

/* grad_squares.c -- gradients back from fixed point, and the squares of their blocks.
   SPDX-License-Identifier: Apache-2.0  */

#include "ref.h"

#include <math.h>

/* Lane sum of the squares of N elements, in double.  */
static double
block_squares (const int64_t *acc, size_t n, uint64_t n_targets)
{
  enum { LANES = 16 };
  double lane[LANES] = { 0 };

  for (size_t i = 0; i < n; i++)
    {
      double g = ref_gradient (acc[i], n_targets);

      lane[i % LANES] = fma (g, g, lane[i % LANES]);
    }
  for (size_t half = LANES / 2; half > 0; half /= 2)
    for (size_t l = 0; l < half; l++)
      lane[l] += lane[l + half];
  return lane[0];
}

void
mm_kernel (grad_squares) (const int64_t *acc, size_t n, uint64_t n_targets, double *partial)
{
  for (size_t at = 0; at < n; at += MM_GRAD_BLOCK)
    *partial++ = block_squares (acc + at, n - at < MM_GRAD_BLOCK ? n - at : MM_GRAD_BLOCK, n_targets);
}

void
mm_kernel (grad_values) (const int64_t *acc, size_t n, uint64_t n_targets, float *g)
{
  for (size_t i = 0; i < n; i++)
    g[i] = ref_gradient (acc[i], n_targets);
}

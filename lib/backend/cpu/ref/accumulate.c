/* accumulate.c -- float32 gradients into fixed point.
   SPDX-License-Identifier: Apache-2.0  */

#include "ref.h"

#include <math.h>

#include <minimind/ops.h>

bool
mm_kernel (accumulate) (const float *g, size_t n, int64_t *acc)
{
  const double magic = 0x1.8p52;        /* adding it rounds a double below 2^51 to an integer */
  bool bad = false;

  for (size_t i = 0; i < n; i++)
    if (fabsf (g[i]) < 0x1p17f)
      acc[i] += (int64_t) ((double) g[i] * (double) (INT64_C (1) << MM_FIXED_BITS) + magic - magic);
    else
      bad = true;
  return bad;
}

/* cross_entropy.c -- each row's loss and gradient in three passes over the row.
   SPDX-License-Identifier: Apache-2.0  */

#include "lanes.h"

#include <string.h>

/* Lane sum of exp (row[v] - m), which take the row's place if KEEP.  */
MM_INLINE float
exponentials (float *row, size_t n, float m, bool keep)
{
  v16 lane = v16_zero (), most = v16_set1 (m);
  size_t v = 0;

  for (; v + 16 <= n; v += 16)
    {
      v16 e = v16_exp (v16_sub (v16_load (row + v), most));

      lane = v16_add (lane, e);
      if (keep)
        v16_store (row + v, e);
    }
  if (v < n)
    {
      v16 e = v16_exp (v16_sub (v16_load_n (row + v, n - v), most));

      lane = v16_add (lane, v16_select (m16_first (n - v), e, v16_zero ()));
      if (keep)
        v16_store_n (row + v, e, n - v);
    }
  return v16_sum (lane);
}

static void
scale (float *row, size_t n, float by)
{
  v16 factor = v16_set1 (by);
  size_t v = 0;

  for (; v + 16 <= n; v += 16)
    v16_store (row + v, v16_mul (v16_load (row + v), factor));
  if (v < n)
    v16_store_n (row + v, v16_mul (v16_load_n (row + v, n - v), factor), n - v);
}

void
mm_kernel (cross_entropy) (struct mm_mat logits, const int32_t *targets, float *losses, bool grad)
{
  size_t n = logits.cols;

  for (size_t i = 0; i < logits.rows; i++)
    {
      float *row = logits.data + i * logits.ld, target, m, z;

      losses[i] = 0;
      if (targets[i] < 0)
        {
          if (grad)
            memset (row, 0, n * sizeof *row);
          continue;
        }
      target = row[targets[i]];
      m = lanes_max (row, n);
      z = grad ? exponentials (row, n, m, true) : exponentials (row, n, m, false);
      losses[i] = (mm_logf (z) + m) - target;
      if (grad)
        {
          scale (row, n, 1 / z);
          row[targets[i]] -= 1;
        }
    }
}

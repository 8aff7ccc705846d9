/* embed.c -- rows of the embedding table, and its gradient.
   SPDX-License-Identifier: Apache-2.0  */

#include "simd.h"

#include <string.h>

void
mm_kernel (embed) (struct mm_mat table, const int32_t *ids, struct mm_mat y)
{
  for (size_t i = 0; i < y.rows; i++)
    memcpy (y.data + i * y.ld, table.data + (size_t) ids[i] * table.ld, y.cols * sizeof (float));
}

void
mm_kernel (embed_grad) (struct mm_mat dy, const int32_t *ids, struct mm_mat dtable)
{
  for (size_t i = 0; i < dy.rows; i++)
    {
      const float *from = dy.data + i * dy.ld;
      float *row = dtable.data + (size_t) ids[i] * dtable.ld;
      size_t c = 0, n = dy.cols;

      for (; c + 16 <= n; c += 16)
        v16_store (row + c, v16_add (v16_load (row + c), v16_load (from + c)));
      if (c < n)
        v16_store_n (row + c, v16_add (v16_load_n (row + c, n - c), v16_load_n (from + c, n - c)), n - c);
    }
}

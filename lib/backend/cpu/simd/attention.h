/* attention.h -- what attention and its gradient share: packed keys and values, strips of scores.
   SPDX-License-Identifier: Apache-2.0

   A strip of queries meets keys in panels of MM_NR.  Its scores stand in rows of LD floats; products
   run on gemm_tile, a tile's rows being queries of one head (or, for a single query, heads).  What a
   tile computes for keys that one of its queries does not see is overwritten with +0 before it is
   used as a weight.  */

#ifndef CPU_SIMD_ATTENTION_H
#define CPU_SIMD_ATTENTION_H

#include <math.h>

#include "lanes.h"

enum
{
  STRIP_FLOATS = 64 << 10       /* scores of a strip: with keys and values, for the second cache */
};

MM_INLINE size_t
round_up (size_t n, size_t to)
{
  return (n + to - 1) / to * to;
}

/* Rows of scores for N_KEYS keys lie this far apart: not a power of two, so that a column of them does
   not fall on one set of the cache.  */
MM_INLINE size_t
score_ld (size_t n_keys)
{
  return round_up (n_keys, MM_NR) + 16;
}

MM_INLINE float
score_scale (size_t hd)
{
  return (float) (1 / sqrt ((double) hd));
}

/* HD values of a head in rows of a matrix, in panels of MM_NR columns, zeros beyond HD:
   PANELS [hd / MM_NR rounded up][stride][MM_NR], rows from ROW on.  */
MM_INLINE void
pack_head (const float *from, size_t ld, size_t hd, size_t n_rows, float *panels, size_t stride,
           size_t row)
{
  for (size_t d = 0; d < hd; d += MM_NR)
    mm_kernel (gemm_pack) (from + d, ld, false, n_rows, least (hd - d, MM_NR),
                           panels + d * stride + row * MM_NR);
}

/* y[d] = fma (x[d], factor, +0) for N values.  */
MM_INLINE void
finish_row (const float *x, float factor, float *y, size_t n)
{
  v16 f = v16_set1 (factor), zero = v16_zero ();
  size_t d = 0;

  for (; d + 16 <= n; d += 16)
    v16_store (y + d, v16_fma (v16_load (x + d), f, zero));
  if (d < n)
    v16_store_n (y + d, v16_fma (v16_load_n (x + d, n - d), f, zero), n - d);
}

MM_INLINE void
zero_row (float *x, size_t from, size_t to)
{
  for (; from < to; from++)
    x[from] = 0;
}

#endif /* CPU_SIMD_ATTENTION_H */

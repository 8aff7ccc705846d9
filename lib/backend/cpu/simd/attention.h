/* attention.h -- what attention and its gradient share: packed rows, what is asked of memory ahead of its use.
   SPDX-License-Identifier: Apache-2.0

   Queries meet keys in panels of MM_NR.  Products run on gemm_tile, a tile's rows being queries of one head (or, for a
   single query, heads; or keys, in their gradients).  What a tile computes for keys that one of its queries does not
   see is overwritten with +0 before it is used as a weight.  */

#ifndef CPU_SIMD_ATTENTION_H
#define CPU_SIMD_ATTENTION_H

#include <math.h>
#include <string.h>

#include <minimind/thread.h>

#include "lanes.h"

enum { NEAR_KEYS = 512 };       /* whose rows stay in the second cache beside all else */

MM_INLINE size_t
round_up (size_t n, size_t to)
{
  return (n + to - 1) / to * to;
}

MM_INLINE float
score_scale (size_t hd)
{
  return (float) (1 / sqrt ((double) hd));
}

/* N_ROWS rows of HD values, LD apart, to rows of WIDTH, zeros beyond HD.  */
MM_INLINE void
copy_rows (const float *from, size_t ld, size_t hd, size_t n_rows, float *to, size_t width)
{
  for (size_t i = 0; i < n_rows; i++, from += ld, to += width)
    for (size_t d = 0; d < width; d += 16)
      v16_store (to + d, d + 16 <= hd ? v16_load (from + d) : v16_load_n (from + d, d < hd ? hd - d : 0));
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

/* ---- ahead ---- */

/* Rows of a head that are needed after what is at hand.  With every tile some are asked for, so that memory answers
   while products run: it is far behind their pace, and the processor's own prefetching does not follow such rows.  */
struct rows
{
  const float *at;
  size_t ld, n;
  bool write;
};

struct ahead
{
  struct rows rows[8];
  size_t n;                     /* of rows[]; the last comes first */
  size_t hd;                    /* values of a row */
  size_t each;                  /* rows that go with a tile */
};

/* N rows of M from ROW on, the values of the head that begins at COLUMN.  */
MM_INLINE void
add_ahead (struct ahead *a, struct mm_mat m, size_t row, size_t column, size_t n, bool write)
{
  if (n > 0)
    a->rows[a->n++] = (struct rows) { m.data + row * m.ld + column, m.ld, n, write };
}

/* What the part after PART begins with, if one is known: its keys and values, of which strip AT of N has a share.  */
MM_INLINE void
add_next_keys (struct ahead *a, const struct mm_attention_part *part, struct mm_heads heads, struct mm_mat k,
               struct mm_mat v, size_t at, size_t n)
{
  const struct mm_attention_part *next = part->next;
  size_t from, to;

  if (!next)
    return;
  mm_share (least (next->segment.n_k, NEAR_KEYS), 1, (int) at, (int) n, &from, &to);
  add_ahead (a, k, next->segment.k0 + from, next->kv_head * heads.kv_step, to - from, false);
  add_ahead (a, v, next->segment.k0 + from, next->kv_head * heads.kv_step, to - from, false);
}

MM_INLINE void
spread_ahead (struct ahead *a, size_t n_tiles)
{
  size_t n = 0;

  for (size_t i = 0; i < a->n; i++)
    n += a->rows[i].n;
  a->each = pieces (n, n_tiles);
}

MM_INLINE void
ask_ahead (struct ahead *a)
{
  for (size_t left = a->each; left > 0 && a->n > 0; left--)
    {
      struct rows *r = &a->rows[a->n - 1];

      for (size_t d = 0; d < a->hd; d += 16)
        if (r->write)
          __builtin_prefetch (r->at + d, 1);
        else
          __builtin_prefetch (r->at + d, 0, 2);
      r->at += r->ld;
      a->n -= --r->n == 0;
    }
}

#endif /* CPU_SIMD_ATTENTION_H */

/* norm.c -- RMSNorm of groups of WIDTH values, sixteen at a time.
   SPDX-License-Identifier: Apache-2.0  */

#include "lanes.h"

#include <math.h>

static void
scale_group (const float *x, float r, const float *w, float *y, size_t n)
{
  v16 scale = v16_set1 (r);
  size_t c = 0;

  for (; c + 16 <= n; c += 16)
    v16_store (y + c, v16_mul (v16_mul (v16_load (x + c), scale), v16_load (w + c)));
  if (c < n)
    v16_store_n (y + c, v16_mul (v16_mul (v16_load_n (x + c, n - c), scale), v16_load_n (w + c, n - c)),
                 n - c);
}

void
mm_kernel (norm) (struct mm_mat x, size_t width, const float *w, float eps, struct mm_mat y, float *rms)
{
  size_t groups = x.cols / width;

  for (size_t i = 0; i < x.rows; i++)
    for (size_t g = 0; g < groups; g++)
      {
        const float *xg = x.data + i * x.ld + g * width;
        float r = 1 / sqrtf (lanes_dot (xg, xg, width) / (float) width + eps);

        scale_group (xg, r, w, y.data + i * y.ld + g * width, width);
        if (rms)
          rms[i * groups + g] = r;
      }
}

/* ---- gradient of the input ---- */

/* Lane sum of (dy w) x.  */
static float
sum_group (const float *dy, const float *w, const float *x, size_t n)
{
  v16 lane = v16_zero ();
  size_t c = 0;

  for (; c + 16 <= n; c += 16)
    lane = v16_fma (v16_mul (v16_load (dy + c), v16_load (w + c)), v16_load (x + c), lane);
  if (c < n)
    lane = v16_fma_n (v16_mul (v16_load_n (dy + c, n - c), v16_load_n (w + c, n - c)),
                      v16_load_n (x + c, n - c), lane, n - c);
  return v16_sum (lane);
}

/* fma (-x, c, (dy w) r) of lanes at column J, the first N; RESIDUAL may be NULL.  */
MM_INLINE v16
input_lanes (const float *dy, const float *w, const float *x, const float *residual, v16 c, v16 r,
             size_t n)
{
  v16 g = v16_mul (v16_load_n (dy, n), v16_load_n (w, n));
  v16 d = v16_fnma (v16_load_n (x, n), c, v16_mul (g, r));

  return residual ? v16_add (v16_load_n (residual, n), d) : d;
}

static void
input_group (const float *dy, const float *w, const float *x, const float *residual, float c, float r,
             float *dx, size_t n)
{
  v16 vc = v16_set1 (c), vr = v16_set1 (r);
  size_t j = 0;

  for (; j + 16 <= n; j += 16)
    {
      v16 d = v16_fnma (v16_load (x + j), vc, v16_mul (v16_mul (v16_load (dy + j), v16_load (w + j)), vr));

      if (residual)
        d = v16_add (v16_load (residual + j), d);
      v16_store (dx + j, d);
    }
  if (j < n)
    v16_store_n (dx + j, input_lanes (dy + j, w + j, x + j, residual ? residual + j : NULL, vc, vr, n - j),
                 n - j);
}

void
mm_kernel (norm_grad_input) (struct mm_mat dy, struct mm_mat x, size_t width, const float *w,
                             const float *rms, struct mm_mat residual, struct mm_mat dx)
{
  size_t groups = x.cols / width;

  for (size_t i = 0; i < x.rows; i++)
    for (size_t g = 0; g < groups; g++)
      {
        const float *xg = x.data + i * x.ld + g * width, *dyg = dy.data + i * dy.ld + g * width;
        const float *rg = residual.data ? residual.data + i * residual.ld + g * width : NULL;
        float r = rms[i * groups + g], s = sum_group (dyg, w, xg, width);

        input_group (dyg, w, xg, rg, ((s / (float) width) * r) * (r * r), r,
                     dx.data + i * dx.ld + g * width, width);
      }
}

/* ---- gradient of the weight ---- */

enum
{
  PIECE = 8192,                 /* terms of a chain; numerics.md */
  COLUMNS = 512,                /* whose running sums stay in the first cache */
  ROWS = 4                      /* that meet a running sum between load and store */
};

/* Where the terms of a chain come from: row at / groups, group at % groups.  */
struct terms
{
  struct mm_mat dy, x;
  size_t width, groups, column;
  const float *rms;
};

/* Go on with the chains SUM of COLUMNS columns by the N <= ROWS terms from AT.  */
MM_INLINE void
add_terms (const struct terms *t, size_t at, size_t n, float *sum, size_t columns)
{
  const float *dy[ROWS], *x[ROWS];

  for (size_t r = 0; r < n; r++)
    {
      size_t i = (at + r) / t->groups, c = (at + r) % t->groups * t->width + t->column;

      dy[r] = t->dy.data + i * t->dy.ld + c;
      x[r] = t->x.data + i * t->x.ld + c;
    }
  for (size_t c = 0; c < columns; c += 16)
    {
      size_t left = columns - c;
      v16 s = v16_load (sum + c);

      for (size_t r = 0; r < n; r++)
        if (left >= 16)
          s = v16_fma (v16_load (dy[r] + c), v16_mul (v16_load (x[r] + c), v16_set1 (t->rms[at + r])), s);
        else
          s = v16_fma (v16_load_n (dy[r] + c, left),
                       v16_mul (v16_load_n (x[r] + c, left), v16_set1 (t->rms[at + r])), s);
      v16_store (sum + c, s);
    }
}

/* Add the finished PIECE to DW, or start DW with it.  */
static void
end_piece (const float *piece, float *dw, size_t columns, bool first)
{
  for (size_t c = 0; c < columns; c++)
    dw[c] = first ? piece[c] : dw[c] + piece[c];
}

void
mm_kernel (norm_grad_weight) (struct mm_mat dy, struct mm_mat x, size_t width, const float *rms,
                              size_t from, size_t to, float *dw)
{
  size_t groups = x.cols / width, n = x.rows * groups;
  float piece[COLUMNS];

  for (size_t c = from; c < to; c += COLUMNS)
    {
      struct terms t = { dy, x, width, groups, c, rms };
      size_t columns = to - c < COLUMNS ? to - c : COLUMNS;

      for (size_t start = 0; start == 0 || start < n; start += PIECE)
        {
          size_t end = n - start < PIECE ? n : start + PIECE, at = start;

          for (size_t j = 0; j < COLUMNS; j++)
            piece[j] = 0;
          for (; at + ROWS <= end; at += ROWS)
            add_terms (&t, at, ROWS, piece, columns);
          add_terms (&t, at, end - at, piece, columns);
          end_piece (piece, dw + c, columns, start == 0);
        }
    }
}

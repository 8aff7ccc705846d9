/* gemm.c -- products of matrices: each output one chain of fma.
   SPDX-License-Identifier: Apache-2.0  */

#include "ref.h"

#include <math.h>

void
mm_kernel (gemm_tile) (size_t rows, size_t cols, size_t k, const float *a, size_t a_row, size_t a_step,
                       const float *b, size_t b_step, const float *start, size_t start_ld, float *y,
                       size_t y_ld)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      {
        float s = start ? start[i * start_ld + j] : 0;

        for (size_t t = 0; t < k; t++)
          s = fmaf (a[i * a_row + t * a_step], b[t * b_step + j], s);
        y[i * y_ld + j] = s;
      }
}

/* What becomes of the chain S of output (I, J).  */
static bool
finish (const struct mm_gemm *g, size_t i, size_t j, float s)
{
  if (g->total)
    s = g->total[i * g->total_ld + j] + s;
  if (g->residual)
    s = g->residual[i * g->residual_ld + j] + s;
  if (g->fixed)
    return mm_kernel (accumulate) (&s, 1, &g->fixed[i * g->fixed_ld + j]);
  g->y[i * g->y_ld + j] = s;
  return false;
}

/* Add what MORE says to output (I, J).  */
static void
add_more (const struct mm_gemm *g, size_t i, size_t j)
{
  for (const struct mm_gemm_more *m = g->more; m < g->more + g->n_more; m++)
    {
      size_t at = g->col + j - m->from;
      float s;

      if (g->col + j < m->from || at >= m->n)
        continue;
      mm_kernel (gemm_tile) (1, 1, m->k, m->a + (g->row + i) * m->a_row, 0, 1,
                             m->b.data + at / MM_NR * m->b.panel + at % MM_NR, m->b.step, NULL, 0, &s, 0);
      g->y[i * g->y_ld + j] += s;
    }
}

bool
mm_kernel (gemm) (const struct mm_gemm *g)
{
  bool bad = false;

  for (size_t i = 0; i < g->m; i++)
    for (size_t j = 0; j < g->n; j++)
      {
        const float *a = g->a + i / MM_MR * g->a_panel + i % MM_MR * g->a_row;
        const float *b = g->b.data + j / MM_NR * g->b.panel + j % MM_NR;
        const float *start = g->start ? g->start + i * g->start_ld + j : NULL;
        float s;

        mm_kernel (gemm_tile) (1, 1, g->k, a, 0, g->a_step, b, g->b.step, start, 0, &s, 0);
        bad |= finish (g, i, j, s);
        add_more (g, i, j);
      }
  return bad;
}

void
mm_kernel (gemm_copy) (const float *a, size_t a_step, size_t rows, size_t k, float *panels)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t t = 0; t < k; t++)
      panels[i / MM_MR * MM_GEMM_A_PANEL (MM_MR) + t * MM_MR + i % MM_MR] = a[t * a_step + i];
}

void
mm_kernel (gemm_pack) (const float *b, size_t ld, bool transposed, size_t k, size_t cols, float *panels)
{
  size_t n_panels = (cols + MM_NR - 1) / MM_NR;

  for (size_t p = 0; p < n_panels; p++)
    for (size_t t = 0; t < k; t++)
      for (size_t l = 0; l < MM_NR; l++)
        {
          size_t j = p * MM_NR + l;

          *panels++ = j >= cols ? 0 : transposed ? b[j * ld + t] : b[t * ld + j];
        }
}

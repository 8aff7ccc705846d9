/* head_loss.c -- driver: logits, loss and their gradients by chunks of rows that stay in the cache.
   SPDX-License-Identifier: Apache-2.0

   The gradient takes the place of the logits, becomes dx's rows at once, and goes on with the chains of
   dw, which run over all rows of the micro-batch: their float32 sums are kept between chunks, so that
   the chunk's size leaves no trace.  */

#include <config.h>

#include <string.h>

#include "cpu.h"
#include "gemm.h"

enum
{
  CHUNK_BYTES = 16 << 20,
  FEWEST_ROWS = 32, MOST_ROWS = 1024
};

struct chunk
{
  const struct mm_cpu_kernels *kernels;
  struct mm_mat logits, x;
  const int32_t *targets;
  float *losses;
  bool grad;
};

/* A power of two, so that no chunk lies across a cut of the chains (MM_CHAIN_CUT).  */
static size_t
chunk_rows (size_t rows, size_t vocab)
{
  size_t n = FEWEST_ROWS;

  while (n < MOST_ROWS && n < rows && 2 * n * vocab * sizeof (float) <= CHUNK_BYTES)
    n *= 2;
  return n;
}

size_t
mm_head_loss_bytes (size_t rows, size_t vocab)
{
  return chunk_rows (rows, vocab) * (vocab + 1) * sizeof (float);
}

static void
cross_entropy (void *arg, size_t from, size_t to)
{
  struct chunk *c = arg;

  c->kernels->cross_entropy (mm_mat_rows (c->logits, from, to), c->targets + from, c->losses + from,
                             c->grad);
}

/* Go on with the chains of dw by the rows of the chunk, which begin at row AT of ROWS: in DW up to the first
   cut, then in PIECE, whose last chunk adds it to DW.  */
static mm_status
grad_weight (struct mm_backend *be, const struct chunk *c, size_t at, size_t rows, struct mm_mat dw,
             float *piece)
{
  size_t end = at + c->x.rows;
  bool later = at >= MM_CHAIN_CUT, last = end % MM_CHAIN_CUT == 0 || end == rows;
  struct mm_mat sums = later ? mm_mat (piece, dw.rows, dw.cols) : dw;
  struct mm_mat y = last ? dw : sums;
  struct mm_gemm g = {
    .m = dw.rows, .n = dw.cols, .k = c->x.rows,
    .a = c->logits.data, .a_row = 1, .a_step = c->logits.ld,
    .b = mm_cpu_gemm_rows (be, c->x.data, c->x.ld),
    .start = at % MM_CHAIN_CUT ? sums.data : NULL, .start_ld = sums.ld,
    .total = later && last ? dw.data : NULL, .total_ld = dw.ld,
    .y = y.data, .y_ld = y.ld
  };

  return mm_cpu_gemm (be, &g, NULL);
}

/* dx's rows of the chunk, from the panels of the weight's columns.  */
static mm_status
grad_input (struct mm_backend *be, const struct chunk *c, struct mm_gemm_panels w, struct mm_mat dx)
{
  struct mm_gemm g = {
    .m = dx.rows, .n = dx.cols, .k = c->logits.cols,
    .a = c->logits.data, .a_row = c->logits.ld, .a_step = 1,
    .b = w,
    .y = dx.data, .y_ld = dx.ld
  };

  return mm_cpu_gemm (be, &g, NULL);
}

/* Add the fixed-point values of N losses to *SUM.  */
static void
sum_losses (const float *losses, size_t n, int64_t *sum, int *overflow)
{
  const double magic = 0x1.8p52;        /* rounds to an integer: below 2^14 * 2^34 = 2^48 */

  for (size_t i = 0; i < n; i++)
    if (losses[i] < 0x1p14f && losses[i] > -0x1p14f)
      *sum += (int64_t) ((double) losses[i] * (double) (INT64_C (1) << MM_FIXED_BITS) + magic - magic);
    else
      *overflow = 1;
}

mm_status
mm_cpu_head_loss (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                  const int32_t *targets, float *losses, int64_t *loss_sum, int *overflow,
                  struct mm_mat dx, struct mm_mat dw)
{
  struct chunk c = { .kernels = mm_cpu_state (be)->kernels, .grad = dx.data != NULL };
  size_t rows = chunk_rows (x.rows, w->n);
  size_t piece = dw.data && x.rows > MM_CHAIN_CUT ? w->n * w->k : 0;
  struct mm_gemm_panels columns;
  float *scratch;
  mm_status st = mm_cpu_scratch (be, MM_SCRATCH_OP, rows * (w->n + 1) + piece, sizeof *scratch, &scratch);

  if (st == MM_OK && c.grad)
    st = mm_cpu_weights_backward (be, 1, &w, &columns);
  for (size_t i = 0; dw.data && x.rows == 0 && i < dw.rows; i++)
    memset (dw.data + i * dw.ld, 0, dw.cols * sizeof *dw.data);
  for (size_t at = 0; at < x.rows && st == MM_OK; at += rows)
    {
      size_t n = x.rows - at < rows ? x.rows - at : rows;

      c.logits = mm_mat (scratch + rows, n, w->n);
      c.x = mm_mat_rows (x, at, at + n);
      c.targets = targets + at;
      c.losses = losses ? losses + at : scratch;
      st = mm_cpu_linear (be, c.x, w, (struct mm_mat) { 0 }, c.logits);
      if (st < 0)
        break;
      mm_cpu_split (be, n, 1, cross_entropy, &c);
      sum_losses (c.losses, n, loss_sum, overflow);
      if (dw.data)
        st = grad_weight (be, &c, at, x.rows, dw, scratch + rows * (w->n + 1));
      if (c.grad && st == MM_OK)
        st = grad_input (be, &c, columns, mm_mat_rows (dx, at, at + n));
    }
  return st;
}

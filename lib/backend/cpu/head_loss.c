/* head_loss.c -- driver: logits, loss and their gradients by chunks of rows that stay in the cache.
   SPDX-License-Identifier: Apache-2.0

   The gradient takes the place of the logits, becomes dx's rows at once, and goes on with the chains of
   dw, which run over all rows of the micro-batch: dw is kept in float32 between chunks, so that the
   chunk's size leaves no trace.  */

#include <config.h>

#include <string.h>

#include "cpu.h"

enum
{
  CHUNK_BYTES = 8 << 20,
  FEWEST_ROWS = 32, MOST_ROWS = 1024,
  PIECE = 8192                  /* rows of a chain; numerics.md */
};

struct chunk
{
  const struct mm_cpu_kernels *kernels;
  struct mm_mat logits, x, dw;
  const int32_t *targets;
  float *losses;
  bool grad, go_on;
};

/* A power of two, so that chunks never lie across the end of a piece.  */
static size_t
chunk_rows (size_t rows, size_t vocab)
{
  size_t n = FEWEST_ROWS;

  while (n < MOST_ROWS && n < rows && 2 * n * vocab * sizeof (float) <= CHUNK_BYTES)
    n *= 2;
  return n;
}

static void
cross_entropy (void *arg, size_t from, size_t to)
{
  struct chunk *c = arg;

  c->kernels->cross_entropy (mm_mat_rows (c->logits, from, to), c->targets + from, c->losses + from,
                             c->grad);
}

static void
grad_weight (void *arg, size_t from, size_t to)
{
  struct chunk *c = arg;

  c->kernels->head_grad_weight (mm_mat_cols (c->logits, from, to - from), c->x,
                                mm_mat_rows (c->dw, from, to), c->go_on);
}

/* Loss of the chunk and, with GRAD, what it adds to the gradients.  */
static mm_status
run_chunk (struct mm_backend *be, struct chunk *c, const struct mm_weight *w, struct mm_mat dx)
{
  mm_status st = be->ops->linear (be, c->x, w, (struct mm_mat) { 0 }, c->logits);

  if (st < 0)
    return st;
  mm_cpu_split (be, c->logits.rows, 1, cross_entropy, c);
  if (!c->grad)
    return MM_OK;
  mm_cpu_split (be, c->logits.cols, 16, grad_weight, c);
  return be->ops->linear_grad_input (be, c->logits, w, dx);
}

static void
add_piece (void *arg, size_t from, size_t to)
{
  struct mm_mat *m = arg;       /* dw, then the piece */

  for (size_t i = from; i < to; i++)
    for (size_t k = 0; k < m[0].cols; k++)
      m[0].data[i * m[0].ld + k] += m[1].data[i * m[1].ld + k];
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
  size_t piece = c.grad && x.rows > PIECE ? w->n * w->k : 0;
  float *scratch;
  mm_status st = mm_cpu_scratch (be, MM_SCRATCH_OP, rows * (w->n + 1) + piece, sizeof *scratch, &scratch);

  if (st == MM_OK && c.grad && x.rows == 0)
    for (size_t i = 0; i < dw.rows; i++)
      memset (dw.data + i * dw.ld, 0, dw.cols * sizeof *dw.data);
  for (size_t at = 0; at < x.rows && st == MM_OK; at += rows)
    {
      size_t n = x.rows - at < rows ? x.rows - at : rows;
      struct mm_mat pieces[2] = { dw, mm_mat (scratch + rows * (w->n + 1), w->n, w->k) };

      c.logits = mm_mat (scratch, n, w->n);
      c.x = mm_mat_rows (x, at, at + n);
      c.dw = pieces[at >= PIECE];
      c.go_on = at % PIECE != 0;
      c.targets = targets + at;
      c.losses = losses ? losses + at : scratch + rows * w->n;
      st = run_chunk (be, &c, w, mm_mat_rows (dx, at, at + n));
      if (st == MM_OK)
        sum_losses (c.losses, n, loss_sum, overflow);
      if (st == MM_OK && c.grad && at >= PIECE && ((at + n) % PIECE == 0 || at + n == x.rows))
        mm_cpu_split (be, dw.rows, 16, add_piece, pieces);
    }
  return st;
}

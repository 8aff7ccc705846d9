/* linear.c -- weights in panels, and the three products of a linear layer.
   SPDX-License-Identifier: Apache-2.0

   For W [n, k]: y = x w^T has chains over k and reads panels of rows of W; dx = dy w has chains over n and
   reads panels of its columns.  dw = dy^T x reads dy and x where they are.  */

#include <config.h>

#include <stdlib.h>

#include "cpu.h"

static size_t
panels_of (size_t n, size_t nr)
{
  return n / nr + (n % nr != 0);
}

/* Room for the panels of a matrix [k, n].  */
static mm_status
alloc_panels (struct mm_backend *be, size_t k, size_t n, void **panels)
{
  size_t nr = mm_cpu_state (be)->kernels->nr, bytes;

  if (__builtin_mul_overflow (panels_of (n, nr) * nr, sizeof (float), &bytes)
      || __builtin_mul_overflow (bytes, k, &bytes))
    return mm_fail (MM_ENOMEM, "weight [%zu, %zu]: too big", n, k);
  return mm_backend_alloc (be, "weight", bytes, panels);
}

mm_status
mm_cpu_weight_create (struct mm_backend *be, struct mm_weight *w)
{
  mm_status st = alloc_panels (be, w->k, w->n, &w->forward);

  if (st == MM_OK && w->training)
    st = alloc_panels (be, w->n, w->k, &w->backward);
  return st;
}

void
mm_cpu_weight_free (struct mm_backend *be, struct mm_weight *w)
{
  mm_backend_release (be, w->forward);
  mm_backend_release (be, w->backward);
}

static struct mm_gemm_panels
packed (const struct mm_backend *be, const float *data, size_t k)
{
  size_t nr = mm_cpu_state (be)->kernels->nr;

  return (struct mm_gemm_panels) { .data = data, .panel = k * nr, .step = nr, .padded = true };
}

struct mm_gemm_panels
mm_cpu_weight_forward (const struct mm_backend *be, const struct mm_weight *w)
{
  return packed (be, w->forward, w->k);
}

struct mm_gemm_panels
mm_cpu_weight_backward (const struct mm_backend *be, const struct mm_weight *w)
{
  return packed (be, w->backward, w->n);
}

struct mm_gemm_panels
mm_cpu_gemm_rows (const struct mm_backend *be, const float *data, size_t ld)
{
  size_t nr = mm_cpu_state (be)->kernels->nr;

  return (struct mm_gemm_panels) { .data = data, .panel = nr, .step = ld, .padded = false };
}

struct set_job
{
  const struct mm_cpu_kernels *kernels;
  struct mm_weight *w;
  struct mm_mat values;
};

/* This thread's share of the panels, forward and backward.  */
static void
set_panels (void *arg, int thread, int n_threads)
{
  const struct set_job *job = arg;
  const struct mm_mat v = job->values;
  size_t nr = job->kernels->nr, from, to;

  mm_share (v.rows, nr, thread, n_threads, &from, &to);
  job->kernels->gemm_pack (v.data + from * v.ld, v.ld, true, v.cols, to - from,
                           (float *) job->w->forward + from * v.cols);
  if (!job->w->training)
    return;
  mm_share (v.cols, nr, thread, n_threads, &from, &to);
  job->kernels->gemm_pack (v.data + from, v.ld, false, v.rows, to - from,
                           (float *) job->w->backward + from * v.rows);
}

mm_status
mm_cpu_weight_set (struct mm_backend *be, struct mm_weight *w, struct mm_mat values)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  struct set_job job = { cpu->kernels, w, values };

  mm_team_run (cpu->team, set_panels, &job);
  return MM_OK;
}

static struct mm_gemm
forward_product (const struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
                 struct mm_mat y)
{
  return (struct mm_gemm) {
    .m = x.rows, .n = w->n, .k = w->k,
    .a = x.data, .a_row = x.ld, .a_step = 1,
    .b = mm_cpu_weight_forward (be, w),
    .residual = residual.data, .residual_ld = residual.ld,
    .y = y.data, .y_ld = y.ld
  };
}

static struct mm_gemm
backward_product (const struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w, struct mm_mat residual,
                  struct mm_mat dx)
{
  return (struct mm_gemm) {
    .m = dy.rows, .n = w->k, .k = w->n,
    .a = dy.data, .a_row = dy.ld, .a_step = 1,
    .b = mm_cpu_weight_backward (be, w),
    .residual = residual.data, .residual_ld = residual.ld,
    .y = dx.data, .y_ld = dx.ld
  };
}

typedef struct mm_gemm product_fn (const struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                                   struct mm_mat residual, struct mm_mat y);

/* The product that MAKE makes of X and W, with addends.  Those that begin within a panel of columns, as of small
   models, come one by one.  */
static mm_status
run_plus (struct mm_backend *be, product_fn *make, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
          const struct mm_addend *addends, size_t n, struct mm_mat y)
{
  struct mm_gemm_more more[MM_MOST_ADDENDS];
  struct mm_gemm g = make (be, x, w, residual, y);
  size_t nr = mm_cpu_state (be)->kernels->nr;
  bool together = true;
  mm_status st;

  for (size_t i = 0; i < n; i++)
    {
      const struct mm_addend *a = &addends[i];
      struct mm_gemm p = make (be, a->u, a->w, mm_mat (NULL, 0, 0), y);

      more[i] = (struct mm_gemm_more) { a->from, p.n, p.k, p.a, p.a_row, p.b };
      together = together && a->from % nr == 0 && p.k <= MM_CHAIN_CUT;
    }
  if (together)
    {
      g.more = more;
      g.n_more = n;
    }
  st = mm_cpu_gemm (be, &g, NULL);
  for (size_t i = 0; st == MM_OK && !together && i < n; i++)
    {
      struct mm_mat part = mm_mat_cols (y, addends[i].from, more[i].n);

      g = make (be, addends[i].u, addends[i].w, part, part);
      st = mm_cpu_gemm (be, &g, NULL);
    }
  return st;
}

mm_status
mm_cpu_linear_plus (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
                    const struct mm_addend *addends, size_t n, struct mm_mat y)
{
  return run_plus (be, forward_product, x, w, residual, addends, n, y);
}

mm_status
mm_cpu_linear_grad_input_plus (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                               struct mm_mat residual, const struct mm_addend *addends, size_t n, struct mm_mat dx)
{
  return run_plus (be, backward_product, dy, w, residual, addends, n, dx);
}

mm_status
mm_cpu_linear (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
               struct mm_mat y)
{
  return mm_cpu_linear_plus (be, x, w, residual, NULL, 0, y);
}

mm_status
mm_cpu_linear_grad_input (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                          struct mm_mat residual, struct mm_mat dx)
{
  return mm_cpu_linear_grad_input_plus (be, dy, w, residual, NULL, 0, dx);
}

mm_status
mm_cpu_linear_grad_weight (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, int64_t *acc,
                           int *overflow)
{
  struct mm_gemm g = {
    .m = dy.cols, .n = x.cols, .k = dy.rows,
    .a = dy.data, .a_row = 1, .a_step = dy.ld,
    .b = mm_cpu_gemm_rows (be, x.data, x.ld),
    .fixed = acc, .fixed_ld = x.cols
  };
  bool bad = false;
  mm_status st;

  if (mm_cpu_is_thin (dy, x))
    return mm_cpu_thin_grad_weight (be, dy, x, acc, overflow);
  st = mm_cpu_gemm (be, &g, &bad);
  if (bad)
    *overflow = 1;
  return st;
}

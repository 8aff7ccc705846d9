/* linear.c -- weights in panels, and the three products of a linear layer.
   SPDX-License-Identifier: Apache-2.0

   For W [n, k]: y = x w^T has chains over k and reads panels of rows of W, made whenever W changes.  dx = dy w
   has chains over n and reads panels of its columns; unless they are kept, these are made for each product anew, in
   memory that all weights share: of 2,000 rows a fiftieth of its time.  dw = dy^T x reads dy
   and x where they are.  */

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
  return alloc_panels (be, w->k, w->n, &w->panels);
}

void
mm_cpu_weight_free (struct mm_backend *be, struct mm_weight *w)
{
  mm_backend_release (be, w->panels);
  mm_backend_release (be, w->columns);
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
  return packed (be, w->panels, w->k);
}

struct mm_gemm_panels
mm_cpu_gemm_rows (const struct mm_backend *be, const float *data, size_t ld)
{
  size_t nr = mm_cpu_state (be)->kernels->nr;

  return (struct mm_gemm_panels) { .data = data, .panel = nr, .step = ld, .padded = false };
}

struct pack_job
{
  const struct mm_cpu_kernels *kernels;
  struct mm_mat values;
  float *panels;
};

/* This thread's share of the panels of rows; of columns.  */
static void
pack_rows (void *arg, int thread, int n_threads)
{
  const struct pack_job *job = arg;
  const struct mm_mat v = job->values;
  size_t from, to;

  mm_share (v.rows, job->kernels->nr, thread, n_threads, &from, &to);
  job->kernels->gemm_pack (v.data + from * v.ld, v.ld, true, v.cols, to - from, job->panels + from * v.cols);
}

static void
pack_columns (void *arg, int thread, int n_threads)
{
  const struct pack_job *job = arg;
  const struct mm_mat v = job->values;
  size_t from, to;

  mm_share (v.cols, job->kernels->nr, thread, n_threads, &from, &to);
  job->kernels->gemm_pack (v.data + from, v.ld, false, v.rows, to - from, job->panels + from * v.rows);
}

/* Panels of W's columns into PANELS, by all threads.  */
static void
fill_columns (struct mm_backend *be, const struct mm_weight *w, float *panels)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  struct pack_job job = { cpu->kernels, w->values, panels };

  mm_team_run (cpu->team, pack_columns, &job);
}

mm_status
mm_cpu_weight_set (struct mm_backend *be, struct mm_weight *w)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  struct pack_job job = { cpu->kernels, w->values, w->panels };

  mm_team_run (cpu->team, pack_rows, &job);
  if (w->columns)
    fill_columns (be, w, w->columns);
  return MM_OK;
}

mm_status
mm_cpu_weight_keep_columns (struct mm_backend *be, struct mm_weight *w)
{
  mm_status st = alloc_panels (be, w->n, w->k, &w->columns);

  if (st == MM_OK && w->values.data)
    fill_columns (be, w, w->columns);
  return st;
}

mm_status
mm_cpu_weights_backward (struct mm_backend *be, size_t n, const struct mm_weight *const w[],
                         struct mm_gemm_panels b[])
{
  size_t nr = mm_cpu_state (be)->kernels->nr, size = 0;
  float *scratch;
  mm_status st;

  for (size_t i = 0; i < n; i++)
    size += w[i]->columns ? 0 : panels_of (w[i]->k, nr) * nr * w[i]->n;
  st = mm_cpu_scratch (be, MM_SCRATCH_WEIGHTS, size, sizeof *scratch, &scratch);
  for (size_t i = 0; i < n && st == MM_OK; i++)
    {
      b[i] = packed (be, w[i]->columns ? w[i]->columns : scratch, w[i]->n);
      if (w[i]->columns)
        continue;
      fill_columns (be, w[i], scratch);
      scratch += panels_of (w[i]->k, nr) * nr * w[i]->n;
    }
  return st;
}

/* y = X B (+ RESIDUAL).  */
static struct mm_gemm
product (struct mm_mat x, struct mm_gemm_panels b, struct mm_mat residual, struct mm_mat y)
{
  return (struct mm_gemm) {
    .m = x.rows, .n = y.cols, .k = x.cols,
    .a = x.data, .a_row = x.ld, .a_step = 1,
    .b = b,
    .residual = residual.data, .residual_ld = residual.ld,
    .y = y.data, .y_ld = y.ld
  };
}

static struct mm_gemm_more
more_of (const struct mm_addend *a, size_t n, struct mm_gemm_panels b)
{
  return (struct mm_gemm_more) { a->from, n, a->u.cols, a->u.data, a->u.ld, b };
}

/* G with N addends.  Those that begin within a panel of columns, as of small models, come one by one.  */
static mm_status
run_plus (struct mm_backend *be, struct mm_gemm *g, const struct mm_gemm_more *more, size_t n)
{
  size_t nr = mm_cpu_state (be)->kernels->nr;
  bool together = true;
  mm_status st;

  for (size_t i = 0; i < n; i++)
    together = together && more[i].from % nr == 0 && more[i].k <= MM_CHAIN_CUT;
  if (together)
    {
      g->more = more;
      g->n_more = n;
    }
  st = mm_cpu_gemm (be, g, NULL);
  for (size_t i = 0; st == MM_OK && !together && i < n; i++)
    {
      struct mm_gemm one = *g;

      one.n = more[i].n;
      one.k = more[i].k;
      one.a = more[i].a;
      one.a_row = more[i].a_row;
      one.b = more[i].b;
      one.y += more[i].from;
      one.residual = one.y;
      one.residual_ld = one.y_ld;

      st = mm_cpu_gemm (be, &one, NULL);
    }
  return st;
}

mm_status
mm_cpu_linear_plus (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
                    const struct mm_addend *addends, size_t n, struct mm_mat y)
{
  struct mm_gemm g = product (x, mm_cpu_weight_forward (be, w), residual, y);
  struct mm_gemm_more more[MM_MOST_ADDENDS];

  for (size_t i = 0; i < n; i++)
    more[i] = more_of (&addends[i], addends[i].w->n, mm_cpu_weight_forward (be, addends[i].w));
  return run_plus (be, &g, more, n);
}

mm_status
mm_cpu_linear_grad_input_plus (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                               struct mm_mat residual, const struct mm_addend *addends, size_t n, struct mm_mat dx)
{
  const struct mm_weight *weights[1 + MM_MOST_ADDENDS] = { w };
  struct mm_gemm_panels b[1 + MM_MOST_ADDENDS];
  struct mm_gemm_more more[MM_MOST_ADDENDS];
  struct mm_gemm g;
  mm_status st;

  for (size_t i = 0; i < n; i++)
    weights[1 + i] = addends[i].w;
  st = mm_cpu_weights_backward (be, 1 + n, weights, b);
  if (st < 0)
    return st;
  g = product (dy, b[0], residual, dx);
  for (size_t i = 0; i < n; i++)
    more[i] = more_of (&addends[i], addends[i].w->k, b[1 + i]);
  return run_plus (be, &g, more, n);
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

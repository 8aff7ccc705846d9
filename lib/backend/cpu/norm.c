/* norm.c -- drivers of RMSNorm over rows and over heads: rows of y and dx, columns of dw, over the
   threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  struct mm_mat x, dy, residual, out;
  size_t width;                 /* values that are normalised together */
  const float *w;
  float eps;
  float *rms;                   /* [x.rows * groups] or NULL */
  float *dw;
};

static float *
rms_of_row (const struct job *job, size_t row)
{
  return job->rms ? job->rms + row * (job->x.cols / job->width) : NULL;
}

static void
norm (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->norm (mm_mat_rows (job->x, from, to), job->width, job->w, job->eps,
                      mm_mat_rows (job->out, from, to), rms_of_row (job, from));
}

mm_status
mm_cpu_head_norm (struct mm_backend *be, struct mm_mat x, size_t hd, const float *w, float eps,
                  struct mm_mat y, float *rms)
{
  struct job job = { .kernels = mm_cpu_state (be)->kernels, .x = x, .out = y, .width = hd, .w = w,
                     .eps = eps, .rms = rms };

  mm_cpu_split_rows (be, x.rows, x.cols, norm, &job);
  return MM_OK;
}

mm_status
mm_cpu_rmsnorm (struct mm_backend *be, struct mm_mat x, const float *w, float eps, struct mm_mat y,
                float *rms)
{
  return mm_cpu_head_norm (be, x, x.cols, w, eps, y, rms);
}

static void
norm_grad_weight (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->norm_grad_weight (job->dy, job->x, job->width, job->rms, from, to, job->dw);
}

static void
norm_grad_input (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->norm_grad_input (mm_mat_rows (job->dy, from, to), mm_mat_rows (job->x, from, to),
                                 job->width, job->w, rms_of_row (job, from),
                                 mm_mat_rows (job->residual, from, to),
                                 mm_mat_rows (job->out, from, to));
}

static mm_status
norm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, size_t width, const float *w,
           const float *rms, struct mm_mat residual, struct mm_mat dx, float *dw)
{
  struct job job = { .kernels = mm_cpu_state (be)->kernels, .x = x, .dy = dy, .residual = residual,
                     .out = dx, .width = width, .w = w, .rms = (float *) rms, .dw = dw };

  /* The weight's first: dx may take the place of dy.  */
  mm_cpu_split (be, width, 16, norm_grad_weight, &job);
  mm_cpu_split_rows (be, x.rows, x.cols, norm_grad_input, &job);
  return MM_OK;
}

mm_status
mm_cpu_rmsnorm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, const float *w,
                     const float *rms, struct mm_mat residual, struct mm_mat dx, float *dw)
{
  return norm_grad (be, dy, x, x.cols, w, rms, residual, dx, dw);
}

mm_status
mm_cpu_head_norm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, size_t hd,
                       const float *w, const float *rms, struct mm_mat dx, float *dw)
{
  return norm_grad (be, dy, x, hd, w, rms, (struct mm_mat) { 0 }, dx, dw);
}

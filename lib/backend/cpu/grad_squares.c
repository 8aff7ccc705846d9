/* grad_squares.c -- drivers: blocks of the gradient over the threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  const int64_t *acc;
  uint64_t n_targets;
  double *partial;
  float *g;
};

static void
grad_squares (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->grad_squares (job->acc + from, to - from, job->n_targets,
                              job->partial + from / MM_GRAD_BLOCK);
}

mm_status
mm_cpu_grad_squares (struct mm_backend *be, const int64_t *acc, size_t first, size_t n,
                     uint64_t n_targets, double *partial)
{
  struct job job = { mm_cpu_state (be)->kernels, acc + first, n_targets, partial, NULL };

  mm_cpu_split (be, n, MM_GRAD_BLOCK, grad_squares, &job);
  return MM_OK;
}

static void
grad_values (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->grad_values (job->acc + from, to - from, job->n_targets, job->g + from);
}

mm_status
mm_cpu_grad_values (struct mm_backend *be, const int64_t *acc, size_t n, uint64_t n_targets, float *g)
{
  struct job job = { mm_cpu_state (be)->kernels, acc, n_targets, NULL, g };

  mm_cpu_split (be, n, MM_GRAD_BLOCK, grad_values, &job);
  return MM_OK;
}

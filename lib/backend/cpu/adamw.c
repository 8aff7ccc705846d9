/* adamw.c -- driver: elements over the threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  const struct mm_adamw *a;
  int64_t *acc;
  uint64_t n_targets;
  float *p, *m, *v;
};

static void
adamw_step (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->adamw_step (job->a, job->acc + from, job->n_targets, to - from, job->p + from,
                            job->m + from, job->v + from);
}

mm_status
mm_cpu_adamw_step (struct mm_backend *be, const struct mm_adamw *a, int64_t *acc, uint64_t n_targets,
                   size_t n, float *p, float *m, float *v)
{
  struct job job = { mm_cpu_state (be)->kernels, a, acc, n_targets, p, m, v };

  mm_cpu_split (be, n, MM_GRAD_BLOCK, adamw_step, &job);
  return MM_OK;
}

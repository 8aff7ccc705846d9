/* accumulate.c -- driver: elements are split over the threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdatomic.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  const float *g;
  size_t n;
  int64_t *acc;
  atomic_bool bad;
};

static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  size_t from, to;

  mm_share (job->n, 4096, thread, n_threads, &from, &to);
  if (job->kernels->accumulate (job->g + from, to - from, job->acc + from))
    atomic_store (&job->bad, true);
}

mm_status
mm_cpu_accumulate (struct mm_backend *be, const float *g, size_t n, int64_t *acc, int *overflow)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  struct job job = { .kernels = cpu->kernels, .g = g, .n = n, .acc = acc };

  mm_team_run (cpu->team, work, &job);
  if (atomic_load (&job.bad))
    *overflow = 1;
  return MM_OK;
}

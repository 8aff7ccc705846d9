/* rope.c -- driver: rows over the threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  struct mm_mat x;
  size_t hd;
  const int32_t *positions;
  const float *cosines, *sines;
  bool grad;
};

static void
rope (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->rope (mm_mat_rows (job->x, from, to), job->hd, job->positions + from, job->cosines,
                      job->sines, job->grad);
}

mm_status
mm_cpu_rope (struct mm_backend *be, struct mm_mat x, size_t hd, const int32_t *positions,
             const float *cosines, const float *sines, bool grad)
{
  struct job job = { mm_cpu_state (be)->kernels, x, hd, positions, cosines, sines, grad };

  mm_cpu_split_rows (be, x.rows, x.cols, rope, &job);
  return MM_OK;
}

/* scale.c -- every element times a number: one rounding each, so plain C has the bits of all vectors.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "cpu.h"

struct job
{
  struct mm_mat x;
  float s;
};

static void
scale (void *arg, size_t from, size_t to)
{
  const struct job *job = arg;

  for (size_t i = from; i < to; i++)
    for (size_t j = 0; j < job->x.cols; j++)
      job->x.data[i * job->x.ld + j] *= job->s;
}

mm_status
mm_cpu_scale (struct mm_backend *be, struct mm_mat x, float s)
{
  struct job job = { x, s };

  mm_cpu_split_rows (be, x.rows, x.cols, scale, &job);
  return MM_OK;
}

/* swiglu.c -- drivers: rows over the threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  struct mm_mat gate_up, dy, d_gate_up, y;
};

static void
swiglu (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->swiglu (mm_mat_rows (job->gate_up, from, to), mm_mat_rows (job->y, from, to));
}

mm_status
mm_cpu_swiglu (struct mm_backend *be, struct mm_mat gate_up, struct mm_mat y)
{
  struct job job = { .kernels = mm_cpu_state (be)->kernels, .gate_up = gate_up, .y = y };

  mm_cpu_split_rows (be, y.rows, y.cols, swiglu, &job);
  return MM_OK;
}

static void
swiglu_grad (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->swiglu_grad (mm_mat_rows (job->dy, from, to), mm_mat_rows (job->gate_up, from, to),
                             mm_mat_rows (job->d_gate_up, from, to), mm_mat_rows (job->y, from, to));
}

mm_status
mm_cpu_swiglu_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat gate_up,
                    struct mm_mat d_gate_up, struct mm_mat y)
{
  struct job job = { mm_cpu_state (be)->kernels, gate_up, dy, d_gate_up, y };

  mm_cpu_split_rows (be, dy.rows, dy.cols, swiglu_grad, &job);
  return MM_OK;
}

/* embed.c -- drivers: rows of the output, columns of the gradient, over the threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  const int32_t *ids;
  struct mm_mat table, rows;
};

static void
embed (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->embed (job->table, job->ids + from, mm_mat_rows (job->rows, from, to));
}

mm_status
mm_cpu_embed (struct mm_backend *be, struct mm_mat table, const int32_t *ids, struct mm_mat y)
{
  struct job job = { mm_cpu_state (be)->kernels, ids, table, y };

  mm_cpu_split_rows (be, y.rows, y.cols, embed, &job);
  return MM_OK;
}

/* Rows of the gradient meet in one row of the table, so threads take columns.  */
static void
embed_grad (void *arg, size_t from, size_t to)
{
  struct job *job = arg;

  job->kernels->embed_grad (mm_mat_cols (job->rows, from, to - from), job->ids,
                            mm_mat_cols (job->table, from, to - from));
}

mm_status
mm_cpu_embed_grad (struct mm_backend *be, struct mm_mat dy, const int32_t *ids, struct mm_mat dtable)
{
  struct job job = { mm_cpu_state (be)->kernels, ids, dtable, dy };

  mm_cpu_split (be, dy.cols, 64, embed_grad, &job);
  return MM_OK;
}

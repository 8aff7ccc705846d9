/* thin.c -- the gradient of a matrix that has few rows or few columns, as those of adapters.
   SPDX-License-Identifier: Apache-2.0

   dW = dY^T X where one of both is thin.  The chains are those of any product (gemm.h), so are the bits.  But copying
   the wide one to panels would cost more than it is used for: here it is read where it lies, once, in pieces of rows
   that stay in the second cache while all its columns pass; the sums wait in between.  */

#include <config.h>

#include <stdatomic.h>

#include "cpu.h"

enum
{
  MOST = 32,                    /* columns of a thin matrix */
  PIECE = 64,                   /* steps of the chains between two stores of the sums */
  TURNED = 16                   /* rows of dW that are turned at a time */
};

struct job
{
  const struct mm_cpu_kernels *kernels;
  struct mm_mat thin, wide;
  bool turned;                  /* dW is [wide, thin], not [thin, wide] */
  float *sums;                  /* [thin, wide] */
  float *tails;                 /* of each thread: PIECE rows of the last columns */
  int64_t *acc;
  atomic_bool bad;
};

/* Steps [K, K + N) of the chains of columns [FROM, TO).  */
static void
add_piece (const struct job *job, size_t k, size_t n, size_t from, size_t to, float *tail)
{
  size_t mr = job->kernels->mr, nr = job->kernels->nr, ld = job->wide.cols;

  for (size_t j = from; j < to; j += nr)
    {
      const float *b = job->wide.data + k * job->wide.ld + j;
      size_t cols = to - j < nr ? to - j : nr, b_step = job->wide.ld;

      if (cols < nr)
        {
          job->kernels->gemm_pack (b, b_step, false, n, cols, tail);
          b = tail;
          b_step = nr;
        }
      for (size_t i = 0; i < job->thin.cols; i += mr)
        {
          float *y = job->sums + i * ld + j;
          size_t rows = job->thin.cols - i < mr ? job->thin.cols - i : mr;

          job->kernels->gemm_tile (rows, cols, n, job->thin.data + k * job->thin.ld + i, 1, job->thin.ld, b, b_step,
                                   k ? y : NULL, ld, y, ld);
        }
    }
}

/* Add the sums of columns [FROM, TO) to dW where it is [wide, thin].  */
static bool
add_turned (const struct job *job, size_t from, size_t to)
{
  float block[TURNED * MOST];
  size_t r = job->thin.cols;
  bool bad = false;

  for (size_t j = from; j < to; j += TURNED)
    {
      size_t n = to - j < TURNED ? to - j : TURNED;

      for (size_t i = 0; i < r; i++)
        for (size_t c = 0; c < n; c++)
          block[c * r + i] = job->sums[i * job->wide.cols + j + c];
      bad |= job->kernels->accumulate (block, n * r, job->acc + j * r);
    }
  return bad;
}

static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  size_t nr = job->kernels->nr, rows = job->thin.rows, from, to;
  bool bad = false;

  mm_share (job->wide.cols, nr, thread, n_threads, &from, &to);
  if (from == to)
    return;
  for (size_t k = 0; k < rows; k += PIECE)
    add_piece (job, k, rows - k < PIECE ? rows - k : PIECE, from, to, job->tails + (size_t) thread * PIECE * nr);
  if (job->turned)
    bad = add_turned (job, from, to);
  else
    for (size_t i = 0; i < job->thin.cols; i++)
      bad |= job->kernels->accumulate (job->sums + i * job->wide.cols + from, to - from,
                                       job->acc + i * job->wide.cols + from);
  if (bad)
    atomic_store (&job->bad, true);
}

bool
mm_cpu_is_thin (struct mm_mat dy, struct mm_mat x)
{
  size_t thin = dy.cols < x.cols ? dy.cols : x.cols, wide = dy.cols < x.cols ? x.cols : dy.cols;

  return thin > 0 && thin <= MOST && wide >= 4 * thin && dy.rows > 0 && dy.rows <= MM_CHAIN_CUT;
}

mm_status
mm_cpu_thin_grad_weight (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, int64_t *acc, int *overflow)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  bool turned = x.cols < dy.cols;
  struct job job = { .kernels = cpu->kernels, .thin = turned ? x : dy, .wide = turned ? dy : x, .turned = turned,
                     .acc = acc };
  mm_status st = mm_cpu_scratch (be, MM_SCRATCH_OP, job.thin.cols * job.wide.cols, sizeof *job.sums, &job.sums);

  if (st == MM_OK)
    st = mm_cpu_scratch (be, MM_SCRATCH_THREADS, (size_t) mm_team_size (cpu->team),
                         PIECE * cpu->kernels->nr * sizeof *job.tails, &job.tails);
  if (st < 0)
    return st;
  mm_team_run (cpu->team, work, &job);
  if (atomic_load (&job.bad))
    *overflow = 1;
  return MM_OK;
}

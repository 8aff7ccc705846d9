/* gemm.c -- driver of products: outputs are split over the threads, chains over the caches.
   SPDX-License-Identifier: Apache-2.0

   A thread walks its outputs in blocks of ROWS by nc; for each, over k in parts of MM_GEMM_K: that much
   of B stays in the second cache while all rows pass.  Chains of one part go straight to their end;
   longer ones keep their sums in y where y is the end, else in scratch of one block.  */

#include <config.h>

#include <stdatomic.h>

#include "cpu.h"

enum { ROWS = 1024 };

struct job
{
  const struct mm_cpu_kernels *kernels;
  const struct mm_gemm *g;
  size_t row_threads, col_threads;      /* the grid that splits m by n */
  size_t part;                  /* steps of k between two spills */
  size_t sums, total, pack;     /* floats of each thread's scratch: running sums, pieces, panels */
  float *scratch;
  atomic_bool bad;
};

static size_t
least (size_t a, size_t b)
{
  return a < b ? a : b;
}

/* How many pieces of at most SIZE make N.  */
static size_t
pieces (size_t n, size_t size)
{
  return (n + size - 1) / size;
}

/* N cut into as few pieces of at most MOST as it takes: the size of an even one, a multiple of GRAIN.  */
static size_t
even_piece (size_t n, size_t most, size_t grain)
{
  return n ? pieces (pieces (n, pieces (n, most)), grain) * grain : grain;
}

/* The outputs of G from (I, J) on, M by N of them.  */
static struct mm_gemm
sub_outputs (const struct mm_gemm *g, size_t nr, size_t i, size_t m, size_t j, size_t n)
{
  struct mm_gemm p = *g;

  p.m = m;
  p.n = n;
  p.a += i * g->a_row;
  p.b.data += j / nr * g->b.panel;
  if (p.start)
    p.start += i * g->start_ld + j;
  if (p.total)
    p.total += i * g->total_ld + j;
  if (p.residual)
    p.residual += i * g->residual_ld + j;
  if (p.fixed)
    p.fixed += i * g->fixed_ld + j;
  else
    p.y += i * g->y_ld + j;
  return p;
}

/* Steps [K0, K0 + K) of the chains of G.  */
static struct mm_gemm
sub_steps (const struct mm_gemm *g, size_t k0, size_t k)
{
  struct mm_gemm p = *g;

  p.k = k;
  p.a += k0 * g->a_step;
  p.b.data += k0 * g->b.step;
  return p;
}

/* Let the sums of P go to Y instead of their end.  */
static void
redirect (struct mm_gemm *p, float *y, size_t y_ld)
{
  p->total = p->residual = NULL;
  p->fixed = NULL;
  p->y = y;
  p->y_ld = y_ld;
}

/* Chains of one piece.  */
static bool
run_piece (const struct job *job, const struct mm_gemm *g, float *scratch)
{
  bool in_y = !g->total && !g->residual && !g->fixed, bad = false;
  float *sums = in_y ? g->y : scratch;
  size_t sums_ld = in_y ? g->y_ld : g->n, part = even_piece (g->k, job->part, 8), k0 = 0;

  do
    {
      struct mm_gemm p = sub_steps (g, k0, least (part, g->k - k0));

      if (k0 > 0)
        p.start = sums, p.start_ld = sums_ld;
      if (k0 + p.k < g->k)
        redirect (&p, sums, sums_ld);
      bad |= job->kernels->gemm (&p, scratch + job->sums + job->total);
      k0 += part;
    }
  while (k0 < g->k);
  return bad;
}

/* All pieces of the chains of one block of outputs.  */
static bool
run_block (const struct job *job, const struct mm_gemm *g, float *scratch)
{
  float *total = scratch + job->sums;
  bool bad = false;
  size_t k0 = 0;

  do
    {
      struct mm_gemm p = sub_steps (g, k0, least (MM_CHAIN_CUT, g->k - k0));

      if (k0 + p.k < g->k)
        redirect (&p, total, g->n);
      if (k0 > 0)
        p.total = total, p.total_ld = g->n;
      bad |= run_piece (job, &p, scratch);
      k0 += MM_CHAIN_CUT;
    }
  while (k0 < g->k);
  return bad;
}

static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  const struct mm_gemm *g = job->g;
  const struct mm_cpu_kernels *kernels = job->kernels;
  int row_thread = thread / (int) job->col_threads, col_thread = thread % (int) job->col_threads;
  float *scratch = job->scratch + (size_t) thread * (job->sums + job->total + job->pack);
  size_t i0, i1, j0, j1, m, n;
  bool bad = false;

  (void) n_threads;
  mm_share (g->m, kernels->mr, row_thread, (int) job->row_threads, &i0, &i1);
  mm_share (g->n, kernels->nr, col_thread, (int) job->col_threads, &j0, &j1);
  m = even_piece (i1 - i0, ROWS, kernels->mr);
  n = even_piece (j1 - j0, kernels->nc, kernels->nr);
  for (size_t i = i0; i < i1; i += m)
    for (size_t j = j0; j < j1; j += n)
      {
        struct mm_gemm p = sub_outputs (g, kernels->nr, i, least (m, i1 - i), j, least (n, j1 - j));

        bad |= run_block (job, &p, scratch);
      }
  if (bad)
    atomic_store (&job->bad, true);
}

/* The grid of threads whose largest share is the smallest; columns first, which share no rows of Y.  */
static void
choose_grid (struct job *job, size_t n_threads)
{
  size_t row_tiles = pieces (job->g->m, job->kernels->mr), col_tiles = pieces (job->g->n, job->kernels->nr);
  size_t best = SIZE_MAX;

  for (size_t rows = 1; rows <= n_threads; rows++)
    if (n_threads % rows == 0)
      {
        size_t share = pieces (row_tiles, rows) * pieces (col_tiles, n_threads / rows);

        if (share < best)
          {
            best = share;
            job->row_threads = rows;
            job->col_threads = n_threads / rows;
          }
      }
}

/* Sizes of each thread's scratch.  */
static void
choose_scratch (struct job *job)
{
  const struct mm_gemm *g = job->g;
  const struct mm_cpu_kernels *kernels = job->kernels;
  size_t block = least (pieces (g->m, kernels->mr) * kernels->mr, ROWS + kernels->mr)
                 * least (pieces (g->n, kernels->nr) * kernels->nr, kernels->nc);
  bool in_y = !g->residual && !g->fixed && g->k <= MM_CHAIN_CUT;

  job->part = MM_GEMM_K;
  /* Few rows and nothing to copy: stay on a panel of B as long as the rows of A fit the cache.  */
  if (g->m < kernels->mr && g->a_step == 1 && g->b.padded)
    job->part = MM_GEMM_K * kernels->mr / (g->m ? g->m : 1);
  job->sums = g->k > job->part && !in_y ? block : 0;
  job->total = g->k > MM_CHAIN_CUT ? block : 0;
  job->pack = (kernels->mr + (g->b.padded ? 0 : kernels->nc)) * MM_GEMM_K;
}

mm_status
mm_cpu_gemm (struct mm_backend *be, const struct mm_gemm *g, bool *bad)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  size_t n_threads = (size_t) mm_team_size (cpu->team);
  struct job job = { .kernels = cpu->kernels, .g = g };
  mm_status st;

  choose_grid (&job, n_threads);
  choose_scratch (&job);
  st = mm_cpu_scratch (be, MM_SCRATCH_PRODUCT, n_threads, (job.sums + job.total + job.pack) * sizeof (float),
                       &job.scratch);
  if (st < 0)
    return st;
  mm_team_run (cpu->team, work, &job);
  if (bad && atomic_load (&job.bad))
    *bad = true;
  return MM_OK;
}

/* gemm.c -- driver of products: outputs are split over the threads, chains over the caches.
   SPDX-License-Identifier: Apache-2.0

   The outputs are cut into a grid of tasks that threads take as they become free: on a busy machine they are
   not equally fast.  A task is walked in blocks; each, over k in parts of MM_GEMM_K; each, over nc columns,
   whose part of B stays in the second cache while all rows pass.  Chains of one part go straight to their
   end; longer ones keep their sums in y where y is the end, else in scratch of one block.  Columns of A
   are copied to panels for each part and used for all columns of the block, which is wide then.  */

#include <config.h>

#include <stdatomic.h>

#include "cpu.h"

enum
{
  ROWS = 1024, WIDE = 2048,     /* outputs of a block */
  /* What moving a value to a panel costs, in steps of one output, and what share of a task is spent waiting
     for the last one (choose_grid).  */
  COPY_COST = 30, PACK_COST = 15, WAIT_PART = 4,
  MOST_TASKS = 4                /* for each thread; a power of two */
};

struct job
{
  const struct mm_cpu_kernels *kernels;
  const struct mm_gemm *g;
  size_t row_tasks, col_tasks;  /* the grid that splits m by n */
  size_t part;                  /* steps of k between two spills */
  size_t cols;                  /* of a block */
  size_t sums, total, a, b;     /* floats of each thread's scratch: running sums, pieces, panels */
  float *scratch;
  atomic_size_t next;           /* task */
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

/* The outputs of G from (I, J) on, M by N of them; I and J begin a tile.  */
static struct mm_gemm
sub_outputs (const struct job *job, const struct mm_gemm *g, size_t i, size_t m, size_t j, size_t n)
{
  size_t mr = job->kernels->mr, nr = job->kernels->nr;
  struct mm_gemm p = *g;

  p.m = m;
  p.n = n;
  p.row += i;
  p.col += j;
  p.a += i / mr * g->a_panel;
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
  p->n_more = 0;
  p->y = y;
  p->y_ld = y_ld;
}

/* One part of the chains of a block, by columns.  */
static bool
run_part (const struct job *job, struct mm_gemm *g, float *a_panels, float *b_panels)
{
  const struct mm_cpu_kernels *kernels = job->kernels;
  size_t n = even_piece (g->n, kernels->nc, kernels->nr);
  bool bad = false;

  if (job->a)
    {
      kernels->gemm_copy (g->a, g->a_step, g->m, g->k, a_panels);
      g->a = a_panels;
      g->a_row = 1;
      g->a_step = kernels->mr;
      g->a_panel = MM_GEMM_A_PANEL (kernels->mr);
    }
  for (size_t j = 0; j < g->n; j += n)
    {
      struct mm_gemm p = sub_outputs (job, g, 0, g->m, j, least (n, g->n - j));

      if (job->b)
        {
          kernels->gemm_pack (p.b.data, p.b.step, false, p.k, p.n, b_panels);
          p.b = (struct mm_gemm_panels) { b_panels, p.k * kernels->nr, kernels->nr, true };
        }
      bad |= kernels->gemm (&p);
    }
  return bad;
}

/* Chains of one piece.  */
static bool
run_piece (const struct job *job, const struct mm_gemm *g, float *scratch)
{
  bool in_y = !g->total && !g->residual && !g->fixed, bad = false;
  float *sums = in_y ? g->y : scratch, *panels = scratch + job->sums + job->total;
  size_t sums_ld = in_y ? g->y_ld : g->n, part = even_piece (g->k, job->part, 8), k0 = 0;

  do
    {
      struct mm_gemm p = sub_steps (g, k0, least (part, g->k - k0));

      if (k0 > 0)
        p.start = sums, p.start_ld = sums_ld;
      if (k0 + p.k < g->k)
        {
          redirect (&p, sums, sums_ld);
          if (g->next_b)
            {
              p.next_a = p.a + p.k * g->a_step;
              p.next_b = p.b.data + p.k * g->b.step;
              p.next_n = p.n;
            }
        }
      bad |= run_part (job, &p, panels, panels + job->a);
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

/* Task AT of the grid, by blocks.  */
static bool
run_task (const struct job *job, size_t at, float *scratch)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, nr = job->kernels->nr, i0, i1, j0, j1, m, n;
  bool bad = false;

  mm_share (g->m, mr, (int) (at / job->col_tasks), (int) job->row_tasks, &i0, &i1);
  mm_share (g->n, nr, (int) (at % job->col_tasks), (int) job->col_tasks, &j0, &j1);
  m = even_piece (i1 - i0, ROWS, mr);
  n = even_piece (j1 - j0, job->cols, nr);
  for (size_t i = i0; i < i1; i += m)
    for (size_t j = j0; j < j1; j += n)
      {
        struct mm_gemm p = sub_outputs (job, g, i, least (m, i1 - i), j, least (n, j1 - j));
        size_t next = j + n < j1 ? j + n : j0;

        if (!job->a && !job->b)
          {
            p.next_b = g->b.data + next / nr * g->b.panel;
            p.next_n = least (n, j1 - next);
          }
        bad |= run_block (job, &p, scratch);
      }
  return bad;
}

static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  float *scratch = job->scratch + (size_t) thread * (job->sums + job->total + job->a + job->b);
  size_t at;

  (void) n_threads;
  while ((at = atomic_fetch_add (&job->next, 1)) < job->row_tasks * job->col_tasks)
    if (run_task (job, at, scratch))
      atomic_store (&job->bad, true);
}

/* What ROWS by COLS tasks cost each of N_THREADS, in steps of one output.  */
static size_t
grid_cost (const struct job *job, size_t rows, size_t cols, size_t n_threads)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, nr = job->kernels->nr;
  size_t m = pieces (pieces (g->m, mr), rows) * mr, n = pieces (pieces (g->n, nr), cols) * nr;
  size_t task = m * n + (g->a_step == 1 ? 0 : COPY_COST * m) + (g->b.padded ? 0 : PACK_COST * n);

  return rows * cols / n_threads * task + (n_threads > 1 ? task / WAIT_PART : 0);
}

/* The cheapest grid of a number of tasks for each thread; where equal, columns are split first.  Where operands are
   copied one: tasks would copy the same values again and again, at memory's pace.  */
static void
choose_grid (struct job *job, size_t n_threads)
{
  bool copies = job->g->a_step != 1 || !job->g->b.padded;
  size_t best = SIZE_MAX, most = n_threads > 1 && !copies ? MOST_TASKS : 1;

  for (size_t tasks = n_threads; tasks <= most * n_threads; tasks *= 2)
    for (size_t rows = 1; rows <= tasks; rows++)
      if (tasks % rows == 0)
        {
          size_t cost = grid_cost (job, rows, tasks / rows, n_threads);

          if (cost < best)
            {
              best = cost;
              job->row_tasks = rows;
              job->col_tasks = tasks / rows;
            }
        }
}

/* Sizes of blocks and of each thread's scratch.  */
static void
choose_blocks (struct job *job)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, nr = job->kernels->nr, nc = job->kernels->nc;
  size_t rows = least (pieces (pieces (g->m, mr), job->row_tasks), pieces (ROWS, mr)) * mr, block;
  bool in_y = !g->residual && !g->fixed && g->k <= MM_CHAIN_CUT;

  job->cols = g->a_step == 1 ? nc : WIDE;
  job->part = MM_GEMM_K;
  /* Few rows and nothing to copy: stay on a panel of B as long as the rows of A fit the cache.  */
  if (g->m < mr && g->a_step == 1 && g->b.padded)
    job->part = MM_GEMM_K * mr / (g->m ? g->m : 1);
  block = rows * least (pieces (pieces (g->n, nr), job->col_tasks) * nr, job->cols);
  job->sums = g->k > job->part && !in_y ? block : 0;
  job->total = g->k > MM_CHAIN_CUT ? block : 0;
  job->a = g->a_step == 1 ? 0 : rows / mr * MM_GEMM_A_PANEL (mr);
  job->b = g->b.padded ? 0 : nc * MM_GEMM_K;
}

mm_status
mm_cpu_gemm (struct mm_backend *be, const struct mm_gemm *product, bool *bad)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  size_t n_threads = (size_t) mm_team_size (cpu->team);
  struct mm_gemm g = *product;
  struct job job = { .kernels = cpu->kernels, .g = &g };
  mm_status st;

  g.a_panel = cpu->kernels->mr * g.a_row;
  choose_grid (&job, n_threads);
  choose_blocks (&job);
  st = mm_cpu_scratch (be, MM_SCRATCH_PRODUCT, n_threads,
                       (job.sums + job.total + job.a + job.b) * sizeof (float), &job.scratch);
  if (st < 0)
    return st;
  mm_team_run (cpu->team, work, &job);
  if (bad && atomic_load (&job.bad))
    *bad = true;
  return MM_OK;
}

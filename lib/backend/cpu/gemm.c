/* gemm.c -- driver of products: outputs are split over the threads, chains over the caches.
   SPDX-License-Identifier: Apache-2.0

   The outputs are cut into a grid of tasks that threads take as they become free: on a busy machine they are
   not equally fast.  A task is walked in blocks; each, over k in parts; each, over nc columns, whose part of B
   stays in the second cache while all rows pass.  Chains of one part go straight to their end; longer ones
   keep their sums in y where y is the end, else in scratch of one block.

   Weights come in panels.  Where A is read by columns and B by rows, as for a weight's gradient, both are copied to
   panels first: B by all threads together, then tasks are rows of it; A for some rows and one part, whose values
   the tiles before have fetched.  */

#include <config.h>

#include <stdatomic.h>

#include "cpu.h"

enum
{
  ROWS = 1024,                  /* of a block */
  MOST_PACKED = 4 << 20,        /* values of B in panels */
  FEWEST_COLUMNS = 256,
  WAIT_PART = 4,                /* what share of a task is spent waiting for the last one */
  MOST_TASKS = 4                /* for each thread; a power of two */
};

struct job
{
  struct mm_team *team;
  const struct mm_cpu_kernels *kernels;
  const struct mm_gemm *g;
  size_t row_tasks, col_tasks;  /* the grid that splits m by n */
  bool copies;                  /* A and B go to panels */
  size_t rows, cols, part;      /* of a block; steps of k between two spills */
  size_t nc;                    /* columns that meet all rows of a block before the next do */
  size_t sums, total, a;        /* floats of each thread's scratch: running sums, pieces, panels of A */
  size_t b;                     /* of the panels of B */
  float *scratch, *b_panels;
  atomic_size_t next;           /* task */
  atomic_bool bad;
};

/* A thread's scratch.  */
struct walk
{
  const struct job *job;
  float *sums, *total;          /* of a block */
  float *a;                     /* panels of a part */
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

/* Where the part of the chains of length K ends that begins at K0.  */
static size_t
part_end (const struct job *job, size_t k, size_t k0)
{
  size_t cut = k0 / MM_CHAIN_CUT * MM_CHAIN_CUT, piece = least (MM_CHAIN_CUT, k - cut);

  return least (k0 + even_piece (piece, job->part, 8), cut + piece);
}

/* Steps [K0, K1), a part, of the chains of block G: from where and to where.  */
static struct mm_gemm
sub_steps (const struct walk *w, const struct mm_gemm *g, size_t k0, size_t k1)
{
  size_t cut = k0 / MM_CHAIN_CUT * MM_CHAIN_CUT;
  bool ends = k1 == g->k || k1 - cut == MM_CHAIN_CUT;
  struct mm_gemm p = *g;
  float *sums = w->sums;
  size_t sums_ld = g->n;

  p.k = k1 - k0;
  p.a += k0 * g->a_step;
  p.b.data += k0 * g->b.step;
  if (cut + MM_CHAIN_CUT < g->k)
    redirect (&p, w->total, g->n);
  if (cut > 0)
    p.total = w->total, p.total_ld = g->n;
  if (!p.total && !p.residual && !p.fixed)
    sums = p.y, sums_ld = p.y_ld;
  if (k0 > cut)
    p.start = sums, p.start_ld = sums_ld;
  if (!ends)
    redirect (&p, sums, sums_ld);
  return p;
}

/* One part of the chains of a block, steps [K0, K1), by columns.  */
static bool
run_part (const struct walk *w, const struct mm_gemm *block, size_t k0, size_t k1)
{
  const struct job *job = w->job;
  size_t mr = job->kernels->mr, n = even_piece (block->n, job->nc, job->kernels->nr);
  struct mm_gemm g = sub_steps (w, block, k0, k1);
  bool bad = false;

  if (k1 < block->k)
    {
      g.next_a = block->a + k1 * block->a_step;
      g.next_m = block->m;
      g.next_k = part_end (job, block->k, k1) - k1;
      g.next_b = block->b.data + k1 * block->b.step;
    }
  if (job->copies)
    {
      job->kernels->gemm_copy (g.a, g.a_step, g.m, g.k, w->a);
      g.a = w->a;
      g.a_row = 1;
      g.a_step = mr;
      g.a_panel = MM_GEMM_A_PANEL (mr);
    }
  for (size_t j = 0; j < g.n; j += n)
    {
      struct mm_gemm p = sub_outputs (job, &g, 0, g.m, j, least (n, g.n - j));
      bool last = j + n >= g.n;

      if (!last)
        p.next_b = g.b.data + (j + n) / job->kernels->nr * g.b.panel;
      p.next_n = least (n, last ? g.n : g.n - j - n);
      if (job->copies && g.next_a)
        {
          size_t from = j * g.next_k / g.n, to = (j + p.n) * g.next_k / g.n;

          p.next_a += from * block->a_step;
          p.next_k = to - from;
          p.next_a_step = block->a_step;
        }
      bad |= job->kernels->gemm (&p);
    }
  return bad;
}

static bool
run_block (const struct walk *w, const struct mm_gemm *g)
{
  bool bad = false;
  size_t k0 = 0;

  do
    {
      size_t k1 = part_end (w->job, g->k, k0);

      bad |= run_part (w, g, k0, k1);
      k0 = k1;
    }
  while (k0 < g->k);
  return bad;
}

/* The outputs of G, a task, by blocks.  */
static bool
run_task (const struct walk *w, const struct mm_gemm *g)
{
  const struct job *job = w->job;
  size_t mr = job->kernels->mr, nr = job->kernels->nr;
  size_t m = even_piece (g->m, job->rows, mr), n = even_piece (g->n, job->cols, nr);
  bool bad = false;

  for (size_t i = 0; i < g->m; i += m)
    for (size_t j = 0; j < g->n; j += n)
      {
        struct mm_gemm p = sub_outputs (job, g, i, least (m, g->m - i), j, least (n, g->n - j));

        p.next_b = g->b.data + (j + n < g->n ? j + n : 0) / nr * g->b.panel;
        if (job->copies && i + m < g->m)
          {
            p.next_a = p.a + m / mr * p.a_panel;
            p.next_m = least (m, g->m - i - m);
            p.next_k = part_end (job, g->k, 0);
          }
        bad |= run_block (w, &p);
      }
  return bad;
}

/* Task AT of the grid over G.  */
static struct mm_gemm
task_at (const struct job *job, const struct mm_gemm *g, size_t at)
{
  size_t i0, i1, j0, j1;

  mm_share (g->m, job->kernels->mr, (int) (at / job->col_tasks), (int) job->row_tasks, &i0, &i1);
  mm_share (g->n, job->kernels->nr, (int) (at % job->col_tasks), (int) job->col_tasks, &j0, &j1);
  return sub_outputs (job, g, i0, i1 - i0, j0, j1 - j0);
}

/* Pack this thread's share of the B of G and wait for the others'; G then reads it.  */
static void
pack_together (const struct job *job, struct mm_gemm *g, int thread, int n_threads)
{
  size_t nr = job->kernels->nr, from, to;

  mm_share (g->n, nr, thread, n_threads, &from, &to);
  job->kernels->gemm_pack (g->b.data + from, g->b.step, false, g->k, to - from, job->b_panels + from * g->k);
  g->b = (struct mm_gemm_panels) { job->b_panels, g->k * nr, nr, true };
  mm_team_barrier (job->team);
}

/* All tasks, once for each block of columns whose B is copied; a task's number may belong to a later block.  */
static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  const struct mm_gemm *g = job->g;
  float *scratch = job->scratch + (size_t) thread * (job->sums + job->total + job->a);
  struct walk w = { job, scratch, scratch + job->sums, scratch + job->sums + job->total };
  size_t at = atomic_fetch_add (&job->next, 1), tasks = 0, n = job->copies ? job->cols : g->n, j = 0;

  do
    {
      struct mm_gemm part = sub_outputs (job, g, 0, g->m, j, least (n, g->n - j));

      if (job->copies)
        pack_together (job, &part, thread, n_threads);
      tasks += job->row_tasks * job->col_tasks;
      for (; at < tasks; at = atomic_fetch_add (&job->next, 1))
        {
          struct mm_gemm task = task_at (job, &part, at - (tasks - job->row_tasks * job->col_tasks));

          if (run_task (&w, &task))
            atomic_store (&job->bad, true);
        }
      j += n;
      if (j < g->n)
        mm_team_barrier (job->team);
    }
  while (j < g->n);
}

/* What ROWS by COLS tasks cost each of N_THREADS, in steps of one output.  */
static size_t
grid_cost (const struct job *job, size_t rows, size_t cols, size_t n_threads)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, nr = job->kernels->nr;
  size_t m = pieces (pieces (g->m, mr), rows) * mr, n = pieces (pieces (g->n, nr), cols) * nr;

  return rows * cols / n_threads * m * n + (n_threads > 1 ? m * n / WAIT_PART : 0);
}

/* The cheapest grid of a number of tasks for each thread; where equal, columns are split first.  Where operands are
   copied rows alone are split: each thread's tasks then copy rows of A that no other does.  */
static void
choose_grid (struct job *job, size_t n_threads)
{
  size_t best = SIZE_MAX, most = n_threads > 1 ? MOST_TASKS : 1;

  for (size_t tasks = n_threads; tasks <= most * n_threads; tasks *= 2)
    for (size_t rows = job->copies ? tasks : 1; rows <= tasks; rows++)
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

/* Sizes of blocks.  The second cache holds nc columns of B for MM_GEMM_K steps; or half of these, as much of A, and
   what is fetched of the next A.  */
static void
choose_blocks (struct job *job)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, nr = job->kernels->nr, nc = job->kernels->nc;

  job->part = MM_GEMM_K;
  job->rows = job->copies ? nc / 2 : ROWS;
  job->nc = job->copies ? nc / 2 : nc;
  job->cols = nc;
  if (job->copies)
    {
      size_t fit = MOST_PACKED / (g->k ? g->k : 1);

      job->cols = fit < FEWEST_COLUMNS ? FEWEST_COLUMNS : fit;
    }
  /* Few rows: stay on a panel of B as long as the rows of A fit the cache.  */
  else if (g->m < mr)
    job->part = MM_GEMM_K * mr / (g->m ? g->m : 1);
  job->rows = least (pieces (pieces (g->m, mr), job->row_tasks), pieces (job->rows, mr)) * mr;
  job->cols = least (pieces (pieces (g->n, nr), job->col_tasks), pieces (job->cols, nr)) * nr;
}

/* Floats of each thread's scratch.  */
static void
choose_scratch (struct job *job)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, block = job->rows * job->cols;
  bool in_y = !g->residual && !g->fixed && g->k <= MM_CHAIN_CUT;

  job->sums = g->k > job->part && !in_y ? block : 0;
  job->total = g->k > MM_CHAIN_CUT ? block : 0;
  job->a = job->copies ? job->rows / mr * MM_GEMM_A_PANEL (mr) : 0;
  job->b = job->copies ? job->cols * g->k : 0;
}

mm_status
mm_cpu_gemm (struct mm_backend *be, const struct mm_gemm *product, bool *bad)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  size_t n_threads = (size_t) mm_team_size (cpu->team), each;
  struct mm_gemm g = *product;
  struct job job = { .team = cpu->team, .kernels = cpu->kernels, .g = &g };
  mm_status st;

  g.a_panel = cpu->kernels->mr * g.a_row;
  job.copies = !g.b.padded;
  choose_grid (&job, n_threads);
  choose_blocks (&job);
  choose_scratch (&job);
  each = job.sums + job.total + job.a;
  st = mm_cpu_scratch (be, MM_SCRATCH_PRODUCT, n_threads * each + job.b, sizeof (float), &job.scratch);
  if (st < 0)
    return st;
  job.b_panels = job.scratch + n_threads * each;
  mm_team_run (cpu->team, work, &job);
  if (bad && atomic_load (&job.bad))
    *bad = true;
  return MM_OK;
}

/* gemm.c -- driver of products: outputs are split over the threads, chains over the caches.
   SPDX-License-Identifier: Apache-2.0

   The outputs are cut into a grid of tasks.  Each thread has neighbours of its own and helps another when it is
   through: on a busy machine threads are not equally fast.  A task is walked over k in parts; each, over nc columns,
   whose part of B stays in the second cache while all rows pass.  Chains of one part go straight to their end; longer
   ones keep their sums in y where y is the end, else in scratch.

   Weights come in panels.  Where A is read by columns and B by rows, as for a weight's gradient, both are copied to
   panels first: B by all threads together, then tasks are rows of it; A for some rows and one part, whose values
   the tiles before have fetched.  */

#include <config.h>

#include <stdatomic.h>

#include "cpu.h"

enum
{
  MOST_ROWS = 1024,             /* of a task */
  FEWEST_ROWS = 112,            /* of a task, where rows are split for the threads' sake */
  MOST_PACKED = 4 << 20,        /* values of B in panels */
  FEWEST_COLUMNS = 256,
  TASKS = 24,                   /* for each thread */
  LEAST_WORK = 1 << 17          /* steps of chains of a task */
};

struct job
{
  struct mm_team *team;
  const struct mm_cpu_kernels *kernels;
  const struct mm_gemm *g;
  size_t row_tasks, col_tasks;  /* the grid that splits m by n */
  bool copies;                  /* A and B go to panels */
  size_t rows, cols, part;      /* of a task at most; steps of k between two spills */
  size_t packed;                /* columns of B that are packed at a time */
  size_t nc;                    /* columns that meet all rows of a task before the next do */
  size_t sums, total, a;        /* floats of each thread's scratch: running sums, pieces, panels of A */
  size_t b;                     /* of the panels of B */
  float *scratch, *b_panels;
  atomic_bool bad;
};

/* A thread's scratch.  */
struct walk
{
  const struct job *job;
  float *sums, *total;          /* of a task */
  float *a;                     /* panels of a part */
};

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

/* Steps [K0, K1), a part, of the chains of task G: from where and to where.  */
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

/* One part of the chains of a task, steps [K0, K1), by columns.  */
static bool
run_part (const struct walk *w, const struct mm_gemm *task, size_t k0, size_t k1)
{
  const struct job *job = w->job;
  size_t mr = job->kernels->mr, n = even_piece (task->n, job->nc, job->kernels->nr);
  struct mm_gemm g = sub_steps (w, task, k0, k1);
  bool bad = false;

  if (k1 < task->k)
    {
      g.next_a = task->a + k1 * task->a_step;
      g.next_m = task->m;
      g.next_k = part_end (job, task->k, k1) - k1;
      g.next_b = task->b.data + k1 * task->b.step;
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

          p.next_a += from * task->a_step;
          p.next_k = to - from;
          p.next_a_step = task->a_step;
        }
      bad |= job->kernels->gemm (&p);
    }
  return bad;
}

static bool
run_task (const struct walk *w, const struct mm_gemm *g)
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

/* Task AT of the grid over G.  Neighbours share columns, whose part of B then stays in the second cache.  What will be
   read after it: the rows below; behind the last ones the next columns and the first rows.  */
static struct mm_gemm
task_at (const struct job *job, const struct mm_gemm *g, size_t at)
{
  size_t mr = job->kernels->mr, nr = job->kernels->nr, i0, i1, j0, j1;
  struct mm_gemm task;

  mm_share (g->m, mr, (int) (at % job->row_tasks), (int) job->row_tasks, &i0, &i1);
  mm_share (g->n, nr, (int) (at / job->row_tasks), (int) job->col_tasks, &j0, &j1);
  task = sub_outputs (job, g, i0, i1 - i0, j0, j1 - j0);
  if (i1 < g->m)
    {
      task.next_a = g->a + i1 / mr * g->a_panel;
      task.next_m = job->copies ? least (job->rows, g->m - i1) : least (mr, g->m - i1);
      task.next_k = part_end (job, g->k, 0);
    }
  else if (j1 < g->n)
    task.next_b = g->b.data + j1 / nr * g->b.panel;
  return task;
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

/* All tasks, once for each block of columns whose B is packed.  */
static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  const struct mm_gemm *g = job->g;
  float *scratch = job->scratch + (size_t) thread * (job->sums + job->total + job->a);
  struct walk w = { job, scratch, scratch + job->sums, scratch + job->sums + job->total };
  size_t at, j = 0;

  do
    {
      struct mm_gemm part = sub_outputs (job, g, 0, g->m, j, least (job->packed, g->n - j));

      if (job->copies)
        {
          if (j > 0 && thread == 0)
            mm_team_tasks (job->team, job->row_tasks * job->col_tasks);
          pack_together (job, &part, thread, n_threads);
        }
      while (mm_team_take (job->team, thread, &at))
        {
          struct mm_gemm task = task_at (job, &part, at);

          if (run_task (&w, &task))
            atomic_store (&job->bad, true);
        }
      j += job->packed;
      if (j < g->n)
        mm_team_barrier (job->team);
    }
  while (j < g->n);
}

/* Into how many pieces to split N panels: at most MOST panels each, and, if these are not WANT pieces, smaller ones
   down to FEWEST panels.  */
static size_t
splits (size_t n, size_t most, size_t fewest, size_t want)
{
  size_t useful = n / fewest, count = least (want, useful);

  if (count < pieces (n, most))
    count = pieces (n, most);
  return count ? count : 1;
}

/* How many tasks there should be: several for each thread, of some work each.  */
static size_t
wanted_tasks (const struct mm_gemm *g, size_t n_threads)
{
  double most = (double) g->m * (double) g->n * (double) g->k / LEAST_WORK;
  size_t want = n_threads > 1 ? TASKS * n_threads : 1;

  return most < (double) want ? pieces ((size_t) most + 1, n_threads) * n_threads : want;
}

/* The grid where B comes in panels.  The second cache holds nc columns of it for MM_GEMM_K steps.  */
static void
split_both (struct job *job, size_t n_threads)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, m = pieces (g->m, mr), n = pieces (g->n, job->kernels->nr);
  size_t nc = job->kernels->nc / job->kernels->nr, want = wanted_tasks (g, n_threads);

  job->col_tasks = splits (n, nc, 1, 1);
  job->row_tasks = splits (m, MOST_ROWS / mr, FEWEST_ROWS / mr, pieces (want, job->col_tasks));
  job->col_tasks = splits (n, nc, 1, pieces (want, job->row_tasks));
  /* As many for each thread.  */
  while (job->row_tasks * job->col_tasks % n_threads != 0 && job->row_tasks < m / (FEWEST_ROWS / mr))
    job->row_tasks++;
}

/* The grid where both operands are copied: rows alone are split, so that no two tasks copy the same.  The second cache
   holds nc / 2 columns of B, as much of A, and what is fetched of the next A.  */
static void
split_rows (struct job *job, size_t n_threads)
{
  size_t mr = job->kernels->mr, most = pieces (job->kernels->nc / 2, mr);
  size_t tasks = splits (pieces (job->g->m, mr), most, 1, 4 * n_threads);

  job->col_tasks = 1;
  job->row_tasks = pieces (tasks, n_threads) * n_threads;
}

static void
choose_tasks (struct job *job, size_t n_threads)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, nr = job->kernels->nr, nc = job->kernels->nc;
  size_t packed = MOST_PACKED / (g->k ? g->k : 1) / nr * nr;

  if (packed < FEWEST_COLUMNS)
    packed = FEWEST_COLUMNS;
  job->packed = job->copies ? least (g->n, packed) : g->n;
  job->nc = job->copies ? nc / 2 : nc;
  job->part = MM_GEMM_K;
  /* Few rows: stay on a panel of B as long as the rows of A fit the cache.  */
  if (!job->copies && g->m < mr)
    job->part = MM_GEMM_K * mr / (g->m ? g->m : 1);
  if (job->copies)
    split_rows (job, n_threads);
  else
    split_both (job, n_threads);
  job->rows = pieces (pieces (g->m, mr), job->row_tasks) * mr;
  job->cols = pieces (pieces (job->packed, nr), job->col_tasks) * nr;
}

/* Floats of each thread's scratch.  */
static void
choose_scratch (struct job *job)
{
  const struct mm_gemm *g = job->g;
  size_t mr = job->kernels->mr, task = job->rows * job->cols;
  bool in_y = !g->residual && !g->fixed && g->k <= MM_CHAIN_CUT;

  job->sums = g->k > job->part && !in_y ? task : 0;
  job->total = g->k > MM_CHAIN_CUT ? task : 0;
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
  choose_tasks (&job, n_threads);
  choose_scratch (&job);
  each = job.sums + job.total + job.a;
  st = mm_cpu_scratch (be, MM_SCRATCH_PRODUCT, n_threads * each + job.b, sizeof (float), &job.scratch);
  if (st < 0)
    return st;
  job.b_panels = job.scratch + n_threads * each;
  mm_team_tasks (cpu->team, job.row_tasks * job.col_tasks);
  mm_team_run (cpu->team, work, &job);
  if (bad && atomic_load (&job.bad))
    *bad = true;
  return MM_OK;
}

/* predict.c -- what a step takes on more ranks than there are.
   SPDX-License-Identifier: Apache-2.0

   With n ranks on N nodes of R ranks, P parameters and M micro-batches in the global batch:

     compute    ceil (M / n) * micro-batch + update, both measured here, or those of --step-seconds
     reduction  inside a node (R > 1)   latency * log2 (R) / log2 (r) + 2 (R - 1) / R * bytes / busbw
                between nodes (N > 1)   2 * ceil (log2 (N)) * latency + 2 (N - 1) / N * bytes / link

   latency and busbw inside a node are those of the fit over the r ranks of this run; without them
   (one rank) all ranks are joined by the link.  bytes = 8 P for exact, 4 P for fast.  Nothing is hidden
   behind the backward pass.  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <minimind/batch.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/model.h>
#include <minimind/optimizer.h>

#include "bench-allreduce.h"

enum { MOST_RANKS = 1024, VOCABULARY = 6400, POINTS = 11, MEASURED = 3 };

struct prediction
{
  const struct bench_config *c;
  int measured_ranks;           /* of the fit */
  struct bench_fit fits[2];     /* exact: int64; fast: float32 */
  double parameters;
  double micro_batch, update;   /* seconds */
};

/* ---- the step ---- */

/* One sequence after the other of tokens that do not matter.  */
static void
fill_batch (struct mm_batch *b, size_t rows)
{
  size_t n = b->seq_len + 1;
  uint32_t *ids = malloc (n * sizeof *ids);

  for (size_t r = 0; ids && r < rows; r++)
    {
      for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t) ((i * 2654435761u + r * 40503u) % VOCABULARY);
      mm_batch_set_row (b, r, ids, NULL, NULL);
    }
  b->rows = rows;
  free (ids);
}

/* The fastest of some micro-batches, and of as many updates: what a machine that is shared delays is not the step.  */
static mm_status
time_step (struct prediction *p, struct mm_model *m, struct mm_pass *pass, struct mm_batch *b)
{
  struct mm_optimizer o = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .grad_clip = 1 };
  mm_status st = mm_optimizer_create (m, &o);

  p->micro_batch = p->update = INFINITY;
  for (int i = 0; st == MM_OK && i < MEASURED + 1; i++)
    {
      struct mm_loss loss = { 0 };
      double began = mm_now (), middle, norm;

      st = mm_model_gradient (pass, b, o.grad, &loss, NULL);
      middle = mm_now ();
      if (st == MM_OK)
        st = mm_optimizer_step (m, &o, 1e-4, loss.n_targets, &norm);
      if (i == 0)
        continue;
      p->micro_batch = fmin (p->micro_batch, middle - began);
      p->update = fmin (p->update, mm_now () - middle);
    }
  mm_optimizer_free (m, &o);
  return st;
}

static mm_status
measure_step (struct prediction *p, const struct mm_model_config *shape)
{
  const struct bench_config *c = p->c;
  struct mm_backend *be;
  struct mm_model *m = NULL;
  struct mm_pass *pass = NULL;
  struct mm_batch b = { 0 };
  mm_status st = mm_backend_open (c->compute.backend, c->compute.threads, &be);

  if (st == MM_OK)
    st = mm_model_create (be, shape, &m);
  if (st == MM_OK)
    st = mm_model_init (m, c->compute.seed);
  if (st == MM_OK)
    st = mm_pass_create (m, c->micro_batch, c->seq_len, true, &pass);
  if (st == MM_OK)
    st = mm_batch_alloc (c->micro_batch, c->seq_len, &b);
  if (st == MM_OK)
    {
      fill_batch (&b, c->micro_batch);
      st = time_step (p, m, pass, &b);
    }
  mm_batch_free (&b);
  mm_pass_free (pass);
  mm_model_free (m);
  if (be)
    mm_backend_close (be);
  return st;
}

/* Seconds of the slowest rank.  */
static mm_status
take_slowest (struct mm_comm *comm, double *seconds)
{
  int n = mm_comm_size (comm);
  double *all;
  mm_status st = mm_alloc ("times", (size_t) n, sizeof *all, &all);

  if (st < 0)
    return st;
  all[mm_comm_rank (comm)] = *seconds;
  st = mm_comm_all_gather (comm, all, (size_t) n, sizeof *all, 1);
  for (int i = 0; st == MM_OK && i < n; i++)
    *seconds = fmax (*seconds, all[i]);
  free (all);
  return st;
}

/* ---- the formulas ---- */

static double
inside_node (const struct prediction *p, int mode, int ranks, double bytes)
{
  const struct bench_fit *fit = &p->fits[mode];
  double r = p->measured_ranks, busbw = fit->bandwidth * 2 * (r - 1) / r;

  return ranks < 2 ? 0 : fit->latency * log2 (ranks) / log2 (r) + 2.0 * (ranks - 1) / ranks * bytes / busbw;
}

static double
between_nodes (const struct prediction *p, int nodes, double bytes)
{
  const struct bench_config *c = p->c;

  return nodes < 2 ? 0 : 2 * ceil (log2 (nodes)) * c->latency * 1e-6
                         + 2.0 * (nodes - 1) / nodes * bytes / (c->link * 1e9);
}

static struct bench_point
point_at (const struct prediction *p, int ranks)
{
  const struct bench_config *c = p->c;
  int a_node = p->measured_ranks > 1 ? c->ranks_per_node : 1;
  struct bench_point x = { .ranks = ranks, .nodes = (ranks + a_node - 1) / a_node };
  uint64_t micro_batches = c->global_batch / c->micro_batch;

  x.micro_batches = (micro_batches + (uint64_t) ranks - 1) / (uint64_t) ranks;
  x.compute = (double) x.micro_batches * p->micro_batch + p->update;
  for (int mode = 0; mode < 2; mode++)
    {
      double bytes = (mode == 0 ? 8 : 4) * p->parameters;

      x.reduction[mode] = inside_node (p, mode, ranks < a_node ? ranks : a_node, bytes)
                          + between_nodes (p, x.nodes, bytes);
    }
  return x;
}

/* ---- the table ---- */

static void
print_head (const struct prediction *p)
{
  const struct bench_config *c = p->c;

  printf ("\n%s: %.1f million parameters, global batch %llu sequences of %zu, micro-batch %llu\n", c->predict,
          p->parameters / 1e6, (unsigned long long) c->global_batch, c->seq_len, (unsigned long long) c->micro_batch);
  printf ("a micro-batch takes %.4g s, an update %.4g s (%s)\n", p->micro_batch, p->update,
          c->step_seconds > 0 ? "--step-seconds" : "measured");
  if (p->measured_ranks > 1)
    printf ("inside a node of %d ranks: int64 %.1f us + bytes / %.2f GB/s, float32 %.1f us + bytes / %.2f GB/s, as "
            "measured on %d\n", c->ranks_per_node, 1e6 * p->fits[0].latency, p->fits[0].bandwidth / 1e9,
            1e6 * p->fits[1].latency, p->fits[1].bandwidth / 1e9, p->measured_ranks);
  if (c->link > 0)
    printf ("%s: %.4g GB/s, %.4g us\n", p->measured_ranks > 1 ? "between nodes" : "between all ranks", c->link,
            c->latency);
  printf ("exact moves %.1f MB a step, fast %.1f MB; nothing is hidden behind the backward pass\n\n",
          8 * p->parameters / 1e6, 4 * p->parameters / 1e6);
  printf ("%6s %6s %8s %10s | %10s %6s %9s | %10s %6s %9s\n", "ranks", "nodes", "micro", "compute s", "exact s",
          "share", "speed-up", "fast s", "share", "speed-up");
}

static void
print_point (const struct bench_point *x, double alone)
{
  printf ("%6d %6d %8llu %10.4f |", x->ranks, x->nodes, (unsigned long long) x->micro_batches, x->compute);
  for (int mode = 0; mode < 2; mode++)
    {
      double step = x->compute + x->reduction[mode];

      printf (" %10.4f %5.1f%% %9.2f%s", step, 100 * x->reduction[mode] / step, alone / step, mode ? "\n" : " |");
    }
}

/* Up to which number of ranks the reduction stays below a tenth of the step.  */
static void
print_verdict (const struct bench_point *points, size_t n)
{
  static const char *const modes[] = { "exact", "fast" };

  puts ("");
  for (int mode = 0; mode < 2; mode++)
    {
      size_t i = 0;

      while (i < n && points[i].reduction[mode] <= 0.1 * (points[i].compute + points[i].reduction[mode]))
        i++;
      if (i == n)
        printf ("%s: the reduction stays under 10%% of a step\n", modes[mode]);
      else
        printf ("%s: the reduction passes 10%% of a step at %d ranks\n", modes[mode], points[i].ranks);
    }
}

static mm_status
print (const struct prediction *p)
{
  struct bench_point points[POINTS];
  uint64_t micro_batches = p->c->global_batch / p->c->micro_batch;
  size_t n = 0;

  print_head (p);
  for (int ranks = 1; ranks <= MOST_RANKS && (uint64_t) ranks <= micro_batches; ranks *= 2)
    {
      points[n] = point_at (p, ranks);
      print_point (&points[n], points[0].compute);
      n++;
    }
  if (micro_batches < MOST_RANKS)
    printf ("more than %llu ranks have no micro-batch each: raise --global-batch or lower --micro-batch\n",
            (unsigned long long) micro_batches);
  print_verdict (points, n);
  return p->c->plot ? bench_plot (p->c->plot, p->c->predict, points, n) : MM_OK;
}

/* ---- all of it ---- */

mm_status
bench_predict_check (const struct bench_config *c, int ranks)
{
  const unsigned types = 1u << BENCH_F32 | 1u << BENCH_I64;
  struct mm_model_config shape;
  mm_status st = mm_config_preset (c->predict, VOCABULARY, &shape);

  if (st < 0)
    return st;
  if (ranks < 2 && c->link <= 0)
    return mm_fail (MM_EUSAGE, "--predict: with one rank nothing is measured between ranks: give --link=GBPS, or start "
                    "two ranks (minimind-launch -n 2 -- minimind-bench-allreduce ...)");
  if (ranks > 1 && (~c->dtypes & types || !(c->algorithms & 1u << BENCH_SUM) || c->min_bytes == c->max_bytes))
    return mm_fail (MM_EUSAGE, "--predict: want measurements of float32 and int64 by sum at two sizes or more");
  if (c->global_batch % c->micro_batch)
    return mm_fail (MM_EUSAGE, "--global-batch=%llu is no multiple of --micro-batch=%llu",
                    (unsigned long long) c->global_batch, (unsigned long long) c->micro_batch);
  return MM_OK;
}

mm_status
bench_predict (const struct bench_config *given, struct mm_comm *comm, const struct bench_result *results, size_t n)
{
  struct bench_config c = *given;
  struct mm_model_config shape;
  struct prediction p = { .c = &c, .measured_ranks = mm_comm_size (comm) };
  mm_status st = mm_config_preset (c.predict, VOCABULARY, &shape);

  if (st < 0)
    return st;
  p.fits[0] = bench_fit_of (results, n, BENCH_I64, BENCH_SUM);
  p.fits[1] = bench_fit_of (results, n, BENCH_F32, BENCH_SUM);
  p.parameters = (double) mm_config_parameters (&shape);
  if (c.ranks_per_node == 0)
    c.ranks_per_node = c.link > 0 ? p.measured_ranks : MOST_RANKS;
  if (p.measured_ranks > 1 && (p.fits[0].bandwidth <= 0 || p.fits[1].bandwidth <= 0))
    st = mm_fail (MM_EDEVICE, "--predict: the times did not grow with the sizes: the machine is too busy");
  if (st == MM_OK && c.step_seconds > 0)
    p.micro_batch = c.step_seconds / ((double) c.global_batch / (double) c.micro_batch);
  else if (st == MM_OK)
    {
      st = mm_comm_agree (comm, measure_step (&p, &shape));
      if (st == MM_OK)
        st = take_slowest (comm, &p.micro_batch);
      if (st == MM_OK)
        st = take_slowest (comm, &p.update);
    }
  if (st == MM_OK && mm_comm_rank (comm) == 0)
    st = print (&p);
  return mm_comm_agree (comm, st);
}

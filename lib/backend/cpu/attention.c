/* attention.c -- drivers: parts of the segments and heads over the threads.
   SPDX-License-Identifier: Apache-2.0

   A part writes outputs that no other part writes; threads take the next one as they become free.  */

#include <config.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  struct mm_heads heads;
  struct mm_mat q, k, v, o, d_o, dq, dk, dv;
  float *stats;
  const float *grad_stats;      /* NULL: forward */
  float *scratch;               /* [threads * scratch_size] */
  size_t scratch_size;
  const struct mm_attention_part *parts;
  size_t n_parts;
  atomic_size_t next;
};

static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  float *scratch = job->scratch + (size_t) thread * job->scratch_size;
  size_t at;

  (void) n_threads;
  while ((at = atomic_fetch_add (&job->next, 1)) < job->n_parts)
    if (job->grad_stats)
      job->kernels->attention_grad (job->heads, job->q, job->k, job->v, job->o, job->grad_stats, job->d_o,
                                    &job->parts[at], job->dq, job->dk, job->dv, scratch);
    else
      job->kernels->attention (job->heads, job->q, job->k, job->v, &job->parts[at], job->o, job->stats,
                               scratch);
}

/* Give each thread its scratch and run the N_PARTS parts.  */
static mm_status
run_parts (struct mm_backend *be, struct job *job, struct mm_attention_part *parts, size_t n_parts)
{
  size_t most = 0, threads = (size_t) mm_team_size (mm_cpu_state (be)->team);
  mm_status st;

  for (size_t i = 0; i < n_parts; i++)
    {
      size_t need = job->grad_stats ? job->kernels->attention_grad_scratch (job->heads, &parts[i])
                                    : job->kernels->attention_scratch (job->heads, &parts[i]);

      most = need > most ? need : most;
    }
  /* Whole pages, so that threads share no cache line.  */
  job->scratch_size = (most + 1023) / 1024 * 1024;
  st = mm_cpu_scratch (be, MM_SCRATCH_THREADS, threads, job->scratch_size * sizeof (float),
                       &job->scratch);
  if (st < 0)
    return st;
  for (size_t i = 0; i + threads < n_parts; i++)
    parts[i].next = &parts[i + threads];
  job->parts = parts;
  job->n_parts = n_parts;
  if (n_parts == 1)
    work (job, 0, 1);
  else
    mm_team_run (mm_cpu_state (be)->team, work, job);
  return MM_OK;
}

/* ---- forward ---- */

/* Pairs of a query below I and a key it sees.  */
static double
pairs_before (const struct mm_segment *s, size_t i)
{
  return (double) i * ((double) (s->n_k - s->n_q) + ((double) i + 1) / 2);
}

enum
{
  PARTS_A_THREAD = 4,
  FEW_QUERIES = 64,             /* a kernel call prepares all its keys: not for a few queries */
  CUT_GRAIN = 16
};

/* Into how many parts to cut a segment of one kv head, so that a part has about TARGET pairs.  */
static size_t
cuts_of (const struct mm_segment *s, double target)
{
  double pairs = pairs_before (s, s->n_q);
  size_t most = (s->n_q + FEW_QUERIES - 1) / FEW_QUERIES, cuts = (size_t) (pairs / target + 0.5);

  return cuts < 1 ? 1 : cuts > most ? most : cuts;
}

/* The first query of cut C of N with an even share of the pairs: queries ascending see more keys.  */
static size_t
cut_at (const struct mm_segment *s, size_t c, size_t n)
{
  double want = pairs_before (s, s->n_q) * (double) c / (double) n;
  size_t low = 0, high = s->n_q;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (pairs_before (s, middle) < want)
        low = middle + 1;
      else
        high = middle;
    }
  low = (low + CUT_GRAIN / 2) / CUT_GRAIN * CUT_GRAIN;
  return c == n || low > s->n_q ? s->n_q : low;
}

mm_status
mm_cpu_attention (struct mm_backend *be, struct mm_heads heads, struct mm_mat q, struct mm_mat k,
                  struct mm_mat v, const struct mm_segment *segments, size_t n_segments, struct mm_mat o,
                  float *stats)
{
  struct job job = { .kernels = mm_cpu_state (be)->kernels, .heads = heads, .q = q, .k = k, .v = v,
                     .o = o, .stats = stats };
  struct mm_attention_part *parts;
  double target = 0;
  size_t n = 0;
  mm_status st;

  for (size_t i = 0; i < n_segments; i++)
    target += pairs_before (&segments[i], segments[i].n_q);
  target = target * (double) heads.n_kv_heads / (PARTS_A_THREAD * be->n_threads) + 1;
  for (size_t i = 0; i < n_segments; i++)
    n += cuts_of (&segments[i], target);
  st = mm_cpu_scratch (be, MM_SCRATCH_OP, n * heads.n_kv_heads, sizeof *parts, &parts);
  if (st < 0)
    return st;
  n = 0;
  for (size_t i = 0; i < n_segments; i++)
    for (size_t kv = 0; segments[i].n_q && kv < heads.n_kv_heads; kv++)
      for (size_t c = 0, cuts = cuts_of (&segments[i], target); c < cuts; c++)
        {
          size_t from = cut_at (&segments[i], c, cuts), to = cut_at (&segments[i], c + 1, cuts);

          if (from < to)
            parts[n++] = (struct mm_attention_part) { .segment = segments[i], .kv_head = kv,
                                                      .q_from = from, .q_to = to };
        }
  return run_parts (be, &job, parts, n);
}

/* ---- gradient ---- */

/* The largest first, for threads that take the next one.  */
static int
by_size (const void *a, const void *b)
{
  size_t na = ((const struct mm_attention_part *) a)->segment.n_q;
  size_t nb = ((const struct mm_attention_part *) b)->segment.n_q;

  return (na < nb) - (na > nb);
}

/* How much longer the slowest thread works than all would if the work were even; PARTS whole segments
   in the order they are taken.  */
static double
imbalance (const struct mm_attention_part *parts, size_t n_parts, int n_threads)
{
  double load[1024] = { 0 }, total = 0, most = 0;       /* 1024: mm_team_open */

  for (size_t i = 0; i < n_parts; i++)
    {
      double pairs = pairs_before (&parts[i].segment, parts[i].segment.n_q);
      int least = 0;

      for (int t = 1; t < n_threads; t++)
        if (load[t] < load[least])
          least = t;
      load[least] += pairs;
      total += pairs;
      most = load[least] > most ? load[least] : most;
    }
  return most * n_threads / total;
}

/* Replace the whole segments PARTS[0 .. n) by parts with queries alone, then keys alone, CUTS of each; the
   array has room.  Returns how many.  */
static size_t
cut_parts (struct mm_attention_part *parts, size_t n, size_t cuts)
{
  for (size_t i = n; i-- > 0;)
    {
      struct mm_attention_part whole = parts[i], *out = parts + 2 * cuts * i;
      const struct mm_segment *s = &whole.segment;

      for (size_t c = 0; c < cuts; c++)
        {
          out[2 * c] = out[2 * c + 1] = whole;
          out[2 * c].q_from = cut_at (s, c, cuts);
          out[2 * c].q_to = cut_at (s, c + 1, cuts);
          out[2 * c].k_from = out[2 * c].k_to = 0;
          /* Keys ascending are seen by fewer queries.  */
          out[2 * c + 1].q_from = out[2 * c + 1].q_to = 0;
          out[2 * c + 1].k_from = s->n_k - cut_at (s, cuts - c, cuts);
          out[2 * c + 1].k_to = s->n_k - cut_at (s, cuts - c - 1, cuts);
        }
    }
  return 2 * cuts * n;
}

/* A whole segment and kv head is one part where that fills the threads: queries and keys then share the
   scores.  Else queries and keys go apart, at 7 products in place of 5.  */
mm_status
mm_cpu_attention_grad (struct mm_backend *be, struct mm_heads heads, struct mm_mat q, struct mm_mat k,
                       struct mm_mat v, struct mm_mat o, const float *stats, struct mm_mat d_o,
                       const struct mm_segment *segments, size_t n_segments, struct mm_mat dq,
                       struct mm_mat dk, struct mm_mat dv)
{
  const double cut_cost = 1.4;
  struct job job = { .kernels = mm_cpu_state (be)->kernels, .heads = heads, .q = q, .k = k, .v = v,
                     .o = o, .grad_stats = stats, .d_o = d_o, .dq = dq, .dk = dk, .dv = dv };
  struct mm_attention_part *parts;
  size_t n = 0, cuts = (size_t) be->n_threads;
  mm_status st = mm_cpu_scratch (be, MM_SCRATCH_OP, n_segments * heads.n_kv_heads * 2 * cuts,
                                 sizeof *parts, &parts);

  if (st < 0)
    return st;
  for (size_t i = 0; i < n_segments; i++)
    for (size_t kv = 0; segments[i].n_q && kv < heads.n_kv_heads; kv++)
      parts[n++] = (struct mm_attention_part) { .segment = segments[i], .kv_head = kv,
                                                .q_to = segments[i].n_q, .k_to = segments[i].n_k };
  if (n > 1)
    qsort (parts, n, sizeof *parts, by_size);
  if (n && be->n_threads > 1 && imbalance (parts, n, be->n_threads) > cut_cost)
    n = cut_parts (parts, n, cuts);
  return run_parts (be, &job, parts, n);
}

/* Attention: every kernel set gives the bits of the reference at odd shapes, the reference is right by
   plain double arithmetic, and keys may come in pieces, as with a KV cache.
   SPDX-License-Identifier: Apache-2.0  */

#include "ops.h"

static const size_t lengths[] = { 1, 2, 17, 33, 130 };
static const size_t head_dims[] = { 2, 6, 10, 16, 34, 64, 96 };

/* ---- problems ---- */

/* All lengths as segments one after the other, with a gap of rows that belong to none.  */
struct problem
{
  struct mm_heads heads;
  size_t rows;
  struct mm_segment segments[N_ELEMENTS (lengths)];
  struct mm_mat q, k, v, d_o;
  struct mm_mat o, dq, dk, dv;  /* by the reference */
  float *stats;
};

enum { GAP = 2 };

static struct problem
make_problem (size_t n_kv_heads, size_t group, size_t hd)
{
  struct problem p = { .heads = { n_kv_heads * group, n_kv_heads, hd, 0 } };
  size_t cols_q = p.heads.n_heads * hd, cols_k = n_kv_heads * hd;

  for (size_t i = 0; i < N_ELEMENTS (lengths); i++)
    {
      p.segments[i] = (struct mm_segment) { p.rows, lengths[i], p.rows, lengths[i] };
      p.rows += lengths[i] + GAP;
    }
  p.q = test_mat (p.rows, cols_q, cols_q + 3, 2);
  p.k = test_mat (p.rows, cols_k, cols_k + 1, 2);
  p.v = test_mat (p.rows, cols_k, cols_k + 5, 1);
  p.d_o = test_mat (p.rows, cols_q, cols_q, 1);
  p.o = test_mat (p.rows, cols_q, cols_q + 1, 1);
  p.dq = test_copy (p.o), p.dk = test_copy (p.k), p.dv = test_copy (p.v);
  p.stats = test_alloc (2 * p.rows * p.heads.n_heads, sizeof *p.stats);
  return p;
}

static void
free_problem (struct problem *p)
{
  free (p->q.data), free (p->k.data), free (p->v.data), free (p->d_o.data);
  free (p->o.data), free (p->dq.data), free (p->dk.data), free (p->dv.data), free (p->stats);
}

static struct mm_attention_part
whole_part (const struct mm_segment *s, size_t kv)
{
  return (struct mm_attention_part) { .segment = *s, .kv_head = kv, .q_to = s->n_q, .k_to = s->n_k };
}

/* As kernels want them where heads stand side by side.  */
static struct mm_heads
side_by_side (struct mm_heads h)
{
  h.kv_step = h.head_dim;
  return h;
}

/* Fill in what the reference gives.  */
static void
reference (struct problem *p)
{
  struct mm_heads heads = side_by_side (p->heads);
  float *scratch = test_alloc (p->rows, sizeof *scratch);

  for (size_t i = 0; i < N_ELEMENTS (lengths); i++)
    for (size_t kv = 0; kv < p->heads.n_kv_heads; kv++)
      {
        struct mm_attention_part part = whole_part (&p->segments[i], kv);

        mm_cpu_attention_generic (heads, p->q, p->k, p->v, &part, p->o, p->stats, scratch);
        mm_cpu_attention_grad_generic (heads, p->q, p->k, p->v, p->o, p->stats, p->d_o, &part, p->dq,
                                       p->dk, p->dv, NULL);
      }
  free (scratch);
}

/* ---- bits ---- */

static bool
check_problem (struct mm_backend *be, const struct problem *p)
{
  size_t n_segments = N_ELEMENTS (lengths), n_stats = 2 * p->rows * p->heads.n_heads;
  /* The reference's results, so that the rows between segments are those left alone.  */
  struct mm_mat o = test_copy (p->o), dq = test_copy (p->dq), dk = test_copy (p->dk);
  struct mm_mat dv = test_copy (p->dv);
  float *stats = test_alloc (n_stats, sizeof *stats);
  bool good;

  for (size_t i = 0; i < n_segments; i++)
    for (size_t row = p->segments[i].q0; row < p->segments[i].q0 + lengths[i]; row++)
      {
        o.data[row * o.ld] = dq.data[row * dq.ld + 1] = NAN;
        dk.data[row * dk.ld] = dv.data[row * dv.ld + 1] = NAN;
      }
  good = mm_attention (be, p->heads, p->q, p->k, p->v, p->segments, n_segments, o, NULL) == MM_OK;
  good &= test_same (o, p->o);
  good &= mm_attention (be, p->heads, p->q, p->k, p->v, p->segments, n_segments, o, stats) == MM_OK;
  good &= test_same (o, p->o) && test_same_values (stats, p->stats, n_stats, sizeof *stats);
  good &= mm_attention_grad (be, p->heads, p->q, p->k, p->v, o, stats, p->d_o, p->segments, n_segments, dq,
                             dk, dv) == MM_OK;
  good &= test_same (dq, p->dq) && test_same (dk, p->dk) && test_same (dv, p->dv);
  free (o.data), free (dq.data), free (dk.data), free (dv.data), free (stats);
  return good;
}

/* Problems of all head sizes, then of scores so far apart that probabilities are subnormal or zero.  */
static struct problem problems[N_ELEMENTS (head_dims)], extremes[3];

static void
make_problems (void)
{
  test_seed (1);
  for (size_t d = 0; d < N_ELEMENTS (head_dims); d++)
    {
      problems[d] = make_problem (d < 5 ? d % 3 + 1 : 1, d % 4 + 1, head_dims[d]);
      reference (&problems[d]);
    }
  for (size_t e = 0; e < N_ELEMENTS (extremes); e++)
    {
      struct problem *p = &extremes[e];

      *p = make_problem (2, 2, 6);
      for (size_t i = 0; i < p->rows * p->q.ld; i++)
        if (i % p->q.ld < p->q.cols)
          p->q.data[i] *= (float) (30 * pow (10, (double) e));
      for (size_t i = 0; i < p->rows * p->d_o.ld; i++)
        p->d_o.data[i] *= 1e-30f;
      reference (p);
    }
}

static void
free_problems (void)
{
  for (size_t d = 0; d < N_ELEMENTS (head_dims); d++)
    free_problem (&problems[d]);
  for (size_t e = 0; e < N_ELEMENTS (extremes); e++)
    free_problem (&extremes[e]);
}

static bool
check_attention (struct mm_backend *be)
{
  bool good = true;

  for (size_t d = 0; d < N_ELEMENTS (head_dims); d++)
    good &= check_problem (be, &problems[d]);
  return good;
}

static bool
check_extremes (struct mm_backend *be)
{
  bool good = true;

  for (size_t e = 0; e < N_ELEMENTS (extremes); e++)
    good &= check_problem (be, &extremes[e]);
  return good;
}

/* One segment of N rows for some heads that share their keys.  */
static bool
one_segment_same (struct mm_backend *be, size_t n, struct mm_heads heads)
{
  struct mm_segment s = { 0, n, 0, n };
  struct mm_attention_part part = whole_part (&s, 0);
  struct mm_mat q, k, v, d_o, o, want, dq, dk, dv, want_dq, want_dk, want_dv;
  size_t hd = heads.head_dim, cols = heads.n_heads * hd;
  float *stats = test_alloc (2 * n * heads.n_heads, sizeof *stats), *scratch = test_alloc (n, sizeof *scratch);
  bool good;

  test_seed (2);
  q = test_mat (n, cols, cols, 3), d_o = test_mat (n, cols, cols, 1);
  k = test_mat (n, hd, hd, 3), v = test_mat (n, hd, hd, 3);
  o = test_copy (q), want = test_copy (q), dq = test_copy (q), want_dq = test_copy (q);
  dk = test_copy (k), want_dk = test_copy (k), dv = test_copy (k), want_dv = test_copy (k);
  good = mm_attention (be, heads, q, k, v, &s, 1, o, stats) == MM_OK;
  mm_cpu_attention_generic (side_by_side (heads), q, k, v, &part, want, stats, scratch);
  good &= test_same (o, want);
  good &= mm_attention_grad (be, heads, q, k, v, o, stats, d_o, &s, 1, dq, dk, dv) == MM_OK;
  mm_cpu_attention_grad_generic (heads, q, k, v, o, stats, d_o, &part, want_dq, want_dk, want_dv, NULL);
  good &= test_same (dq, want_dq) && test_same (dk, want_dk) && test_same (dv, want_dv);
  free (q.data), free (k.data), free (v.data), free (d_o.data), free (o.data), free (want.data);
  free (dq.data), free (dk.data), free (dv.data), free (want_dq.data), free (want_dk.data);
  free (want_dv.data), free (stats), free (scratch);
  return good;
}

/* More threads than pieces of whole heads, so that queries and keys go apart; more keys than a gradient's span.  */
static bool
check_one_segment (struct mm_backend *be)
{
  return one_segment_same (be, 300, (struct mm_heads) { 3, 1, 10, 0 })
         && one_segment_same (be, 1100, (struct mm_heads) { 2, 1, 6, 0 });
}

/* ---- pieces ---- */

/* Heads of X one behind the other, PLANE values apart.  */
static struct mm_mat
planes_of (const struct problem *p, struct mm_mat x, size_t plane)
{
  size_t hd = p->heads.head_dim;
  struct mm_mat all = mm_mat (test_alloc (p->heads.n_kv_heads * plane, sizeof (float)), x.rows, hd);

  for (size_t h = 0; h < p->heads.n_kv_heads; h++)
    for (size_t row = 0; row < x.rows; row++)
      memcpy (all.data + h * plane + row * hd, x.data + row * x.ld + h * hd, hd * sizeof (float));
  return all;
}

/* Queries of each segment in pieces of STEP, the keys growing, heads apart, as a KV cache does: the bits of one
   call.  */
static bool
pieces_same (struct mm_backend *be, const struct problem *p, size_t step)
{
  struct mm_heads heads = p->heads;
  struct mm_mat o = test_copy (p->o), k, v;
  bool good = true;

  heads.kv_step = (p->rows + 3) * heads.head_dim;
  k = planes_of (p, p->k, heads.kv_step);
  v = planes_of (p, p->v, heads.kv_step);

  for (size_t i = 0; i < N_ELEMENTS (lengths); i++)
    memset (o.data + p->segments[i].q0 * o.ld, 0, o.cols * sizeof (float));
  for (size_t at = 0; at < lengths[N_ELEMENTS (lengths) - 1]; at += step)
    {
      struct mm_segment pieces[N_ELEMENTS (lengths)];
      size_t n = 0;

      for (size_t i = 0; i < N_ELEMENTS (lengths); i++)
        if (at < lengths[i])
          {
            size_t end = at + step < lengths[i] ? at + step : lengths[i];

            pieces[n++] = (struct mm_segment) { p->segments[i].q0 + at, end - at, p->segments[i].k0, end };
          }
      good &= mm_attention (be, heads, p->q, k, v, pieces, n, o, NULL) == MM_OK;
    }
  good &= test_same (o, p->o);
  free (o.data), free (k.data), free (v.data);
  return good;
}

static bool
check_pieces (struct mm_backend *be)
{
  static const size_t steps[] = { 1, 3, 50 };
  bool good = true;

  for (size_t d = 0; d < N_ELEMENTS (head_dims); d++)
    good &= pieces_same (be, &problems[d], steps[d % N_ELEMENTS (steps)]);
  return good;
}

/* ---- values ---- */

/* Output of one query by plain double arithmetic.  */
static void
attend (const struct problem *p, const struct mm_segment *s, size_t i, size_t h, double *o)
{
  size_t hd = p->heads.head_dim, kv = h / (p->heads.n_heads / p->heads.n_kv_heads);
  const float *q = p->q.data + (s->q0 + i) * p->q.ld + h * hd;
  double total = 0;

  for (size_t d = 0; d < hd; d++)
    o[d] = 0;
  for (size_t j = 0; j <= i; j++)
    {
      const float *k = p->k.data + (s->k0 + j) * p->k.ld + kv * hd;
      const float *v = p->v.data + (s->k0 + j) * p->v.ld + kv * hd;
      double score = 0, e;

      for (size_t d = 0; d < hd; d++)
        score += (double) q[d] * k[d];
      e = exp (score / sqrt ((double) hd));
      total += e;
      for (size_t d = 0; d < hd; d++)
        o[d] += e * v[d];
    }
  for (size_t d = 0; d < hd; d++)
    o[d] /= total;
}

static void
test_values (void)
{
  struct mm_backend *be = test_backend ();
  struct problem p;
  struct mm_mat o;
  double worst = 0, want[34];

  test_seed (5);
  p = make_problem (2, 2, 34);
  o = test_mat (p.rows, p.q.cols, p.q.cols, 0);
  ok (mm_attention (be, p.heads, p.q, p.k, p.v, p.segments, N_ELEMENTS (lengths), o, NULL) == MM_OK,
      "attention runs");
  for (size_t i = 0; i < N_ELEMENTS (lengths); i++)
    for (size_t at = 0; at < lengths[i]; at++)
      for (size_t h = 0; h < p.heads.n_heads; h++)
        {
          attend (&p, &p.segments[i], at, h, want);
          for (size_t d = 0; d < 34; d++)
            worst = fmax (worst, fabs (o.data[(p.segments[i].q0 + at) * o.ld + h * 34 + d] - want[d]));
        }
  /* Values of magnitude 1; scores of magnitude 20 carry their relative error into exp.  */
  ok (worst < 1e-5, "attention is right by double arithmetic");
  ok (o.data[(p.segments[1].q0 - 1) * o.ld] == 0, "rows of no segment are left alone");
  free (o.data);
  free_problem (&p);
  mm_backend_close (be);
}

int
main (void)
{
  make_problems ();
  test_everywhere ("attention and its gradient", check_attention);
  test_everywhere ("one long segment", check_one_segment);
  test_everywhere ("scores far apart", check_extremes);
  test_everywhere ("keys in pieces give the bits of one call", check_pieces);
  test_values ();
  free_problems ();
  return tap_done ();
}

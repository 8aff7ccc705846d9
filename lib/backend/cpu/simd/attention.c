/* attention.c -- causal attention by strips of queries: scores, softmax, values.
   SPDX-License-Identifier: Apache-2.0

   A strip holds some queries of some heads that share keys, so that a panel of keys, once packed, serves
   all of them.  Where the whole part is one strip (a few queries and a long cache of keys) panels are
   packed as they are needed and keys and values stream by once; else they stay packed for the next
   strip.  */

#include "attention.h"

enum
{
  MOST_QUERIES = 56,            /* of a strip */
  BLOCK = 256                   /* keys whose values are packed at a time for a single strip */
};

struct forward
{
  struct mm_heads heads;
  struct mm_mat q, k, v, o;
  const struct mm_attention_part *part;
  float *stats;                 /* or NULL */
  size_t group, head0;          /* heads that share the keys, the first of them */
  size_t n_queries, n_heads;    /* of a strip, at most */
  bool single;                  /* one strip */
  size_t ld, width;             /* of scores; of sums: hd rounded up to panels */
  size_t packed_keys, packed_values;    /* so far */
  float *scores;                /* [n_heads * n_queries][ld] */
  float *sums;                  /* [n_heads * n_queries][width] */
  float *factors;               /* [n_heads * n_queries]: 1 / sum of exponentials */
  float *keys;                  /* panels [hd][MM_NR] */
  float *values;                /* panels [value_stride][MM_NR] */
  size_t value_stride;
};

/* Part of a strip: INNER rows with a step of A_ROW for each of OUTER heads.  Row (h, t) is query
   I + t of head H + h; for a single query the rows are its heads.  */
struct strip
{
  size_t i, h;
  size_t outer, inner, a_outer, a_row;
  size_t n_keys;                /* that the last query sees */
};

/* How a part of N_QUERIES queries is cut into strips.  */
static void
cut (struct forward *f, size_t n_queries, size_t n_keys)
{
  size_t hd = f->heads.head_dim, fit;

  f->group = f->heads.n_heads / f->heads.n_kv_heads;
  f->ld = score_ld (n_keys);
  f->width = round_up (hd, MM_NR);
  fit = STRIP_FLOATS / f->ld;
  if (n_queries == 1)
    {
      f->n_queries = 1;
      f->n_heads = f->group;
    }
  else
    {
      f->n_queries = fit < MM_MR ? MM_MR : least (fit, MOST_QUERIES) / MM_MR * MM_MR;
      f->n_queries = least (f->n_queries, n_queries);
      f->n_heads = fit / f->n_queries;
      f->n_heads = f->n_heads < 1 ? 1 : least (f->n_heads, f->group);
    }
  f->single = f->n_queries == n_queries && f->n_heads == f->group;
  f->value_stride = f->single ? BLOCK : n_keys;
}

/* Cut SCRATCH up; returns its size.  */
static size_t
lay_out (struct forward *f, size_t n_keys, float *scratch)
{
  size_t rows = f->n_heads * f->n_queries, size = 0;
  size_t panels = f->single ? 1 : round_up (n_keys, MM_NR) / MM_NR;

#define TAKE(pointer, count) \
  do { pointer = scratch ? scratch + size : NULL; size += round_up (count, 16); } while (0)
  TAKE (f->scores, rows * f->ld);
  TAKE (f->sums, rows * f->width);
  TAKE (f->factors, rows);
  TAKE (f->keys, panels * f->heads.head_dim * MM_NR);
  TAKE (f->values, f->width * f->value_stride);
#undef TAKE
  return size;
}

/* The panel of keys from J on.  */
static const float *
key_panel (struct forward *f, size_t j)
{
  size_t hd = f->heads.head_dim;
  float *panel = f->keys + (f->single ? 0 : j * hd);
  const struct mm_segment *s = &f->part->segment;

  if (f->single || j >= f->packed_keys)
    {
      mm_kernel (gemm_pack) (f->k.data + (s->k0 + j) * f->k.ld + f->part->kv_head * hd, f->k.ld, true, hd,
                             least (s->n_k - j, MM_NR), panel);
      f->packed_keys = j + MM_NR;
    }
  return panel;
}

/* Have the values of keys [FROM, TO) packed; returns row FROM of the first panel.  */
static const float *
value_panels (struct forward *f, size_t from, size_t to)
{
  size_t hd = f->heads.head_dim, base = f->single ? from : 0;
  size_t start = f->single ? from : f->packed_values;

  if (start < to)
    {
      pack_head (f->v.data + (f->part->segment.k0 + start) * f->v.ld + f->part->kv_head * hd, f->v.ld, hd,
                 to - start, f->values, f->value_stride, start - base);
      f->packed_values = to;
    }
  return f->values + (from - base) * MM_NR;
}

/* Keys that row T of a strip's head sees.  */
MM_INLINE size_t
visible (const struct forward *f, const struct strip *s, size_t t)
{
  const struct mm_segment *segment = &f->part->segment;

  return segment->n_k - segment->n_q + s->i + (f->n_queries == 1 ? 0 : t) + 1;
}

static void
score_strip (struct forward *f, const struct strip *s)
{
  size_t hd = f->heads.head_dim;
  const float *q = f->q.data + (f->part->segment.q0 + s->i) * f->q.ld + (f->head0 + s->h) * hd;

  for (size_t j = 0; j < s->n_keys; j += MM_NR)
    {
      const float *panel = key_panel (f, j);

      for (size_t h = 0; h < s->outer; h++)
        for (size_t t = 0; t < s->inner; t += MM_MR)
          {
            size_t rows = least (s->inner - t, MM_MR);

            if (j < visible (f, s, t + rows - 1))
              mm_kernel (gemm_tile) (rows, MM_NR, hd, q + h * s->a_outer + t * s->a_row, s->a_row, 1, panel,
                                     MM_NR, NULL, 0, f->scores + (h * s->inner + t) * f->ld + j, f->ld);
          }
    }
}

/* Scores to exponentials; M gets their maximum; returns the lane sum.  */
static float
exponentials (float *row, size_t n, float scale, float *m)
{
  v16 lane = v16_zero (), by = v16_set1 (scale), most;
  size_t j = 0;

  *m = lanes_max (row, n) * scale;      /* rounding keeps the order */
  most = v16_set1 (*m);
  for (; j + 16 <= n; j += 16)
    {
      v16 e = v16_exp (v16_sub (v16_mul (v16_load (row + j), by), most));

      lane = v16_add (lane, e);
      v16_store (row + j, e);
    }
  if (j < n)
    {
      v16 e = v16_exp (v16_sub (v16_mul (v16_load_n (row + j, n - j), by), most));

      e = v16_select (m16_first (n - j), e, v16_zero ());
      lane = v16_add (lane, e);
      v16_store (row + j, e);
    }
  return v16_sum (lane);
}

static void
softmax_strip (struct forward *f, const struct strip *s)
{
  float scale = score_scale (f->heads.head_dim), m;

  for (size_t h = 0; h < s->outer; h++)
    for (size_t t = 0; t < s->inner; t++)
      {
        size_t r = h * s->inner + t, n = visible (f, s, t);
        size_t query = f->n_queries == 1 ? s->i : s->i + t;
        size_t head = f->head0 + s->h + (f->n_queries == 1 ? t : h);
        size_t row = f->part->segment.q0 + query;
        float *scores = f->scores + r * f->ld;

        f->factors[r] = 1 / exponentials (scores, n, scale, &m);
        zero_row (scores, n, s->n_keys);
        if (f->stats)
          {
            f->stats[2 * (row * f->heads.n_heads + head)] = m;
            f->stats[2 * (row * f->heads.n_heads + head) + 1] = f->factors[r];
          }
      }
}

/* Go on with the sums over the keys [FROM, TO).  */
static void
add_values (struct forward *f, const struct strip *s, size_t from, size_t to)
{
  const float *panels = value_panels (f, from, to);

  for (size_t d = 0; d < f->width; d += MM_NR)
    for (size_t h = 0; h < s->outer; h++)
      for (size_t t = 0; t < s->inner; t += MM_MR)
        {
          size_t rows = least (s->inner - t, MM_MR), r = h * s->inner + t;
          size_t end = least (visible (f, s, t + rows - 1), to);
          float *sums = f->sums + r * f->width + d;

          if (from < end)
            mm_kernel (gemm_tile) (rows, MM_NR, end - from, f->scores + r * f->ld + from, f->ld, 1,
                                   panels + d * f->value_stride, MM_NR, from ? sums : NULL, f->width, sums,
                                   f->width);
        }
}

static void
finish_strip (struct forward *f, const struct strip *s)
{
  size_t hd = f->heads.head_dim;

  for (size_t h = 0; h < s->outer; h++)
    for (size_t t = 0; t < s->inner; t++)
      {
        size_t r = h * s->inner + t;
        size_t query = f->n_queries == 1 ? s->i : s->i + t;
        size_t head = f->head0 + s->h + (f->n_queries == 1 ? t : h);

        finish_row (f->sums + r * f->width, f->factors[r],
                    f->o.data + (f->part->segment.q0 + query) * f->o.ld + head * hd, hd);
      }
}

/* Queries [I, I + N) of HEADS heads from H.  */
static void
run_strip (struct forward *f, size_t i, size_t n, size_t h, size_t heads)
{
  bool one = f->n_queries == 1;
  struct strip s = { .i = i, .h = h, .outer = one ? 1 : heads, .inner = one ? heads : n,
                     .a_outer = f->heads.head_dim, .a_row = one ? f->heads.head_dim : f->q.ld };
  size_t step;

  s.n_keys = visible (f, &s, n - 1);
  step = f->single ? BLOCK : s.n_keys;
  score_strip (f, &s);
  softmax_strip (f, &s);
  for (size_t from = 0; from < s.n_keys; from += step)
    add_values (f, &s, from, least (from + step, s.n_keys));
  finish_strip (f, &s);
}

size_t
mm_kernel (attention_scratch) (struct mm_heads heads, const struct mm_attention_part *part)
{
  struct forward f = { .heads = heads };

  cut (&f, part->q_to - part->q_from, part->segment.n_k);
  return lay_out (&f, part->segment.n_k, NULL);
}

void
mm_kernel (attention) (struct mm_heads heads, struct mm_mat q, struct mm_mat k, struct mm_mat v,
                       const struct mm_attention_part *part, struct mm_mat o, float *stats,
                       float *scratch)
{
  struct forward f = { .heads = heads, .q = q, .k = k, .v = v, .o = o, .part = part, .stats = stats };
  const struct mm_segment *s = &part->segment;

  cut (&f, part->q_to - part->q_from, s->n_k);
  lay_out (&f, s->n_k, scratch);
  f.head0 = part->kv_head * f.group;
  for (size_t i = part->q_from; i < part->q_to; i += f.n_queries)
    for (size_t h = 0; h < f.group; h += f.n_heads)
      run_strip (&f, i, least (f.n_queries, part->q_to - i), h, least (f.n_heads, f.group - h));
}

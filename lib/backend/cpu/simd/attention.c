/* attention.c -- causal attention by strips of queries: scores, softmax, values.
   SPDX-License-Identifier: Apache-2.0

   A strip is as many rows as a tile has, which share the keys: consecutive queries of a head or, for a single query,
   heads.  Its scores stay near while they become exponentials and weights.  Keys are packed once for all strips of a
   part, and so are values unless they are few.  Where there is but one strip (a query and a long cache of keys) they
   stream by: a panel of keys is packed as it is needed, values are read where they lie.  */

#include "attention.h"

struct forward
{
  struct mm_heads heads;
  struct mm_mat q, k, v, o;
  const struct mm_attention_part *part;
  float *stats;                 /* or NULL */
  size_t group, head0;          /* heads that share the keys, the first of them */
  bool by_heads;                /* rows of a strip are heads */
  size_t n_strips;
  bool single;                  /* one strip */
  bool in_place;                /* values are not packed */
  float scale;
  size_t hd, width, ld;         /* head_dim; the same rounded up to panels; of scores */
  size_t packed_keys, packed_values;    /* so far */
  float *scores;                /* [MM_MR][ld] */
  float *sums;                  /* [MM_MR][width] */
  float *keys;                  /* panels [hd][MM_NR] */
  float *values;                /* [keys][width] */
  struct ahead ahead;
};

/* ROWS rows: queries from I on of head H of the group, or query I of the heads from H on.  */
struct strip
{
  size_t i, h, rows;
  size_t n_keys;                /* that the last row sees */
};

/* Cut SCRATCH up; returns its size.  */
static size_t
lay_out (struct forward *f, float *scratch)
{
  size_t n_keys = f->part->segment.n_k, n_queries = f->part->q_to - f->part->q_from, size = 0;

  f->group = f->heads.n_heads / f->heads.n_kv_heads;
  f->head0 = f->part->kv_head * f->group;
  f->by_heads = n_queries == 1;
  f->n_strips = f->by_heads ? pieces (f->group, MM_MR) : f->group * pieces (n_queries, MM_MR);
  f->single = f->n_strips == 1;
  f->hd = f->heads.head_dim;
  f->scale = score_scale (f->hd);
  f->width = round_up (f->hd, MM_NR);
  f->in_place = f->width == f->hd && (f->single || n_keys <= NEAR_KEYS);
  /* Not a power of two, so that a column of scores does not fall on one set of the cache.  */
  f->ld = round_up (n_keys, MM_NR) + 16;

#define TAKE(pointer, count) \
  do { pointer = scratch ? scratch + size : NULL; size += round_up (count, 16); } while (0)
  TAKE (f->scores, MM_MR * f->ld);
  TAKE (f->sums, MM_MR * f->width);
  TAKE (f->keys, (f->single ? MM_NR : round_up (n_keys, MM_NR)) * f->hd);
  TAKE (f->values, f->in_place ? 0 : n_keys * f->width);
#undef TAKE
  return size;
}

/* The panel of keys from J on.  */
static const float *
key_panel (struct forward *f, size_t j)
{
  float *panel = f->keys + (f->single ? 0 : j * f->hd);
  const struct mm_segment *s = &f->part->segment;
  const float *k = f->k.data + (s->k0 + j) * f->k.ld + f->part->kv_head * f->heads.kv_step;

  if (f->single || j >= f->packed_keys)
    {
      mm_kernel (gemm_pack) (k, f->k.ld, true, f->hd, least (s->n_k - j, MM_NR), panel);
      f->packed_keys = j + MM_NR;
    }
  return panel;
}

/* The values of the keys before END, rows *LD apart.  */
static const float *
value_rows (struct forward *f, size_t end, size_t *ld)
{
  size_t from = f->packed_values;
  const float *v = f->v.data + f->part->segment.k0 * f->v.ld + f->part->kv_head * f->heads.kv_step;

  *ld = f->in_place ? f->v.ld : f->width;
  if (f->in_place)
    return v;
  if (from < end)
    {
      copy_rows (v + from * f->v.ld, f->v.ld, f->hd, end - from, f->values + from * f->width, f->width);
      f->packed_values = end;
    }
  return f->values;
}

/* Query, head and number of visible keys of row R.  */
MM_INLINE size_t
query_of (const struct forward *f, const struct strip *s, size_t r)
{
  return s->i + (f->by_heads ? 0 : r);
}

MM_INLINE size_t
head_of (const struct forward *f, const struct strip *s, size_t r)
{
  return f->head0 + s->h + (f->by_heads ? r : 0);
}

MM_INLINE size_t
visible (const struct forward *f, const struct strip *s, size_t r)
{
  return f->part->segment.n_k - f->part->segment.n_q + query_of (f, s, r) + 1;
}

static struct strip
strip_at (const struct forward *f, size_t at)
{
  size_t i = f->part->q_from + (f->by_heads ? 0 : at / f->group * MM_MR);
  struct strip s = { .i = i, .h = at % f->group, .rows = least (MM_MR, f->part->q_to - i) };

  if (f->by_heads)
    {
      s.h = at * MM_MR;
      s.rows = least (MM_MR, f->group - s.h);
    }
  s.n_keys = visible (f, &s, s.rows - 1);
  return s;
}

static void
tile (struct forward *f, const struct strip *s, size_t cols, size_t k, const float *a, size_t a_row, const float *b,
      size_t b_step, float *y, size_t y_ld)
{
  mm_kernel (gemm_tile) (s->rows, cols, k, a, a_row, 1, b, b_step, NULL, 0, y, y_ld);
  ask_ahead (&f->ahead);
}

static void
score_strip (struct forward *f, const struct strip *s)
{
  const float *q = f->q.data + (f->part->segment.q0 + s->i) * f->q.ld + (f->head0 + s->h) * f->hd;

  for (size_t j = 0; j < s->n_keys; j += MM_NR)
    tile (f, s, least (round_up (s->n_keys - j, 16), MM_NR), f->hd, q, f->by_heads ? f->hd : f->q.ld, key_panel (f, j),
          MM_NR, f->scores + j, f->ld);
}

/* Scores, whose maximum is M, to exponentials, zeros up to a whole register; returns the lane sum.  */
static float
exponentials (float *row, size_t n, float scale, float m)
{
  v16 lane = v16_zero (), by = v16_set1 (scale), most = v16_set1 (m);
  size_t j = 0;

  for (; j + 16 <= n; j += 16)
    {
      v16 e = v16_exp (v16_sub (v16_mul (v16_load (row + j), by), most));

      lane = v16_add (lane, e);
      v16_store (row + j, e);
    }
  if (j < n)
    {
      v16 e = v16_exp (v16_sub (v16_mul (v16_load (row + j), by), most));

      e = v16_select (m16_first (n - j), e, v16_zero ());
      lane = v16_add (lane, e);
      v16_store (row + j, e);
    }
  return v16_sum (lane);
}

/* Exponentials of the strip's scores; FACTORS: 1 / their sums.  First all maxima, so that no row waits for its own.  */
static void
softmax_strip (const struct forward *f, const struct strip *s, float *factors)
{
  float most[MM_MR];

  for (size_t r = 0; r < s->rows; r++)
    most[r] = lanes_max (f->scores + r * f->ld, visible (f, s, r)) * f->scale;     /* rounding keeps the order */
  for (size_t r = 0; r < s->rows; r++)
    {
      size_t n = visible (f, s, r);
      float *row = f->scores + r * f->ld;

      factors[r] = 1 / exponentials (row, n, f->scale, most[r]);
      if (round_up (n, 16) < s->n_keys)
        v16_store (row + round_up (n, 16), v16_zero ());
    }
  for (size_t r = 0; f->stats && r < s->rows; r++)
    {
      size_t query = f->part->segment.q0 + query_of (f, s, r);
      float *stats = f->stats + 2 * (query * f->heads.n_heads + head_of (f, s, r));

      stats[0] = most[r];
      stats[1] = factors[r];
    }
}

static void
value_strip (struct forward *f, const struct strip *s, const float *factors)
{
  size_t ld;
  const float *values = value_rows (f, s->n_keys, &ld);

  for (size_t d = 0; d < f->width; d += MM_NR)
    tile (f, s, MM_NR, s->n_keys, f->scores, f->ld, values + d, ld, f->sums + d, f->width);
  for (size_t r = 0; r < s->rows; r++)
    finish_row (f->sums + r * f->width, factors[r],
                f->o.data + (f->part->segment.q0 + query_of (f, s, r)) * f->o.ld + head_of (f, s, r) * f->hd, f->hd);
}

/* While strip AT runs: the next one's rows and its share of what the next part begins with.  */
static void
look_ahead (struct forward *f, size_t at)
{
  f->ahead = (struct ahead) { .hd = f->hd };
  add_next_keys (&f->ahead, f->part, f->heads, f->k, f->v, at, f->n_strips);
  if (at + 1 < f->n_strips)
    {
      struct strip next = strip_at (f, at + 1);
      size_t row = f->part->segment.q0 + next.i;

      add_ahead (&f->ahead, f->o, row, (f->head0 + next.h) * f->hd, next.rows, true);
      add_ahead (&f->ahead, f->q, row, (f->head0 + next.h) * f->hd, next.rows, false);
    }
  spread_ahead (&f->ahead, pieces (strip_at (f, at).n_keys, MM_NR));
}

size_t
mm_kernel (attention_scratch) (struct mm_heads heads, const struct mm_attention_part *part)
{
  struct forward f = { .heads = heads, .part = part };

  return lay_out (&f, NULL);
}

void
mm_kernel (attention) (struct mm_heads heads, struct mm_mat q, struct mm_mat k, struct mm_mat v,
                       const struct mm_attention_part *part, struct mm_mat o, float *stats,
                       float *scratch)
{
  struct forward f = { .heads = heads, .q = q, .k = k, .v = v, .o = o, .part = part, .stats = stats };

  lay_out (&f, scratch);
  for (size_t at = 0; at < f.n_strips; at++)
    {
      struct strip s = strip_at (&f, at);
      float factors[MM_MR];

      look_ahead (&f, at);
      score_strip (&f, &s);
      softmax_strip (&f, &s, factors);
      value_strip (&f, &s, factors);
    }
}

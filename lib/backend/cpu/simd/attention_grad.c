/* attention_grad.c -- the gradient of attention by strips of queries.
   SPDX-License-Identifier: Apache-2.0

   For each head of the group and each strip, ascending: on tiles of a panel of keys probabilities P again,
   a = do v and S = P (a - D); then dq = S k at once, while dk and dv of the group's keys go on with their chains
   over (head, query): their float32 sums stay in scratch between strips.  */

#include "attention.h"

enum { MOST_QUERIES = 56 };

struct backward
{
  struct mm_heads heads;
  struct mm_mat q, k, v, o, d_o, dq, dk, dv;
  const float *stats;
  const struct mm_attention_part *part;
  size_t hd, width;             /* head_dim; the same rounded up to panels */
  size_t ld;                    /* of scores */
  size_t n_queries;             /* of a strip, at most */
  size_t n_keys;                /* with room in scratch */
  float *p, *s;                 /* [n_queries][ld] */
  float *keys_t, *values_t;     /* panels of keys: [n_keys / MM_NR][hd][MM_NR] */
  float *keys;                  /* panels of head_dim: [width / MM_NR][n_keys][MM_NR] */
  float *sum_k, *sum_v;         /* [n_keys][width] */
  float *queries, *d_os;        /* panels of head_dim: [width / MM_NR][n_queries][MM_NR] */
};

/* One pass over strips: dq of all the strip's queries (WANT_Q), dk and dv of the keys [k_from, k_to)
   (empty: none), which meet the queries from FIRST to LAST.  Scores are computed from key LOW on.  */
struct pass
{
  bool want_q;
  size_t k_from, k_to;
  size_t first, last;
  size_t low;
};

/* N queries from I of head H, and the keys from the pass's LOW to HIGH that they see.  */
struct strip
{
  size_t h, i, n, high;
};

/* ---- scratch ---- */

static size_t
lay_out (struct backward *b, float *scratch)
{
  size_t fit, size = 0;

  b->hd = b->heads.head_dim;
  b->width = round_up (b->hd, MM_NR);
  b->n_keys = round_up (b->part->segment.n_k, MM_NR);
  b->ld = score_ld (b->n_keys);
  fit = STRIP_FLOATS / (2 * b->ld) / MM_MR * MM_MR;
  b->n_queries = fit < MM_MR ? MM_MR : least (fit, MOST_QUERIES / MM_MR * MM_MR);

#define TAKE(pointer, count) \
  do { pointer = scratch ? scratch + size : NULL; size += round_up (count, 16); } while (0)
  TAKE (b->p, b->n_queries * b->ld);
  TAKE (b->s, b->n_queries * b->ld);
  TAKE (b->keys_t, b->n_keys * b->hd);
  TAKE (b->values_t, b->n_keys * b->hd);
  TAKE (b->keys, b->n_keys * b->width);
  TAKE (b->sum_k, b->n_keys * b->width);
  TAKE (b->sum_v, b->n_keys * b->width);
  TAKE (b->queries, b->n_queries * b->width);
  TAKE (b->d_os, b->n_queries * b->width);
#undef TAKE
  return size;
}

/* HD values of head H in row I of the segment's queries, and of its keys.  */
static float *
query_row (const struct backward *b, struct mm_mat m, size_t i, size_t h)
{
  return m.data + (b->part->segment.q0 + i) * m.ld + h * b->hd;
}

static float *
key_row (const struct backward *b, struct mm_mat m, size_t j)
{
  return m.data + (b->part->segment.k0 + j) * m.ld + b->part->kv_head * b->hd;
}

/* Pack the keys and values [LOW, HIGH), LOW a multiple of MM_NR.  */
static void
pack_keys (struct backward *b, const struct pass *pass, size_t high)
{
  size_t low = pass->low;

  if (low >= high)
    return;
  mm_kernel (gemm_pack) (key_row (b, b->k, low), b->k.ld, true, b->hd, high - low, b->keys_t + low * b->hd);
  mm_kernel (gemm_pack) (key_row (b, b->v, low), b->v.ld, true, b->hd, high - low,
                         b->values_t + low * b->hd);
  if (pass->want_q)
    pack_head (key_row (b, b->k, low), b->k.ld, b->hd, high - low, b->keys, b->n_keys, low);
}

/* ---- a strip ---- */

/* Numbers of one query: of its softmax, and D.  */
struct query
{
  float m, u, d;
};

static struct query
query_numbers (const struct backward *b, size_t i, size_t h)
{
  const float *stats = b->stats + 2 * ((b->part->segment.q0 + i) * b->heads.n_heads + h);

  return (struct query) { stats[0], stats[1],
                          lanes_dot (query_row (b, b->d_o, i, h), query_row (b, b->o, i, h), b->hd) };
}

/* From t and a of MM_NR keys to p and s; +0 where the query sees only the first N.  */
MM_INLINE void
probabilities (v16 scale, const struct query *q, const float *t, const float *a, size_t n, float *p, float *s)
{
  v16 m = v16_set1 (q->m), u = v16_set1 (q->u), d = v16_set1 (q->d);

#pragma GCC unroll 2
  for (size_t l = 0; l < MM_NR; l += 16)
    {
      v16 pl = v16_mul (v16_exp (v16_sub (v16_mul (v16_load (t + l), scale), m)), u);
      v16 sl = v16_mul (pl, v16_sub (v16_load (a + l), d));

      if (n < l + 16)
        {
          m16 seen = m16_first (n < l ? 0 : n - l);

          pl = v16_select (seen, pl, v16_zero ());
          sl = v16_select (seen, sl, v16_zero ());
        }
      v16_store (p + l, pl);
      v16_store (s + l, sl);
    }
}

/* P and S of ROWS queries from T of the strip on, whose numbers are QUERIES, and the panel of keys from J on: t = q k
   and a = do v on tiles that stay in the first cache, then their probabilities.  */
static void
probability_tile (const struct backward *b, const struct pass *pass, const struct strip *strip, size_t t, size_t rows,
                  size_t j, const struct query *queries)
{
  float scores[MM_MR * MM_NR] __attribute__ ((__aligned__ (64))), a[MM_MR * MM_NR] __attribute__ ((__aligned__ (64)));
  size_t i = strip->i + t, at = t * b->ld + j - pass->low;
  v16 scale = v16_set1 (score_scale (b->hd));

  if (j >= i + rows)            /* nobody sees them */
    {
      for (size_t r = 0; r < rows; r++)
        {
          zero_row (b->p + at + r * b->ld, 0, MM_NR);
          zero_row (b->s + at + r * b->ld, 0, MM_NR);
        }
      return;
    }
  mm_kernel (gemm_tile) (rows, MM_NR, b->hd, query_row (b, b->q, i, strip->h), b->q.ld, 1, b->keys_t + j * b->hd, MM_NR,
                         NULL, 0, scores, MM_NR);
  mm_kernel (gemm_tile) (rows, MM_NR, b->hd, query_row (b, b->d_o, i, strip->h), b->d_o.ld, 1, b->values_t + j * b->hd,
                         MM_NR, NULL, 0, a, MM_NR);
  for (size_t r = 0; r < rows; r++)
    probabilities (scale, &queries[r], scores + r * MM_NR, a + r * MM_NR, i + r + 1 < j ? 0 : i + r + 1 - j,
                   b->p + at + r * b->ld, b->s + at + r * b->ld);
}

static void
probability_strip (const struct backward *b, const struct pass *pass, const struct strip *strip)
{
  struct query queries[MOST_QUERIES];

  for (size_t t = 0; t < strip->n; t++)
    queries[t] = query_numbers (b, strip->i + t, strip->h);
  for (size_t j = pass->low; j < strip->high; j += MM_NR)
    for (size_t t = 0; t < strip->n; t += MM_MR)
      probability_tile (b, pass, strip, t, least (strip->n - t, MM_MR), j, queries + t);
}

static void
grad_queries (const struct backward *b, const struct strip *strip)
{
  float sums[MM_MR * MM_NR];

  for (size_t t = 0; t < strip->n; t += MM_MR)
    for (size_t d = 0; d < b->width; d += MM_NR)
      {
        size_t rows = least (strip->n - t, MM_MR);

        mm_kernel (gemm_tile) (rows, MM_NR, strip->i + t + rows, b->s + t * b->ld, b->ld, 1,
                               b->keys + d * b->n_keys, MM_NR, NULL, 0, sums, MM_NR);
        for (size_t r = 0; r < rows; r++)
          finish_row (sums + r * MM_NR, score_scale (b->hd),
                      query_row (b, b->dq, strip->i + t + r, strip->h) + d, least (b->hd - d, MM_NR));
      }
}

/* Go on with the chains SUM of the keys [FROM, TO) over the strip's queries: WEIGHTS (P or S) times the
   packed ROWS.  A tile's chains start at the first query that sees one of its keys.  */
static void
add_to_keys (const struct backward *b, const struct pass *pass, const struct strip *strip,
             const float *weights, const float *rows, float *sum)
{
  size_t from = pass->k_from, to = least (pass->k_to, strip->high);

  for (size_t j = from; j < to; j += MM_MR)
    for (size_t d = 0; d < b->width; d += MM_NR)
      {
        size_t skip = j > strip->i ? j - strip->i : 0;
        float *tile = sum + (j - from) * b->width + d;

        mm_kernel (gemm_tile) (least (to - j, MM_MR), MM_NR, strip->n - skip,
                               weights + skip * b->ld + j - pass->low, 1, b->ld,
                               rows + d * b->n_queries + skip * MM_NR, MM_NR, tile, b->width, tile,
                               b->width);
      }
}

static void
run_strip (struct backward *b, const struct pass *pass, const struct strip *strip)
{
  probability_strip (b, pass, strip);
  if (pass->want_q)
    grad_queries (b, strip);
  if (pass->k_from >= pass->k_to)
    return;
  pack_head (query_row (b, b->q, strip->i, strip->h), b->q.ld, b->hd, strip->n, b->queries, b->n_queries, 0);
  pack_head (query_row (b, b->d_o, strip->i, strip->h), b->d_o.ld, b->hd, strip->n, b->d_os,
             b->n_queries, 0);
  add_to_keys (b, pass, strip, b->s, b->queries, b->sum_k);
  add_to_keys (b, pass, strip, b->p, b->d_os, b->sum_v);
}

/* ---- a part ---- */

static void
run_pass (struct backward *b, const struct pass *pass)
{
  size_t group = b->heads.n_heads / b->heads.n_kv_heads, n_keys = pass->k_to - pass->k_from;
  v16 zero = v16_zero ();

  pack_keys (b, pass, pass->want_q ? pass->last : pass->k_to);
  for (size_t at = 0; at < n_keys * b->width; at += 16)
    {
      v16_store (b->sum_k + at, zero);
      v16_store (b->sum_v + at, zero);
    }
  for (size_t h = b->part->kv_head * group; h < (b->part->kv_head + 1) * group; h++)
    for (size_t i = pass->first; i < pass->last; i += b->n_queries)
      {
        struct strip strip = { .h = h, .i = i, .n = least (b->n_queries, pass->last - i) };

        strip.high = pass->want_q ? i + strip.n : least (i + strip.n, pass->k_to);
        run_strip (b, pass, &strip);
      }
  for (size_t j = 0; j < n_keys; j++)
    {
      finish_row (b->sum_k + j * b->width, score_scale (b->hd), key_row (b, b->dk, pass->k_from + j), b->hd);
      finish_row (b->sum_v + j * b->width, 1, key_row (b, b->dv, pass->k_from + j), b->hd);
    }
}

size_t
mm_kernel (attention_grad_scratch) (struct mm_heads heads, const struct mm_attention_part *part)
{
  struct backward b = { .heads = heads, .part = part };

  return lay_out (&b, NULL);
}

/* Queries and keys share the scores when the part is a whole segment.  */
void
mm_kernel (attention_grad) (struct mm_heads heads, struct mm_mat q, struct mm_mat k, struct mm_mat v,
                            struct mm_mat o, const float *stats, struct mm_mat d_o,
                            const struct mm_attention_part *part, struct mm_mat dq, struct mm_mat dk,
                            struct mm_mat dv, float *scratch)
{
  struct backward b = { .heads = heads, .q = q, .k = k, .v = v, .o = o, .d_o = d_o, .dq = dq, .dk = dk,
                        .dv = dv, .stats = stats, .part = part };
  size_t n = part->segment.n_q;
  struct pass queries = { .want_q = true, .first = part->q_from, .last = part->q_to };
  struct pass keys = { .k_from = part->k_from, .k_to = part->k_to, .first = part->k_from, .last = n,
                       .low = part->k_from / MM_NR * MM_NR };
  struct pass both = { .want_q = true, .k_to = n, .last = n };

  lay_out (&b, scratch);
  if (part->q_to - part->q_from == n && part->k_to - part->k_from == n)
    run_pass (&b, &both);
  else
    {
      if (part->q_from < part->q_to)
        run_pass (&b, &queries);
      if (part->k_from < part->k_to)
        run_pass (&b, &keys);
    }
}

/* attention_grad.c -- the gradient of attention by strips of queries.
   SPDX-License-Identifier: Apache-2.0

   For each head of the group and each strip, ascending: probabilities P again and a = do v in panels of
   keys, S = P (a - D), then dq = S k at once, while dk and dv of the group's keys go on with their chains
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

/* t = q k and a = do v of the pairs that tiles of the strip see.  */
static void
score_strip (const struct backward *b, const struct pass *pass, const struct strip *strip)
{
  for (size_t j = pass->low; j < strip->high; j += MM_NR)
    for (size_t t = 0; t < strip->n; t += MM_MR)
      {
        size_t rows = least (strip->n - t, MM_MR), at = t * b->ld + j - pass->low;

        if (j >= strip->i + t + rows)
          continue;
        mm_kernel (gemm_tile) (rows, MM_NR, b->hd, query_row (b, b->q, strip->i + t, strip->h), b->q.ld, 1,
                               b->keys_t + j * b->hd, MM_NR, NULL, 0, b->p + at, b->ld);
        mm_kernel (gemm_tile) (rows, MM_NR, b->hd, query_row (b, b->d_o, strip->i + t, strip->h),
                               b->d_o.ld, 1, b->values_t + j * b->hd, MM_NR, NULL, 0, b->s + at, b->ld);
      }
}

/* Numbers of one query in every lane.  */
struct query
{
  v16 scale, m, u, d;
};

/* From t and a in *P and *S to p and s.  */
MM_INLINE void
probabilities16 (const struct query *q, v16 *p, v16 *s)
{
  *p = v16_mul (v16_exp (v16_sub (v16_mul (*p, q->scale), q->m)), q->u);
  *s = v16_mul (*p, v16_sub (*s, q->d));
}

static void
probabilities (const struct query *q, float *p, float *s, size_t n)
{
  size_t j = 0;

  for (; j + 16 <= n; j += 16)
    {
      v16 pj = v16_load (p + j), sj = v16_load (s + j);

      probabilities16 (q, &pj, &sj);
      v16_store (p + j, pj);
      v16_store (s + j, sj);
    }
  if (j < n)
    {
      v16 pj = v16_load_n (p + j, n - j), sj = v16_load_n (s + j, n - j);

      probabilities16 (q, &pj, &sj);
      v16_store_n (p + j, pj, n - j);
      v16_store_n (s + j, sj, n - j);
    }
}

static void
probability_strip (const struct backward *b, const struct pass *pass, const struct strip *strip)
{
  for (size_t t = 0; t < strip->n; t++)
    {
      size_t i = strip->i + t, n = least (i + 1, strip->high) - pass->low;
      const float *stats = b->stats + 2 * ((b->part->segment.q0 + i) * b->heads.n_heads + strip->h);
      float *p = b->p + t * b->ld, *s = b->s + t * b->ld;
      struct query query = {
        v16_set1 (score_scale (b->hd)), v16_set1 (stats[0]), v16_set1 (stats[1]),
        v16_set1 (lanes_dot (query_row (b, b->d_o, i, strip->h), query_row (b, b->o, i, strip->h), b->hd))
      };

      probabilities (&query, p, s, n);
      zero_row (p, n, strip->high - pass->low);
      zero_row (s, n, strip->high - pass->low);
    }
}

static void
grad_queries (const struct backward *b, const struct strip *strip)
{
  float sums[MM_MR * MM_NR];

  for (size_t d = 0; d < b->width; d += MM_NR)
    for (size_t t = 0; t < strip->n; t += MM_MR)
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

  for (size_t d = 0; d < b->width; d += MM_NR)
    for (size_t j = from; j < to; j += MM_MR)
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
  score_strip (b, pass, strip);
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

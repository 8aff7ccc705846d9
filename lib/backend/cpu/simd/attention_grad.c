/* attention_grad.c -- the gradient of attention by strips of queries and blocks of keys.
   SPDX-License-Identifier: Apache-2.0

   A span of keys, whose sums stay in the second cache, meets the strips of all heads of the group, ascending.  A strip
   walks over the span in blocks that stay in the first cache: probabilities P again, a = do v and S = P (a - D), then
   dq of the strip, dk and dv of the block go on with their chains, whose float32 sums wait in scratch, and dq's in dq
   itself from one span to the next.  */

#include "attention.h"

enum
{
  STRIP = 64,                   /* queries */
  BLOCK = 64,                   /* keys: a multiple of MM_NR */
  SPAN = NEAR_KEYS              /* a multiple of BLOCK */
};

/* Numbers of one query: of its softmax, and D.  */
struct query
{
  float m, u, d;
};

struct backward
{
  struct mm_heads heads;
  struct mm_mat q, k, v, o, d_o, dq, dk, dv;
  const float *stats;
  const struct mm_attention_part *part;
  size_t hd, width;             /* head_dim; the same rounded up to panels */
  float scale;
  float *keys_t, *values_t;     /* of the span, panels of keys: [SPAN / MM_NR][hd][MM_NR] */
  float *keys;                  /* [SPAN][width] */
  float *sum_k, *sum_v;         /* [SPAN][width] */
  float *queries, *d_os;        /* of the strip: [STRIP][width] */
  float *sum_q;                 /* [STRIP][width] */
  float *p, *s;                 /* of the block: [STRIP][BLOCK] */
  struct query numbers[STRIP];
  struct ahead ahead;
};

/* Keys [FROM, TO) and the queries [FIRST, LAST) that see some of them, for dq (WANT_Q) and for dk and dv (WANT_K).  */
struct span
{
  size_t from, to;
  size_t first, last;
  bool want_q, want_k;
};

/* N queries from I of head H.  */
struct strip
{
  size_t h, i, n;
};

/* ---- scratch ---- */

static size_t
lay_out (struct backward *b, float *scratch)
{
  size_t size = 0, span = least (round_up (b->part->segment.n_k, MM_NR), SPAN);

  b->hd = b->heads.head_dim;
  b->width = round_up (b->hd, MM_NR);
  b->scale = score_scale (b->hd);

#define TAKE(pointer, count) \
  do { pointer = scratch ? scratch + size : NULL; size += round_up (count, 16); } while (0)
  TAKE (b->keys_t, span * b->hd);
  TAKE (b->values_t, span * b->hd);
  TAKE (b->keys, span * b->width);
  TAKE (b->sum_k, span * b->width);
  TAKE (b->sum_v, span * b->width);
  TAKE (b->queries, STRIP * b->width);
  TAKE (b->d_os, STRIP * b->width);
  TAKE (b->sum_q, STRIP * b->width);
  TAKE (b->p, STRIP * BLOCK);
  TAKE (b->s, STRIP * BLOCK);
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

/* ---- a block ---- */

MM_INLINE void
tile (struct backward *b, size_t rows, size_t cols, size_t k, const float *x, size_t x_row, size_t x_step,
      const float *y, size_t y_step, const float *start, size_t start_ld, float *z, size_t z_ld)
{
  mm_kernel (gemm_tile) (rows, cols, k, x, x_row, x_step, y, y_step, start, start_ld, z, z_ld);
  ask_ahead (&b->ahead);
}

/* From t and a of COLS keys, whole registers, to p and s; +0 where the query sees only the first N.  */
MM_INLINE void
probabilities (v16 scale, const struct query *q, const float *t, const float *a, size_t cols, size_t n, float *p,
               float *s)
{
  v16 m = v16_set1 (q->m), u = v16_set1 (q->u), d = v16_set1 (q->d);

#pragma GCC unroll 2
  for (size_t l = 0; l < cols; l += 16)
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

/* P and S of ROWS queries from T of the strip on and the panel of keys from J on, at P and S: t = q k and a = do v on
   tiles, no wider than what some query sees, then their probabilities.  */
static void
probability_tile (struct backward *b, const struct span *span, const struct strip *strip, size_t t, size_t rows,
                  size_t j, float *p, float *s)
{
  float scores[MM_MR * MM_NR] __attribute__ ((__aligned__ (64))), a[MM_MR * MM_NR] __attribute__ ((__aligned__ (64)));
  size_t i = strip->i + t, cols = i + rows <= j ? 0 : least (round_up (i + rows - j, 16), MM_NR);
  v16 scale = v16_set1 (b->scale);

  if (cols > 0)
    {
      tile (b, rows, cols, b->hd, b->queries + t * b->width, b->width, 1,
                             b->keys_t + (j - span->from) * b->hd, MM_NR, NULL, 0, scores, MM_NR);
      tile (b, rows, cols, b->hd, b->d_os + t * b->width, b->width, 1,
                             b->values_t + (j - span->from) * b->hd, MM_NR, NULL, 0, a, MM_NR);
    }
  for (size_t r = 0; r < rows; r++, p += BLOCK, s += BLOCK)
    {
      probabilities (scale, &b->numbers[t + r], scores + r * MM_NR, a + r * MM_NR, cols,
                     i + r + 1 < j ? 0 : i + r + 1 - j, p, s);
      for (size_t l = cols; l < MM_NR; l += 16)
        {
          v16_store (p + l, v16_zero ());
          v16_store (s + l, v16_zero ());
        }
    }
}

/* dq of the strip goes on with the block of N keys from J on.  */
static void
add_to_queries (struct backward *b, const struct span *span, const struct strip *strip, size_t j, size_t n)
{
  for (size_t t = 0; t < strip->n; t += MM_MR)
    for (size_t d = 0; d < b->width && strip->i + least (t + MM_MR, strip->n) > j; d += MM_NR)
      {
        size_t rows = least (strip->n - t, MM_MR);
        float *sums = b->sum_q + t * b->width + d;

        tile (b, rows, MM_NR, least (strip->i + t + rows - j, n), b->s + t * BLOCK, BLOCK, 1,
                               b->keys + (j - span->from) * b->width + d, b->width, j > 0 ? sums : NULL, b->width, sums,
                               b->width);
      }
}

/* SUM of the block goes on over the strip's queries: WEIGHTS (P or S) times their ROWS.  A tile's chains start at the
   first query that sees one of its keys.  */
static void
add_to_keys (struct backward *b, const struct strip *strip, size_t j, size_t n, const float *weights,
             const float *rows, float *sum)
{
  for (size_t at = 0; at < n; at += MM_MR)
    for (size_t d = 0; d < b->width; d += MM_NR)
      {
        size_t skip = j + at > strip->i ? j + at - strip->i : 0;
        float *sums = sum + at * b->width + d;

        tile (b, least (n - at, MM_MR), MM_NR, strip->n - skip, weights + skip * BLOCK + at, 1, BLOCK,
                               rows + skip * b->width + d, b->width, sums, b->width, sums, b->width);
      }
}

static void
run_block (struct backward *b, const struct span *span, const struct strip *strip, size_t j, size_t n)
{
  size_t at = (j - span->from) * b->width;

  for (size_t l = 0; l < n; l += MM_NR)
    for (size_t t = 0; t < strip->n; t += MM_MR)
      probability_tile (b, span, strip, t, least (strip->n - t, MM_MR), j + l, b->p + t * BLOCK + l,
                        b->s + t * BLOCK + l);
  if (span->want_q)
    add_to_queries (b, span, strip, j, n);
  if (span->want_k)
    {
      add_to_keys (b, strip, j, n, b->s, b->queries, b->sum_k + at);
      add_to_keys (b, strip, j, n, b->p, b->d_os, b->sum_v + at);
    }
}

/* ---- a strip ---- */

static void
begin_strip (struct backward *b, const struct span *span, const struct strip *strip)
{
  size_t i = strip->i, h = strip->h;

  copy_rows (query_row (b, b->q, i, h), b->q.ld, b->hd, strip->n, b->queries, b->width);
  copy_rows (query_row (b, b->d_o, i, h), b->d_o.ld, b->hd, strip->n, b->d_os, b->width);
  if (span->want_q && span->from > 0)
    copy_rows (query_row (b, b->dq, i, h), b->dq.ld, b->hd, strip->n, b->sum_q, b->width);
  for (size_t t = 0; t < strip->n; t++)
    {
      const float *stats = b->stats + 2 * ((b->part->segment.q0 + i + t) * b->heads.n_heads + h);

      b->numbers[t] = (struct query) { stats[0], stats[1],
                                       lanes_dot (b->d_os + t * b->width, query_row (b, b->o, i + t, h), b->hd) };
    }
}

static void
end_queries (const struct backward *b, const struct span *span, const struct strip *strip)
{
  for (size_t t = 0; t < strip->n; t++)
    {
      float *dq = query_row (b, b->dq, strip->i + t, strip->h);

      if (span->to > strip->i + t)
        finish_row (b->sum_q + t * b->width, b->scale, dq, b->hd);
      else
        memcpy (dq, b->sum_q + t * b->width, b->hd * sizeof *dq);
    }
}

/* Strip AT of the span.  */
static struct strip
strip_at (const struct backward *b, const struct span *span, size_t at)
{
  size_t group = b->heads.n_heads / b->heads.n_kv_heads, each = pieces (span->last - span->first, STRIP);
  size_t i = span->first + at % each * STRIP;

  return (struct strip) { b->part->kv_head * group + at / each, i, least (STRIP, span->last - i) };
}

/* While strip AT of N runs: the next one's rows, and of the span's end and of what comes after it a share.  */
static void
look_ahead (struct backward *b, const struct span *span, size_t at, size_t n)
{
  enum { TILES = 40 };          /* that a block has, or more */
  const struct mm_segment *s = &b->part->segment;
  struct strip strip = strip_at (b, span, at);
  size_t blocks = pieces (least (span->to, strip.i + strip.n) - span->from, BLOCK), from, to;

  b->ahead = (struct ahead) { .hd = b->hd };
  if (span->want_k)
    {
      mm_share (span->to - span->from, 1, (int) at, (int) n, &from, &to);
      add_ahead (&b->ahead, b->dk, s->k0 + span->from + from, b->part->kv_head * b->hd, to - from, true);
      add_ahead (&b->ahead, b->dv, s->k0 + span->from + from, b->part->kv_head * b->hd, to - from, true);
    }
  if (span->to == s->n_k)
    add_next_keys (&b->ahead, b->part, b->heads, b->k, b->v, at, n);
  if (at + 1 < n)
    {
      struct strip next = strip_at (b, span, at + 1);

      if (span->want_q)
        add_ahead (&b->ahead, b->dq, s->q0 + next.i, next.h * b->hd, next.n, true);
      add_ahead (&b->ahead, b->o, s->q0 + next.i, next.h * b->hd, next.n, false);
      add_ahead (&b->ahead, b->d_o, s->q0 + next.i, next.h * b->hd, next.n, false);
      add_ahead (&b->ahead, b->q, s->q0 + next.i, next.h * b->hd, next.n, false);
    }
  spread_ahead (&b->ahead, TILES * blocks);
}

static void
run_strip (struct backward *b, const struct span *span, const struct strip *strip)
{
  size_t end = least (span->to, strip->i + strip->n);

  begin_strip (b, span, strip);
  for (size_t j = span->from; j < end; j += BLOCK)
    run_block (b, span, strip, j, least (BLOCK, end - j));
  if (span->want_q)
    end_queries (b, span, strip);
}

/* ---- a span ---- */

static void
begin_span (struct backward *b, const struct span *span)
{
  size_t n = span->to - span->from;
  v16 zero = v16_zero ();

  mm_kernel (gemm_pack) (key_row (b, b->k, span->from), b->k.ld, true, b->hd, n, b->keys_t);
  mm_kernel (gemm_pack) (key_row (b, b->v, span->from), b->v.ld, true, b->hd, n, b->values_t);
  if (span->want_q)
    copy_rows (key_row (b, b->k, span->from), b->k.ld, b->hd, n, b->keys, b->width);
  for (size_t at = 0; span->want_k && at < n * b->width; at += 16)
    {
      v16_store (b->sum_k + at, zero);
      v16_store (b->sum_v + at, zero);
    }
}

static void
end_keys (const struct backward *b, const struct span *span)
{
  for (size_t j = span->from; j < span->to; j++)
    {
      finish_row (b->sum_k + (j - span->from) * b->width, b->scale, key_row (b, b->dk, j), b->hd);
      finish_row (b->sum_v + (j - span->from) * b->width, 1, key_row (b, b->dv, j), b->hd);
    }
}

/* ALL: what to do for keys that may be more than a span.  */
static void
run_spans (struct backward *b, const struct span *all)
{
  size_t group = b->heads.n_heads / b->heads.n_kv_heads, n;

  for (size_t from = all->from; from < all->to; from += SPAN)
    {
      struct span span = *all;

      span.from = from;
      span.to = least (from + SPAN, all->to);
      span.first = all->first > from ? all->first : from;
      begin_span (b, &span);
      n = group * pieces (span.last - span.first, STRIP);
      for (size_t at = 0; at < n; at++)
        {
          struct strip strip = strip_at (b, &span, at);

          look_ahead (b, &span, at, n);
          run_strip (b, &span, &strip);
        }
      if (span.want_k)
        end_keys (b, &span);
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
  struct span queries = { .to = part->q_to, .first = part->q_from, .last = part->q_to, .want_q = true };
  struct span keys = { .from = part->k_from, .to = part->k_to, .last = n, .want_k = true };
  struct span both = { .to = n, .last = n, .want_q = true, .want_k = true };

  lay_out (&b, scratch);
  if (part->q_to - part->q_from == n && part->k_to - part->k_from == n)
    run_spans (&b, &both);
  else
    {
      run_spans (&b, &queries);
      run_spans (&b, &keys);
    }
}

/* attention.c -- one query head, one query, one key at a time.
   SPDX-License-Identifier: Apache-2.0

   Rows of a segment: query i is row segment.q0 + i, key j row segment.k0 + j; query i sees the keys
   up to n_k - n_q + i.  stats[2 (row n_heads + head)] = maximum, then 1 / sum.  */

#include "real.h"

/* HD values of head H in row I.  */
static real *
head_of (struct real_mat m, size_t i, size_t h, size_t hd)
{
  return real_row (m, i) + h * hd;
}

static real
score_scale (size_t hd)
{
  return (real) (1 / sqrt ((double) hd));
}

size_t
REF (attention_scratch) (struct mm_heads heads, const struct mm_attention_part *part)
{
  (void) heads;
  return part->segment.n_k;
}

/* Output of query row I, head H; E has room for N_KEYS values.  */
static void
attend (struct mm_heads heads, struct real_mat q, struct real_mat k, struct real_mat v, size_t i,
        size_t h, size_t k0, size_t n_keys, struct real_mat o, real *stats, real *e)
{
  size_t hd = heads.head_dim, group = heads.n_heads / heads.n_kv_heads;
  real lane[REF_LANES] = { 0 }, m = -INFINITY, u;
  const real *qi = head_of (q, i, h, hd);

  for (size_t j = 0; j < n_keys; j++)
    {
      e[j] = real_chain (qi, 1, head_of (k, k0 + j, h / group, heads.kv_step), 1, hd) * score_scale (hd);
      m = e[j] > m ? e[j] : m;
    }
  for (size_t j = 0; j < n_keys; j++)
    {
      e[j] = real_exp (e[j] - m);
      lane[j % REF_LANES] += e[j];
    }
  u = 1 / real_lane_tree (lane);
  for (size_t d = 0; d < hd; d++)
    head_of (o, i, h, hd)[d]
      = real_fma (real_chain (e, 1, head_of (v, k0, h / group, heads.kv_step) + d, v.ld, n_keys), u, 0);
  if (stats)
    {
      stats[2 * (i * heads.n_heads + h)] = m;
      stats[2 * (i * heads.n_heads + h) + 1] = u;
    }
}

void
REF (attention) (struct mm_heads heads, struct real_mat q, struct real_mat k, struct real_mat v,
                 const struct mm_attention_part *part, struct real_mat o, real *stats, real *scratch)
{
  const struct mm_segment *s = &part->segment;
  size_t group = heads.n_heads / heads.n_kv_heads;

  for (size_t h = part->kv_head * group; h < (part->kv_head + 1) * group; h++)
    for (size_t i = part->q_from; i < part->q_to; i++)
      attend (heads, q, k, v, s->q0 + i, h, s->k0, s->n_k - s->n_q + i + 1, o, stats, scratch);
}

/* ---- gradient ---- */

struct grad
{
  struct mm_heads heads;
  struct real_mat q, k, v, o, d_o;
  const real *stats;
};

/* p and s of numerics.md for query row I and key row J of head H.  */
static void
pair (const struct grad *g, size_t i, size_t j, size_t h, real *p, real *s)
{
  size_t hd = g->heads.head_dim, kv = h / (g->heads.n_heads / g->heads.n_kv_heads);
  const real *stats = g->stats + 2 * (i * g->heads.n_heads + h);
  const real *d_oi = head_of (g->d_o, i, h, hd);
  real t = real_chain (head_of (g->q, i, h, hd), 1, head_of (g->k, j, kv, hd), 1, hd) * score_scale (hd);
  real a = real_chain (d_oi, 1, head_of (g->v, j, kv, hd), 1, hd);
  real d = real_lane_dot (d_oi, head_of (g->o, i, h, hd), hd);

  *p = real_exp (t - stats[0]) * stats[1];
  *s = *p * (a - d);
}

/* dq of query row I0 + I of head H, from the keys of rows K0 to K0 + I.  */
static void
grad_query (const struct grad *g, size_t i0, size_t i, size_t k0, size_t h, struct real_mat dq)
{
  size_t hd = g->heads.head_dim, kv = h / (g->heads.n_heads / g->heads.n_kv_heads);
  real *dqi = head_of (dq, i0 + i, h, hd), p, s;

  for (size_t d = 0; d < hd; d++)
    dqi[d] = 0;
  for (size_t j = 0; j <= i; j++)
    {
      pair (g, i0 + i, k0 + j, h, &p, &s);
      for (size_t d = 0; d < hd; d++)
        dqi[d] = real_fma (s, head_of (g->k, k0 + j, kv, hd)[d], dqi[d]);
    }
  for (size_t d = 0; d < hd; d++)
    dqi[d] = real_fma (dqi[d], score_scale (hd), 0);
}

/* dk and dv of key J of head KV, from queries J to N - 1 of each head of the group.  */
static void
grad_key (const struct grad *g, size_t i0, size_t n, size_t k0, size_t j, size_t kv, struct real_mat dk,
          struct real_mat dv)
{
  size_t hd = g->heads.head_dim, group = g->heads.n_heads / g->heads.n_kv_heads;
  real *dkj = head_of (dk, k0 + j, kv, hd), *dvj = head_of (dv, k0 + j, kv, hd), p, s;

  for (size_t d = 0; d < hd; d++)
    dkj[d] = dvj[d] = 0;
  for (size_t h = kv * group; h < (kv + 1) * group; h++)
    for (size_t i = j; i < n; i++)
      {
        pair (g, i0 + i, k0 + j, h, &p, &s);
        for (size_t d = 0; d < hd; d++)
          {
            dkj[d] = real_fma (s, head_of (g->q, i0 + i, h, hd)[d], dkj[d]);
            dvj[d] = real_fma (p, head_of (g->d_o, i0 + i, h, hd)[d], dvj[d]);
          }
      }
  for (size_t d = 0; d < hd; d++)
    {
      dkj[d] = real_fma (dkj[d], score_scale (hd), 0);
      dvj[d] = dvj[d] + 0;
    }
}

size_t
REF (attention_grad_scratch) (struct mm_heads heads, const struct mm_attention_part *part)
{
  (void) heads, (void) part;
  return 0;
}

void
REF (attention_grad) (struct mm_heads heads, struct real_mat q, struct real_mat k, struct real_mat v,
                      struct real_mat o, const real *stats, struct real_mat d_o,
                      const struct mm_attention_part *part, struct real_mat dq, struct real_mat dk,
                      struct real_mat dv, real *scratch)
{
  struct grad g = { heads, q, k, v, o, d_o, stats };
  const struct mm_segment *s = &part->segment;
  size_t group = heads.n_heads / heads.n_kv_heads;

  (void) scratch;
  for (size_t h = part->kv_head * group; h < (part->kv_head + 1) * group; h++)
    for (size_t i = part->q_from; i < part->q_to; i++)
      grad_query (&g, s->q0, i, s->k0, h, dq);
  for (size_t j = part->k_from; j < part->k_to; j++)
    grad_key (&g, s->q0, s->n_q, s->k0, j, part->kv_head, dk, dv);
}

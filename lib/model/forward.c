/* forward.c -- from token ids to the last hidden state, for passes and for generation.
   SPDX-License-Identifier: Apache-2.0

   Formulas and orders of summation: docs/numerics.md.  The residual stream is never copied: the
   matrices that end attention and feed-forward add it.  */

#include <config.h>

#include <stdlib.h>

#include "impl.h"

static float *
take (struct mm_arena *a, size_t rows, size_t cols)
{
  return mm_arena_take (a, rows, cols * sizeof (float));
}

/* One layer's memory; what is for backward only when TRAINING.  */
static void
layer_layout (struct mm_layer_memory *lm, const struct mm_model_config *c, size_t n, size_t lora_width, bool training,
              struct mm_arena *a)
{
  *lm = (struct mm_layer_memory) { 0 };
  lm->in = take (a, n, c->hidden_size);
  lm->mid = training ? take (a, n, c->hidden_size) : lm->in;
  lm->qkv = take (a, n, mm_width_qkv (c));
  lm->out = take (a, n, mm_width_out (c));
  lm->gate_up = take (a, n, 2 * (size_t) c->ffn_size);
  lm->u = lora_width ? take (a, n, MM_SITES * lora_width) : NULL;
  if (!training)
    return;
  lm->in_rms = take (a, n, 1);
  lm->mid_rms = take (a, n, 1);
  lm->stats = take (a, n, 2 * (size_t) c->n_heads);
  if (c->architecture == MM_QWEN3)
    {
      lm->q_rms = take (a, n, c->n_heads);
      lm->k_rms = take (a, n, c->n_kv_heads);
    }
}

/* Elements that N rows of COLS take, so that what follows is aligned.  */
static size_t
padded (size_t n, size_t cols)
{
  return (n * cols + 15) / 16 * 16;
}

/* Memory whose uses never meet: the feed-forward's inner activation; the heads that are turned; the
   gradients on the way through attention.  */
static void
shared_layout (struct mm_run *run, const struct mm_model_config *c, size_t n, bool training,
               struct mm_arena *a)
{
  size_t qkv = padded (n, mm_width_qkv (c)), out = padded (n, mm_width_out (c));
  size_t qk = c->architecture == MM_QWEN3 ? padded (n, mm_width_qk (c)) : 0;
  size_t ffn = padded (n, c->ffn_size);
  size_t size = training && qkv + out + qk > ffn ? qkv + out + qk : ffn;
  float *base = take (a, size, 1);

  run->ffn = base;
  if (!base || !training)
    return;
  run->d_qkv = base;
  run->d_out = base + qkv;
  if (c->architecture == MM_QWEN3)
    {
      run->heads = run->d_qkv;
      run->d_qk = base + qkv + out;
    }
}

void
mm_run_layout (struct mm_run *run, const struct mm_model_config *c, size_t n, bool training,
               struct mm_arena *a)
{
  struct mm_layer_memory lm;

  for (uint32_t l = 0; l < c->n_layers; l++)
    {
      if (training || l == 0)
        layer_layout (&lm, c, n, run->lora_width, training, a);
      if (run->layers)
        run->layers[l] = lm;
    }
  run->last = training ? take (a, n, c->hidden_size) : lm.in;
  run->last_rms = training ? take (a, n, 1) : NULL;
  run->normed = take (a, n, c->hidden_size);
  run->d_u = run->lora_width && training ? take (a, n, run->lora_width) : NULL;
  run->d = training ? take (a, n, c->hidden_size) : NULL;
  run->cosines = take (a, run->table_rows, c->head_dim / 2);
  run->sines = take (a, run->table_rows, c->head_dim / 2);
  shared_layout (run, c, n, training, a);
}

mm_status
mm_run_rope_tables (struct mm_run *run)
{
  const struct mm_model_config *c = &run->model->config;
  size_t half = c->head_dim / 2, size = run->table_rows * half;
  struct mm_backend *be = run->model->be;
  float *x;
  mm_status st = mm_alloc ("RoPE tables", run->table_rows, 2 * half * sizeof *x, &x);

  if (st < 0)
    return st;
  mm_rope_table (run->table_rows, c->head_dim, c->rope_theta, x, x + size);
  st = mm_backend_put (be, run->cosines, x, size * sizeof *x);
  if (st == MM_OK)
    st = mm_backend_put (be, run->sines, x + size, size * sizeof *x);
  free (x);
  return st;
}

/* ---- views ---- */

/* Row-major memory of the pass with one row a token.  */
static struct mm_mat
rows (const struct mm_run *run, float *data, size_t cols)
{
  return mm_mat (data, run->n, cols);
}

struct mm_mat
mm_run_stream (const struct mm_run *run, float *data)
{
  return rows (run, data, run->model->config.hidden_size);
}

struct mm_mat
mm_run_gate_up (const struct mm_run *run, size_t l)
{
  return rows (run, run->layers[l].gate_up, 2 * (size_t) run->model->config.ffn_size);
}

struct mm_mat
mm_run_ffn (const struct mm_run *run)
{
  return rows (run, run->ffn, run->model->config.ffn_size);
}

struct mm_mat
mm_run_out (const struct mm_run *run, float *data)
{
  return rows (run, data, mm_width_out (&run->model->config));
}

struct mm_qkv
mm_run_split (const struct mm_run *run, float *data)
{
  const struct mm_model_config *c = &run->model->config;
  size_t out = mm_width_out (c), half = mm_width_kv (c) / 2;
  struct mm_mat all = rows (run, data, mm_width_qkv (c));

  return (struct mm_qkv) { mm_mat_cols (all, 0, out), mm_mat_cols (all, out, half),
                           mm_mat_cols (all, out + half, half) };
}

/* ---- steps ---- */

mm_status
mm_run_norm (const struct mm_run *run, float *x, size_t offset, float *rms)
{
  struct mm_model *m = run->model;

  return mm_rmsnorm (m->be, mm_run_stream (run, x), m->values + offset, m->config.rms_eps,
                     mm_run_stream (run, run->normed), rms);
}

mm_status
mm_run_final_norm (const struct mm_run *run, size_t first, size_t count)
{
  struct mm_model *m = run->model;
  size_t h = m->config.hidden_size;

  return mm_rmsnorm (m->be, mm_mat (run->last + first * h, count, h), m->values + m->final_norm,
                     m->config.rms_eps, mm_mat (run->normed, count, h),
                     run->last_rms ? run->last_rms + first : NULL);
}

/* Qwen3: q and k of RAW normed by head into those of H.  */
static mm_status
norm_heads (const struct mm_run *run, size_t l, const struct mm_qkv *raw, const struct mm_qkv *h)
{
  struct mm_model *m = run->model;
  const struct mm_layer *layer = &m->layers[l];
  const struct mm_layer_memory *lm = &run->layers[l];
  const struct mm_model_config *c = &m->config;
  mm_status st = mm_head_norm (m->be, raw->q, c->head_dim, m->values + layer->q_norm, c->rms_eps,
                               h->q, lm->q_rms);

  return st < 0 ? st
                : mm_head_norm (m->be, raw->k, c->head_dim, m->values + layer->k_norm, c->rms_eps,
                                h->k, lm->k_rms);
}

mm_status
mm_run_turn (const struct mm_run *run, struct mm_mat qk, bool grad)
{
  return mm_rope (run->model->be, qk, run->model->config.head_dim, run->positions, run->cosines,
                  run->sines, run->table_rows, grad);
}

mm_status
mm_run_qkv (const struct mm_run *run, size_t l, bool again, struct mm_qkv *h)
{
  float *qkv = run->layers[l].qkv, *turned = run->heads ? run->heads : qkv;
  struct mm_qkv raw = mm_run_split (run, qkv);
  mm_status st = MM_OK;

  *h = mm_run_split (run, turned);
  h->v = raw.v;
  if (again && turned == qkv)
    return MM_OK;
  if (run->model->config.architecture == MM_QWEN3)
    st = norm_heads (run, l, &raw, h);
  if (st == MM_OK)
    {
      struct mm_mat qk = h->q;

      qk.cols += h->k.cols;     /* k stands beside q */
      st = mm_run_turn (run, qk, false);
    }
  return st;
}

/* Put k and v behind those of the tokens before, and let H see all of them.  A gather of rows 0, 1,
   2 ... is the copy: of a head's tokens, or of a single token's heads.  v stands beside k.  */
static mm_status
append_to_cache (const struct mm_run *run, size_t l, struct mm_qkv *h)
{
  struct mm_backend *be = run->model->be;
  size_t hd = run->model->config.head_dim, planes = mm_cache_planes (&run->model->config);
  size_t plane = run->capacity * hd, ld = h->k.ld;
  float *cache = run->cache + l * planes * plane, *end = cache + run->past * hd, *now = h->k.data;
  mm_status st = MM_OK;

  h->k = mm_mat (cache, run->past + run->n, hd);
  h->v = mm_mat (cache + planes / 2 * plane, run->past + run->n, hd);
  if (run->n == 1)
    return mm_embed (be, mm_mat (now, planes, hd), run->row_numbers,
                     (struct mm_mat) { end, planes, hd, plane });
  for (size_t i = 0; i < planes && st == MM_OK; i++)
    st = mm_embed (be, (struct mm_mat) { now + i * hd, run->n, hd, ld }, run->row_numbers,
                   rows (run, end + i * plane, hd));
  return st;
}

/* y = W X (+ RESIDUAL), and what an adapter adds: the linear layer at SITE of layer L.  */
static mm_status
linear (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat x, const struct mm_weight *w,
        struct mm_mat residual, struct mm_mat y)
{
  return run->model->lora ? mm_lora_linear (run, l, site, x, w, residual, y)
                          : mm_linear (run->model->be, x, w, residual, y);
}

static mm_status
attention_block (const struct mm_run *run, size_t l)
{
  struct mm_model *m = run->model;
  const struct mm_layer *layer = &m->layers[l];
  const struct mm_layer_memory *lm = &run->layers[l];
  struct mm_mat out = mm_run_out (run, lm->out);
  struct mm_qkv h;
  mm_status st = mm_run_norm (run, lm->in, layer->in_norm, lm->in_rms);

  if (st == MM_OK)
    st = linear (run, l, MM_SITE_QKV, mm_run_stream (run, run->normed), layer->w_qkv, mm_no_mat (),
                 rows (run, lm->qkv, mm_width_qkv (&m->config)));
  if (st == MM_OK)
    st = mm_run_qkv (run, l, false, &h);
  if (st == MM_OK && run->cache)
    st = append_to_cache (run, l, &h);
  if (st == MM_OK)
    st = mm_attention (m->be, mm_run_heads (run), h.q, h.k, h.v, run->segments, run->n_segments,
                       out, lm->stats);
  return st < 0 ? st : linear (run, l, MM_SITE_OUT, out, layer->w_out, mm_run_stream (run, lm->in),
                               mm_run_stream (run, lm->mid));
}

static mm_status
ffn_block (const struct mm_run *run, size_t l)
{
  struct mm_model *m = run->model;
  const struct mm_layer *layer = &m->layers[l];
  const struct mm_layer_memory *lm = &run->layers[l];
  float *next = l + 1 < m->config.n_layers ? run->layers[l + 1].in : run->last;
  struct mm_mat gate_up = mm_run_gate_up (run, l), ffn = mm_run_ffn (run);
  mm_status st = mm_run_norm (run, lm->mid, layer->mid_norm, lm->mid_rms);

  if (st == MM_OK)
    st = linear (run, l, MM_SITE_GATE_UP, mm_run_stream (run, run->normed), layer->w_gate_up, mm_no_mat (),
                 gate_up);
  if (st == MM_OK)
    st = mm_swiglu (m->be, gate_up, ffn);
  return st < 0 ? st : linear (run, l, MM_SITE_DOWN, ffn, layer->w_down, mm_run_stream (run, lm->mid),
                               mm_run_stream (run, next));
}

mm_status
mm_run_layers (const struct mm_run *run)
{
  struct mm_model *m = run->model;
  const struct mm_model_config *c = &m->config;
  mm_status st = mm_embed (m->be, mm_mat (m->values, c->vocab_size, c->hidden_size), run->ids,
                           mm_run_stream (run, run->layers[0].in));

  for (uint32_t l = 0; l < c->n_layers && st == MM_OK; l++)
    {
      st = attention_block (run, l);
      if (st == MM_OK)
        st = ffn_block (run, l);
    }
  return st;
}

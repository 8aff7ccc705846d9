/* backward.c -- gradients of all layers, from the last hidden state down to the embedding.
   SPDX-License-Identifier: Apache-2.0

   What is cheap is made again rather than kept: the norms' outputs, SwiGLU's output, and (Qwen3)
   the normed and turned heads; being made by the same operations, they have the same bits.  run->d
   carries the gradient of the residual stream downwards and is updated in place.

   With an adapter only its matrices have gradients; what leads to nothing else is left out.  */

#include <config.h>

#include "impl.h"

/* ---- linear layers ---- */

/* What an adapter needs of DY before the two below.  */
static mm_status
grad_inner (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy)
{
  return run->model->lora ? mm_lora_grad_inner (run, l, site, dy) : MM_OK;
}

/* dx = dy W, and what comes through an adapter.  */
static mm_status
grad_input (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy, const struct mm_weight *w,
            struct mm_mat dx)
{
  return run->model->lora ? mm_lora_grad_input (run, l, site, dy, w, dx)
                          : mm_linear_grad_input (run->model->be, dy, w, mm_no_mat (), dx);
}

/* GRAD of the matrix at OFFSET += dy^T x, in fixed point; or that of the site's adapter.  */
static mm_status
grad_weight (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy, struct mm_mat x,
             size_t offset, int64_t *grad, int *overflow)
{
  if (run->model->lora)
    return mm_lora_grad_weight (run, l, site, dy, x, grad, overflow);
  return mm_linear_grad_weight (run->model->be, dy, x, grad + offset, overflow);
}

/* GRAD of the N values at OFFSET += dw, unless they are frozen.  */
static mm_status
grad_vector (const struct mm_run *run, const float *dw, size_t n, size_t offset, int64_t *grad, int *overflow)
{
  return run->model->lora ? MM_OK : mm_accumulate (run->model->be, dw, n, grad + offset, overflow);
}

/* ---- blocks ---- */

/* Back through the norm of X: run->d += gradient, from that of the output in run->normed.  Without
   RESIDUAL run->d itself is that of the output, and is replaced.  */
static mm_status
norm_grad (const struct mm_run *run, float *x, const float *rms, size_t offset, bool residual,
           int64_t *grad, float *dw, int *overflow)
{
  struct mm_model *m = run->model;
  struct mm_mat d = mm_run_stream (run, run->d);
  mm_status st = mm_rmsnorm_grad (m->be, residual ? mm_run_stream (run, run->normed) : d,
                                  mm_run_stream (run, x), m->values + offset, rms,
                                  residual ? d : mm_no_mat (), d, dw);

  return st < 0 ? st : grad_vector (run, dw, m->config.hidden_size, offset, grad, overflow);
}

static mm_status
ffn_grad (const struct mm_run *run, size_t l, int64_t *grad, float *dw, int *overflow)
{
  struct mm_model *m = run->model;
  const struct mm_layer *layer = &m->layers[l];
  const struct mm_layer_memory *lm = &run->layers[l];
  struct mm_mat d = mm_run_stream (run, run->d), normed = mm_run_stream (run, run->normed);
  struct mm_mat gate_up = mm_run_gate_up (run, l), ffn = mm_run_ffn (run);
  mm_status st = grad_inner (run, l, MM_SITE_DOWN, d);

  if (st == MM_OK)
    st = grad_input (run, l, MM_SITE_DOWN, d, layer->w_down, ffn);
  if (st == MM_OK)
    st = mm_swiglu_grad (m->be, ffn, gate_up, gate_up, ffn);
  if (st == MM_OK)
    st = grad_weight (run, l, MM_SITE_DOWN, d, ffn, layer->down, grad, overflow);
  if (st == MM_OK)
    st = mm_run_norm (run, lm->mid, layer->mid_norm, NULL);
  if (st == MM_OK)
    st = grad_inner (run, l, MM_SITE_GATE_UP, gate_up);
  if (st == MM_OK)
    st = grad_weight (run, l, MM_SITE_GATE_UP, gate_up, normed, layer->gate_up, grad, overflow);
  if (st == MM_OK)
    st = grad_input (run, l, MM_SITE_GATE_UP, gate_up, layer->w_gate_up, normed);
  return st < 0 ? st
                : norm_grad (run, lm->mid, lm->mid_rms, layer->mid_norm, true, grad, dw, overflow);
}

/* Qwen3: from the gradient of one of q and k, normed, to that of the raw one.  */
static mm_status
head_norm_grad (const struct mm_run *run, struct mm_mat dy, struct mm_mat x, const float *rms,
                size_t offset, struct mm_mat dx, int64_t *grad, float *dw, int *overflow)
{
  struct mm_model *m = run->model;
  size_t hd = m->config.head_dim;
  mm_status st = mm_head_norm_grad (m->be, dy, x, hd, m->values + offset, rms, dx, dw);

  return st < 0 ? st : grad_vector (run, dw, hd, offset, grad, overflow);
}

/* Gradient of the raw q, k and v into run->d_qkv, from that of attention's output in run->d_out.
   For Qwen3 those of q and k stop over in run->d_qk: d_qkv still holds the heads that attention
   saw.  */
static mm_status
heads_grad (const struct mm_run *run, size_t l, int64_t *grad, float *dw, int *overflow)
{
  struct mm_model *m = run->model;
  const struct mm_layer *layer = &m->layers[l];
  const struct mm_layer_memory *lm = &run->layers[l];
  size_t qk = mm_width_qk (&m->config), qkv = mm_width_qkv (&m->config);
  struct mm_mat d_qk = run->d_qk ? mm_mat (run->d_qk, run->n, qk)
                                 : mm_mat_cols (mm_mat (run->d_qkv, run->n, qkv), 0, qk);
  struct mm_qkv h, raw = mm_run_split (run, lm->qkv), d = mm_run_split (run, run->d_qkv);
  struct mm_qkv dh
    = { mm_mat_cols (d_qk, 0, d.q.cols), mm_mat_cols (d_qk, d.q.cols, d.k.cols), d.v };
  mm_status st = mm_run_qkv (run, l, true, &h);

  if (st == MM_OK)
    st = mm_attention_grad (m->be, mm_run_heads (run), h.q, h.k, h.v, mm_run_out (run, lm->out),
                            lm->stats, mm_run_out (run, run->d_out), run->segments, run->n_segments,
                            dh.q, dh.k, dh.v);
  if (st == MM_OK)
    st = mm_run_turn (run, d_qk, true);
  if (st < 0 || !run->d_qk)
    return st;
  st = head_norm_grad (run, dh.q, raw.q, lm->q_rms, layer->q_norm, d.q, grad, dw, overflow);
  return st < 0
           ? st
           : head_norm_grad (run, dh.k, raw.k, lm->k_rms, layer->k_norm, d.k, grad, dw, overflow);
}

static mm_status
attention_grad (const struct mm_run *run, size_t l, int64_t *grad, float *dw, int *overflow)
{
  struct mm_model *m = run->model;
  const struct mm_layer *layer = &m->layers[l];
  const struct mm_layer_memory *lm = &run->layers[l];
  struct mm_mat d = mm_run_stream (run, run->d), normed = mm_run_stream (run, run->normed);
  struct mm_mat d_qkv = mm_mat (run->d_qkv, run->n, mm_width_qkv (&m->config));
  mm_status st = grad_inner (run, l, MM_SITE_OUT, d);

  if (st == MM_OK)
    st = grad_input (run, l, MM_SITE_OUT, d, layer->w_out, mm_run_out (run, run->d_out));
  if (st == MM_OK)
    st = grad_weight (run, l, MM_SITE_OUT, d, mm_run_out (run, lm->out), layer->out, grad, overflow);
  if (st == MM_OK)
    st = heads_grad (run, l, grad, dw, overflow);
  if (st == MM_OK)
    st = mm_run_norm (run, lm->in, layer->in_norm, NULL);
  if (st == MM_OK)
    st = grad_inner (run, l, MM_SITE_QKV, d_qkv);
  if (st == MM_OK)
    st = grad_weight (run, l, MM_SITE_QKV, d_qkv, normed, layer->qkv, grad, overflow);
  if (st < 0 || (m->lora && l == 0))
    return st;                  /* the embedding is frozen: nobody asks for the gradient of its rows */
  st = grad_input (run, l, MM_SITE_QKV, d_qkv, layer->w_qkv, normed);
  return st < 0 ? st
                : norm_grad (run, lm->in, lm->in_rms, layer->in_norm, true, grad, dw, overflow);
}

/* The gradients of all from layer L's norm at OFFSET on are final; of an adapter, those from layer L on.  Parameters
   lie in the order of the layers, and a layer's in the order of the forward pass.  */
static mm_status
tell_final (const struct mm_run *run, size_t l, size_t offset)
{
  const struct mm_lora *lora = run->model->lora;

  if (!run->final || (lora && offset != run->model->layers[l].in_norm))
    return MM_OK;
  return run->final (run->final_arg, lora ? lora->sites[l * MM_SITES].a : offset);
}

mm_status
mm_run_backward (const struct mm_run *run, int64_t *grad, float *dw, int *overflow)
{
  struct mm_model *m = run->model;
  mm_status st
    = norm_grad (run, run->last, run->last_rms, m->final_norm, false, grad, dw, overflow);

  for (size_t l = m->config.n_layers; l-- > 0 && st == MM_OK;)
    {
      st = ffn_grad (run, l, grad, dw, overflow);
      if (st == MM_OK)
        st = tell_final (run, l, m->layers[l].mid_norm);
      if (st == MM_OK)
        st = attention_grad (run, l, grad, dw, overflow);
      if (st == MM_OK)
        st = tell_final (run, l, m->layers[l].in_norm);
    }
  return st;
}

/* backward.c -- gradients of all layers, from the last hidden state down to the embedding.
   SPDX-License-Identifier: Apache-2.0

   What is cheap is made again rather than kept: the norms' outputs, SwiGLU's output, and (Qwen3)
   the normed and turned heads; being made by the same operations, they have the same bits.  run->d
   carries the gradient of the residual stream downwards and is updated in place.  */

#include <config.h>

#include "impl.h"

/* GRAD of the matrix at OFFSET += dy^T x, in fixed point.  */
static mm_status
add_matrix (const struct mm_run *run, struct mm_mat dy, struct mm_mat x, size_t offset,
            int64_t *grad, int *overflow)
{
  return mm_linear_grad_weight (run->model->be, dy, x, grad + offset, overflow);
}

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

  return st < 0 ? st : mm_accumulate (m->be, dw, m->config.hidden_size, grad + offset, overflow);
}

static mm_status
ffn_grad (const struct mm_run *run, size_t l, int64_t *grad, float *dw, int *overflow)
{
  struct mm_model *m = run->model;
  const struct mm_layer *layer = &m->layers[l];
  const struct mm_layer_memory *lm = &run->layers[l];
  struct mm_mat d = mm_run_stream (run, run->d), normed = mm_run_stream (run, run->normed);
  struct mm_mat gate_up = mm_run_gate_up (run, l), ffn = mm_run_ffn (run);
  mm_status st = mm_linear_grad_input (m->be, d, layer->w_down, mm_no_mat (), ffn);

  if (st == MM_OK)
    st = mm_swiglu_grad (m->be, ffn, gate_up, gate_up, ffn);
  if (st == MM_OK)
    st = add_matrix (run, d, ffn, layer->down, grad, overflow);
  if (st == MM_OK)
    st = mm_run_norm (run, lm->mid, layer->mid_norm, NULL);
  if (st == MM_OK)
    st = add_matrix (run, gate_up, normed, layer->gate_up, grad, overflow);
  if (st == MM_OK)
    st = mm_linear_grad_input (m->be, gate_up, layer->w_gate_up, mm_no_mat (), normed);
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

  return st < 0 ? st : mm_accumulate (m->be, dw, hd, grad + offset, overflow);
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
  mm_status st = mm_linear_grad_input (m->be, d, layer->w_out, mm_no_mat (), mm_run_out (run, run->d_out));

  if (st == MM_OK)
    st = add_matrix (run, d, mm_run_out (run, lm->out), layer->out, grad, overflow);
  if (st == MM_OK)
    st = heads_grad (run, l, grad, dw, overflow);
  if (st == MM_OK)
    st = mm_run_norm (run, lm->in, layer->in_norm, NULL);
  if (st == MM_OK)
    st = add_matrix (run, d_qkv, normed, layer->qkv, grad, overflow);
  if (st == MM_OK)
    st = mm_linear_grad_input (m->be, d_qkv, layer->w_qkv, mm_no_mat (), normed);
  return st < 0 ? st
                : norm_grad (run, lm->in, lm->in_rms, layer->in_norm, true, grad, dw, overflow);
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
        st = attention_grad (run, l, grad, dw, overflow);
    }
  return st;
}

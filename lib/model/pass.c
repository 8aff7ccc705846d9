/* pass.c -- training and evaluation passes over micro-batches, in one arena.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/log.h>

#include "impl.h"

struct mm_pass
{
  struct mm_run run;            /* n, ids ... segments are those of the batch at hand */
  size_t rows, seq_len;         /* capacity */
  bool training;
  float *d_head;                /* [V, H]: gradient of the head, and of the embedding if tied */
  float *d_norm;                /* gradient of a norm's weight */
  void *memory;
};

/* All of a pass's device memory.  */
static void
pass_layout (struct mm_pass *p, const struct mm_model_config *c, struct mm_arena *a)
{
  size_t n = p->rows * p->seq_len;

  p->run.table_rows = p->seq_len;
  mm_run_layout (&p->run, c, n, p->training, a);
  if (p->training)
    {
      size_t widest = c->hidden_size > c->head_dim ? c->hidden_size : c->head_dim;

      if (!p->run.lora_width)
        p->d_head = mm_arena_take (a, c->vocab_size, c->hidden_size * sizeof *p->d_head);
      p->d_norm = mm_arena_take (a, widest, sizeof *p->d_norm);
    }
}

size_t
mm_pass_bytes (const struct mm_model_config *c, size_t rows, size_t seq_len, bool training,
               size_t lora_width)
{
  struct mm_pass p = { .run.lora_width = lora_width, .rows = rows, .seq_len = seq_len, .training = training };
  struct mm_arena a = { NULL, 0, 0 };

  pass_layout (&p, c, &a);
  return a.used;
}

bool
mm_pass_is_small (size_t rows, size_t seq_len)
{
  /* From here on packing a weight for each product of backward costs a hundredth of a step.  */
  enum { MANY_TOKENS = 1024 };

  return rows * seq_len < MANY_TOKENS;
}

/* Measure, take memory on the device, cut it.  */
static mm_status
pass_allocate (struct mm_pass *p, struct mm_model *m)
{
  struct mm_arena a
    = { NULL, 0, mm_pass_bytes (&m->config, p->rows, p->seq_len, p->training, p->run.lora_width) };
  mm_status st = mm_backend_alloc (m->be, "activations", a.size, &p->memory);

  if (st < 0)
    return st;
  a.base = p->memory;
  pass_layout (p, &m->config, &a);
  return mm_run_rope_tables (&p->run);
}

mm_status
mm_pass_create (struct mm_model *m, size_t rows, size_t seq_len, bool training,
                struct mm_pass **out)
{
  struct mm_pass *p;
  size_t n;
  mm_status st;

  *out = NULL;
  if (rows == 0 || seq_len == 0 || __builtin_mul_overflow (rows, seq_len, &n) || n > INT32_MAX)
    return mm_fail (MM_EINVAL, "pass: want 1 to %d tokens, found %zu rows of %zu", INT32_MAX, rows,
                    seq_len);
  st = mm_alloc ("pass", 1, sizeof *p, &p);
  if (st < 0)
    return st;
  p->run.model = m;
  p->run.lora_width = m->lora ? m->lora->widest : 0;
  p->rows = rows;
  p->seq_len = seq_len;
  p->training = training;
  st = mm_alloc ("layer memory", m->config.n_layers, sizeof *p->run.layers, &p->run.layers);
  if (st == MM_OK && training && mm_pass_is_small (rows, seq_len))
    st = mm_model_keep_columns (m);
  if (st == MM_OK)
    st = pass_allocate (p, m);
  if (st < 0)
    mm_pass_free (p);
  else
    *out = p;
  return st;
}

void
mm_pass_free (struct mm_pass *p)
{
  if (!p)
    return;
  mm_backend_release (p->run.model->be, p->memory);
  free (p->run.layers);
  free (p);
}

/* Take B as what the pass works on; *ANY false if it is empty.  */
static mm_status
take_batch (struct mm_pass *p, const struct mm_batch *b, bool *any)
{
  struct mm_run *run = &p->run;

  *any = b->rows > 0;
  if (b->seq_len > p->seq_len || b->rows > p->rows)
    return mm_fail (MM_ESHAPE, "micro-batch: want at most %zu sequences of %zu, found %zu of %zu",
                    p->rows, p->seq_len, b->rows, b->seq_len);
  run->n = b->rows * b->seq_len;
  run->ids = b->ids;
  run->positions = b->positions;
  run->segments = b->segments;
  run->n_segments = b->n_segments;
  return MM_OK;
}

/* Everything up to the final norm's output, in run->normed.  */
static mm_status
forward (struct mm_pass *p)
{
  mm_status st = mm_run_layers (&p->run);

  return st < 0 ? st : mm_run_final_norm (&p->run, 0, p->run.n);
}

mm_status
mm_model_evaluate (struct mm_pass *p, const struct mm_batch *b, struct mm_loss *loss, float *losses)
{
  struct mm_run *run = &p->run;
  struct mm_model *m = run->model;
  bool any;
  mm_status st = take_batch (p, b, &any);

  if (st < 0 || !any)
    return st;
  st = forward (p);
  if (st == MM_OK)
    st = mm_head_loss (m->be, mm_run_stream (run, run->normed), m->w_head, b->targets, losses,
                       &loss->sum, &loss->overflow, mm_no_mat (), mm_no_mat ());
  if (st == MM_OK)
    st = mm_backend_sync (m->be);
  if (st == MM_OK)
    loss->n_targets += b->n_targets;
  return st;
}

/* From the final norm's output to fixed-point gradients of everything.  The gradient of a tied
   embedding goes on where the head's ended, so that both are rounded together.  */
static mm_status
backward (struct mm_pass *p, const struct mm_batch *b, int64_t *grad, struct mm_loss *loss)
{
  struct mm_run *run = &p->run;
  struct mm_model *m = run->model;
  const struct mm_model_config *c = &m->config;
  struct mm_mat d = mm_run_stream (run, run->d);
  struct mm_mat table = mm_mat (p->d_head, c->vocab_size, c->hidden_size);
  size_t size = table.rows * table.cols;
  mm_status st = mm_head_loss (m->be, mm_run_stream (run, run->normed), m->w_head, b->targets, NULL,
                               &loss->sum, &loss->overflow, d, table);

  if (st == MM_OK && !c->tied)
    {
      st = mm_accumulate (m->be, p->d_head, size, grad + m->head, &loss->overflow);
      if (st == MM_OK)
        st = mm_backend_zero (m->be, p->d_head, size * sizeof *p->d_head);
    }
  if (st == MM_OK)
    st = mm_run_backward (run, grad, p->d_norm, &loss->overflow);
  if (st == MM_OK)
    st = mm_embed_grad (m->be, d, run->ids, table);
  return st < 0 ? st : mm_accumulate (m->be, p->d_head, size, grad, &loss->overflow);
}

/* The same with an adapter: its gradients alone.  */
static mm_status
backward_to_adapter (struct mm_pass *p, const struct mm_batch *b, int64_t *grad, struct mm_loss *loss)
{
  struct mm_run *run = &p->run;
  struct mm_model *m = run->model;
  mm_status st = mm_head_loss (m->be, mm_run_stream (run, run->normed), m->w_head, b->targets, NULL,
                               &loss->sum, &loss->overflow, mm_run_stream (run, run->d), mm_no_mat ());

  return st < 0 ? st : mm_run_backward (run, grad, p->d_norm, &loss->overflow);
}

mm_status
mm_model_gradient (struct mm_pass *p, const struct mm_batch *b, int64_t *grad, struct mm_loss *loss,
                   double *seconds)
{
  struct mm_backend *be = p->run.model->be;
  double start = mm_now (), middle = start;
  bool any;
  mm_status st = take_batch (p, b, &any);

  if (st == MM_OK && !p->training)
    st = mm_fail (MM_EINVAL, "pass: not made for training");
  if (st < 0 || !any)
    return st;
  st = forward (p);
  if (st == MM_OK && seconds)
    {
      st = mm_backend_sync (be);
      middle = mm_now ();
    }
  if (st == MM_OK)
    st = (p->run.model->lora ? backward_to_adapter : backward) (p, b, grad, loss);
  if (st == MM_OK)
    st = mm_backend_sync (be);
  if (st < 0)
    return st;
  loss->n_targets += b->n_targets;
  if (seconds)
    {
      seconds[0] += middle - start;
      seconds[1] += mm_now () - middle;
    }
  return MM_OK;
}

void
mm_pass_on_final (struct mm_pass *p, mm_pass_final_fn *fn, void *arg)
{
  p->run.final = fn;
  p->run.final_arg = arg;
}

/* Logits of COUNT rows of run->normed from FIRST on, to the host through CHUNK (device).  */
static mm_status
chunk_logits (struct mm_pass *p, size_t first, size_t count, float *chunk, float *logits)
{
  struct mm_model *m = p->run.model;
  size_t h = m->config.hidden_size, v = m->config.vocab_size;
  mm_status st = mm_linear (m->be, mm_mat (p->run.normed + first * h, count, h), m->w_head,
                            mm_no_mat (), mm_mat (chunk, count, v));

  if (st == MM_OK)
    st = mm_backend_sync (m->be);
  return st < 0 ? st : mm_backend_get (m->be, logits + first * v, chunk, count * v * sizeof *chunk);
}

mm_status
mm_model_logits (struct mm_pass *p, const struct mm_batch *b, float *logits)
{
  enum { CHUNK = 64 };
  struct mm_model *m = p->run.model;
  size_t n = b->rows * b->seq_len;
  void *chunk;
  bool any;
  mm_status st = take_batch (p, b, &any);

  if (st < 0 || !any)
    return st;
  st = mm_backend_alloc (m->be, "logits", CHUNK * (size_t) m->config.vocab_size * sizeof *logits,
                         &chunk);
  if (st < 0)
    return st;
  st = forward (p);
  for (size_t i = 0; i < n && st == MM_OK; i += CHUNK)
    st = chunk_logits (p, i, n - i < CHUNK ? n - i : CHUNK, chunk, logits);
  mm_backend_release (m->be, chunk);
  return st;
}

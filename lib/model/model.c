/* model.c -- a model's life: creation, random start, matrices prepared for multiplication.
   SPDX-License-Identifier: Apache-2.0

   Reading and writing files is in weights.c, the passes are in pass.c.  */

#include <config.h>

#include <stdlib.h>

#include <minimind/random.h>
#include <minimind/thread.h>

#include "impl.h"

/* One prepared matrix, and where its values stand.  */
struct matrix
{
  struct mm_weight **weight;
  size_t offset, n, k;
};

enum { MATRICES_A_LAYER = 4 };

/* Matrix I of the model, the head last.  False behind the last.  */
static bool
matrix_at (struct mm_model *m, size_t i, struct matrix *x)
{
  const struct mm_model_config *c = &m->config;
  size_t h = c->hidden_size, l = i / MATRICES_A_LAYER;

  if (l >= c->n_layers)
    {
      *x = (struct matrix) { &m->w_head, m->head, c->vocab_size, h };
      return i == (size_t) c->n_layers * MATRICES_A_LAYER;
    }

  struct mm_layer *layer = &m->layers[l];

  switch (i % MATRICES_A_LAYER)
    {
    case 0:
      *x = (struct matrix) { &layer->w_qkv, layer->qkv, mm_width_qkv (c), h };
      break;
    case 1:
      *x = (struct matrix) { &layer->w_out, layer->out, h, mm_width_out (c) };
      break;
    case 2:
      *x = (struct matrix) { &layer->w_gate_up, layer->gate_up, 2 * (size_t) c->ffn_size, h };
      break;
    default:
      *x = (struct matrix) { &layer->w_down, layer->down, h, c->ffn_size };
    }
  return true;
}

mm_status
mm_model_tables (struct mm_backend *be, const struct mm_model_config *c, struct mm_model **out)
{
  struct mm_model *m;
  mm_status st;

  *out = NULL;
  st = mm_config_check ("model", MM_EINVAL, c);
  if (st < 0)
    return st;
  st = mm_alloc ("model", 1, sizeof *m, &m);
  if (st < 0)
    return st;
  m->be = be;
  m->config = *c;
  st = mm_alloc ("parameter table", mm_params_count (c), sizeof *m->params, &m->params);
  if (st == MM_OK)
    st = mm_alloc ("layer table", c->n_layers, sizeof *m->layers, &m->layers);
  if (st < 0)
    {
      mm_model_free (m);
      return st;
    }
  mm_params_layout (m);
  *out = m;
  return MM_OK;
}

mm_status
mm_model_allocate (struct mm_model *m)
{
  struct matrix x;
  void *values;
  mm_status st = mm_backend_alloc (m->be, "model parameters", m->size * sizeof (float), &values);

  if (st < 0)
    return st;
  m->values = values;
  for (size_t i = 0; st == MM_OK && matrix_at (m, i, &x); i++)
    st = mm_weight_create (m->be, x.n, x.k, x.weight);
  return st;
}

mm_status
mm_model_create (struct mm_backend *be, const struct mm_model_config *c, struct mm_model **m)
{
  mm_status st = mm_model_tables (be, c, m);

  if (st < 0)
    return st;
  st = mm_model_allocate (*m);
  if (st < 0)
    {
      mm_model_free (*m);
      *m = NULL;
    }
  return st;
}

void
mm_model_free (struct mm_model *m)
{
  struct matrix x;

  if (!m)
    return;
  for (size_t i = 0; m->layers && matrix_at (m, i, &x); i++)
    mm_weight_free (m->be, *x.weight);
  mm_lora_free (m);
  mm_backend_release (m->be, m->values);
  free (m->layers);
  free (m->params);
  free (m);
}

struct mm_backend *
mm_model_backend (const struct mm_model *m)
{
  return m->be;
}

const struct mm_model_config *
mm_model_config (const struct mm_model *m)
{
  return &m->config;
}

size_t
mm_model_n_params (const struct mm_model *m)
{
  return m->n_params;
}

const struct mm_param *
mm_model_param (const struct mm_model *m, size_t i)
{
  return &m->params[i];
}

size_t
mm_model_size (const struct mm_model *m)
{
  return m->size;
}

float *
mm_model_values (struct mm_model *m)
{
  return m->values;
}

struct mm_params
mm_model_trained (const struct mm_model *m)
{
  if (m->lora)
    return (struct mm_params) { m->lora->params, m->lora->n_params, m->lora->size, m->lora->values };
  return (struct mm_params) { m->params, m->n_params, m->size, m->values };
}

mm_status
mm_model_refresh_trained (struct mm_model *m)
{
  return m->lora ? mm_lora_refresh (m) : mm_model_refresh (m);
}

mm_status
mm_model_keep_columns (struct mm_model *m)
{
  struct matrix x;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && matrix_at (m, i, &x); i++)
    st = mm_weight_keep_columns (m->be, *x.weight);
  return st < 0 || !m->lora ? st : mm_lora_keep_columns (m);
}

mm_status
mm_model_refresh (struct mm_model *m)
{
  struct matrix x;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && matrix_at (m, i, &x); i++)
    st = mm_weight_set (m->be, *x.weight, mm_mat (m->values + x.offset, x.n, x.k));
  return st == MM_OK && m->lora ? mm_lora_refresh (m) : st;
}

/* Elements [FIRST, FIRST + N) of tensor I at the start, by all threads.  */
struct start
{
  uint64_t seed;
  const struct mm_param *param;
  size_t i, first, n;
  float *x;
};

static void
make_start (void *arg, int thread, int n_threads)
{
  enum { GRAIN = 1 << 12 };
  const struct start *s = arg;
  size_t from, to;

  mm_share (s->n, GRAIN, thread, n_threads, &from, &to);
  if (s->param->n_dims == 2)
    mm_normal (s->seed, MM_RANDOM_INIT, (uint32_t) s->i, s->first + from, to - from, 0.02, s->x + from);
  else
    for (size_t j = from; j < to; j++)
      s->x[j] = 1;
}

mm_status
mm_model_init (struct mm_model *m, uint64_t seed)
{
  enum { PIECE = 1 << 19 };
  struct start s = { .seed = seed };
  struct mm_team *team = NULL;
  mm_status st = mm_alloc ("initial weights", PIECE, sizeof *s.x, &s.x);

  if (st == MM_OK)
    st = mm_team_open (mm_backend_threads (m->be), &team);
  for (s.i = 0; s.i < m->n_params && st == MM_OK; s.i++)
    {
      s.param = &m->params[s.i];
      for (s.first = 0; st == MM_OK && s.first < s.param->size; s.first += PIECE)
        {
          s.n = s.param->size - s.first < PIECE ? s.param->size - s.first : PIECE;
          mm_team_run (team, make_start, &s);
          st = mm_backend_put (m->be, m->values + s.param->offset + s.first, s.x, s.n * sizeof *s.x);
        }
    }
  mm_team_close (team);
  free (s.x);
  return st < 0 ? st : mm_model_refresh (m);
}

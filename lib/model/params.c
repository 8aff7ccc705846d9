/* params.c -- the table of parameters: names, shapes, places in the flat buffer.
   SPDX-License-Identifier: Apache-2.0

   Source of the names: transformers' modeling_llama.py and modeling_qwen3.py.  */

#include <config.h>

#include <stdio.h>

#include "impl.h"

/* Tensors of a layer.  */
static size_t
layer_count (const struct mm_model_config *c)
{
  return c->architecture == MM_QWEN3 ? 11 : 9;
}

size_t
mm_params_count (const struct mm_model_config *c)
{
  return 2 + c->n_layers * layer_count (c) + !c->tied;
}

/* Append a tensor of ROWS x COLS (ROWS 0: of one dimension) to the table and return its offset.
   LAYER < 0: NAME stands outside the layers.  */
static size_t
add_param (struct mm_model *m, int layer, const char *name, size_t rows, size_t cols)
{
  struct mm_param *p = &m->params[m->n_params++];

  if (layer < 0)
    snprintf (p->name, sizeof p->name, "%s.weight", name);
  else
    snprintf (p->name, sizeof p->name, "model.layers.%d.%s.weight", layer, name);
  p->n_dims = rows ? 2 : 1;
  p->rows = rows ? rows : 1;
  p->cols = cols;
  p->offset = m->size;
  p->size = p->rows * cols;
  m->size += p->size;
  return p->offset;
}

/* q, k and v stand one behind the other, and so do gate and up: each group is one matrix.  */
static void
add_layer (struct mm_model *m, int i)
{
  const struct mm_model_config *c = &m->config;
  struct mm_layer *l = &m->layers[i];
  size_t h = c->hidden_size, kv = (size_t) c->n_kv_heads * c->head_dim;

  l->in_norm = add_param (m, i, "input_layernorm", 0, h);
  l->qkv = add_param (m, i, "self_attn.q_proj", mm_width_out (c), h);
  add_param (m, i, "self_attn.k_proj", kv, h);
  add_param (m, i, "self_attn.v_proj", kv, h);
  if (c->architecture == MM_QWEN3)
    {
      l->q_norm = add_param (m, i, "self_attn.q_norm", 0, c->head_dim);
      l->k_norm = add_param (m, i, "self_attn.k_norm", 0, c->head_dim);
    }
  l->out = add_param (m, i, "self_attn.o_proj", h, mm_width_out (c));
  l->mid_norm = add_param (m, i, "post_attention_layernorm", 0, h);
  l->gate_up = add_param (m, i, "mlp.gate_proj", c->ffn_size, h);
  add_param (m, i, "mlp.up_proj", c->ffn_size, h);
  l->down = add_param (m, i, "mlp.down_proj", h, c->ffn_size);
}

void
mm_params_layout (struct mm_model *m)
{
  const struct mm_model_config *c = &m->config;

  m->n_params = m->size = 0;
  m->head = add_param (m, -1, "model.embed_tokens", c->vocab_size, c->hidden_size);
  for (uint32_t i = 0; i < c->n_layers; i++)
    add_layer (m, (int) i);
  m->final_norm = add_param (m, -1, "model.norm", 0, c->hidden_size);
  if (!c->tied)
    m->head = add_param (m, -1, "lm_head", c->vocab_size, c->hidden_size);
}

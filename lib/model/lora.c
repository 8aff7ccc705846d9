/* lora.c -- an adapter's life: its parameters, their places, the matrices prepared for multiplication.
   SPDX-License-Identifier: Apache-2.0

   Modules that read the same input share one matrix A, their ranks side by side: a product of q, k and v, and one
   of gate and up.  So in the flat buffer the A of a site come first, then its B.  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/random.h>

#include "impl.h"

/* A target, the site it is a part of, and its name in a layer.  */
static const struct
{
  const char *name, *path;
  enum mm_site site;
} targets[MM_LORA_TARGETS] = {
  [MM_LORA_Q] = { "q_proj", "self_attn.q_proj", MM_SITE_QKV },
  [MM_LORA_K] = { "k_proj", "self_attn.k_proj", MM_SITE_QKV },
  [MM_LORA_V] = { "v_proj", "self_attn.v_proj", MM_SITE_QKV },
  [MM_LORA_O] = { "o_proj", "self_attn.o_proj", MM_SITE_OUT },
  [MM_LORA_GATE] = { "gate_proj", "mlp.gate_proj", MM_SITE_GATE_UP },
  [MM_LORA_UP] = { "up_proj", "mlp.up_proj", MM_SITE_GATE_UP },
  [MM_LORA_DOWN] = { "down_proj", "mlp.down_proj", MM_SITE_DOWN }
};

const char *
mm_lora_target_name (enum mm_lora_target t)
{
  return targets[t].name;
}

const char *
mm_lora_target_path (enum mm_lora_target t)
{
  return targets[t].path;
}

enum mm_site
mm_lora_target_site (enum mm_lora_target t)
{
  return targets[t].site;
}

/* The target that the SIZE bytes at NAME spell, or MM_LORA_TARGETS.  */
static enum mm_lora_target
find_target (const char *name, size_t size)
{
  enum mm_lora_target t = 0;

  for (; t < MM_LORA_TARGETS; t++)
    if (size > 0 && strncmp (targets[t].name, name, size) == 0
        && (targets[t].name[size] == '\0' || strcmp (targets[t].name + size, "_proj") == 0))
      break;
  return t;
}

mm_status
mm_lora_targets (const char *list, unsigned *set)
{
  static const char all[] = "all-linear";

  *set = 0;
  for (const char *at = list;; at++)
    {
      size_t size = strcspn (at, ",");
      enum mm_lora_target t = find_target (at, size);

      if (size == sizeof all - 1 && memcmp (at, all, size) == 0)
        *set |= (1u << MM_LORA_TARGETS) - 1;
      else if (t < MM_LORA_TARGETS)
        *set |= 1u << t;
      else
        return mm_fail (MM_EUSAGE, "no linear layer \"%.*s\" (known: all-linear, q_proj, k_proj, v_proj, o_proj, "
                        "gate_proj, up_proj, down_proj)", (int) (size < 40 ? size : 40), at);
      at += size;
      if (!*at)
        break;
    }
  return MM_OK;
}

char *
mm_lora_targets_text (unsigned set, char text[MM_LORA_TARGETS_TEXT])
{
  size_t used = 0;

  text[0] = '\0';
  for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS; t++)
    if (set & 1u << t)
      used += (size_t) snprintf (text + used, MM_LORA_TARGETS_TEXT - used, "%s%s", used ? "," : "", targets[t].name);
  return text;
}

/* ---- shapes ---- */

void
mm_lora_shape (const struct mm_model_config *c, enum mm_lora_target target, size_t *in, size_t *out)
{
  size_t kv = (size_t) c->n_kv_heads * c->head_dim, h = c->hidden_size;

  *in = target == MM_LORA_O ? mm_width_out (c) : target == MM_LORA_DOWN ? c->ffn_size : h;
  *out = target == MM_LORA_Q ? mm_width_out (c)
         : target == MM_LORA_K || target == MM_LORA_V ? kv
         : target == MM_LORA_GATE || target == MM_LORA_UP ? c->ffn_size : h;
}

static mm_status
check_modules (const struct mm_model_config *c, const struct mm_lora_module *modules)
{
  size_t n = (size_t) c->n_layers * MM_LORA_TARGETS, total = 0;

  for (size_t i = 0; i < n; i++)
    {
      enum mm_lora_target t = (enum mm_lora_target) (i % MM_LORA_TARGETS);
      size_t in, out;

      mm_lora_shape (c, t, &in, &out);
      if (modules[i].rank > (in < out ? in : out))
        return mm_fail (MM_EINVAL, "adapter: layer %zu: %s: rank %u, want at most %zu", i / MM_LORA_TARGETS,
                        targets[t].name, modules[i].rank, in < out ? in : out);
      total += modules[i].rank;
    }
  return total ? MM_OK : mm_fail (MM_EINVAL, "adapter: no module has a rank");
}

/* ---- layout ---- */

/* Append A (WHICH "A", [rank, in]) or B ([out, rank]) of a module to the table; its offset.  */
static size_t
add_param (struct mm_lora *lora, size_t layer, enum mm_lora_target target, const char *which, size_t rows,
           size_t cols)
{
  struct mm_param *p = &lora->params[lora->n_params++];

  snprintf (p->name, sizeof p->name, "base_model.model.model.layers.%zu.%s.lora_%s.weight", layer,
            targets[target].path, which);
  p->n_dims = 2;
  p->rows = rows;
  p->cols = cols;
  p->offset = lora->size;
  p->size = rows * cols;
  lora->size += p->size;
  return p->offset;
}

/* The parts of SITE in LAYER and their parameters.  */
static void
lay_out_site (struct mm_lora *lora, const struct mm_model_config *c, size_t layer, enum mm_site site,
              const struct mm_lora_module *modules)
{
  struct mm_lora_site *s = &lora->sites[layer * MM_SITES + site];
  size_t in = 0, out, y = 0;

  s->a = lora->size;
  for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS; t++)
    if (targets[t].site == site)
      {
        mm_lora_shape (c, t, &in, &out);
        if (modules[t].rank)
          {
            struct mm_lora_part *part = &s->parts[s->n_parts++];

            *part = (struct mm_lora_part) { .target = t, .rank = modules[t].rank, .scale = modules[t].scale,
                                            .u = s->rank, .y = y, .out = out };
            part->a = add_param (lora, layer, t, "A", part->rank, in);
            s->rank += part->rank;
          }
        y += out;
      }
  for (size_t i = 0; i < s->n_parts; i++)
    s->parts[i].b = add_param (lora, layer, s->parts[i].target, "B", s->parts[i].out, s->parts[i].rank);
  s->in = in;
  if (s->rank > lora->widest)
    lora->widest = s->rank;
}

mm_status
mm_lora_layout (const struct mm_model_config *c, const struct mm_lora_module *modules, struct mm_lora **out)
{
  size_t n_layers = c->n_layers;
  struct mm_lora *lora;
  mm_status st = check_modules (c, modules);

  *out = NULL;
  if (st == MM_OK)
    st = mm_alloc ("adapter", 1, sizeof *lora, &lora);
  if (st < 0)
    return st;
  lora->n_sites = n_layers * MM_SITES;
  st = mm_alloc ("adapter's sites", lora->n_sites, sizeof *lora->sites, &lora->sites);
  if (st == MM_OK)
    st = mm_alloc ("adapter's parameter table", 2 * n_layers * MM_LORA_TARGETS, sizeof *lora->params,
                   &lora->params);
  for (size_t l = 0; st == MM_OK && l < n_layers; l++)
    for (enum mm_site site = 0; site < MM_SITES; site++)
      lay_out_site (lora, c, l, site, modules + l * MM_LORA_TARGETS);
  if (st < 0)
    mm_lora_free_layout (lora);
  else
    *out = lora;
  return st;
}

void
mm_lora_free_layout (struct mm_lora *lora)
{
  if (!lora)
    return;
  free (lora->sites);
  free (lora->params);
  free (lora);
}

const struct mm_lora_part *
mm_lora_part (const struct mm_lora *lora, size_t layer, enum mm_lora_target target)
{
  const struct mm_lora_site *s = &lora->sites[layer * MM_SITES + targets[target].site];

  for (size_t i = 0; i < s->n_parts; i++)
    if (s->parts[i].target == target)
      return &s->parts[i];
  return NULL;
}

/* ---- beside a model ---- */

/* Device memory for the values, and weights that are prepared from them.  */
static mm_status
allocate (struct mm_model *m)
{
  struct mm_lora *lora = m->lora;
  void *values;
  mm_status st = mm_backend_alloc (m->be, "adapter", lora->size * sizeof (float), &values);

  if (st < 0)
    return st;
  lora->values = values;
  st = mm_backend_zero (m->be, values, lora->size * sizeof (float));
  for (size_t i = 0; st == MM_OK && i < lora->n_sites; i++)
    {
      struct mm_lora_site *s = &lora->sites[i];

      if (s->rank)
        st = mm_weight_create (m->be, s->rank, s->in, &s->w_a);
      for (size_t k = 0; st == MM_OK && k < s->n_parts; k++)
        st = mm_weight_create (m->be, s->parts[k].out, s->parts[k].rank, &s->parts[k].w_b);
    }
  return st;
}

mm_status
mm_lora_attach (struct mm_model *m, const struct mm_lora_module *modules)
{
  mm_status st = m->lora ? mm_fail (MM_EINVAL, "adapter: the model has one")
                         : mm_lora_layout (&m->config, modules, &m->lora);

  if (st < 0)
    return st;
  st = allocate (m);
  if (st < 0)
    mm_lora_free (m);
  return st;
}

void
mm_lora_free (struct mm_model *m)
{
  struct mm_lora *lora = m->lora;

  if (!lora)
    return;
  for (size_t i = 0; i < lora->n_sites; i++)
    {
      mm_weight_free (m->be, lora->sites[i].w_a);
      for (size_t k = 0; k < lora->sites[i].n_parts; k++)
        mm_weight_free (m->be, lora->sites[i].parts[k].w_b);
    }
  mm_backend_release (m->be, lora->values);
  mm_lora_free_layout (lora);
  m->lora = NULL;
}

mm_status
mm_lora_refresh (struct mm_model *m)
{
  struct mm_lora *lora = m->lora;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < lora->n_sites; i++)
    {
      struct mm_lora_site *s = &lora->sites[i];

      if (s->rank)
        st = mm_weight_set (m->be, s->w_a, mm_mat (lora->values + s->a, s->rank, s->in));
      for (size_t k = 0; st == MM_OK && k < s->n_parts; k++)
        st = mm_weight_set (m->be, s->parts[k].w_b,
                            mm_mat (lora->values + s->parts[k].b, s->parts[k].out, s->parts[k].rank));
    }
  return st;
}

mm_status
mm_lora_keep_columns (struct mm_model *m)
{
  struct mm_lora *lora = m->lora;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < lora->n_sites; i++)
    {
      struct mm_lora_site *s = &lora->sites[i];

      if (s->rank)
        st = mm_weight_keep_columns (m->be, s->w_a);
      for (size_t k = 0; st == MM_OK && k < s->n_parts; k++)
        st = mm_weight_keep_columns (m->be, s->parts[k].w_b);
    }
  return st;
}

/* ---- a fresh one ---- */

static mm_status
init_a (struct mm_model *m, size_t index, uint64_t seed)
{
  const struct mm_param *p = &m->lora->params[index];
  double bound = 1 / sqrt ((double) p->cols);
  float *x;
  mm_status st = mm_alloc ("initial adapter", p->size, sizeof *x, &x);

  for (size_t i = 0; st == MM_OK && i < p->size; i++)
    x[i] = (float) (bound * (2 * mm_uniform (seed, MM_RANDOM_LORA, (uint32_t) index, i) - 1));
  if (st == MM_OK)
    st = mm_backend_put (m->be, m->lora->values + p->offset, x, p->size * sizeof *x);
  free (x);
  return st;
}

/* The modules of every layer, for the caller to free.  */
static mm_status
uniform_modules (const struct mm_model_config *c, uint32_t rank, double alpha, unsigned set,
                 struct mm_lora_module **modules)
{
  size_t n = (size_t) c->n_layers * MM_LORA_TARGETS;
  mm_status st;

  *modules = NULL;
  if (rank < 1 || !(alpha > 0) || !isfinite (alpha))
    return mm_fail (MM_EUSAGE, "adapter: want a rank of 1 or more and a positive alpha, found %u and %g", rank, alpha);
  st = mm_alloc ("adapter's modules", n, sizeof **modules, modules);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    if (set & 1u << i % MM_LORA_TARGETS)
      (*modules)[i] = (struct mm_lora_module) { rank, (float) (alpha / rank) };
  return st;
}

/* What the caller was asked for is a user's choice.  */
static mm_status
as_usage (mm_status st)
{
  return st == MM_EINVAL ? MM_EUSAGE : st;
}

mm_status
mm_lora_create (struct mm_model *m, uint32_t rank, double alpha, unsigned set, uint64_t seed)
{
  struct mm_lora_module *modules;
  mm_status st = uniform_modules (&m->config, rank, alpha, set, &modules);

  if (st == MM_OK)
    st = as_usage (mm_lora_attach (m, modules));
  free (modules);
  for (size_t i = 0; st == MM_OK && i < m->lora->n_params; i++)
    if (strstr (m->lora->params[i].name, ".lora_A."))
      st = init_a (m, i, seed);
  return st < 0 ? st : mm_lora_refresh (m);
}

/* ---- looking ---- */

bool
mm_lora_attached (const struct mm_model *m)
{
  return m->lora != NULL;
}

/* A multiplication with a weight costs two FLOPs forward, two for the gradient of its input, and two for its own,
   which frozen ones do not have; attention's products have two gradients each.  Below the first layer's q, k and v
   nothing is trained, so that nobody asks for the gradient of their input.  */
static void
count_flops (const struct mm_model_config *c, const struct mm_lora *lora, size_t seq_len, struct mm_lora_sizes *s)
{
  double first = (double) c->hidden_size * (double) mm_width_qkv (c), forward = mm_config_forward_flops (c, seq_len);
  double scores = 2 * (double) mm_width_out (c) * ((double) seq_len + 1) * c->n_layers;
  const struct mm_lora_site *site = &lora->sites[MM_SITE_QKV];

  s->adapter_flops = 6 * (double) lora->size - 2 * (double) (site->rank * c->hidden_size);
  s->train_flops = 2 * (forward - scores) + 3 * scores - 2 * first + s->adapter_flops;
}

mm_status
mm_lora_measure (const struct mm_model_config *c, uint32_t rank, unsigned set, size_t seq_len, struct mm_lora_sizes *s)
{
  struct mm_lora_module *modules;
  struct mm_lora *lora = NULL;
  mm_status st = uniform_modules (c, rank, 1, set, &modules);

  if (st == MM_OK)
    st = as_usage (mm_lora_layout (c, modules, &lora));
  free (modules);
  if (st < 0)
    return st;
  *s = (struct mm_lora_sizes) { .parameters = lora->size, .width = lora->widest };
  count_flops (c, lora, seq_len, s);
  mm_lora_free_layout (lora);
  return MM_OK;
}

struct mm_lora_module
mm_lora_module (const struct mm_model *m, uint32_t layer, enum mm_lora_target target)
{
  const struct mm_lora_part *part = m->lora ? mm_lora_part (m->lora, layer, target) : NULL;

  return part ? (struct mm_lora_module) { (uint32_t) part->rank, part->scale }
              : (struct mm_lora_module) { 0, 0 };
}

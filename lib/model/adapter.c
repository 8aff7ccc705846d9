/* adapter.c -- PEFT's adapter folders: their tensors, read and applied.
   SPDX-License-Identifier: Apache-2.0

   Source of the names: PEFT's utils/save_and_load.py.  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/log.h>

#include "impl.h"

enum { CONFIG_LIMIT = 16 << 20 };       /* bytes */

struct mm_adapter
{
  struct mm_lora *layout;
  float *values;                /* of all parameters, in the layout's order */
  char sha256[MM_SHA256_TEXT], base_sha256[MM_SHA256_TEXT];     /* base: "" for none */
};

/* The files of a folder while it is read.  */
struct source
{
  const struct mm_model_config *shape;
  char *config_path, *path;
  json_t *config;
  struct mm_safetensors *file;
  struct mm_lora_module *modules;       /* n_layers * MM_LORA_TARGETS */
};

static const char prefix[] = "base_model.model.";

/* Take the tensor's name apart: MODULE points to "model.layers.L.PATH".  False if no linear layer has it.  */
static bool
parse_name (const struct mm_model_config *c, const char *name, uint32_t *layer, enum mm_lora_target *target,
            char *which)
{
  char digits[10];
  int at = 0;
  unsigned long l;

  if (strncmp (name, prefix, sizeof prefix - 1) != 0
      || sscanf (name + sizeof prefix - 1, "model.layers.%9[0-9].%n", digits, &at) != 1 || at == 0)
    return false;
  l = strtoul (digits, NULL, 10);
  if (l >= c->n_layers || (digits[0] == '0' && digits[1]))
    return false;
  name += sizeof prefix - 1 + at;
  for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS; t++)
    {
      const char *path = mm_lora_target_path (t);
      size_t n = strlen (path);

      if (strncmp (name, path, n) == 0
          && (strcmp (name + n, ".lora_A.weight") == 0 || strcmp (name + n, ".lora_B.weight") == 0))
        {
          *layer = (uint32_t) l;
          *target = t;
          *which = name[n + sizeof ".lora_" - 1];
          return true;
        }
    }
  return false;
}

/* Check the shape of tensor T and take its rank; A and B must agree.  */
static mm_status
take_rank (struct source *s, const struct mm_tensor *t)
{
  uint32_t layer;
  enum mm_lora_target target;
  char which;
  size_t in, out;
  uint64_t rank, other;
  struct mm_lora_module *module;

  if (!parse_name (s->shape, t->name, &layer, &target, &which))
    return mm_fail (MM_EUNSUP, "%s: %.120s is no A or B of a linear layer of this model", s->path, t->name);
  mm_lora_shape (s->shape, target, &in, &out);
  rank = t->n_dims == 2 ? t->shape[which == 'A' ? 0 : 1] : 0;
  other = t->n_dims == 2 ? t->shape[which == 'A' ? 1 : 0] : 0;
  if (other != (which == 'A' ? in : out) || rank == 0 || rank > (in < out ? in : out))
    return mm_fail (MM_ESHAPE, "%s: %s: want [%s, %zu]%s of a rank up to %zu, found [%llu, %llu]", s->path, t->name,
                    which == 'A' ? "rank" : "out", in, which == 'A' ? "" : " (out first)", in < out ? in : out,
                    (unsigned long long) (t->n_dims == 2 ? t->shape[0] : 0),
                    (unsigned long long) (t->n_dims == 2 ? t->shape[1] : 0));
  module = &s->modules[layer * MM_LORA_TARGETS + target];
  if (module->rank && module->rank != rank)
    return mm_fail (MM_ESHAPE, "%s: %s: rank %llu, but its partner has %u", s->path, t->name,
                    (unsigned long long) rank, module->rank);
  module->rank = (uint32_t) rank;
  return MM_OK;
}

/* Ranks from the tensors, scales from the configuration.  */
static mm_status
read_modules (struct source *s)
{
  size_t n = (size_t) s->shape->n_layers * MM_LORA_TARGETS;
  mm_status st = mm_alloc ("adapter's modules", n, sizeof *s->modules, &s->modules);

  for (size_t i = 0; st == MM_OK && i < mm_safetensors_count (s->file); i++)
    st = take_rank (s, mm_safetensors_at (s->file, i));
  for (size_t i = 0; st == MM_OK && i < n; i++)
    if (s->modules[i].rank)
      {
        char name[96];

        snprintf (name, sizeof name, "model.layers.%zu.%s", i / MM_LORA_TARGETS,
                  mm_lora_target_path ((enum mm_lora_target) (i % MM_LORA_TARGETS)));
        st = mm_adapter_config_scale (s->config_path, s->config, name, s->modules[i].rank, &s->modules[i].scale);
      }
  return st;
}

/* The SIZE values of tensor T.  */
static mm_status
read_finite (const struct source *s, const struct mm_tensor *t, float *values, size_t size)
{
  mm_status st = mm_safetensors_read_f32 (s->file, t, values);

  for (size_t k = 0; st == MM_OK && k < size; k++)
    if (!isfinite (values[k]))
      st = mm_fail (MM_EFORMAT, "%s: %s holds a value that is not finite", s->path, t->name);
  return st;
}

/* Each tensor into its place; A without B is missing one.  */
static mm_status
read_values (struct source *s, struct mm_adapter *a)
{
  mm_status st = mm_alloc ("adapter", a->layout->size, sizeof *a->values, &a->values);

  for (size_t i = 0; st == MM_OK && i < a->layout->n_params; i++)
    {
      const struct mm_param *p = &a->layout->params[i];
      const struct mm_tensor *t = mm_safetensors_find (s->file, p->name);

      st = t ? read_finite (s, t, a->values + p->offset, p->size)
             : mm_fail (MM_EFORMAT, "%s: %s is missing", s->path, p->name);
    }
  return st;
}

/* What the file says of its base into *BASE, NULL where it says nothing.  */
static mm_status
read_base (const struct source *s, const char **base)
{
  *base = mm_safetensors_meta (s->file, "base_sha256");
  if (*base && (strlen (*base) != MM_SHA256_TEXT - 1 || strspn (*base, "0123456789abcdef") != MM_SHA256_TEXT - 1))
    return mm_fail (MM_EFORMAT, "%s: base_sha256: want 64 hexadecimal digits, found \"%.80s\"", s->path, *base);
  return MM_OK;
}

/* Hashes: the file's own, and its base's.  */
static mm_status
read_identity (struct source *s, struct mm_adapter *a)
{
  const char *base;
  mm_status st = read_base (s, &base);

  if (st == MM_OK && base)
    strcpy (a->base_sha256, base);
  return st < 0 ? st : mm_sha256_file (s->path, a->sha256);
}

static void
close_files (struct source *s)
{
  json_decref (s->config);
  mm_safetensors_close (s->file);
  free (s->modules);
  free (s->config_path);
  free (s->path);
}

static mm_status
open_files (const char *dir, struct source *s)
{
  mm_status st;

  s->config_path = mm_path_join (dir, "adapter_config.json");
  s->path = mm_path_join (dir, "adapter_model.safetensors");
  st = s->config_path && s->path ? mm_json_read (s->config_path, CONFIG_LIMIT, &s->config)
                                 : mm_fail (MM_ENOMEM, "%s: no memory", dir);
  if (st == MM_OK)
    st = mm_adapter_config_check (s->config_path, s->config);
  if (st == MM_OK)
    st = mm_safetensors_open (s->path, &s->file);
  if (st == MM_ENOENT && s->config)
    {
      char *pickle = mm_path_join (dir, "adapter_model.bin");

      if (pickle && access (pickle, F_OK) == 0)
        st = mm_fail (MM_EUNSUP, "%s: a pickle; save the adapter as safetensors (PEFT's save_pretrained does)", pickle);
      free (pickle);
    }
  return st;
}

mm_status
mm_adapter_open (const char *dir, const struct mm_model_config *c, struct mm_adapter **out)
{
  struct source s = { .shape = c };
  struct mm_adapter *a;
  mm_status st = mm_alloc ("adapter", 1, sizeof *a, &a);

  *out = NULL;
  if (st < 0)
    return st;
  st = open_files (dir, &s);
  if (st == MM_OK)
    st = read_modules (&s);
  if (st == MM_OK && mm_safetensors_count (s.file) == 0)
    st = mm_fail (MM_EFORMAT, "%s: an adapter without tensors", s.path);
  if (st == MM_OK)
    st = mm_lora_layout (c, s.modules, &a->layout);
  if (st == MM_OK)
    st = read_values (&s, a);
  if (st == MM_OK)
    st = read_identity (&s, a);
  close_files (&s);
  if (st < 0)
    mm_adapter_close (a);
  else
    *out = a;
  return st;
}

/* ---- without a base ---- */

/* The partner of tensor T, which is an A [rank, in] or a B [out, rank], has its rank.  */
static mm_status
check_pair (const struct source *s, const struct mm_tensor *t)
{
  size_t n = strlen (t->name), at = n - strlen ("A.weight");
  const struct mm_tensor *other = NULL;
  char *name = NULL;
  bool is_a = n > strlen (".lora_A.weight") && strcmp (t->name + n - strlen (".lora_A.weight"), ".lora_A.weight") == 0;
  bool is_b = n > strlen (".lora_B.weight") && strcmp (t->name + n - strlen (".lora_B.weight"), ".lora_B.weight") == 0;

  if ((!is_a && !is_b) || t->n_dims != 2)
    return mm_fail (MM_EUNSUP, "%s: %.120s is no matrix A or B of LoRA", s->path, t->name);
  name = strdup (t->name);
  if (!name)
    return mm_fail (MM_ENOMEM, "%s: no memory", s->path);
  name[at] = is_a ? 'B' : 'A';
  other = mm_safetensors_find (s->file, name);
  free (name);
  if (!other || other->n_dims != 2 || t->shape[is_a ? 0 : 1] != other->shape[is_a ? 1 : 0] || t->shape[0] == 0)
    return mm_fail (MM_EFORMAT, "%s: %.120s has no partner of its rank", s->path, t->name);
  return MM_OK;
}

/* The configuration agrees with tensor T, whose partner is there.  */
static mm_status
check_module (const struct source *s, const struct mm_tensor *t)
{
  size_t begin = strncmp (t->name, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
  char *module = strndup (t->name + begin, strlen (t->name + begin) - strlen (".lora_A.weight"));
  bool is_a = t->name[strlen (t->name) - strlen ("A.weight")] == 'A';
  uint64_t rank = t->shape[is_a ? 0 : 1];
  float scale;
  mm_status st = module ? MM_OK : mm_fail (MM_ENOMEM, "%s: no memory", s->path);

  if (st == MM_OK && rank > UINT32_MAX)
    st = mm_fail (MM_ESHAPE, "%s: %.120s: a rank of %llu", s->path, t->name, (unsigned long long) rank);
  if (st == MM_OK)
    st = mm_adapter_config_scale (s->config_path, s->config, module, (uint32_t) rank, &scale);
  free (module);
  return st;
}

static mm_status
check_tensor (const struct source *s, const struct mm_tensor *t)
{
  mm_status st = check_pair (s, t);
  size_t size = st == MM_OK ? (size_t) (t->shape[0] * t->shape[1]) : 0;
  float *values = NULL;

  if (st == MM_OK)
    st = check_module (s, t);
  if (st == MM_OK)
    st = mm_alloc ("a tensor", size, sizeof *values, &values);
  if (st == MM_OK)
    st = read_finite (s, t, values, size);
  free (values);
  return st;
}

mm_status
mm_adapter_verify (const char *dir)
{
  struct source s = { .shape = NULL };
  const char *base;
  mm_status st = open_files (dir, &s);

  if (st == MM_OK)
    st = read_base (&s, &base);
  if (st == MM_OK && mm_safetensors_count (s.file) == 0)
    st = mm_fail (MM_EFORMAT, "%s: an adapter without tensors", s.path);
  for (size_t i = 0; st == MM_OK && i < mm_safetensors_count (s.file); i++)
    st = check_tensor (&s, mm_safetensors_at (s.file, i));
  close_files (&s);
  return st;
}

void
mm_adapter_close (struct mm_adapter *a)
{
  if (!a)
    return;
  mm_lora_free_layout (a->layout);
  free (a->values);
  free (a);
}

const char *
mm_adapter_sha256 (const struct mm_adapter *a)
{
  return a->sha256;
}

const char *
mm_adapter_base_sha256 (const struct mm_adapter *a)
{
  return *a->base_sha256 ? a->base_sha256 : NULL;
}

mm_status
mm_adapter_check_base (const struct mm_adapter *a, const char *name, const char *base_sha256)
{
  if (!*a->base_sha256)
    mm_warn ("%s: does not say which base it was trained on; shapes fit, that is all", name);
  else if (strcmp (a->base_sha256, base_sha256) != 0)
    return mm_fail (MM_ECONFLICT, "%s: the adapter was trained on the weights %.16s..., the base has %.16s...", name,
                    a->base_sha256, base_sha256);
  return MM_OK;
}

mm_status
mm_adapter_attach (const struct mm_adapter *a, struct mm_model *m)
{
  size_t n = (size_t) m->config.n_layers * MM_LORA_TARGETS;
  struct mm_lora_module *modules;
  mm_status st = mm_alloc ("adapter's modules", n, sizeof *modules, &modules);

  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      const struct mm_lora_part *part
        = mm_lora_part (a->layout, i / MM_LORA_TARGETS, (enum mm_lora_target) (i % MM_LORA_TARGETS));

      if (part)
        modules[i] = (struct mm_lora_module) { (uint32_t) part->rank, part->scale };
    }
  if (st == MM_OK)
    st = mm_lora_attach (m, modules);
  free (modules);
  if (st == MM_OK)
    st = mm_backend_put (m->be, m->lora->values, a->values, a->layout->size * sizeof *a->values);
  return st < 0 ? st : mm_lora_refresh (m);
}

/* The part of A and that of the model's adapter B in the same place are alike.  */
static mm_status
compare_parts (const struct mm_lora *a, const struct mm_lora *b, size_t layer, enum mm_lora_target t)
{
  const struct mm_lora_part *x = mm_lora_part (a, layer, t), *y = mm_lora_part (b, layer, t);

  if ((!x && !y) || (x && y && x->rank == y->rank && x->scale == y->scale))
    return MM_OK;
  return mm_fail (MM_ESHAPE, "adapter: layer %zu: %s: rank %zu and scale %g, want %zu and %g", layer,
                  mm_lora_target_name (t), x ? x->rank : 0, x ? (double) x->scale : 0.0, y ? y->rank : 0,
                  y ? (double) y->scale : 0.0);
}

mm_status
mm_adapter_put (const struct mm_adapter *a, struct mm_model *m)
{
  mm_status st = m->lora ? MM_OK : mm_fail (MM_EINVAL, "adapter: the model has none");

  for (size_t l = 0; l < m->config.n_layers; l++)
    for (enum mm_lora_target t = 0; st == MM_OK && t < MM_LORA_TARGETS; t++)
      st = compare_parts (a->layout, m->lora, l, t);
  if (st == MM_OK)
    st = mm_backend_put (m->be, m->lora->values, a->values, a->layout->size * sizeof *a->values);
  return st < 0 ? st : mm_lora_refresh (m);
}

void
mm_adapter_delta (const struct mm_adapter *a, uint32_t layer, enum mm_lora_target target, double weight,
                  double *delta, bool *has)
{
  const struct mm_lora_part *part = mm_lora_part (a->layout, layer, target);
  const struct mm_lora_site *site;
  const float *x, *y;

  *has = part != NULL;
  if (!part)
    return;
  site = &a->layout->sites[layer * MM_SITES + mm_lora_target_site (target)];
  x = a->values + part->a;
  y = a->values + part->b;
  for (size_t i = 0; i < part->out; i++)
    for (size_t j = 0; j < site->in; j++)
      {
        double sum = 0;

        for (size_t r = 0; r < part->rank; r++)
          sum += (double) y[i * part->rank + r] * (double) x[r * site->in + j];
        delta[i * site->in + j] += weight * (double) part->scale * sum;
      }
}

/* ---- writing ---- */

static mm_status
write_tensors (const struct mm_model *m, const float *values, const char *base_sha256, const char *path)
{
  struct mm_safetensors_writer *w;
  mm_status st = mm_safetensors_create (path, false, false, &w);

  if (st < 0)
    return st;
  st = mm_safetensors_add_meta (w, "base_sha256", base_sha256);
  if (st == MM_OK)
    st = mm_model_declare (m, "", w);
  if (st == MM_OK)
    st = mm_model_write (m, "", values, w);
  if (st < 0)
    mm_safetensors_abort (w);
  return st < 0 ? st : mm_safetensors_commit (w, NULL);
}

mm_status
mm_adapter_write (const struct mm_model *m, const float *values, const char *base_sha256, const char *dir)
{
  char *config_path = mm_path_join (dir, "adapter_config.json");
  char *path = mm_path_join (dir, "adapter_model.safetensors");
  char *config = NULL;
  mm_status st = config_path && path ? mm_adapter_config_text (m, &config) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  if (st == MM_OK)
    st = mm_write_file (config_path, config, strlen (config));
  if (st == MM_OK)
    st = write_tensors (m, values, base_sha256, path);
  free (config);
  free (config_path);
  free (path);
  return st;
}

/* lora-merge.c -- fold adapters into their base.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "lora-merge.h"

enum
{
  FILE_LIMIT = 256 << 20,       /* bytes of a tokenizer's file */
  PIECE = 1024                  /* values of a matrix at a time */
};

/* What is open.  */
struct merge
{
  const struct lora_merge_config *config;
  char *dir;                    /* the base's folder */
  struct mm_backend *backend;
  struct mm_model *base, *merged;
  struct mm_adapter **adapters;
  char *history;                /* hashes of adapters merged into the base before, by comma; or NULL */
  float *values;                /* host: the parameters, merged as they come */
};

/* ---- opening ---- */

/* Which adapters the base's file says it holds.  */
static mm_status
read_history (struct merge *x)
{
  char *path = mm_path_join (x->dir, "model.safetensors");
  struct mm_safetensors *file;
  const char *merged;
  mm_status st = path ? mm_safetensors_open (path, &file) : mm_fail (MM_ENOMEM, "no memory");

  free (path);
  if (st == MM_ENOENT)
    return MM_OK;               /* in shards: nothing this tool wrote */
  if (st < 0)
    return st;
  merged = mm_safetensors_meta (file, "merged_adapters");
  if (merged && !(x->history = strdup (merged)))
    st = mm_fail (MM_ENOMEM, "no memory");
  mm_safetensors_close (file);
  return st;
}

static mm_status
open_base (struct merge *x)
{
  const struct lora_merge_config *c = x->config;
  mm_status st = mm_model_folder (c->base, &x->dir);

  if (st == MM_OK)
    st = mm_backend_open (c->compute.backend, c->compute.threads, &x->backend);
  if (st == MM_OK)
    st = mm_model_open (x->backend, x->dir, &x->base);
  return st < 0 ? st : read_history (x);
}

/* Adapter I: of this base, and not in it already.  */
static mm_status
open_adapter (struct merge *x, size_t i, const char *base_sha256)
{
  const char *dir = x->config->adapters[i].dir;
  char *folder;
  mm_status st = mm_adapter_folder (dir, &folder);

  if (st == MM_OK)
    st = mm_adapter_open (folder, mm_model_config (x->base), &x->adapters[i]);
  free (folder);
  if (st < 0)
    return st;
  if (x->history && strstr (x->history, mm_adapter_sha256 (x->adapters[i])))
    return mm_fail (MM_ECONFLICT, "%s: is merged into %s already", dir, x->dir);
  for (size_t k = 0; k < i; k++)
    if (strcmp (mm_adapter_sha256 (x->adapters[k]), mm_adapter_sha256 (x->adapters[i])) == 0)
      return mm_fail (MM_ECONFLICT, "%s: is given twice", dir);
  return mm_adapter_check_base (x->adapters[i], dir, base_sha256);
}

static mm_status
open_all (struct merge *x)
{
  size_t n = x->config->n_adapters;
  char sha256[MM_SHA256_TEXT];
  mm_status st = open_base (x);

  if (st == MM_OK)
    st = mm_model_sha256 (x->base, sha256);
  if (st == MM_OK)
    st = mm_alloc ("adapters", n, sizeof *x->adapters, &x->adapters);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    st = open_adapter (x, i, sha256);
  return st;
}

static void
close_all (struct merge *x)
{
  for (size_t i = 0; x->adapters && i < x->config->n_adapters; i++)
    mm_adapter_close (x->adapters[i]);
  free (x->adapters);
  free (x->values);
  free (x->history);
  mm_model_free (x->merged);
  mm_model_free (x->base);
  mm_backend_close (x->backend);
  free (x->dir);
}

/* ---- merging ---- */

/* N values as they are written.  */
static void
as_written (enum mm_dtype dtype, const float *values, size_t n, double *written)
{
  float raw[PIECE];

  mm_dtype_from_f32 (dtype, values, n, raw);
  mm_dtype_values (dtype, raw, n, written);
}

/* Add DELTA to the SIZE values at W.  False if one is not finite as it is written.  */
static bool
add_delta (float *w, const double *delta, size_t size, enum mm_dtype dtype, struct lora_merge_change *change)
{
  bool finite = true;

  *change = (struct lora_merge_change) { .size = size };
  for (size_t at = 0; at < size; at += PIECE)
    {
      size_t n = size - at < PIECE ? size - at : PIECE;
      double before[PIECE], after[PIECE];

      as_written (dtype, w + at, n, before);
      for (size_t i = at; i < at + n; i++)
        {
          change->norm += (double) w[i] * (double) w[i];
          change->delta_norm += delta[i] * delta[i];
          w[i] = (float) ((double) w[i] + delta[i]);
        }
      as_written (dtype, w + at, n, after);
      for (size_t i = 0; i < n; i++)
        {
          change->changed += before[i] != after[i];
          finite = finite && isfinite (after[i]);
        }
    }
  change->norm = sqrt (change->norm);
  change->delta_norm = sqrt (change->delta_norm);
  return finite;
}

/* Merge what the adapters have for one matrix, P; *CHANGED grows by the elements that differ.  */
static mm_status
merge_matrix (struct merge *x, const struct mm_param *p, uint32_t layer, enum mm_lora_target target, size_t *changed)
{
  struct lora_merge_change change;
  double *delta;
  bool any = false, has;
  mm_status st = mm_alloc ("difference of a matrix", p->size, sizeof *delta, &delta);

  if (st < 0)
    return st;
  for (size_t i = 0; i < x->config->n_adapters; i++)
    {
      mm_adapter_delta (x->adapters[i], layer, target, x->config->adapters[i].weight, delta, &has);
      any = any || has;
    }
  if (any)
    {
      if (!add_delta (x->values + p->offset, delta, p->size, x->config->dtype, &change))
        st = mm_fail (MM_EFORMAT, "%s: a merged value is not finite as %s", p->name,
                      mm_dtype_name (x->config->dtype));
      *changed += change.changed;
      mm_info ("%s: norm %.4g, added %.4g (%.3g%%), %.1f%% of the values change", p->name, change.norm,
               change.delta_norm, 100 * change.delta_norm / change.norm,
               100 * (double) change.changed / (double) change.size);
    }
  free (delta);
  return st;
}

/* The base's parameter that holds the matrix of TARGET in LAYER.  */
static const struct mm_param *
find_matrix (const struct mm_model *m, uint32_t layer, enum mm_lora_target target)
{
  char layer_text[32], target_text[32];

  snprintf (layer_text, sizeof layer_text, ".layers.%u.", layer);
  snprintf (target_text, sizeof target_text, ".%s.weight", mm_lora_target_name (target));
  for (size_t i = 0; i < mm_model_n_params (m); i++)
    if (strstr (mm_model_param (m, i)->name, layer_text) && strstr (mm_model_param (m, i)->name, target_text))
      return mm_model_param (m, i);
  return NULL;
}

static mm_status
merge_all (struct merge *x)
{
  size_t size = mm_model_size (x->base), changed = 0;
  mm_status st = mm_alloc ("merged parameters", size, sizeof *x->values, &x->values);

  if (st == MM_OK)
    st = mm_backend_get (x->backend, x->values, mm_model_values (x->base), size * sizeof *x->values);
  for (uint32_t l = 0; st == MM_OK && l < mm_model_config (x->base)->n_layers; l++)
    for (enum mm_lora_target t = 0; st == MM_OK && t < MM_LORA_TARGETS; t++)
      st = merge_matrix (x, find_matrix (x->base, l, t), l, t, &changed);
  if (st == MM_OK && changed == 0)
    st = mm_fail (MM_EFORMAT, "%s: changes nothing: no value of the merged model differs from the base's as %s",
                  x->config->adapters[0].dir, mm_dtype_name (x->config->dtype));
  return st;
}

/* ---- writing ---- */

/* The hashes of all adapters in the merged model.  */
static char *
history_with_ours (const struct merge *x)
{
  size_t room = (x->history ? strlen (x->history) + 1 : 0) + x->config->n_adapters * MM_SHA256_TEXT;
  char *text = malloc (room + 1), *at = text;

  if (!text)
    return NULL;
  if (x->history)
    at += sprintf (at, "%s", x->history);
  for (size_t i = 0; i < x->config->n_adapters; i++)
    at += sprintf (at, "%s%s", at == text ? "" : ",", mm_adapter_sha256 (x->adapters[i]));
  return text;
}

/* The merged values as DTYPE into W.  */
static mm_status
write_tensors (struct merge *x, struct mm_safetensors_writer *w)
{
  enum mm_dtype dtype = x->config->dtype;
  size_t bytes = mm_dtype_bits (dtype) / 8;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < mm_model_n_params (x->base); i++)
    {
      const struct mm_param *p = mm_model_param (x->base, i);

      st = mm_safetensors_declare (w, p->name, dtype, p->n_dims,
                                   (uint64_t[]) { p->n_dims == 2 ? p->rows : p->cols, p->cols });
    }
  for (size_t i = 0; st == MM_OK && i < mm_model_n_params (x->base); i++)
    {
      const struct mm_param *p = mm_model_param (x->base, i);
      void *raw;

      st = mm_alloc ("a tensor to write", p->size, bytes, &raw);
      if (st < 0)
        break;
      mm_dtype_from_f32 (dtype, x->values + p->offset, p->size, raw);
      st = mm_safetensors_write (w, p->name, raw, p->size * bytes);
      free (raw);
    }
  return st;
}

static mm_status
write_weights (struct merge *x, const char *path)
{
  struct mm_safetensors_writer *w;
  char *history = history_with_ours (x);
  mm_status st = history ? mm_safetensors_create (path, false, false, &w) : mm_fail (MM_ENOMEM, "no memory");

  if (st < 0)
    {
      free (history);
      return st;
    }
  st = mm_safetensors_add_meta (w, "merged_adapters", history);
  if (st == MM_OK)
    st = write_tensors (x, w);
  free (history);
  if (st < 0)
    mm_safetensors_abort (w);
  return st < 0 ? st : mm_safetensors_commit (w, NULL);
}

static mm_status
write_configs (const struct merge *x, const char *temp)
{
  char *config, *generation, *path[2] = { mm_path_join (temp, "config.json"),
                                          mm_path_join (temp, "generation_config.json") };
  mm_status st = mm_config_text (mm_model_config (x->base), x->config->dtype, &config, &generation);

  if (st == MM_OK && (!path[0] || !path[1]))
    st = mm_fail (MM_ENOMEM, "no memory");
  if (st == MM_OK)
    st = mm_write_file (path[0], config, strlen (config));
  if (st == MM_OK)
    st = mm_write_file (path[1], generation, strlen (generation));
  free (config);
  free (generation);
  free (path[0]);
  free (path[1]);
  return st;
}

/* The base's file NAME into TEMP, if there is one.  */
static mm_status
copy_file (const struct merge *x, const char *name, const char *temp)
{
  char *from = mm_path_join (x->dir, name), *to = mm_path_join (temp, name), *data;
  size_t size;
  mm_status st = from && to ? MM_OK : mm_fail (MM_ENOMEM, "no memory");

  if (st == MM_OK && access (from, F_OK) == 0)
    {
      st = mm_read_file (from, FILE_LIMIT, &data, &size);
      if (st == MM_OK)
        {
          st = mm_write_file (to, data, size);
          free (data);
        }
    }
  free (from);
  free (to);
  return st;
}

static mm_status
write_folder (struct merge *x, const char *temp)
{
  static const char *const kept[] = { "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                                      "added_tokens.json", "chat_template.jinja", "vocab.json", "merges.txt" };
  char *path = mm_path_join (temp, "model.safetensors");
  mm_status st = path ? write_configs (x, temp) : mm_fail (MM_ENOMEM, "no memory");

  for (size_t i = 0; st == MM_OK && i < sizeof kept / sizeof *kept; i++)
    st = copy_file (x, kept[i], temp);
  if (st == MM_OK)
    st = write_weights (x, path);
  free (path);
  return st;
}

/* Compare logits with the model as it was written.  */
static mm_status
probe (struct merge *x, const char *dir)
{
  const struct lora_merge_config *c = x->config;
  bool alone = c->n_adapters == 1 && c->adapters[0].weight == 1;
  mm_status st = mm_model_open (x->backend, dir, &x->merged);

  return st < 0 ? st : lora_merge_probe (c->probe, x->dir, x->base, x->merged, alone ? x->adapters[0] : NULL);
}

mm_status
lora_merge (const struct lora_merge_config *c)
{
  struct merge x = { .config = c };
  struct mm_output_dir *out;
  const char *temp;
  mm_status st = mm_output_dir_open (c->output, c->force, &out, &temp);

  if (st < 0)
    return st;
  st = open_all (&x);
  if (st == MM_OK)
    st = merge_all (&x);
  if (st == MM_OK)
    st = write_folder (&x, temp);
  if (st == MM_OK && c->probe)
    st = probe (&x, temp);
  close_all (&x);
  if (st < 0)
    mm_output_dir_abort (out);
  return st < 0 ? st : mm_output_dir_commit (out);
}

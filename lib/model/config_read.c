/* config_read.c -- HuggingFace's config.json, with the defaults and traps of its classes.
   SPDX-License-Identifier: Apache-2.0

   Source: transformers' configuration_llama.py, configuration_qwen3.py and modeling_rope_utils.py,
   versions 4 and 5.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/json.h>

#include "impl.h"

/* config.json and its two siblings are small, but for a chat template.  */
enum { SIZE_LIMIT = 16 << 20 };

/* What transformers takes for a field that is absent.  */
struct defaults
{
  const char *model_type, *class;
  enum mm_architecture architecture;
  int64_t n_kv_heads;           /* 0: as many as heads */
  int64_t head_dim;             /* 0: hidden_size / heads */
  int64_t max_positions;
  int32_t bos_id;               /* -1: none */
};

static const struct defaults architectures[] = {
  { "llama", "LlamaForCausalLM", MM_LLAMA, 0, 0, 2048, 1 },
  { "qwen3", "Qwen3ForCausalLM", MM_QWEN3, 32, 128, 32768, -1 },
};

enum { N_ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* The first of "architectures", or NULL.  */
static const char *
first_class (const json_t *o)
{
  return json_string_value (json_array_get (json_object_get (o, "architectures"), 0));
}

static mm_status
read_architecture (const char *path, const json_t *o, const struct defaults **d)
{
  const char *type = NULL, *class = first_class (o);
  mm_status st = mm_json_string (path, o, "model_type", false, &type);

  *d = NULL;
  if (st < 0)
    return st;
  if (!type && !class)
    return mm_fail (MM_EFORMAT, "%s: model_type: missing, and architectures too", path);
  for (size_t i = 0; i < N_ARCHITECTURES; i++)
    if (type ? !strcmp (type, architectures[i].model_type)
             : !strcmp (class, architectures[i].class))
      *d = &architectures[i];
  if (!*d && strstr (type ? type : class, "moe"))
    return mm_fail (MM_EUNSUP, "%s: %s: mixture of experts is not supported", path,
                    type ? type : class);
  if (!*d)
    return mm_fail (MM_EUNSUP, "%s: %s: not supported; llama and qwen3 are", path,
                    type ? type : class);
  if (class && strcmp (class, (*d)->class))
    return mm_fail (MM_EUNSUP, "%s: architectures: %s: not supported; of model_type %s, %s is",
                    path, class, (*d)->model_type, (*d)->class);
  return MM_OK;
}

/* ---- what is refused ---- */

static mm_status
refuse_experts (const char *path, const json_t *o)
{
  static const char *const counts[] = { "num_experts", "num_local_experts", "n_routed_experts" };
  bool moe = false;
  mm_status st = mm_json_bool (path, o, "use_moe", false, &moe);

  if (st < 0)
    return st;
  if (moe)
    return mm_fail (MM_EUNSUP, "%s: use_moe: mixture of experts is not supported", path);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    {
      int64_t n = 0;

      st = mm_json_integer (path, o, counts[i], false, 0, INT32_MAX, &n);
      if (st < 0)
        return st;
      if (n > 0)
        return mm_fail (MM_EUNSUP, "%s: %s: mixture of experts is not supported", path, counts[i]);
    }
  return MM_OK;
}

/* Qwen3 ignores sliding_window unless use_sliding_window is set; elsewhere a number is enough.  */
static mm_status
refuse_windows (const char *path, const json_t *o, enum mm_architecture architecture)
{
  const json_t *types = json_object_get (o, "layer_types");
  bool use = architecture != MM_QWEN3 && json_is_integer (json_object_get (o, "sliding_window"));
  mm_status st = mm_json_bool (path, o, "use_sliding_window", false, &use);

  if (st < 0)
    return st;
  if (use)
    return mm_fail (MM_EUNSUP, "%s: sliding_window: attention in sliding windows is not supported",
                    path);
  for (size_t i = 0; i < json_array_size (types); i++)
    {
      const char *type = json_string_value (json_array_get (types, i));

      if (!type || strcmp (type, "full_attention"))
        return mm_fail (MM_EUNSUP, "%s: layer_types: %s: not supported; full_attention is", path,
                        type ? type : "(not a string)");
    }
  return MM_OK;
}

static mm_status
refuse_others (const char *path, const json_t *o)
{
  static const char *const biases[] = { "attention_bias", "mlp_bias" };
  const char *act = "silu";
  mm_status st = mm_json_string (path, o, "hidden_act", false, &act);

  if (st < 0)
    return st;
  if (strcmp (act, "silu") && strcmp (act, "swish"))
    return mm_fail (MM_EUNSUP, "%s: hidden_act: %s: not supported; silu is", path, act);
  for (size_t i = 0; i < sizeof biases / sizeof *biases; i++)
    {
      bool bias = false;

      st = mm_json_bool (path, o, biases[i], false, &bias);
      if (st < 0)
        return st;
      if (bias)
        return mm_fail (MM_EUNSUP, "%s: %s: biases are not supported", path, biases[i]);
    }
  if (json_is_object (json_object_get (o, "quantization_config")))
    return mm_fail (MM_EUNSUP, "%s: quantization_config: quantized weights are not supported",
                    path);
  return MM_OK;
}

/* ---- RoPE ---- */

/* FIELD of the configuration as an object with something in it, or NULL.  */
static const json_t *
rope_object (const json_t *o, const char *field)
{
  const json_t *rope = json_object_get (o, field);

  return json_object_size (rope) > 0 ? rope : NULL;
}

static mm_status
refuse_partial (const char *path, const json_t *o)
{
  double part = 1;
  mm_status st = mm_json_number (path, o, "partial_rotary_factor", false, &part);

  if (st == MM_OK && part != 1)
    return mm_fail (MM_EUNSUP, "%s: partial_rotary_factor: heads turned in part are not supported",
                    path);
  return st;
}

/* Version 4 writes rope_theta beside rope_scaling, version 5 one object rope_parameters.  Version 5
   takes rope_scaling, if it says anything, before rope_parameters, and a theta in the object before
   the plain one.  The object may hold one of its kind for each type of layer.  */
static mm_status
read_rope (const char *path, const json_t *o, double *theta)
{
  const char *field = rope_object (o, "rope_scaling") ? "rope_scaling" : "rope_parameters";
  const json_t *rope = rope_object (o, field);
  const char *type = "default";
  mm_status st;

  *theta = 10000;
  st = mm_json_number (path, o, "rope_theta", false, theta);
  if (st == MM_OK)
    st = refuse_partial (path, o);
  if (rope && rope_object (rope, "full_attention"))
    rope = rope_object (rope, "full_attention");
  if (st < 0 || !rope)
    return st;
  st = mm_json_string (path, rope, "type", false, &type);
  if (st == MM_OK)
    st = mm_json_string (path, rope, "rope_type", false, &type);
  if (st < 0)
    return st;
  if (strcmp (type, "default"))
    return mm_fail (MM_EUNSUP, "%s: %s: RoPE scaling \"%s\" is not supported", path, field, type);
  st = refuse_partial (path, rope);
  return st < 0 ? st : mm_json_number (path, rope, "rope_theta", false, theta);
}

/* ---- special tokens ---- */

/* KEY of O, an id or a list that begins with one, where *ID is not known yet.  */
static mm_status
read_id (const char *path, const json_t *o, const char *key, int32_t *id)
{
  const json_t *v = json_object_get (o, key);

  if (json_is_array (v))
    v = json_array_get (v, 0);
  if (*id >= 0 || !v || json_is_null (v))
    return MM_OK;
  if (!json_is_integer (v) || json_integer_value (v) < -1 || json_integer_value (v) > INT32_MAX)
    return mm_fail (MM_EFORMAT, "%s: %s: want a token id or a list of them", path, key);
  *id = (int32_t) json_integer_value (v);
  return MM_OK;
}

static mm_status
read_ids (const char *path, const json_t *o, struct mm_model_config *c)
{
  mm_status st = read_id (path, o, "bos_token_id", &c->bos_id);

  if (st == MM_OK)
    st = read_id (path, o, "eos_token_id", &c->eos_id);
  if (st == MM_OK)
    st = read_id (path, o, "pad_token_id", &c->pad_id);
  return st;
}

/* The id that tokenizer_config.json gives to its eos_token (a string, or an object around one).  */
static void
eos_of_tokenizer (const json_t *o, int32_t *id)
{
  const json_t *eos = json_object_get (o, "eos_token"), *token;
  const json_t *content = json_is_object (eos) ? json_object_get (eos, "content") : eos;
  const char *key, *name = json_string_value (content);

  if (!name)
    return;
  json_object_foreach ((json_t *) json_object_get (o, "added_tokens_decoder"), key, token)
    {
      const char *text = json_string_value (json_object_get (token, "content"));
      char *end;
      long value = strtol (key, &end, 10);

      if (text && !strcmp (text, name) && end != key && !*end && value >= 0 && value <= INT32_MAX)
        *id = (int32_t) value;
    }
}

/* The file NAME beside PATH; *OUT stays NULL where there is none.  */
static mm_status
read_sibling (const char *path, const char *name, char **sibling, json_t **out)
{
  const char *slash = strrchr (path, '/');
  char *dir = slash ? strndup (path, slash > path ? (size_t) (slash - path) : 1) : strdup (".");
  mm_status st;

  *out = NULL;
  *sibling = dir ? mm_path_join (dir, name) : NULL;
  free (dir);
  if (!*sibling)
    return mm_fail (MM_ENOMEM, "%s: out of memory", path);
  st = mm_json_read (*sibling, SIZE_LIMIT, out);
  return st == MM_ENOENT ? MM_OK : st;
}

/* Folders made by MiniMind's converter name no eos in config.json: then generation_config.json says
   it, or tokenizer_config.json, or it is 2, as in MiniMind's (and Llama's) tokenizers.  */
static mm_status
find_missing_ids (const char *path, struct mm_model_config *c)
{
  char *sibling = NULL;
  json_t *o = NULL;
  mm_status st = read_sibling (path, "generation_config.json", &sibling, &o);

  if (st == MM_OK && o)
    st = read_ids (sibling, o, c);
  json_decref (o);
  free (sibling);
  if (st < 0 || c->eos_id >= 0)
    return st;
  st = read_sibling (path, "tokenizer_config.json", &sibling, &o);
  if (st == MM_OK && o)
    eos_of_tokenizer (o, &c->eos_id);
  json_decref (o);
  free (sibling);
  if (st == MM_OK && c->eos_id < 0 && c->vocab_size > 2)
    c->eos_id = 2;
  return st;
}

/* ---- the file ---- */

/* Positive integers below 2^31; mm_config_check knows the closer limits.  */
static mm_status
read_size (const char *path, const json_t *o, const char *key, int64_t absent, uint32_t *value)
{
  int64_t v = absent;
  mm_status st = mm_json_integer (path, o, key, absent == 0, 1, INT32_MAX, &v);

  *value = (uint32_t) v;
  return st;
}

static mm_status
read_sizes (const char *path, const json_t *o, const struct defaults *d, struct mm_model_config *c)
{
  mm_status st = read_size (path, o, "hidden_size", 0, &c->hidden_size);

  if (st == MM_OK)
    st = read_size (path, o, "num_hidden_layers", 0, &c->n_layers);
  if (st == MM_OK)
    st = read_size (path, o, "num_attention_heads", 0, &c->n_heads);
  if (st == MM_OK)
    st = read_size (path, o, "intermediate_size", 0, &c->ffn_size);
  if (st == MM_OK)
    st = read_size (path, o, "vocab_size", 0, &c->vocab_size);
  if (st == MM_OK)
    st = read_size (path, o, "max_position_embeddings", d->max_positions, &c->max_positions);
  if (st < 0)
    return st;

  /* A null is not an absence: both classes take it for "as many as heads".  */
  bool null_kv = json_is_null (json_object_get (o, "num_key_value_heads"));
  int64_t kv = d->n_kv_heads && !null_kv ? d->n_kv_heads : c->n_heads;
  int64_t hd = d->head_dim ? d->head_dim : c->hidden_size / c->n_heads;

  st = read_size (path, o, "num_key_value_heads", kv, &c->n_kv_heads);
  if (st == MM_OK && !hd && !json_is_integer (json_object_get (o, "head_dim")))
    st = mm_fail (MM_EFORMAT, "%s: num_attention_heads: %u heads, but hidden_size is %u", path,
                  c->n_heads, c->hidden_size);
  return st < 0 ? st : read_size (path, o, "head_dim", hd, &c->head_dim);
}

static mm_status
read_config (const char *path, const json_t *o, struct mm_model_config *c)
{
  const struct defaults *d;
  double eps = 1e-6;
  mm_status st = read_architecture (path, o, &d);

  *c = (struct mm_model_config) { .bos_id = -1, .eos_id = -1, .pad_id = -1 };
  if (st < 0)
    return st;
  c->architecture = d->architecture;
  st = refuse_experts (path, o);
  if (st == MM_OK)
    st = refuse_windows (path, o, d->architecture);
  if (st == MM_OK)
    st = refuse_others (path, o);
  if (st == MM_OK)
    st = read_rope (path, o, &c->rope_theta);
  if (st == MM_OK)
    st = read_sizes (path, o, d, c);
  if (st == MM_OK)
    st = mm_json_number (path, o, "rms_norm_eps", false, &eps);
  if (st == MM_OK)
    st = mm_json_bool (path, o, "tie_word_embeddings", false, &c->tied);
  if (st == MM_OK)
    st = read_ids (path, o, c);
  c->rms_eps = (float) eps;
  if (st == MM_OK)
    st = mm_config_check (path, MM_EFORMAT, c);
  if (st == MM_OK && c->eos_id < 0)
    st = find_missing_ids (path, c);
  if (c->bos_id < 0 && !json_object_get (o, "bos_token_id"))
    c->bos_id = d->bos_id;
  return st;
}

mm_status
mm_config_read (const char *path, struct mm_model_config *c)
{
  json_t *o;
  mm_status st = mm_json_read (path, SIZE_LIMIT, &o);

  if (st < 0)
    return st;
  st = json_is_object (o) ? read_config (path, o, c)
                          : mm_fail (MM_EFORMAT, "%s: want a JSON object", path);
  json_decref (o);
  return st;
}

/* adapter_config.c -- adapter_config.json, PEFT's: read for what the mathematics depends on, and written.
   SPDX-License-Identifier: Apache-2.0

   Source: PEFT's tuners/lora/config.py and utils/other.py; what is unknown or null is ignored, as PEFT's
   own readers do.  */

#include <config.h>

#define PCRE2_CODE_UNIT_WIDTH 8

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcre2.h>

#include <minimind/json.h>

#include "impl.h"

/* ---- reading ---- */

/* Is VALUE more than a way of saying no?  */
static bool
is_set (const json_t *value)
{
  switch (value ? json_typeof (value) : JSON_NULL)
    {
    case JSON_TRUE:
      return true;
    case JSON_OBJECT:
      return json_object_size (value) > 0;
    case JSON_ARRAY:
      return json_array_size (value) > 0;
    case JSON_STRING:
      return json_string_length (value) > 0;
    default:
      return false;
    }
}

/* Fields that change what an adapter computes, when they are set.  */
static const char *const variants[] = {
  "alora_invocation_tokens", "arrow_config", "fan_in_fan_out", "kasa_config", "layer_replication",
  "lora_bias", "modules_to_save", "monteclora_config", "target_parameters", "trainable_token_indices",
  "use_bdlora", "use_dora", "use_qalora", "velora_config"
};

/* Ways to start that change the base's weights too, unless the adapter was converted.  */
static const char *const starts[] = { "pissa", "olora", "corda", "loftq", "lora_ga" };

static mm_status
refuse (const char *name, const char *key, const char *why)
{
  return mm_fail (MM_EUNSUP, "%s: %s: %s", name, key, why);
}

mm_status
mm_adapter_config_check (const char *name, const json_t *config)
{
  const char *type, *bias = "none", *start = json_string_value (json_object_get (config, "init_lora_weights"));
  mm_status st = mm_json_string (name, config, "peft_type", true, &type);

  if (st == MM_OK)
    st = mm_json_string (name, config, "bias", false, &bias);
  if (st < 0)
    return st;
  if (strcmp (type, "LORA") != 0)
    return mm_fail (MM_EUNSUP, "%s: peft_type: want LORA, found %.40s", name, type);
  if (strcmp (bias, "none") != 0)
    return refuse (name, "bias", "biases are not supported");
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    if (is_set (json_object_get (config, variants[i])))
      return refuse (name, variants[i], "this variant of LoRA is not supported");
  for (size_t i = 0; start && i < sizeof starts / sizeof *starts; i++)
    if (strncmp (start, starts[i], strlen (starts[i])) == 0)
      return refuse (name, "init_lora_weights", "it changes the base's weights; convert the adapter with PEFT's "
                     "save_pretrained (path_initial_model_for_weight_conversion=...)");
  return MM_OK;
}

/* Does the pattern KEY, of the field WHAT, name MODULE, as PEFT matches it: wholly, or behind a dot?  */
static mm_status
names_module (const char *name, const char *what, const char *key, const char *module, bool *found)
{
  char *pattern;
  int error;
  PCRE2_SIZE offset;
  pcre2_code *code;
  pcre2_match_data *match;

  if (asprintf (&pattern, "^(?:.*\\.)?(?:%s)$", key) < 0)
    return mm_fail (MM_ENOMEM, "%s: no memory", name);
  code = pcre2_compile ((PCRE2_SPTR) pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &offset, NULL);
  free (pattern);
  if (!code)
    return mm_fail (MM_EUNSUP, "%s: %s: \"%.60s\" is no pattern", name, what, key);
  match = pcre2_match_data_create_from_pattern (code, NULL);
  error = match ? pcre2_match (code, (PCRE2_SPTR) module, PCRE2_ZERO_TERMINATED, 0, 0, match, NULL)
                : PCRE2_ERROR_NOMEMORY;
  pcre2_match_data_free (match);
  pcre2_code_free (code);
  *found = error > 0;
  if (error < 0 && error != PCRE2_ERROR_NOMATCH)
    return mm_fail (MM_EUNSUP, "%s: %s: \"%.60s\" takes too long", name, what, key);
  return MM_OK;
}

/* What the patterns in the field WHAT say of MODULE: the first that names it counts; *VALUE stays where none does.  */
static mm_status
read_pattern (const char *name, const json_t *config, const char *what, const char *module, double *value)
{
  const json_t *patterns = json_object_get (config, what);
  const char *key;
  json_t *number;

  if (patterns && !json_is_object (patterns) && !json_is_null (patterns))
    return mm_fail (MM_EFORMAT, "%s: %s: want an object of patterns and numbers", name, what);
  json_object_foreach ((json_t *) patterns, key, number)
    {
      bool found = false;
      mm_status st = names_module (name, what, key, module, &found);

      if (st < 0)
        return st;
      if (found && !json_is_number (number))
        return mm_fail (MM_EFORMAT, "%s: %s: \"%.60s\": want a number", name, what, key);
      if (found)
        {
          *value = json_number_value (number);
          break;
        }
    }
  return MM_OK;
}

/* The rank that the configuration gives MODULE is RANK, its tensors'.  One that gives none has no say.  */
static mm_status
check_rank (const char *name, const json_t *config, const char *module, uint32_t rank)
{
  double r = rank;
  mm_status st = mm_json_number (name, config, "r", false, &r);

  if (st == MM_OK)
    st = read_pattern (name, config, "rank_pattern", module, &r);
  if (st == MM_OK && r != rank)
    st = mm_fail (MM_EFORMAT, "%s: gives %s the rank %g, but its tensors have %u", name, module, r, rank);
  return st;
}

mm_status
mm_adapter_config_scale (const char *name, const json_t *config, const char *module, uint32_t rank, float *scale)
{
  double alpha = 8;             /* PEFT's default */
  bool rslora = false;
  mm_status st = mm_json_number (name, config, "lora_alpha", false, &alpha);

  if (st == MM_OK)
    st = mm_json_bool (name, config, "use_rslora", false, &rslora);
  if (st == MM_OK)
    st = read_pattern (name, config, "alpha_pattern", module, &alpha);
  if (st == MM_OK)
    st = check_rank (name, config, module, rank);
  if (st < 0)
    return st;
  *scale = (float) (alpha / (rslora ? sqrt ((double) rank) : (double) rank));
  if (!isfinite (*scale) || *scale == 0)
    return mm_fail (MM_EFORMAT, "%s: lora_alpha: want a number that is not 0, found %g", name, alpha);
  return MM_OK;
}

/* ---- writing ---- */

/* Add KEY: VALUE, a new reference, to OBJECT.  */
static bool
set (json_t *object, const char *key, json_t *value)
{
  return json_object_set_new (object, key, value) == 0;
}

/* A number that was kept as float32, as an integer where it is one.  */
static json_t *
number (double value)
{
  return value == floor (value) && fabs (value) < 1e9 ? json_integer ((json_int_t) value) : json_real (value);
}

/* Modules that differ from RANK and ALPHA, by their full names, and the names of all.  */
static bool
list_modules (const struct mm_model *m, uint32_t rank, double alpha, json_t *modules, json_t *ranks, json_t *alphas)
{
  bool good = true;

  for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS; t++)
    for (uint32_t l = 0; good && l < m->config.n_layers; l++)
      {
        struct mm_lora_module x = mm_lora_module (m, l, t);
        double its_alpha = (double) x.scale * x.rank;
        char name[96];

        if (!x.rank)
          continue;
        snprintf (name, sizeof name, "model.layers.%u.%s", l, mm_lora_target_path (t));
        good = json_array_append_new (modules, json_string (name)) == 0
               && (x.rank == rank || set (ranks, name, json_integer (x.rank)))
               && (its_alpha == alpha || set (alphas, name, number (its_alpha)));
      }
  return good;
}

/* The short names of targets where every layer has them; otherwise the list of all modules stays.  */
static json_t *
shorten (const struct mm_model *m, json_t *modules)
{
  json_t *names = json_array ();

  for (enum mm_lora_target t = 0; names && t < MM_LORA_TARGETS; t++)
    {
      uint32_t n = 0;

      for (uint32_t l = 0; l < m->config.n_layers; l++)
        n += mm_lora_module (m, l, t).rank > 0;
      if (n > 0 && n < m->config.n_layers)
        {
          json_decref (names);
          return modules;
        }
      if (n > 0)
        json_array_append_new (names, json_string (mm_lora_target_name (t)));
    }
  json_decref (modules);
  return names;
}

static struct mm_lora_module
first_module (const struct mm_model *m)
{
  struct mm_lora_module x = { 0, 0 };

  for (uint32_t l = 0; l < m->config.n_layers && !x.rank; l++)
    for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS && !x.rank; t++)
      x = mm_lora_module (m, l, t);
  return x;
}

mm_status
mm_adapter_config_text (const struct mm_model *m, char **text)
{
  struct mm_lora_module first = first_module (m);
  double alpha = (double) first.scale * first.rank;
  json_t *modules = json_array (), *ranks = json_object (), *alphas = json_object (), *config = json_object ();
  mm_status st = MM_ENOMEM;

  if (config && list_modules (m, first.rank, alpha, modules, ranks, alphas)
      && set (config, "alpha_pattern", alphas) && set (config, "base_model_name_or_path", json_null ())
      && set (config, "bias", json_string ("none")) && set (config, "fan_in_fan_out", json_false ())
      && set (config, "inference_mode", json_true ()) && set (config, "init_lora_weights", json_true ())
      && set (config, "lora_alpha", number (alpha)) && set (config, "lora_dropout", json_real (0))
      && set (config, "peft_type", json_string ("LORA")) && set (config, "r", json_integer (first.rank))
      && set (config, "rank_pattern", ranks) && set (config, "target_modules", shorten (m, modules))
      && set (config, "task_type", json_string ("CAUSAL_LM")) && set (config, "use_dora", json_false ())
      && set (config, "use_rslora", json_false ()))
    st = mm_json_text (config, true, text);
  else
    st = mm_fail (MM_ENOMEM, "no memory for adapter_config.json");
  json_decref (config);
  return st;
}

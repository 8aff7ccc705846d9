/* vocabulary.c -- tokenizers: what they are made of, their special tokens, a sample of the others.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/json.h>
#include <minimind/shown.h>
#include <minimind/tokenizer.h>

#include "describe.h"
#include "pieces.h"

enum
{
  DEFAULT_SAMPLES = 8,
  MAX_SPECIAL = 64              /* that are shown; some tokenizers reserve hundreds */
};

static json_t *
role (int32_t id)
{
  return id == MM_NO_TOKEN ? json_null () : json_integer (id);
}

/* ---- what it is made of ---- */

/* The types of the steps of COMPONENT, a normalizer or pre-tokenizer: "Split, ByteLevel".  NULL for none.  */
static json_t *
component_types (const json_t *component, const char *steps_key)
{
  const char *type = json_string_value (json_object_get (component, "type"));
  json_t *steps = json_object_get (component, steps_key), *step;
  char text[200] = "";
  size_t used = 0, i;

  if (!type)
    return json_null ();
  if (!steps)
    return json_string (type);
  json_array_foreach (steps, i, step)
    {
      const char *name = json_string_value (json_object_get (step, "type"));

      if (used < sizeof text)
        used += (size_t) snprintf (text + used, sizeof text - used, "%s%s", i ? ", " : "", name ? name : "?");
    }
  return json_string (text);
}

/* Kind and sizes, of the file that T was made from.  */
static mm_status
add_kind (const char *path, const struct mm_tokenizer *t, json_t *d)
{
  const char *json, *config;
  size_t json_size, config_size;
  json_t *file, *model;
  mm_status st;

  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  st = mm_json_parse (path, json, json_size, &file);
  if (st < 0)
    return st;
  model = json_object_get (file, "model");
  json_object_set (d, "model", json_object_get (model, "type"));
  json_object_set_new (d, "normalizer", component_types (json_object_get (file, "normalizer"), "normalizers"));
  json_object_set_new (d, "pre_tokenizer",
                       component_types (json_object_get (file, "pre_tokenizer"), "pretokenizers"));
  json_object_set_new (d, "vocab_size", json_integer (mm_tokenizer_vocab_size (t)));
  json_object_set_new (d, "merges", json_integer ((json_int_t) json_array_size (json_object_get (model, "merges"))));
  json_object_set_new (d, "added_tokens",
                       json_integer ((json_int_t) json_array_size (json_object_get (file, "added_tokens"))));
  json_decref (file);
  return MM_OK;
}

/* ---- tokens ---- */

static mm_status
add_token (const struct mm_tokenizer *t, uint32_t id, json_t *tokens)
{
  size_t n;
  const char *bytes = mm_tokenizer_bytes (t, id, &n);
  char *text = mm_shown_text (bytes, n);
  json_t *token = text ? json_pack ("{s:I, s:s}", "id", (json_int_t) id, "text", text) : NULL;

  free (text);
  if (!token)
    return mm_fail (MM_ENOMEM, "no memory for the vocabulary");
  if (mm_tokenizer_is_special (t, id))
    json_object_set_new (token, "special", json_true ());
  json_array_append_new (tokens, token);
  return MM_OK;
}

/* The numbers that stand for a token which is special or not, as SPECIAL says; others are gaps.  */
static bool
is_wanted (const struct mm_tokenizer *t, uint32_t id, bool special)
{
  size_t n;

  return mm_tokenizer_bytes (t, id, &n) && mm_tokenizer_is_special (t, id) == special;
}

/* WANT of the tokens that are special or not: the first ones of the special, else from all over the
   vocabulary, first and last included.  *COUNT: how many there are.  */
static mm_status
add_tokens (const struct mm_tokenizer *t, bool special, uint64_t want, json_t *tokens, uint64_t *count)
{
  uint32_t size = mm_tokenizer_vocab_size (t);
  uint64_t taken = 0, at = 0;
  mm_status st = MM_OK;

  *count = 0;
  for (uint32_t id = 0; id < size; id++)
    *count += is_wanted (t, id, special);
  want = want < *count ? want : *count;
  for (uint32_t id = 0; st == MM_OK && taken < want && id < size; id++)
    if (is_wanted (t, id, special))
      {
        /* The TAKEN-th of WANT lies this far from the first of them; for one and for the special, at the start.  */
        uint64_t place = special || want == 1
                         ? taken : (uint64_t) ((double) taken * (double) (*count - 1) / (double) (want - 1) + 0.5);

        if (at++ == place)
          {
            st = add_token (t, id, tokens);
            taken++;
          }
      }
  return st;
}

mm_status
describe_tokenizer (const char *path, const struct inspect_config *c, json_t *d)
{
  struct mm_tokenizer *t;
  json_t *special = json_array (), *samples = json_array ();
  uint64_t n_special, n_others, want = c->samples < 0 ? DEFAULT_SAMPLES : (uint64_t) c->samples;
  mm_status st = mm_tokenizer_load (path, &t);

  if (st == MM_OK)
    st = add_kind (path, t, d);
  if (st == MM_OK)
    st = add_tokens (t, true, MAX_SPECIAL, special, &n_special);
  if (st == MM_OK)
    st = add_tokens (t, false, want, samples, &n_others);
  if (st == MM_OK)
    {
      json_object_set_new (d, "sha256", json_string (mm_tokenizer_sha256 (t)));
      json_object_set_new (d, "bos_id", role (mm_tokenizer_bos (t)));
      json_object_set_new (d, "eos_id", role (mm_tokenizer_eos (t)));
      json_object_set_new (d, "pad_id", role (mm_tokenizer_pad (t)));
      json_object_set_new (d, "special_tokens", json_integer ((json_int_t) n_special));
      json_object_set (d, "special", special);
      json_object_set (d, "vocabulary", samples);
    }
  json_decref (special);
  json_decref (samples);
  mm_tokenizer_free (t);
  return st;
}

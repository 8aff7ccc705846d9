/* load_config.c -- the roles of special tokens, from tokenizer_config.json.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include <minimind/json.h>

#include "tokenizer_impl.h"

/* The token of role KEY: a string, an object with a "content", or null.  */
static mm_status
read_role (const char *name, const json_t *config, const char *key, const struct mm_tokenizer *t,
           int32_t *id)
{
  const json_t *role = json_object_get (config, key);
  const char *text;

  *id = MM_NO_TOKEN;
  if (!role || json_is_null (role))
    return MM_OK;
  if (json_is_object (role))
    role = json_object_get (role, "content");
  text = json_string_value (role);
  if (!text)
    return mm_fail (MM_EFORMAT, "%s: %s: want a token", name, key);
  *id = mm_tokenizer_find (t, text);
  if (*id == MM_NO_TOKEN)
    return mm_fail (MM_EFORMAT, "%s: %s: token %s is not in the vocabulary", name, key, text);
  return MM_OK;
}

/* The configuration repeats the added tokens, keyed by id; HF would add those that
   tokenizer.json lacks.  */
static mm_status
check_added (const char *name, const json_t *config, const struct mm_tokenizer *t)
{
  json_t *decoder = json_object_get (config, "added_tokens_decoder"), *token;
  const char *key;

  json_object_foreach (decoder, key, token)
    {
      const char *text = json_string_value (json_object_get (token, "content"));
      int32_t id = text ? mm_tokenizer_find (t, text) : MM_NO_TOKEN;
      char want[16];

      snprintf (want, sizeof want, "%d", id);
      if (!text || id == MM_NO_TOKEN || strcmp (key, want) != 0)
        return mm_fail (MM_EFORMAT, "%s: added_tokens_decoder: token %s has id %s, in "
                        "tokenizer.json it is %s", name, text ? text : "(none)", key,
                        id == MM_NO_TOKEN ? "missing" : want);
    }
  return MM_OK;
}

/* Without a configuration: the end of a text by the names that are in use for it.  */
static int32_t
guess_eos (const struct mm_tokenizer *t)
{
  static const char *const names[] = { "<|im_end|>", "<|endoftext|>", "</s>" };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (size_t j = 0; j < t->n_added; j++)
      if (strcmp (t->added[j].text, names[i]) == 0)
        return (int32_t) t->added[j].id;
  return MM_NO_TOKEN;
}

mm_status
mm_load_config (const char *name, const json_t *config, struct mm_tokenizer *t)
{
  bool prefix = false;
  mm_status st;

  t->bos = t->pad = MM_NO_TOKEN;
  t->eos = config ? MM_NO_TOKEN : guess_eos (t);
  if (!config)
    return MM_OK;
  if (!json_is_object (config))
    return mm_fail (MM_EFORMAT, "%s: want an object", name);
  st = mm_json_bool (name, config, "add_prefix_space", false, &prefix);
  if (st == MM_OK && prefix)
    return mm_fail (MM_EUNSUP, "%s: add_prefix_space is not supported", name);
  if (st == MM_OK)
    st = check_added (name, config, t);
  if (st == MM_OK)
    st = read_role (name, config, "bos_token", t, &t->bos);
  if (st == MM_OK)
    st = read_role (name, config, "eos_token", t, &t->eos);
  if (st == MM_OK)
    st = read_role (name, config, "pad_token", t, &t->pad);
  return st;
}

/* tokenizer.c -- loading a tokenizer, asking it, and decoding.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/memory.h>

#include "known.h"
#include "tokenizer_impl.h"

/* ---- loading ---- */

static mm_status
build (const char *name, const struct mm_tokenizer_json *json, const json_t *config, struct mm_tokenizer *t)
{
  const json_t *model = json_object_get (json->root, "model");
  struct mm_vocabulary v = { .n = 0 };
  mm_status st;

  if (!json_is_object (json->root) || !json_is_object (model))
    return mm_fail (MM_EFORMAT, "%s: this is not a tokenizer.json: it has no model", name);
  st = mm_load_model_options (name, model);
  if (st == MM_OK && !json->vocab)
    st = mm_fail (MM_EFORMAT, "%s: model: want a vocab object and a list of merges", name);
  if (st == MM_OK)
    st = mm_vocabulary_read (name, t->json, t->json_size, json, &v);
  if (st == MM_OK)
    st = mm_load_added (name, json_object_get (json->root, "added_tokens"), &v, t);
  if (st == MM_OK)
    st = mm_load_model (name, json, &v, t);
  mm_vocabulary_free (&v);
  if (st == MM_OK)
    st = mm_load_pipeline (name, json->root, t);
  if (st == MM_OK)
    st = mm_added_build (&t->verbatim, t->added, t->n_added, false);
  if (st == MM_OK)
    st = mm_added_build (&t->normalized, t->added, t->n_added, true);
  if (st == MM_OK)
    st = mm_load_config (name, config, t);
  return st;
}

/* Make a tokenizer that owns JSON and CONFIG, which are freed if it cannot be made.  */
static mm_status
adopt (const char *name, char *json, size_t json_size, const char *config_name, char *config,
       size_t config_size, struct mm_tokenizer **out)
{
  struct mm_tokenizer_json parsed = { .root = NULL };
  json_t *config_root = NULL;
  struct mm_tokenizer *t;
  mm_status st = mm_alloc ("tokenizer", 1, sizeof *t, &t);

  *out = NULL;
  if (st < 0)
    {
      free (json);
      free (config);
      return st;
    }
  *t = (struct mm_tokenizer) { .json = json, .json_size = json_size, .config = config,
                               .config_size = config_size };
  st = mm_sha256_bytes (json, json_size, t->sha256);
  if (st == MM_OK)
    st = mm_tokenizer_json_parse (name, json, json_size, &parsed);
  if (st == MM_OK && config)
    st = mm_json_parse (config_name, config, config_size, &config_root);
  if (st == MM_OK)
    st = build (name, &parsed, config_root, t);
  json_decref (parsed.root);
  json_decref (config_root);
  if (st < 0)
    mm_tokenizer_free (t);
  else
    *out = t;
  return st;
}

mm_status
mm_tokenizer_load (const char *path, struct mm_tokenizer **t)
{
  char *json, *config, *name, *config_name;
  size_t json_size, config_size;
  mm_status st = mm_load_text (path, &json, &json_size, &config, &config_size, &name, &config_name);

  *t = NULL;
  if (st == MM_OK)
    st = adopt (name, json, json_size, config_name ? config_name : name, config, config_size, t);
  free (name);
  free (config_name);
  return st;
}

mm_status
mm_tokenizer_parse (const char *name, const char *json, size_t json_size, const char *config,
                    size_t config_size, struct mm_tokenizer **t)
{
  char *json_copy = NULL, *config_copy = NULL;
  mm_status st = mm_alloc ("tokenizer", json_size + 1, 1, &json_copy);

  *t = NULL;
  if (st == MM_OK && config)
    st = mm_alloc ("tokenizer", config_size + 1, 1, &config_copy);
  if (st < 0)
    {
      free (json_copy);
      return st;
    }
  memcpy (json_copy, json, json_size);
  if (config)
    memcpy (config_copy, config, config_size);
  return adopt (name, json_copy, json_size, name, config_copy, config_size, t);
}

void
mm_tokenizer_free (struct mm_tokenizer *t)
{
  if (!t)
    return;
  mm_bpe_free (&t->bpe);
  mm_split_free (&t->split);
  mm_trie_free (&t->vocabulary);
  free (t->seams);
  mm_added_free (&t->verbatim);
  mm_added_free (&t->normalized);
  free (t->added);
  free (t->special);
  free (t->texts);
  free (t->text_bytes);
  free (t->json);
  free (t->config);
  free (t);
}

/* ---- asking ---- */

void
mm_tokenizer_files (const struct mm_tokenizer *t, const char **json, size_t *json_size,
                    const char **config, size_t *config_size)
{
  *json = t->json;
  *json_size = t->json_size;
  *config = t->config;
  *config_size = t->config_size;
}

const char *
mm_tokenizer_sha256 (const struct mm_tokenizer *t)
{
  return t->sha256;
}

uint32_t
mm_tokenizer_vocab_size (const struct mm_tokenizer *t)
{
  return t->n_ids;
}

int32_t
mm_tokenizer_bos (const struct mm_tokenizer *t)
{
  return t->bos;
}

int32_t
mm_tokenizer_eos (const struct mm_tokenizer *t)
{
  return t->eos;
}

int32_t
mm_tokenizer_pad (const struct mm_tokenizer *t)
{
  return t->pad;
}

const char *
mm_tokenizer_bytes (const struct mm_tokenizer *t, uint32_t id, size_t *size)
{
  *size = 0;
  if (id >= t->n_ids || t->texts[id].value == MM_TRIE_NONE)
    return NULL;
  *size = t->texts[id].size;
  return t->texts[id].bytes;
}

bool
mm_tokenizer_is_special (const struct mm_tokenizer *t, uint32_t id)
{
  return id < t->n_ids && t->special[id];
}

int32_t
mm_tokenizer_find (const struct mm_tokenizer *t, const char *text)
{
  size_t size = strlen (text);

  for (size_t i = 0; i < t->n_added; i++)
    if (strcmp (t->added[i].text, text) == 0)
      return (int32_t) t->added[i].id;
  for (uint32_t id = 0; id < t->n_ids; id++)
    if (t->texts[id].value != MM_TRIE_NONE && t->texts[id].size == size
        && memcmp (t->texts[id].bytes, text, size) == 0)
      return (int32_t) id;
  return MM_NO_TOKEN;
}

int32_t
mm_tokenizer_special_in (const struct mm_tokenizer *t, const char *text, size_t size)
{
  const struct mm_added_set *sets[] = { &t->verbatim, &t->normalized };
  struct mm_added_match match;

  for (size_t i = 0; i < 2; i++)
    for (size_t at = 0; mm_added_next (sets[i], text, size, true, &at, 0, &match);)
      if (t->special[match.id])
        return (int32_t) match.id;
  return MM_NO_TOKEN;
}

/* ---- decoding ---- */

mm_status
mm_decode (const struct mm_tokenizer *t, const uint32_t *ids, size_t count, bool skip_special,
           char **text, size_t *size, size_t *capacity)
{
  size_t total = *size;
  char *where;
  mm_status st;

  for (size_t i = 0; i < count; i++)
    if (ids[i] < t->n_ids)
      total += t->texts[ids[i]].size;
  st = mm_grow ("decoded text", text, capacity, total, 1);
  if (st < 0)
    return st;
  where = *text + *size;
  for (size_t i = 0; i < count; i++)
    {
      size_t n;
      const char *bytes = mm_tokenizer_bytes (t, ids[i], &n);

      if (!bytes || (skip_special && mm_tokenizer_is_special (t, ids[i])))
        continue;
      memcpy (where, bytes, n);
      where += n;
    }
  *size = (size_t) (where - *text);
  return MM_OK;
}

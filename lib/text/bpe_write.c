/* bpe_write.c -- tokenizer.json and tokenizer_config.json of a learnt vocabulary.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/memory.h>

#include "bpe_write.h"
#include "byte_table.h"
#include "tokenizer_impl.h"

/* Positions that the model presets are made for.  */
enum { MODEL_MAX_LENGTH = 32768 };

/* ChatML: every message as <|im_start|>role, a line end, the content, <|im_end|>, a line end.  */
static const char chatml[] =
  "{%- for message in messages %}"
  "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
  "{%- endfor %}"
  "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";

static mm_status
no_memory (void)
{
  return mm_fail (MM_ENOMEM, "tokenizer.json: out of memory");
}

/* Object[KEY] = VALUE, which is consumed; false when memory is short.  */
static bool
set (json_t *object, const char *key, json_t *value)
{
  return value && json_object_set_new (object, key, value) == 0;
}

/* The SIZE bytes at TEXT spelt in the byte table; the caller frees the result.  */
static char *
spell (const char *text, size_t size)
{
  char *spelt = malloc (2 * size + 1);

  if (spelt)
    mm_table_text (text, size, spelt);
  return spelt;
}

/* The spelling of token ID, of text SIZE > 0 or one of the special tokens of O.  */
static char *
spell_token (const struct mm_learnt *l, const struct mm_bpe_options *o, uint32_t id)
{
  return id < o->n_special ? strdup (o->special[id])
                           : spell (l->text + l->tokens[id].offset, l->tokens[id].size);
}

static void
free_spelt (char **spelt, size_t n)
{
  for (size_t i = 0; spelt && i < n; i++)
    free (spelt[i]);
  free (spelt);
}

/* ---- tokenizer.json ---- */

static json_t *
added_token (const char *content, int with_id, size_t id)
{
  json_t *token = json_object ();
  bool good = token != NULL;

  if (with_id)
    good = good && set (token, "id", json_integer ((json_int_t) id));
  good = good && set (token, "content", json_string (content))
         && set (token, "single_word", json_false ()) && set (token, "lstrip", json_false ())
         && set (token, "rstrip", json_false ()) && set (token, "normalized", json_false ())
         && set (token, "special", json_true ());
  if (!good)
    {
      json_decref (token);
      return NULL;
    }
  return token;
}

static json_t *
byte_level (bool prefix)
{
  return json_pack ("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", (int) prefix,
                    "trim_offsets", 1, "use_regex", 1);
}

/* What cuts text as PATTERN does.  */
static json_t *
pre_tokenizer (enum mm_pattern pattern)
{
  return pattern == MM_PATTERN_GPT2
         ? byte_level (false)
         : json_pack ("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, {s:s, s:b, s:b, s:b}]}", "type", "Sequence",
                      "pretokenizers", "type", "Split", "pattern", "Regex", mm_pattern_regex (pattern), "behavior",
                      "Isolated", "invert", 0, "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                      "use_regex", 0);
}

static json_t *
make_vocab (const struct mm_learnt *l, char *const *spelt)
{
  json_t *vocab = json_object ();

  for (size_t i = 0; vocab && i < l->n_tokens; i++)
    if (!set (vocab, spelt[i], json_integer ((json_int_t) i)))
      {
        json_decref (vocab);
        return NULL;
      }
  return vocab;
}

static json_t *
make_merges (const struct mm_learnt *l, char *const *spelt)
{
  json_t *merges = json_array ();

  for (size_t r = 0; merges && r < l->n_rules; r++)
    if (l->rules[r].left != MM_BPE_NONE
        && json_array_append_new (merges, json_pack ("[s, s]", spelt[l->rules[r].left],
                                                     spelt[l->rules[r].right])) < 0)
      {
        json_decref (merges);
        return NULL;
      }
  return merges;
}

static bool
fill_model (json_t *model, const struct mm_learnt *l, char *const *spelt)
{
  return model && set (model, "type", json_string ("BPE")) && set (model, "dropout", json_null ())
         && set (model, "unk_token", json_null ())
         && set (model, "continuing_subword_prefix", json_null ())
         && set (model, "end_of_word_suffix", json_null ())
         && set (model, "fuse_unk", json_false ()) && set (model, "byte_fallback", json_false ())
         && set (model, "ignore_merges", json_false ())
         && set (model, "vocab", make_vocab (l, spelt))
         && set (model, "merges", make_merges (l, spelt));
}

static bool
fill_tokenizer (json_t *root, const struct mm_learnt *l, const struct mm_bpe_options *o,
                enum mm_pattern pattern, char *const *spelt)
{
  json_t *added = json_array (), *model = json_object ();
  bool good = root && added;

  for (size_t i = 0; good && i < o->n_special; i++)
    good = json_array_append_new (added, added_token (o->special[i], 1, i)) == 0;
  good = fill_model (model, l, spelt) && good;
  return set (root, "version", json_string ("1.0")) && set (root, "truncation", json_null ())
         && set (root, "padding", json_null ()) && set (root, "added_tokens", added)
         && set (root, "normalizer", json_null ())
         && set (root, "pre_tokenizer", pre_tokenizer (pattern))
         && set (root, "post_processor", json_null ())
         && set (root, "decoder", byte_level (true)) && set (root, "model", model) && good;
}

/* ---- tokenizer_config.json ---- */

static bool
is_special (const struct mm_bpe_options *o, const char *token)
{
  for (size_t i = 0; i < o->n_special; i++)
    if (strcmp (o->special[i], token) == 0)
      return true;
  return false;
}

static bool
has_role (const struct mm_bpe_options *o, const char *token)
{
  const char *roles[] = { o->bos, o->eos, o->pad, o->unk };

  for (size_t i = 0; i < 4; i++)
    if (roles[i] && strcmp (roles[i], token) == 0)
      return true;
  return false;
}

static json_t *
role (const char *token)
{
  return token ? json_string (token) : json_null ();
}

static bool
fill_config (json_t *config, const struct mm_bpe_options *o)
{
  json_t *decoder = json_object (), *others = json_array ();
  bool good = config && decoder && others;

  for (size_t i = 0; good && i < o->n_special; i++)
    {
      char id[24];

      snprintf (id, sizeof id, "%zu", i);
      good = set (decoder, id, added_token (o->special[i], 0, i))
             && (has_role (o, o->special[i])
                 || json_array_append_new (others, json_string (o->special[i])) == 0);
    }
  good = set (config, "add_bos_token", json_false ()) && good;
  good = set (config, "add_eos_token", json_false ()) && good;
  good = set (config, "add_prefix_space", json_false ()) && good;
  good = set (config, "added_tokens_decoder", decoder) && good;
  good = set (config, "additional_special_tokens", others) && good;
  good = set (config, "bos_token", role (o->bos)) && good;
  if (is_special (o, "<|im_start|>") && is_special (o, "<|im_end|>"))
    good = set (config, "chat_template", json_string (chatml)) && good;
  return set (config, "clean_up_tokenization_spaces", json_false ())
         && set (config, "eos_token", role (o->eos))
         && set (config, "model_max_length", json_integer (MODEL_MAX_LENGTH))
         && set (config, "pad_token", role (o->pad))
         && set (config, "tokenizer_class", json_string ("PreTrainedTokenizerFast"))
         && set (config, "unk_token", role (o->unk)) && good;
}

/* ---- both ---- */

mm_status
mm_bpe_write (const struct mm_learnt *l, const struct mm_bpe_options *o, enum mm_pattern pattern, char **json,
              char **config)
{
  json_t *root = json_object (), *settings = json_object ();
  char **spelt = NULL;
  bool good;
  mm_status st = mm_alloc ("vocabulary", l->n_tokens, sizeof *spelt, &spelt);

  *json = *config = NULL;
  good = st == MM_OK;
  for (size_t i = 0; good && i < l->n_tokens; i++)
    good = (spelt[i] = spell_token (l, o, (uint32_t) i)) != NULL;
  good = good && fill_tokenizer (root, l, o, pattern, spelt) && fill_config (settings, o);
  if (st == MM_OK)
    st = good ? mm_json_text (root, true, json) : no_memory ();
  if (st == MM_OK)
    st = mm_json_text (settings, true, config);
  if (st < 0)
    {
      free (*json);
      *json = NULL;
    }
  json_decref (root);
  json_decref (settings);
  free_spelt (spelt, l->n_tokens);
  return st;
}

/* ---- a tokenizer extended ---- */

/* Added tokens that VOCAB does not have, and those learnt, with their ids.  */
static bool
extend_vocab (const struct mm_learnt *l, json_t *vocab)
{
  const struct mm_tokenizer *t = l->base;
  bool good = vocab;

  for (size_t i = 0; good && i < t->n_added; i++)
    {
      char *content = strndup (t->added[i].text, t->added[i].size);

      good = content && (json_object_get (vocab, content)
                         || set (vocab, content, json_integer ((json_int_t) t->added[i].id)));
      free (content);
    }
  for (size_t id = t->n_ids; good && id < l->n_tokens; id++)
    {
      char *spelt = spell (l->text + l->tokens[id].offset, l->tokens[id].size);

      good = spelt && set (vocab, spelt, json_integer ((json_int_t) id));
      free (spelt);
    }
  return good;
}

/* The rules learnt, as pairs or with a blank between, like those before.  */
static bool
extend_merges (const struct mm_learnt *l, json_t *merges)
{
  bool pairs = !json_is_string (json_array_get (merges, 0)), good = merges;

  for (size_t r = 0; good && r < l->n_rules; r++)
    {
      const struct mm_learnt_token *left = l->tokens + l->rules[r].left, *right = l->tokens + l->rules[r].right;
      char *a = spell (l->text + left->offset, left->size), *b = spell (l->text + right->offset, right->size);

      good = a && b && json_array_append_new (merges, pairs ? json_pack ("[s, s]", a, b)
                                                            : json_sprintf ("%s %s", a, b)) == 0;
      free (a);
      free (b);
    }
  return good;
}

mm_status
mm_bpe_write_extended (const struct mm_learnt *l, char **json, char **config)
{
  const struct mm_tokenizer *t = l->base;
  json_t *root, *model;
  mm_status st = mm_json_parse ("tokenizer.json", t->json, t->json_size, &root);

  *json = *config = NULL;
  if (st < 0)
    return st;
  model = json_object_get (root, "model");
  st = extend_vocab (l, json_object_get (model, "vocab")) && extend_merges (l, json_object_get (model, "merges"))
       ? mm_json_text (root, true, json) : no_memory ();
  json_decref (root);
  if (st == MM_OK && t->config && !(*config = strndup (t->config, t->config_size)))
    {
      free (*json);
      *json = NULL;
      st = no_memory ();
    }
  return st;
}

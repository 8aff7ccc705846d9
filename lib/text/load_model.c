/* load_model.c -- the vocabulary and merges of a tokenizer.json.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/memory.h>

#include "byte_table.h"
#include "tokenizer_impl.h"

/* ---- refusals ---- */

/* Options of the model that change ids in ways not done here.  */
static mm_status
check_options (const char *name, const json_t *model)
{
  static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
  const char *type = "BPE", *affix;
  double dropout = 0;
  bool byte_fallback = false;
  mm_status st = mm_json_string (name, model, "type", false, &type);

  if (st == MM_OK && strcmp (type, "BPE") != 0)
    return mm_fail (MM_EUNSUP, "%s: model %s is not supported: only byte-level BPE is", name, type);
  if (st == MM_OK)
    st = mm_json_number (name, model, "dropout", false, &dropout);
  if (st == MM_OK && dropout != 0)
    return mm_fail (MM_EUNSUP, "%s: dropout %g is not supported: the same text would get "
                    "different ids", name, dropout);
  if (st == MM_OK)
    st = mm_json_bool (name, model, "byte_fallback", false, &byte_fallback);
  if (st == MM_OK && byte_fallback)
    return mm_fail (MM_EUNSUP, "%s: byte_fallback is not supported: only byte-level BPE is", name);
  for (size_t i = 0; st == MM_OK && i < 2; i++)
    {
      affix = "";
      st = mm_json_string (name, model, affixes[i], false, &affix);
      if (st == MM_OK && *affix)
        return mm_fail (MM_EUNSUP, "%s: %s is not supported", name, affixes[i]);
    }
  return st;
}

/* Without a token for a byte HF drops it from the text in silence.  Bytes that valid UTF-8 does
   not have need none.  */
static mm_status
check_bytes (const char *name, const uint32_t bytes[256])
{
  unsigned missing = 0, first = 0;

  for (unsigned c = 256; c-- > 0;)
    if (bytes[c] == MM_BPE_NONE && c != 0xc0 && c != 0xc1 && c < 0xf5)
      {
        missing++;
        first = c;
      }
  if (missing)
    return mm_fail (MM_EUNSUP, "%s: the vocabulary has no token for %u of the 256 bytes (0x%02x is "
                    "the first): text would be lost", name, missing, first);
  return MM_OK;
}

/* ---- vocabulary ---- */

/* One larger than the largest id of vocabulary and added tokens.  */
static mm_status
count_ids (const char *name, json_t *vocab, struct mm_tokenizer *t)
{
  const char *key;
  json_t *value;
  json_int_t top = -1;

  json_object_foreach (vocab, key, value)
    {
      if (!json_is_integer (value) || json_integer_value (value) < 0
          || json_integer_value (value) > MM_MAX_ID)
        return mm_fail (MM_EFORMAT, "%s: vocab: token %s: want an id from 0 to %d", name, key,
                        MM_MAX_ID);
      if (json_integer_value (value) > top)
        top = json_integer_value (value);
    }
  for (size_t i = 0; i < t->n_added; i++)
    if (t->added[i].id > top)
      top = t->added[i].id;
  if (top < 0)
    return mm_fail (MM_EFORMAT, "%s: the vocabulary is empty", name);
  t->n_ids = (uint32_t) top + 1;
  return MM_OK;
}

/* Store the SIZE bytes at TEXT as those of ID; WHERE is the end of what is stored so far.  */
static void
store_text (struct mm_tokenizer *t, uint32_t id, const char *text, size_t size, char **where)
{
  t->texts[id] = (struct mm_trie_key) { *where, (uint32_t) size, id };
  memcpy (*where, text, size);
  (*where)[size] = '\0';
  *where += size + 1;
}

/* The bytes of all tokens.  A text of characters of the byte table stands for those bytes; any
   other text, which only added tokens have, for itself.  BYTES gets the ids of single bytes.  */
static mm_status
read_vocab (const char *name, json_t *vocab, struct mm_tokenizer *t, uint32_t bytes[256])
{
  size_t total = 0;
  const char *key;
  json_t *value;
  char *where;
  mm_status st = count_ids (name, vocab, t);

  if (st < 0)
    return st;
  json_object_foreach (vocab, key, value)
    total += strlen (key) + 1;
  for (size_t i = 0; i < t->n_added; i++)
    total += t->added[i].size + 1;
  st = mm_alloc ("vocabulary", t->n_ids, sizeof *t->texts, &t->texts);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", total, 1, &t->text_bytes);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", t->n_ids, sizeof *t->special, &t->special);
  if (st < 0)
    return st;
  for (uint32_t i = 0; i < t->n_ids; i++)
    t->texts[i].value = MM_TRIE_NONE;
  for (unsigned i = 0; i < 256; i++)
    bytes[i] = MM_BPE_NONE;

  where = t->text_bytes;
  json_object_foreach (vocab, key, value)
    {
      uint32_t id = (uint32_t) json_integer_value (value);
      size_t size;

      if (t->texts[id].value != MM_TRIE_NONE)
        return mm_fail (MM_EFORMAT, "%s: vocab: token %s has the id %u of another token", name, key,
                        id);
      if (*key == '\0')
        return mm_fail (MM_EFORMAT, "%s: vocab: the token of id %u is empty", name, id);
      if (mm_bytes_of_table_text (key, where, &size))
        {
          where[size] = '\0';
          t->texts[id] = (struct mm_trie_key) { where, (uint32_t) size, id };
          if (size == 1)
            bytes[(unsigned char) *where] = id;
          where += size + 1;
        }
      else
        store_text (t, id, key, strlen (key), &where);
    }
  for (size_t i = 0; i < t->n_added; i++)
    {
      struct mm_added_token *a = t->added + i;

      if (t->texts[a->id].value == MM_TRIE_NONE)
        store_text (t, a->id, a->text, a->size, &where);
      a->text = t->texts[a->id].bytes;
      t->special[a->id] = a->special;
    }
  return check_bytes (name, bytes);
}

/* ---- merges ---- */

/* The two parts of merge number R into BUFFER, as "left\0right\0"; *SPLIT is where the second
   starts.  Either a pair or one string with a space.  *SKIP is true for a comment.  */
static mm_status
read_merge (const char *name, const json_t *merge, size_t r, char **buffer, size_t *capacity,
            size_t *split, bool *skip)
{
  const char *left, *right, *space;
  size_t left_size, right_size;
  mm_status st;

  *skip = false;
  if (json_is_string (merge))
    {
      left = json_string_value (merge);
      *skip = strncmp (left, "#version", 8) == 0;
      space = strchr (left, ' ');
      if (*skip)
        return MM_OK;
      if (!space || strchr (space + 1, ' '))
        return mm_fail (MM_EFORMAT, "%s: merges: number %zu: want two parts with a space between",
                        name, r);
      left_size = (size_t) (space - left);
      right = space + 1;
    }
  else
    {
      left = json_string_value (json_array_get (merge, 0));
      right = json_string_value (json_array_get (merge, 1));
      if (!left || !right || json_array_size (merge) != 2)
        return mm_fail (MM_EFORMAT, "%s: merges: number %zu: want a pair of strings", name, r);
      left_size = strlen (left);
    }
  right_size = strlen (right);
  st = mm_grow ("merges", buffer, capacity, 2 * (left_size + right_size) + 4, 1);
  if (st < 0)
    return st;
  memcpy (*buffer, left, left_size);
  (*buffer)[left_size] = '\0';
  memcpy (*buffer + left_size + 1, right, right_size + 1);
  *split = left_size + 1;
  return MM_OK;
}

static mm_status
find_token (const char *name, const json_t *vocab, const char *text, size_t r, uint32_t *id)
{
  const json_t *value = json_object_get (vocab, text);

  if (!value)
    return mm_fail (MM_EFORMAT, "%s: merges: number %zu: token %s is not in the vocabulary", name, r,
                    text);
  *id = (uint32_t) json_integer_value (value);
  return MM_OK;
}

static mm_status
read_merges (const char *name, const json_t *merges, const json_t *vocab,
             struct mm_bpe_rule *rules, size_t *n_rules)
{
  char *buffer = NULL;
  size_t capacity = 0, n = 0;
  mm_status st = MM_OK;

  for (size_t r = 0; st == MM_OK && r < json_array_size (merges); r++)
    {
      struct mm_bpe_rule *rule = rules + n;
      size_t split = 0;
      bool skip;

      st = read_merge (name, json_array_get (merges, r), r, &buffer, &capacity, &split, &skip);
      if (st < 0 || skip)
        continue;
      st = find_token (name, vocab, buffer, r, &rule->left);
      if (st == MM_OK)
        st = find_token (name, vocab, buffer + split, r, &rule->right);
      if (st == MM_OK)
        {
          memmove (buffer + split - 1, buffer + split, strlen (buffer + split) + 1);
          st = find_token (name, vocab, buffer, r, &rule->made);
          n++;
        }
    }
  free (buffer);
  *n_rules = n;
  return st;
}

/* ---- the whole ---- */

/* Every token of the model whose text is of the byte table, for lookups of whole pieces.  */
static mm_status
build_whole_pieces (json_t *vocab, struct mm_tokenizer *t)
{
  struct mm_trie_key *keys;
  const char *key;
  json_t *value;
  size_t n = 0;
  mm_status st = mm_alloc ("vocabulary", json_object_size (vocab), sizeof *keys, &keys);

  if (st < 0)
    return st;
  json_object_foreach (vocab, key, value)
    if (mm_is_table_text (key))
      keys[n++] = t->texts[json_integer_value (value)];
  st = mm_trie_build (&t->vocabulary, keys, n);
  free (keys);
  return st;
}

/* Do merges make of every token that is looked up whole that token?  */
static bool
merges_agree (json_t *vocab, const struct mm_tokenizer *t)
{
  const char *key;
  json_t *value;

  json_object_foreach (vocab, key, value)
    {
      const struct mm_trie_key *text = t->texts + json_integer_value (value);

      if (mm_is_table_text (key)
          && mm_trie_find (&t->bpe.trie, text->bytes, text->size) != text->value)
        return false;
    }
  return true;
}

/* Parts of a piece are never looked up whole in HF, so they must not mind.  */
static mm_status
build_seams (json_t *vocab, struct mm_tokenizer *t)
{
  mm_status st;

  if (t->ignore_merges && !merges_agree (vocab, t))
    return MM_OK;
  st = mm_alloc ("vocabulary", 1, sizeof *t->seams, &t->seams);
  for (size_t r = 0; st == MM_OK && r < t->bpe.n_rules; r++)
    {
      const struct mm_trie_key *made = t->texts + t->bpe.rules[r].made;

      mm_seams_add (t->seams, made->bytes, made->size);
    }
  return st;
}

mm_status
mm_load_model (const char *name, const json_t *model, struct mm_tokenizer *t)
{
  json_t *vocab = json_object_get (model, "vocab");
  const json_t *merges = json_object_get (model, "merges");
  struct mm_bpe_rule *rules = NULL;
  uint32_t bytes[256];
  size_t n_rules = 0;
  mm_status st = check_options (name, model);

  if (st < 0)
    return st;
  if (!json_is_object (vocab) || !json_is_array (merges))
    return mm_fail (MM_EFORMAT, "%s: model: want a vocab object and a list of merges", name);
  st = mm_json_bool (name, model, "ignore_merges", false, &t->ignore_merges);
  if (st == MM_OK)
    st = read_vocab (name, vocab, t, bytes);
  if (st == MM_OK)
    st = mm_alloc ("merges", json_array_size (merges), sizeof *rules, &rules);
  if (st == MM_OK)
    st = read_merges (name, merges, vocab, rules, &n_rules);
  if (st == MM_OK && t->ignore_merges)
    st = build_whole_pieces (vocab, t);
  if (st < 0)
    {
      free (rules);
      return st;
    }
  st = mm_bpe_build (&t->bpe, t->texts, t->n_ids, bytes, rules, n_rules);
  return st < 0 ? st : build_seams (vocab, t);
}

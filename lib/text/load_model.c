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
mm_status
mm_load_model_options (const char *name, const json_t *model)
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
count_ids (const char *name, const struct mm_vocabulary *v, struct mm_tokenizer *t)
{
  uint32_t n = 0;

  for (size_t i = 0; i < v->n; i++)
    if (v->tokens[i].id >= n)
      n = v->tokens[i].id + 1;
  for (size_t i = 0; i < t->n_added; i++)
    if (t->added[i].id >= n)
      n = t->added[i].id + 1;
  t->n_ids = n;
  return n > 0 ? MM_OK : mm_fail (MM_EFORMAT, "%s: the vocabulary is empty", name);
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

/* Room for the bytes of all tokens and what else is kept by id.  */
static mm_status
alloc_texts (const struct mm_vocabulary *v, struct mm_tokenizer *t)
{
  size_t total = 0;
  mm_status st;

  for (size_t i = 0; i < v->n; i++)
    total += v->tokens[i].size + 1;
  for (size_t i = 0; i < t->n_added; i++)
    total += t->added[i].size + 1;
  st = mm_alloc ("vocabulary", t->n_ids, sizeof *t->texts, &t->texts);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", total, 1, &t->text_bytes);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", t->n_ids, sizeof *t->special, &t->special);
  for (uint32_t i = 0; st == MM_OK && i < t->n_ids; i++)
    t->texts[i].value = MM_TRIE_NONE;
  return st;
}

/* The bytes of all tokens.  A text of characters of the byte table stands for those bytes; any
   other text, which only added tokens have, for itself.  BYTES gets the ids of single bytes.  */
static mm_status
read_vocab (const char *name, struct mm_vocabulary *v, struct mm_tokenizer *t, uint32_t bytes[256])
{
  char *where;
  mm_status st = count_ids (name, v, t);

  if (st == MM_OK)
    st = alloc_texts (v, t);
  if (st < 0)
    return st;
  for (unsigned i = 0; i < 256; i++)
    bytes[i] = MM_BPE_NONE;
  where = t->text_bytes;
  for (size_t i = 0; i < v->n; i++)
    {
      struct mm_spelling *token = v->tokens + i;
      uint32_t id = token->id;
      size_t size;

      if (t->texts[id].value != MM_TRIE_NONE)
        return mm_fail (MM_EFORMAT, "%s: vocab: token %.*s has the id %u of another token", name,
                        (int) token->size, token->text, id);
      if (token->size == 0)
        return mm_fail (MM_EFORMAT, "%s: vocab: the token of id %u is empty", name, id);
      token->is_bytes = mm_bytes_of_table_text (token->text, token->size, where, &size);
      if (!token->is_bytes)
        store_text (t, id, token->text, token->size, &where);
      else
        {
          where[size] = '\0';
          t->texts[id] = (struct mm_trie_key) { where, (uint32_t) size, id };
          if (size == 1)
            bytes[(unsigned char) *where] = id;
          where += size + 1;
        }
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

/* ---- the whole ---- */

/* Every token of the model whose text is of the byte table, for lookups of whole pieces.  */
static mm_status
build_whole_pieces (const struct mm_vocabulary *v, struct mm_tokenizer *t)
{
  struct mm_trie_key *keys;
  size_t n = 0;
  mm_status st = mm_alloc ("vocabulary", v->n, sizeof *keys, &keys);

  if (st < 0)
    return st;
  for (size_t i = 0; i < v->n; i++)
    if (v->tokens[i].is_bytes)
      keys[n++] = t->texts[v->tokens[i].id];
  st = mm_trie_build (&t->vocabulary, keys, n);
  free (keys);
  return st;
}

/* Do merges make of every token that is looked up whole that token?  */
static bool
merges_agree (const struct mm_vocabulary *v, const struct mm_tokenizer *t)
{
  for (size_t i = 0; i < v->n; i++)
    {
      const struct mm_trie_key *text = t->texts + v->tokens[i].id;
      uint32_t number = v->tokens[i].is_bytes && t->bpe.ordered
                        ? mm_trie_find (&t->bpe.trie, text->bytes, text->size) : MM_TRIE_NONE;

      if (v->tokens[i].is_bytes && (number == MM_TRIE_NONE || t->bpe.ids[number] != text->value))
        return false;
    }
  return true;
}

/* Parts of a piece are never looked up whole in HF, so they must not mind.  */
static mm_status
build_seams (const struct mm_vocabulary *v, struct mm_tokenizer *t)
{
  mm_status st;

  if (t->ignore_merges && !merges_agree (v, t))
    return MM_OK;
  st = mm_alloc ("vocabulary", 1, sizeof *t->seams, &t->seams);
  for (size_t r = 0; st == MM_OK && r < t->bpe.n_rules; r++)
    {
      const struct mm_trie_key *made = t->texts + t->bpe.ids[t->bpe.rules[r].made];

      mm_seams_add (t->seams, made->bytes, made->size);
    }
  return st;
}

mm_status
mm_load_model (const char *name, const struct mm_tokenizer_json *json, struct mm_vocabulary *v,
               struct mm_tokenizer *t)
{
  const json_t *model = json_object_get (json->root, "model");
  struct mm_bpe_rule *rules = NULL;
  uint32_t bytes[256];
  size_t n_rules = 0;
  mm_status st = mm_json_bool (name, model, "ignore_merges", false, &t->ignore_merges);

  if (st == MM_OK)
    st = read_vocab (name, v, t, bytes);
  if (st == MM_OK)
    st = mm_vocabulary_merges (name, t->json, t->json_size, json, v, &rules, &n_rules);
  if (st == MM_OK && t->ignore_merges)
    st = build_whole_pieces (v, t);
  if (st < 0)
    {
      free (rules);
      return st;
    }
  st = mm_bpe_build (&t->bpe, t->texts, t->n_ids, bytes, rules, n_rules);
  return st < 0 ? st : build_seams (v, t);
}

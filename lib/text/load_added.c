/* load_added.c -- the added tokens of a tokenizer.json.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/memory.h>

#include "byte_table.h"
#include "tokenizer_impl.h"
#include "unicode.h"

static mm_status
read_token (const char *name, const json_t *json, struct mm_added_token *token)
{
  const char *text = NULL;
  int64_t id = 0;
  mm_status st;

  if (!json_is_object (json))
    return mm_fail (MM_EFORMAT, "%s: added_tokens: want objects", name);
  st = mm_json_string (name, json, "content", true, &text);
  if (st == MM_OK)
    st = mm_json_integer (name, json, "id", true, 0, MM_MAX_ID, &id);
  if (st == MM_OK)
    st = mm_json_bool (name, json, "special", true, &token->special);
  if (st == MM_OK)
    st = mm_json_bool (name, json, "normalized", true, &token->normalized);
  if (st == MM_OK)
    st = mm_json_bool (name, json, "single_word", true, &token->single_word);
  if (st == MM_OK)
    st = mm_json_bool (name, json, "lstrip", true, &token->lstrip);
  if (st == MM_OK)
    st = mm_json_bool (name, json, "rstrip", true, &token->rstrip);
  if (st < 0)
    return st;
  if (*text == '\0')
    return mm_fail (MM_EFORMAT, "%s: added_tokens: the token of id %d is empty", name, (int) id);
  if (strlen (text) > MM_ADDED_LONGEST)
    return mm_fail (MM_EUNSUP, "%s: added_tokens: the token of id %d has %zu bytes, at most %d are "
                    "supported", name, (int) id, strlen (text), MM_ADDED_LONGEST);
  token->text = text;
  token->size = (uint32_t) strlen (text);
  token->id = (uint32_t) id;
  return MM_OK;
}

/* The id in the file is a comment for HF: a token that the model knows has the model's id, others
   are numbered upward.  Where the two disagree, the file does not mean what it says.  */
static mm_status
check_id (const char *name, const struct mm_added_token *token, const struct mm_vocabulary *v, uint32_t *next)
{
  size_t place = mm_vocabulary_find (v, token->text, token->size);
  bool known = place != SIZE_MAX;
  uint32_t want = known ? v->tokens[place].id : *next;

  if (token->id != want)
    return mm_fail (MM_EFORMAT, "%s: added token %s has id %u, but its id would be %u: %s", name,
                    token->text, token->id, want,
                    known ? "the model's vocabulary says so" : "ids behind the vocabulary follow "
                    "each other");
  if (token->id >= *next)
    *next = token->id + 1;
  /* Text outside ASCII is spelt in other characters in the vocabulary; the same characters there
     mean other bytes.  */
  for (const char *c = token->text; known && mm_is_table_text (token->text) && *c; c++)
    if ((unsigned char) *c >= 0x80)
      return mm_fail (MM_EUNSUP, "%s: added token %s has the spelling of another token of the "
                      "vocabulary", name, token->text);
  return MM_OK;
}

/* A token that swallows white space and one that starts with some could take the same text.  */
static mm_status
check_overlap (const char *name, const struct mm_added_token *tokens, size_t n)
{
  const struct mm_added_token *swallows = NULL;
  unsigned length;

  for (size_t i = 0; i < n; i++)
    if (tokens[i].rstrip)
      swallows = tokens + i;
  for (size_t i = 0; swallows && i < n; i++)
    if (mm_unicode_class (mm_utf8_get (tokens[i].text, &length)) & MM_SPACE)
      return mm_fail (MM_EUNSUP, "%s: added token %s starts with white space, which %s (rstrip) "
                      "takes", name, tokens[i].text, swallows->text);
  return MM_OK;
}

static int
by_text (const void *a, const void *b)
{
  const struct mm_added_token *const *x = a, *const *y = b;

  return strcmp ((*x)->text, (*y)->text);
}

static mm_status
check_duplicates (const char *name, const struct mm_added_token *tokens, size_t n)
{
  const struct mm_added_token **sorted;
  mm_status st = mm_alloc ("added tokens", n, sizeof *sorted, &sorted);

  if (st < 0)
    return st;
  for (size_t i = 0; i < n; i++)
    sorted[i] = tokens + i;
  if (n > 0)
    qsort (sorted, n, sizeof *sorted, by_text);
  for (size_t i = 1; st == MM_OK && i < n; i++)
    if (strcmp (sorted[i - 1]->text, sorted[i]->text) == 0)
      st = mm_fail (MM_EFORMAT, "%s: added token %s stands twice", name, sorted[i]->text);
  free (sorted);
  return st;
}

mm_status
mm_load_added (const char *name, const json_t *added, const struct mm_vocabulary *v, struct mm_tokenizer *t)
{
  size_t n = json_array_size (added);
  uint32_t next = (uint32_t) v->n;
  mm_status st;

  if (added && !json_is_null (added) && !json_is_array (added))
    return mm_fail (MM_EFORMAT, "%s: added_tokens: want a list", name);
  st = mm_alloc ("added tokens", n, sizeof *t->added, &t->added);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      st = read_token (name, json_array_get (added, i), t->added + i);
      if (st == MM_OK)
        st = check_id (name, t->added + i, v, &next);
    }
  if (st == MM_OK)
    st = check_duplicates (name, t->added, n);
  if (st == MM_OK)
    st = check_overlap (name, t->added, n);
  t->n_added = n;
  return st;
}

/* bpe_learnt.c -- tokens by id and by text.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "bpe_learnt.h"

/* The slot of this text: holds the id of its token, or MM_BPE_NONE.  */
static uint32_t *
slot_of (const struct mm_learnt *l, const char *text, size_t size)
{
  size_t mask = l->by_text_capacity - 1, i;
  uint64_t hash = size;

  for (size_t k = 0; k < size; k++)
    hash = (hash ^ (unsigned char) text[k]) * UINT64_C (0x100000001b3);
  for (i = hash * UINT64_C (0x9e3779b97f4a7c15) >> 32 & mask; l->by_text[i] != MM_BPE_NONE;
       i = (i + 1) & mask)
    {
      struct mm_learnt_token token = l->tokens[l->by_text[i]];

      if (token.size == size && memcmp (l->text + token.offset, text, size) == 0)
        break;
    }
  return l->by_text + i;
}

/* Room for one more token in the index.  */
static mm_status
grow_index (struct mm_learnt *l)
{
  size_t capacity = l->by_text_capacity ? 2 * l->by_text_capacity : 1024;
  uint32_t *fresh;
  mm_status st;

  if (2 * (l->n_tokens + 1) <= l->by_text_capacity)
    return MM_OK;
  st = mm_alloc ("vocabulary", capacity, sizeof *fresh, &fresh);
  if (st < 0)
    return st;
  memset (fresh, 0xff, capacity * sizeof *fresh);
  free (l->by_text);
  l->by_text = fresh;
  l->by_text_capacity = capacity;
  for (size_t i = 0; i < l->n_tokens; i++)
    if (l->tokens[i].size > 0)
      *slot_of (l, l->text + l->tokens[i].offset, l->tokens[i].size) = (uint32_t) i;
  return MM_OK;
}

/* Append the token whose text has been put behind TEXT_SIZE already.  */
static mm_status
append (struct mm_learnt *l, size_t size)
{
  mm_status st = mm_grow ("vocabulary", &l->tokens, &l->tokens_capacity, l->n_tokens + 1,
                          sizeof *l->tokens);

  if (st == MM_OK)
    st = grow_index (l);
  if (st < 0)
    return st;
  if (size > 0)
    *slot_of (l, l->text + l->text_size, size) = (uint32_t) l->n_tokens;
  l->tokens[l->n_tokens++] = (struct mm_learnt_token) { l->text_size, size };
  l->text_size += size;
  return MM_OK;
}

mm_status
mm_learnt_add (struct mm_learnt *l, const char *text, size_t size)
{
  mm_status st = mm_grow ("vocabulary", &l->text, &l->text_capacity, l->text_size + size, 1);

  if (st < 0)
    return st;
  if (size > 0)
    memcpy (l->text + l->text_size, text, size);
  return append (l, size);
}

uint32_t
mm_learnt_find (const struct mm_learnt *l, const char *text, size_t size)
{
  return l->by_text_capacity ? *slot_of (l, text, size) : MM_BPE_NONE;
}

mm_status
mm_learnt_join (struct mm_learnt *l, uint32_t left, uint32_t right, uint32_t *id, bool *fresh)
{
  struct mm_learnt_token a = l->tokens[left], b = l->tokens[right];
  size_t size = a.size + b.size;
  mm_status st = mm_grow ("vocabulary", &l->text, &l->text_capacity, l->text_size + size, 1);
  char *text;

  if (st < 0)
    return st;
  text = l->text + l->text_size;
  memcpy (text, l->text + a.offset, a.size);
  memcpy (text + a.size, l->text + b.offset, b.size);
  *id = mm_learnt_find (l, text, size);
  *fresh = *id == MM_BPE_NONE;
  if (!*fresh)
    return MM_OK;
  *id = (uint32_t) l->n_tokens;
  return append (l, size);
}

void
mm_learnt_free (struct mm_learnt *l)
{
  free (l->tokens);
  free (l->text);
  free (l->by_text);
  free (l->rules);
  free (l->uses);
  *l = (struct mm_learnt) { 0 };
}

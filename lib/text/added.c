/* added.c -- finding added tokens in text.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "added.h"
#include "unicode.h"

mm_status
mm_added_build (struct mm_added_set *set, const struct mm_added_token *tokens, size_t n,
                bool normalized)
{
  struct mm_trie_key *keys;
  size_t count = 0;
  mm_status st;

  *set = (struct mm_added_set) { .tokens = tokens, .only_start = -1 };
  st = mm_alloc ("added tokens", n, sizeof *keys, &keys);
  if (st < 0)
    return st;
  for (size_t i = 0; i < n; i++)
    {
      unsigned char first = (unsigned char) tokens[i].text[0];

      if (tokens[i].normalized != normalized)
        continue;
      keys[count++] = (struct mm_trie_key) { tokens[i].text, tokens[i].size, (uint32_t) i };
      set->only_start = count == 1 || set->only_start == first ? first : -1;
      set->starts[first] = true;
      set->any = true;
      set->any_plain |= !tokens[i].special;
      set->any_flags |= tokens[i].single_word || tokens[i].lstrip || tokens[i].rstrip;
      if (tokens[i].size > set->longest)
        set->longest = tokens[i].size;
    }
  st = mm_trie_build (&set->trie, keys, count);
  free (keys);
  return st;
}

void
mm_added_free (struct mm_added_set *set)
{
  mm_trie_free (&set->trie);
  *set = (struct mm_added_set) { 0 };
}

/* The first place from AT on where a token may start, or SIZE.  */
static size_t
next_start (const struct mm_added_set *set, const char *text, size_t size, size_t at)
{
  if (set->only_start >= 0)
    {
      const char *p = memchr (text + at, set->only_start, size - at);

      return p ? (size_t) (p - text) : size;
    }
  while (at < size && !set->starts[(unsigned char) text[at]])
    at++;
  return at;
}

/* Class of the character that ends before AT > 0; *START is where it starts.  */
static unsigned
class_before (const char *text, size_t at, size_t *start)
{
  unsigned length;

  do
    at--;
  while (at > 0 && ((unsigned char) text[at] & 0xc0) == 0x80);
  *start = at;
  return mm_unicode_class (mm_utf8_get (text + at, &length));
}

static bool
stands_alone (const char *text, size_t size, size_t start, size_t end)
{
  unsigned length;
  size_t before;

  return !(start > 0 && class_before (text, start, &before) & MM_WORD)
         && !(end < size && mm_unicode_class (mm_utf8_get (text + end, &length)) & MM_WORD);
}

/* Widen MATCH by the white space its token swallows.  */
static void
swallow_space (const struct mm_added_token *token, const char *text, size_t size, size_t floor,
               struct mm_added_match *match)
{
  size_t before;
  unsigned length;

  while (token->lstrip && match->start > floor
         && class_before (text, match->start, &before) & MM_SPACE)
    match->start = before;
  while (token->rstrip && match->end < size
         && mm_unicode_class (mm_utf8_get (text + match->end, &length)) & MM_SPACE)
    match->end += length;
}

bool
mm_added_next (const struct mm_added_set *set, const char *text, size_t size, bool special,
               size_t *at, size_t floor, struct mm_added_match *match)
{
  if (!set->any || (!special && !set->any_plain))
    return false;
  for (;;)
    {
      size_t start = next_start (set, text, size, *at), length;
      const struct mm_added_token *token;
      uint32_t i;

      if (start == size)
        return false;
      i = mm_trie_longest (&set->trie, text + start, size - start, &length);
      if (i == MM_TRIE_NONE)
        {
          *at = start + 1;
          continue;
        }
      *at = start + length;
      token = set->tokens + i;
      if ((token->special && !special)
          || (token->single_word && !stands_alone (text, size, start, *at)))
        continue;
      *match = (struct mm_added_match) { start, *at, token->id };
      swallow_space (token, text, size, floor, match);
      return true;
    }
}

/* Does a token match at START, or may one with what follows SIZE, that reaches beyond AT?  With
   TOUCH one that ends at AT counts too.  */
static bool
reaches (const struct mm_added_set *set, const char *text, size_t size, size_t start, size_t at,
         bool touch)
{
  uint32_t node = 0;
  size_t i = start;

  while (i < size && (node = mm_trie_step (&set->trie, node, (unsigned char) text[i])) != 0)
    {
      i++;
      if (mm_trie_value (&set->trie, node) != MM_TRIE_NONE && (i > at || (touch && i == at)))
        return true;
    }
  return i == size && node != 0;
}

/* Tokens that look at their neighbours must not even touch AT, nor may white space that one
   could swallow.  */
bool
mm_added_may_cut (const struct mm_added_set *set, const char *text, size_t size, size_t at)
{
  bool touch = set->any_flags;
  size_t before;
  unsigned length;

  if (!set->any)
    return true;
  if (touch && (class_before (text, at, &before) & MM_SPACE
                || mm_unicode_class (mm_utf8_get (text + at, &length)) & MM_SPACE))
    return false;
  for (size_t start = at > set->longest ? at - set->longest : 0; start < at + touch; start++)
    if (set->starts[(unsigned char) text[start]] && reaches (set, text, size, start, at, touch))
      return false;
  return true;
}

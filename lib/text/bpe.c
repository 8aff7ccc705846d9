/* bpe.c -- the tables of a vocabulary's merges, and encoding by backtracking (bpe.h).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "bpe.h"

enum { ALLOWED_BITS = 12 };     /* answers remembered: 32 kB, as what is farther away than the tables
                                   is not worth asking */

/* ---- tables ---- */

/* Index the rules by pair; of a pair that stands twice (*REPEATS) the later rank counts, as in HF.  */
static mm_status
build_pairs (struct mm_bpe *bpe, bool *repeats)
{
  unsigned bits = 4;            /* and the filter has a word at least */
  size_t mask;
  mm_status st;

  while ((size_t) 1 << bits < 2 * bpe->n_rules)
    bits++;
  st = mm_alloc ("table of merges", (size_t) 1 << bits, sizeof *bpe->pairs, &bpe->pairs);
  if (st == MM_OK)
    st = mm_alloc ("table of merges", (size_t) 4 << bits >> 6, sizeof *bpe->pair_filter,
                   &bpe->pair_filter);
  if (st < 0)
    return st;
  bpe->pair_shift = 64 - bits;
  mask = ((size_t) 1 << bits) - 1;
  for (size_t i = 0; i <= mask; i++)
    bpe->pairs[i].key = UINT64_MAX;
  for (size_t r = 0; r < bpe->n_rules; r++)
    {
      uint64_t key = (uint64_t) bpe->rules[r].left << 32 | bpe->rules[r].right;
      uint64_t hash = mm_bpe_pair_hash (bpe->rules[r].left, bpe->rules[r].right);
      size_t i = hash >> bpe->pair_shift, bit = hash >> (bpe->pair_shift - 2);

      bpe->pair_filter[bit / 64] |= UINT64_C (1) << bit % 64;
      while (bpe->pairs[i].key != UINT64_MAX && bpe->pairs[i].key != key)
        i = (i + 1) & mask;
      *repeats |= bpe->pairs[i].key == key;
      bpe->pairs[i] = (struct mm_bpe_pair) { key, (uint32_t) r };
    }
  return MM_OK;
}

/* True if another rule for the same pair took R's place, where any pair REPEATS.  */
static bool
is_dead (const struct mm_bpe *bpe, bool repeats, size_t r)
{
  return repeats && mm_bpe_rank (bpe, bpe->rules[r].left, bpe->rules[r].right) != r;
}

/* Does every rule rank behind all rules that make its parts?  */
static mm_status
find_order (struct mm_bpe *bpe, bool repeats)
{
  uint32_t *last;               /* rank + 1 of the last rule that makes a token */
  mm_status st = mm_alloc ("table of merges", bpe->n_tokens, sizeof *last, &last);

  if (st < 0)
    return st;
  for (size_t r = 0; r < bpe->n_rules; r++)
    if (!is_dead (bpe, repeats, r))
      last[bpe->rules[r].made] = (uint32_t) r + 1;
  bpe->ordered = true;
  for (size_t r = 0; r < bpe->n_rules; r++)
    if (!is_dead (bpe, repeats, r) && (last[bpe->rules[r].left] > r || last[bpe->rules[r].right] > r))
      bpe->ordered = false;
  free (last);
  return MM_OK;
}

/* May LEFT and RIGHT stand side by side until the time of rank LIMIT: does no rule that ranks
   before it join the symbols at their boundary?  Both are reachable.

   The symbols that touch the boundary are undone, the one merged last first.  Of two merged by
   the same rule the left one came first, as the leftmost of equals does; and so a rule joins
   them across the boundary before it merges within RIGHT, but after it merges within LEFT.  */
static bool
may_stand (const struct mm_bpe *bpe, uint32_t left, uint32_t right, uint32_t limit)
{
  for (;;)
    {
      uint32_t rank = mm_bpe_rank (bpe, left, right);
      const struct mm_bpe_origin *l = bpe->origins + left, *r = bpe->origins + right;

      if (rank < limit)         /* MM_BPE_NONE is never below */
        return false;
      if (l->when > r->when)
        {
          limit = l->when - 1;
          left = l->right;
        }
      else if (r->when > 0)
        {
          limit = r->when;
          right = r->left;
        }
      else
        return true;
    }
}

/* Find the tokens that their own bytes are merged to, and how.  */
static void
find_reachable (struct mm_bpe *bpe, bool repeats, bool *reachable)
{
  for (size_t c = 0; c < 256; c++)
    if (bpe->bytes[c] != MM_BPE_NONE)
      reachable[bpe->bytes[c]] = true;
  for (size_t r = 0; r < bpe->n_rules; r++)
    {
      struct mm_bpe_rule rule = bpe->rules[r];

      if (is_dead (bpe, repeats, r) || reachable[rule.made] || !reachable[rule.left]
          || !reachable[rule.right] || !may_stand (bpe, rule.left, rule.right, (uint32_t) r))
        continue;
      reachable[rule.made] = true;
      bpe->origins[rule.made] = (struct mm_bpe_origin) { rule.left, rule.right, (uint32_t) r + 1 };
    }
}

/* The trie of reachable tokens, and for each the longest one that begins it.  */
static mm_status
build_trie (struct mm_bpe *bpe, const struct mm_trie_key *texts, const bool *reachable)
{
  struct mm_trie_key *keys;
  size_t n = 0;
  mm_status st = mm_alloc ("vocabulary", bpe->n_tokens, sizeof *keys, &keys);

  if (st < 0)
    return st;
  for (size_t id = 0; id < bpe->n_tokens; id++)
    if (reachable[id])
      {
        keys[n] = texts[id];
        keys[n++].value = (uint32_t) id;
      }
  st = mm_trie_build (&bpe->trie, keys, n);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      size_t length;

      bpe->tokens[keys[i].value].shorter
        = mm_trie_longest (&bpe->trie, keys[i].bytes, keys[i].size - 1, &length);
    }
  free (keys);
  return st;
}

mm_status
mm_bpe_build (struct mm_bpe *bpe, const struct mm_trie_key *texts, size_t n_tokens,
              const uint32_t bytes[256], struct mm_bpe_rule *rules, size_t n_rules)
{
  bool *reachable = NULL, repeats = false;
  mm_status st;

  *bpe = (struct mm_bpe) { .rules = rules, .n_rules = n_rules, .n_tokens = n_tokens };
  memcpy (bpe->bytes, bytes, sizeof bpe->bytes);
  st = mm_alloc ("vocabulary", n_tokens, sizeof *bpe->tokens, &bpe->tokens);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", n_tokens, sizeof *bpe->origins, &bpe->origins);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", n_tokens, sizeof *reachable, &reachable);
  if (st == MM_OK)
    st = build_pairs (bpe, &repeats);
  if (st == MM_OK)
    st = find_order (bpe, repeats);
  if (st == MM_OK)
    {
      for (size_t id = 0; id < n_tokens; id++)
        {
          bpe->tokens[id] = (struct mm_bpe_token) { texts[id].size, MM_BPE_NONE };
          bpe->origins[id] = (struct mm_bpe_origin) { MM_BPE_NONE, MM_BPE_NONE, 0 };
        }
      if (bpe->ordered)
        find_reachable (bpe, repeats, reachable);
      st = build_trie (bpe, texts, reachable);
    }
  free (reachable);
  if (st < 0)
    mm_bpe_free (bpe);
  return st;
}

void
mm_bpe_free (struct mm_bpe *bpe)
{
  free (bpe->rules);
  free (bpe->pairs);
  free (bpe->pair_filter);
  free (bpe->tokens);
  free (bpe->origins);
  mm_trie_free (&bpe->trie);
  *bpe = (struct mm_bpe) { 0 };
}

/* ---- encoding ---- */

mm_status
mm_bpe_scratch_open (struct mm_bpe_scratch *s)
{
  mm_status st;

  *s = (struct mm_bpe_scratch) { 0 };
  st = mm_alloc ("encoder", (size_t) 1 << ALLOWED_BITS, sizeof *s->allowed, &s->allowed);
  if (st == MM_OK)
    memset (s->allowed, 0xff, ((size_t) 1 << ALLOWED_BITS) * sizeof *s->allowed);
  return st;
}

void
mm_bpe_scratch_close (struct mm_bpe_scratch *s)
{
  free (s->allowed);
  free (s->dead);
  free (s->symbols);
  free (s->heap);
  *s = (struct mm_bpe_scratch) { 0 };
}

/* May RIGHT follow LEFT in a finished encoding?  */
static inline bool
may_follow (const struct mm_bpe *bpe, struct mm_bpe_scratch *s, uint32_t left, uint32_t right)
{
  uint64_t key = (uint64_t) left << 33 | (uint64_t) right << 1;
  uint64_t *slot = s->allowed + (key * UINT64_C (0x9e3779b97f4a7c15) >> (64 - ALLOWED_BITS));

  if ((*slot & ~UINT64_C (1)) != key)
    *slot = key | may_stand (bpe, left, right, MM_BPE_NONE);
  return *slot & 1;
}

/* Mark place AT of a piece of SIZE bytes as given up; *N_DEAD counts them.  */
static mm_status
give_up (struct mm_bpe_scratch *s, size_t size, size_t at, size_t *n_dead)
{
  if (*n_dead == 0)
    {
      mm_status st = mm_grow ("encoder", &s->dead, &s->dead_capacity, size / 64 + 1,
                              sizeof *s->dead);

      if (st < 0)
        return st;
      memset (s->dead, 0, (size / 64 + 1) * sizeof *s->dead);
    }
  ++*n_dead;
  s->dead[at / 64] |= UINT64_C (1) << at % 64;
  return MM_OK;
}

static bool
is_given_up (const struct mm_bpe_scratch *s, size_t at)
{
  return s->dead[at / 64] >> at % 64 & 1;
}

mm_status
mm_bpe_encode (const struct mm_bpe *bpe, struct mm_bpe_scratch *s, const char *piece, size_t size,
               uint32_t *ids, size_t *count)
{
  const struct mm_bpe_token *tokens = bpe->tokens;
  size_t n = 0, at = 0, n_dead = 0, length;
  uint32_t token;

  if (!bpe->ordered)
    return mm_bpe_merge_loop (bpe, s, piece, size, ids, count);

  token = mm_trie_longest (&bpe->trie, piece, size, &length);
  for (;;)
    {
      if (token == MM_BPE_NONE)
        {
          /* Nothing may stand here: go back before the last token and try shorter ones.  */
          mm_status st = give_up (s, size, at, &n_dead);

          if (st < 0)
            return st;
          token = ids[--n];
          at -= tokens[token].size;
        }
      else if ((n_dead == 0 || !is_given_up (s, at + length))
               && (n == 0 || may_follow (bpe, s, ids[n - 1], token)))
        {
          ids[n++] = token;
          at += length;
          if (at == size)
            break;
          token = mm_trie_longest (&bpe->trie, piece + at, size - at, &length);
          continue;
        }
      token = tokens[token].shorter;
      length = token == MM_BPE_NONE ? 0 : tokens[token].size;
    }
  *count = n;
  return MM_OK;
}

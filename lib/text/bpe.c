/* bpe.c -- the tables of a vocabulary's merges, and encoding by backtracking (bpe.h).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "bpe.h"

enum
{
  ALLOWED_BITS = 12,            /* answers remembered: 32 kB, as what is farther away than the tables
                                   is not worth asking */
  TAG_BITS = 30                 /* of a pair's hash, beside MM_BPE_HERE or MM_BPE_AWAY */
};

#define GOLDEN UINT64_C (0x9e3779b97f4a7c15)

/* ---- tables ---- */

/* What is known while the tables are made.  */
struct builder
{
  struct mm_bpe *bpe;
  const struct mm_bpe_rule *rules;      /* of ids */
  const struct mm_trie_key *texts;      /* by id */
  size_t n_tokens;
  uint32_t *numbers;            /* by id; none where there is none yet */
  uint32_t *makers;             /* by id: rank + 1 of the last rule that makes it, 0 if none does */
  bool *dead;                   /* by rank: another rule for the same pair takes its place */
  uint32_t next;                /* number for the next token that is not reachable */
};

/* Find the rules whose pair stands again later: the later rank counts, as in HF.  */
static mm_status
find_dead (struct builder *b)
{
  const struct mm_bpe_rule *rules = b->rules;
  size_t mask = 15;
  uint32_t *slots;
  mm_status st;

  while (mask < 2 * b->bpe->n_rules)
    mask = 2 * mask + 1;
  st = mm_alloc ("table of merges", mask + 1, sizeof *slots, &slots);
  for (uint32_t r = 0; st == MM_OK && r < b->bpe->n_rules; r++)
    {
      uint64_t pair = (uint64_t) rules[r].left << 32 | rules[r].right;
      size_t i = pair * GOLDEN >> 32 & mask;

      for (; slots[i] > 0; i = (i + 1) & mask)
        {
          const struct mm_bpe_rule *other = rules + (slots[i] - 1);

          if (other->left == rules[r].left && other->right == rules[r].right)
            {
              b->dead[slots[i] - 1] = true;
              break;
            }
        }
      slots[i] = r + 1;
    }
  free (slots);
  return st;
}

/* Does every rule rank behind all rules that make its parts?  */
static void
find_order (struct builder *b)
{
  const struct mm_bpe_rule *rules = b->rules;

  for (uint32_t r = 0; r < b->bpe->n_rules; r++)
    if (!b->dead[r])
      b->makers[rules[r].made] = r + 1;
  b->bpe->ordered = true;
  for (uint32_t r = 0; r < b->bpe->n_rules; r++)
    if (!b->dead[r] && (b->makers[rules[r].left] > r || b->makers[rules[r].right] > r))
      b->bpe->ordered = false;
}

/* Choose the hash of pairs: where the numbers of two tokens are multiplied, modulo 4^number_bits, by an odd factor, no
   two pairs give the same.  What the bucket does not tell of it has to fit in a tag.  */
static void
shape_pairs (const struct builder *b)
{
  struct mm_bpe *bpe = b->bpe;
  size_t others = b->n_tokens < 3 * bpe->n_rules ? b->n_tokens : 3 * bpe->n_rules;

  bpe->bucket_bits = 1;
  while (((size_t) MM_BPE_BUCKET << bpe->bucket_bits) < 2 * bpe->n_rules)
    bpe->bucket_bits++;
  bpe->number_bits = 9;
  while ((size_t) 1 << bpe->number_bits <= b->next + others)
    bpe->number_bits++;
  while (2 * bpe->number_bits - bpe->bucket_bits > TAG_BITS)
    bpe->bucket_bits++;
  bpe->pair_factor = (GOLDEN >> (64 - 2 * bpe->number_bits) | 1) << (64 - 2 * bpe->number_bits);
}

/* The tables of pairs, empty.  */
static mm_status
alloc_pairs (struct mm_bpe *bpe)
{
  size_t size = sizeof *bpe->pairs << bpe->bucket_bits;
  mm_status st = mm_alloc ("table of merges", MM_BPE_BYTES * MM_BPE_BYTES, sizeof *bpe->byte_pairs, &bpe->byte_pairs);

  if (st < 0)
    return st;
  for (size_t i = 0; i < MM_BPE_BYTES * MM_BPE_BYTES; i++)
    bpe->byte_pairs[i] = MM_BPE_NONE;
  bpe->pairs = aligned_alloc (sizeof *bpe->pairs, size);
  if (!bpe->pairs)
    return mm_fail (MM_ENOMEM, "table of merges: no memory for %zu bytes", size);
  memset (bpe->pairs, 0, size);
  return MM_OK;
}

static mm_status
alloc_tables (struct builder *b)
{
  struct mm_bpe *bpe = b->bpe;
  mm_status st;

  if (bpe->n_rules + b->n_tokens > MM_TRIE_LARGEST - MM_BPE_BYTES)
    return mm_fail (MM_EUNSUP, "vocabulary: too many merges");
  b->next = (uint32_t) bpe->n_rules + MM_BPE_BYTES;
  shape_pairs (b);
  st = alloc_pairs (bpe);
  if (st == MM_OK)
    st = mm_alloc ("table of merges", bpe->n_rules, sizeof *bpe->rules, &bpe->rules);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", b->next, sizeof *bpe->tokens, &bpe->tokens);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", b->next + b->n_tokens, sizeof *bpe->ids, &bpe->ids);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", b->n_tokens, sizeof *b->numbers, &b->numbers);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", b->n_tokens, sizeof *b->makers, &b->makers);
  if (st == MM_OK)
    st = mm_alloc ("vocabulary", bpe->n_rules, sizeof *b->dead, &b->dead);
  for (size_t id = 0; st == MM_OK && id < b->n_tokens; id++)
    b->numbers[id] = MM_BPE_NONE;
  return st;
}

/* Let the pair of numbers LEFT and RIGHT be merged by the rule of rank R.  */
static void
add_pair (struct mm_bpe *bpe, uint32_t left, uint32_t right, uint32_t r)
{
  uint64_t hash = mm_bpe_pair_hash (bpe, left, right);
  size_t home = mm_bpe_pair_bucket (bpe, hash), mask = ((size_t) 1 << bpe->bucket_bits) - 1, i = home;
  unsigned k = 0;

  while (bpe->pairs[i].tags[MM_BPE_BUCKET - 1] != 0)
    i = (i + 1) & mask;
  while (bpe->pairs[i].tags[k] != 0)
    k++;
  bpe->pairs[i].tags[k] = mm_bpe_pair_tag (bpe, hash) | (i == home ? MM_BPE_HERE : MM_BPE_AWAY);
  bpe->pairs[i].whens[k] = r + MM_BPE_BYTES;
  if ((left | right) < MM_BPE_BYTES)
    bpe->byte_pairs[left << 8 | right] = r + MM_BPE_BYTES;
}

uint32_t
mm_bpe_when_away (const struct mm_bpe *bpe, uint32_t left, uint32_t right, uint64_t hash)
{
  size_t i = mm_bpe_pair_bucket (bpe, hash), mask = ((size_t) 1 << bpe->bucket_bits) - 1;
  uint32_t tag = mm_bpe_pair_tag (bpe, hash) | MM_BPE_AWAY;

  while (bpe->pairs[i].tags[MM_BPE_BUCKET - 1] != 0)
    {
      const struct mm_bpe_bucket *b = bpe->pairs + (i = (i + 1) & mask);

      for (unsigned found = mm_bpe_bucket_match (b, tag); found; found &= found - 1)
        {
          uint32_t when = b->whens[__builtin_ctz (found)];
          const struct mm_bpe_rule *rule = bpe->rules + (when - MM_BPE_BYTES);

          if (rule->left == left && rule->right == right)
            return when;
        }
    }
  return MM_BPE_NONE;
}

/* May LEFT and RIGHT stand side by side until the time LIMIT: does no rule that ranks before it join
   the symbols at their boundary?  Both are reachable.

   The symbols that touch the boundary are undone, the one merged last first.  Of two merged by
   the same rule the left one came first, as the leftmost of equals does; and so a rule joins
   them across the boundary before it merges within RIGHT, but after it merges within LEFT.  */
static bool
may_stand (const struct mm_bpe *bpe, uint32_t left, uint32_t right, uint32_t limit)
{
  for (;;)
    {
      const struct mm_bpe_token *token;
      uint32_t late, next;

      if (mm_bpe_when (bpe, left, right) < limit)       /* MM_BPE_NONE is never below */
        return false;
      if ((left | right) < MM_BPE_BYTES)
        return true;
      /* Which of the two was made later is not to be guessed, so it is chosen without a branch.  */
      late = left > right ? left : right;
      token = bpe->tokens + late;
      limit = late + (left <= right);
      next = left > right ? token->right : left;
      right = left > right ? right : token->left;
      left = next;
    }
}

static void
set_number (struct builder *b, uint32_t id, uint32_t number)
{
  b->numbers[id] = number;
  b->bpe->ids[number] = id;
}

/* Find the tokens that their own bytes are merged to, and how.  A rule comes into the table of pairs with its rank,
   so that those of higher rank are not there when it is looked at.  */
static void
find_reachable (struct builder *b)
{
  struct mm_bpe *bpe = b->bpe;

  for (uint32_t r = 0; r < bpe->n_rules; r++)
    {
      struct mm_bpe_rule rule = b->rules[r];
      uint32_t left = b->numbers[rule.left], right = b->numbers[rule.right], number = r + MM_BPE_BYTES;

      if (b->dead[r] || left == MM_BPE_NONE || right == MM_BPE_NONE)
        continue;
      if (b->numbers[rule.made] == MM_BPE_NONE && may_stand (bpe, left, right, number))
        {
          set_number (b, rule.made, number);
          bpe->tokens[number] = (struct mm_bpe_token) { left, right, MM_BPE_NONE, b->texts[rule.made].size };
        }
      bpe->rules[r].left = left;
      bpe->rules[r].right = right;
      add_pair (bpe, left, right, r);
    }
}

/* The number of token ID, which gets one if it has none.  */
static uint32_t
some_number (struct builder *b, uint32_t id)
{
  if (b->numbers[id] == MM_BPE_NONE)
    set_number (b, id, b->next++);
  return b->numbers[id];
}

/* Make all rules rules of numbers, and add those to the table of pairs that the merge loop alone may ask for: none
   of them is ever used where tokens were found to be reachable.  */
static void
number_rules (struct builder *b)
{
  uint32_t unreachable = b->next;

  b->bpe->alike = true;
  for (uint32_t r = 0; r < b->bpe->n_rules; r++)
    {
      const struct mm_bpe_rule *given = b->rules + r;
      struct mm_bpe_rule *rule = b->bpe->rules + r;

      *rule = (struct mm_bpe_rule) { some_number (b, given->left), some_number (b, given->right),
                                     some_number (b, given->made) };
      b->bpe->alike &= b->dead[r] || rule->made == r + MM_BPE_BYTES;
      if (!b->dead[r] && (!b->bpe->ordered || rule->left >= unreachable || rule->right >= unreachable))
        add_pair (b->bpe, rule->left, rule->right, r);
    }
}

/* The trie of reachable tokens, and for each the longest one that begins it.  */
static mm_status
build_trie (struct builder *b)
{
  struct mm_bpe *bpe = b->bpe;
  struct mm_trie_key *keys;
  size_t n = 0;
  mm_status st = mm_alloc ("vocabulary", b->n_tokens, sizeof *keys, &keys);

  if (st < 0)
    return st;
  for (size_t id = 0; id < b->n_tokens; id++)
    if (b->numbers[id] != MM_BPE_NONE)
      {
        keys[n] = b->texts[id];
        keys[n++].value = b->numbers[id];
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
              const uint32_t bytes[MM_BPE_BYTES], struct mm_bpe_rule *rules, size_t n_rules)
{
  struct builder b = { .bpe = bpe, .rules = rules, .texts = texts, .n_tokens = n_tokens };
  mm_status st;

  *bpe = (struct mm_bpe) { .n_rules = n_rules };
  memcpy (bpe->bytes, bytes, sizeof bpe->bytes);
  st = alloc_tables (&b);
  if (st == MM_OK)
    st = find_dead (&b);
  if (st == MM_OK)
    {
      find_order (&b);
      for (uint32_t c = 0; c < MM_BPE_BYTES; c++)
        if (bytes[c] != MM_BPE_NONE)
          {
            set_number (&b, bytes[c], c);
            bpe->tokens[c] = (struct mm_bpe_token) { MM_BPE_NONE, MM_BPE_NONE, MM_BPE_NONE, 1 };
          }
      if (bpe->ordered)
        {
          find_reachable (&b);
          st = build_trie (&b);
        }
      number_rules (&b);
    }
  free (rules);
  free (b.numbers);
  free (b.makers);
  free (b.dead);
  if (st < 0)
    mm_bpe_free (bpe);
  return st;
}

void
mm_bpe_free (struct mm_bpe *bpe)
{
  free (bpe->rules);
  free (bpe->pairs);
  free (bpe->byte_pairs);
  free (bpe->tokens);
  free (bpe->ids);
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
  uint64_t *slot = s->allowed + (key * GOLDEN >> (64 - ALLOWED_BITS));

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

  if (size <= MM_BPE_SHORT)
    {
      *count = mm_bpe_encode_short (bpe, piece, size, ids);
      return MM_OK;
    }
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
  for (size_t i = 0; i < n; i++)
    ids[i] = bpe->ids[ids[i]];
  *count = n;
  return MM_OK;
}

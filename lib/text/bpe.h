/* bpe.h -- the merges of a byte-level BPE: from the bytes of a piece to ids.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  What a piece's ids are is defined by the merge loop: of all adjacent
   pairs that have a rule, merge the one of the lowest rank, the leftmost of equals, until none
   is left (HF's Word::merge_all).

   That loop is seldom run.  A sequence of tokens is the encoding of its bytes exactly if each
   token is its own encoding (is reachable) and each two neighbours are theirs: the first merge
   across a boundary would also happen if the two tokens beside it were alone.  So the encoder
   takes the longest token at each place, asks whether it may follow the one before, takes
   shorter ones if not, and goes back when none may; as a prefix of the text has one encoding, a
   place given up once is given up for good, and time is linear.  Whether two tokens may stand
   side by side is found by undoing their merges, latest first, and looking for a rule that would
   have joined the symbols then at the boundary.  This order of time is the order of ranks only if
   every rule ranks behind all rules that make its parts; where a file has it otherwise, the merge
   loop is run, with a heap, in O(n log n).
   Short pieces, most of those that no cache knows, go through the merge loop after all, one without a heap
   (bpe_short.c): what it asks for next does not wait for what it asked for last.
   Sources: Berglund and van der Merwe (2023), "Formalizing BPE tokenization"; the backtracking
   encoder is described by H. van Antwerpen and A. Neubeck (GitHub, 2024).  */

#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
# include <emmintrin.h>
#endif

#include <minimind/error.h>

#include "trie.h"

enum { MM_BPE_NONE = UINT32_MAX };

/* One rule; its rank is its place in the list.  */
struct mm_bpe_rule
{
  uint32_t left, right, made;
};

/* Within the encoder tokens have numbers in the order of time: a byte its value, a reachable token 256 and the rank of
   the merge that makes it, what is left the numbers behind all ranks.  So two numbers tell which token was made later,
   and a token's number is when it was made.  */
enum { MM_BPE_BYTES = 256 };

/* Part of the table of pairs, a cache line: a pair is in the one that its hash tells, or behind it if that is full.
   Whether a place is the pair's is told by its rule; the tag is right nearly always.  */
enum { MM_BPE_BUCKET = 8 };
struct mm_bpe_bucket
{
  uint32_t tags[MM_BPE_BUCKET]; /* of the pairs' hashes, 0 where there is none, from the first place on */
  uint32_t whens[MM_BPE_BUCKET];        /* rank + MM_BPE_BYTES */
};

/* What the encoder knows of a reachable token.  */
struct mm_bpe_token
{
  uint32_t left, right;         /* what it is merged from, alone; none for a byte */
  uint32_t shorter;             /* the longest reachable token that begins it, or none */
  uint32_t size;                /* bytes */
};

struct mm_bpe
{
  struct mm_bpe_rule *rules;    /* of numbers */
  size_t n_rules;
  struct mm_bpe_bucket *pairs;  /* at most half full */
  unsigned pair_shift;          /* 64 - log2 of the number of buckets */
  uint32_t *byte_pairs;         /* the same for two bytes: when, or none; by left << 8 | right */
  bool alike;                   /* the number of each rule's token is when it is made */
  struct mm_bpe_token *tokens;  /* by number, up to the last rank's */
  uint32_t *ids;                /* by number */
  struct mm_trie trie;          /* numbers of reachable tokens */
  uint32_t bytes[MM_BPE_BYTES]; /* id of each byte, or none */
  bool ordered;                 /* ranks are in the order of time, as said above */
};

/* Scratch memory of one thread.  All zero at first.  */
struct mm_bpe_scratch
{
  uint64_t *allowed;            /* remembers answers: left << 33 | right << 1 | allowed */
  uint64_t *dead;               /* a bit for each place of the piece that was given up */
  size_t dead_capacity;
  struct mm_bpe_symbol *symbols;        /* of the merge loop */
  size_t symbols_capacity;
  struct mm_bpe_merge *heap;
  size_t heap_capacity;
};

/* Make BPE from N_TOKENS texts and N_RULES rules; RULES is taken over, whatever the result.
   BYTES holds the id of each byte, or MM_BPE_NONE.  A pair that stands twice has its later rank.
   Each rule's MADE is the token of the joined texts.  */
mm_status mm_bpe_build (struct mm_bpe *bpe, const struct mm_trie_key *texts, size_t n_tokens,
                        const uint32_t bytes[256], struct mm_bpe_rule *rules,
                        size_t n_rules) MM_NODISCARD;
void mm_bpe_free (struct mm_bpe *bpe);

mm_status mm_bpe_scratch_open (struct mm_bpe_scratch *s) MM_NODISCARD;
void mm_bpe_scratch_close (struct mm_bpe_scratch *s);

/* Write the ids of the SIZE > 0 bytes of PIECE to IDS, which has room for SIZE; *COUNT of them.
   Every byte of PIECE has an id.  */
mm_status mm_bpe_encode (const struct mm_bpe *bpe, struct mm_bpe_scratch *s, const char *piece,
                         size_t size, uint32_t *ids, size_t *count) MM_NODISCARD;

/* The same by the merge loop itself (bpe_merge.c).  */
mm_status mm_bpe_merge_loop (const struct mm_bpe *bpe, struct mm_bpe_scratch *s, const char *piece,
                             size_t size, uint32_t *ids, size_t *count) MM_NODISCARD;

/* The same for a piece of at most MM_BPE_SHORT bytes (bpe_short.c).  Returns the number of ids.  */
enum { MM_BPE_SHORT = 15 };
size_t mm_bpe_encode_short (const struct mm_bpe *bpe, const char *piece, size_t size, uint32_t *ids);

static inline uint64_t
mm_bpe_pair_hash (uint32_t left, uint32_t right)
{
  return ((uint64_t) left << 32 | right) * UINT64_C (0x9e3779b97f4a7c15);
}

static inline uint32_t
mm_bpe_pair_tag (uint64_t hash)
{
  return (uint32_t) (hash >> 8) | 1;
}

/* A bit for each place of B with this TAG.  */
static inline unsigned
mm_bpe_bucket_match (const struct mm_bpe_bucket *b, uint32_t tag)
{
#ifdef __SSE2__
  __m128i want = _mm_set1_epi32 ((int) tag);
  __m128i low = _mm_cmpeq_epi32 (want, _mm_load_si128 ((const __m128i *) b->tags));
  __m128i high = _mm_cmpeq_epi32 (want, _mm_load_si128 ((const __m128i *) b->tags + 1));

  return (unsigned) _mm_movemask_ps (_mm_castsi128_ps (low))
         | (unsigned) _mm_movemask_ps (_mm_castsi128_ps (high)) << 4;
#else
  unsigned found = 0;

  for (unsigned k = 0; k < MM_BPE_BUCKET; k++)
    found |= (unsigned) (b->tags[k] == tag) << k;
  return found;
#endif
}

/* When the tokens of numbers LEFT and RIGHT are merged: 256 and the rank of the rule, or MM_BPE_NONE.  */
static inline uint32_t
mm_bpe_when (const struct mm_bpe *bpe, uint32_t left, uint32_t right)
{
  uint64_t hash = mm_bpe_pair_hash (left, right);
  size_t mask = ((size_t) 1 << (64 - bpe->pair_shift)) - 1;

  for (size_t i = hash >> bpe->pair_shift;; i = (i + 1) & mask)
    {
      const struct mm_bpe_bucket *b = bpe->pairs + i;

      for (unsigned found = mm_bpe_bucket_match (b, mm_bpe_pair_tag (hash)); found; found &= found - 1)
        {
          uint32_t when = b->whens[__builtin_ctz (found)];
          const struct mm_bpe_rule *rule = bpe->rules + (when - MM_BPE_BYTES);

          if (rule->left == left && rule->right == right)
            return when;
        }
      if (b->tags[MM_BPE_BUCKET - 1] == 0)
        return MM_BPE_NONE;
    }
}

#endif /* TEXT_BPE_H */

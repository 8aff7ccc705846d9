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
   The hash is the pair's two numbers multiplied, which no other pair shares; the place tells its upper bits and the
   tag the others, so that nothing else is read to know the pair.  Only behind the full place its rule is asked.  */
enum { MM_BPE_BUCKET = 8, MM_BPE_HERE = 1, MM_BPE_AWAY = 3 };
struct mm_bpe_bucket
{
  uint32_t tags[MM_BPE_BUCKET]; /* 0 where there is none, from the first place on */
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
  unsigned bucket_bits;         /* log2 of their number */
  unsigned number_bits;         /* each number is below 2^number_bits - 1 */
  uint64_t pair_factor;         /* of the hash: odd, times 2^(64 - 2 number_bits) */
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
mm_bpe_pair_hash (const struct mm_bpe *bpe, uint32_t left, uint32_t right)
{
  return ((uint64_t) left << bpe->number_bits | right) * bpe->pair_factor;
}

static inline size_t
mm_bpe_pair_bucket (const struct mm_bpe *bpe, uint64_t hash)
{
  return hash >> (64 - bpe->bucket_bits);
}

/* Two bits are left for what is said beside it (bpe.c).  */
static inline uint32_t
mm_bpe_pair_tag (const struct mm_bpe *bpe, uint64_t hash)
{
  return (uint32_t) (hash << bpe->bucket_bits >> 32);
}

/* A number that no token has.  */
static inline uint32_t
mm_bpe_nobody (const struct mm_bpe *bpe)
{
  return (UINT32_C (1) << bpe->number_bits) - 1;
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

/* The same as mm_bpe_when for a pair with this HASH whose bucket is full of others.  */
uint32_t mm_bpe_when_away (const struct mm_bpe *bpe, uint32_t left, uint32_t right, uint64_t hash);

/* When the tokens of numbers LEFT and RIGHT are merged: 256 and the rank of the rule, or MM_BPE_NONE.  Whether there
   is a rule is not to be guessed, so it is found without a branch.  */
static inline uint32_t
mm_bpe_when (const struct mm_bpe *bpe, uint32_t left, uint32_t right)
{
  uint64_t hash = mm_bpe_pair_hash (bpe, left, right);
  const struct mm_bpe_bucket *b = bpe->pairs + mm_bpe_pair_bucket (bpe, hash);
  unsigned found = mm_bpe_bucket_match (b, mm_bpe_pair_tag (bpe, hash) | MM_BPE_HERE);
  uint32_t when = b->whens[__builtin_ctz (found | 1 << (MM_BPE_BUCKET - 1))];

  if (__builtin_expect ((found | (b->tags[MM_BPE_BUCKET - 1] == 0)) == 0, false))
    return mm_bpe_when_away (bpe, left, right, hash);
  return when | -(uint32_t) (found == 0);
}

#endif /* TEXT_BPE_H */

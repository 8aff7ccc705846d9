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
   Sources: Berglund and van der Merwe (2023), "Formalizing BPE tokenization"; the backtracking
   encoder is described by H. van Antwerpen and A. Neubeck (GitHub, 2024).  */

#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "trie.h"

enum { MM_BPE_NONE = UINT32_MAX };

/* One rule; its rank is its place in the list.  */
struct mm_bpe_rule
{
  uint32_t left, right, made;
};

/* Slot of the table of pairs.  */
struct mm_bpe_pair
{
  uint64_t key;                 /* left << 32 | right, or UINT64_MAX */
  uint32_t rank;
};

/* What the encoder knows of a token.  */
struct mm_bpe_token
{
  uint32_t size;                /* bytes */
  uint32_t shorter;             /* the longest reachable token that begins it, or none */
};

/* How a token comes to be, alone.  */
struct mm_bpe_origin
{
  uint32_t left, right;         /* what it is merged from; none for a byte */
  uint32_t when;                /* 0 for a byte, else rank of that merge + 1 */
};

struct mm_bpe
{
  struct mm_bpe_rule *rules;
  size_t n_rules;
  struct mm_bpe_pair *pairs;    /* open addressing, at most half full */
  unsigned pair_shift;          /* 64 - log2 of its size */
  uint64_t *pair_filter;        /* four bits for each slot: most pairs asked for have no rule, which
                                   is told without a look at the large table */
  struct mm_bpe_token *tokens;  /* by id */
  struct mm_bpe_origin *origins;        /* by id */
  size_t n_tokens;
  struct mm_trie trie;          /* reachable tokens */
  uint32_t bytes[256];          /* id of each byte, or none */
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

static inline uint64_t
mm_bpe_pair_hash (uint32_t left, uint32_t right)
{
  return ((uint64_t) left << 32 | right) * UINT64_C (0x9e3779b97f4a7c15);
}

/* Rank of the rule that merges LEFT and RIGHT, or MM_BPE_NONE.  */
static inline uint32_t
mm_bpe_rank (const struct mm_bpe *bpe, uint32_t left, uint32_t right)
{
  uint64_t key = (uint64_t) left << 32 | right, hash = mm_bpe_pair_hash (left, right);
  size_t mask = ((size_t) 1 << (64 - bpe->pair_shift)) - 1;
  size_t i = hash >> bpe->pair_shift, bit = hash >> (bpe->pair_shift - 2);

  if ((bpe->pair_filter[bit / 64] >> bit % 64 & 1) == 0)
    return MM_BPE_NONE;
  while (bpe->pairs[i].key != key)
    {
      if (bpe->pairs[i].key == UINT64_MAX)
        return MM_BPE_NONE;
      i = (i + 1) & mask;
    }
  return bpe->pairs[i].rank;
}

#endif /* TEXT_BPE_H */

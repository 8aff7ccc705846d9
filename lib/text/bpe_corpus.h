/* bpe_corpus.h -- the distinct pieces as symbols, for the trainer.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  All pieces stand in one array, one place for each byte, with a separator
   before, between and behind.  A symbol of n bytes has its id at its first and at its last place;
   the places between are GONE.  So the neighbours of a symbol are found without links, a place
   once the start of a symbol never seems to be one when it is not any more, and everything fits
   in four bytes a byte.  Pieces are sorted by how often they occur, so that how much a place
   weighs is told by a few ranges.  */

#ifndef TEXT_BPE_CORPUS_H
#define TEXT_BPE_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "bpe_count.h"

enum
{
  MM_SYMBOL_GONE = UINT32_MAX - 1,
  MM_SYMBOL_SEPARATOR = UINT32_MAX
};

/* Places from FROM on are of pieces that occur WEIGHT times.  */
struct mm_weight_range
{
  uint32_t from;
  uint64_t weight;
};

struct mm_corpus
{
  uint32_t *symbols;
  size_t n;
  struct mm_temp *temp;         /* where SYMBOLS are, or NULL */
  struct mm_weight_range *ranges;       /* one more than N_RANGES, from N on */
  size_t n_ranges, ranges_capacity;
  const struct mm_weight_range *range;  /* of the last place asked for */
  uint64_t distinct;            /* pieces, those of one token included */
};

/* What pieces consist of at first.  */
struct mm_corpus_start
{
  const uint32_t *bytes;        /* the id of each byte */
  const struct mm_tokenizer *base;      /* or, if not NULL, what this makes of them */
  uint64_t *alone;              /* by id: is told how often it is all of a piece */
};

/* Lay out what COUNTER has counted, pieces of one token left out.  With MAX_MEMORY, if that and the
   trainer's work on it would take more, in COUNTER's temporary file.  */
mm_status mm_corpus_build (struct mm_corpus *c, struct mm_counter *counter, uint64_t max_memory,
                           const struct mm_corpus_start *start) MM_NODISCARD;
void mm_corpus_free (struct mm_corpus *c);

/* The range that holds place AT.  */
const struct mm_weight_range *mm_corpus_range (const struct mm_corpus *c, uint32_t at);

/* How often the piece at place AT occurs.  Cheap for places near each other.  */
static inline uint64_t
mm_corpus_weight (struct mm_corpus *c, uint32_t at)
{
  if (at - c->range[0].from >= c->range[1].from - c->range[0].from)
    c->range = mm_corpus_range (c, at);
  return c->range->weight;
}

#endif /* TEXT_BPE_CORPUS_H */

/* word_count.h -- counting the distinct pieces of a corpus.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Memory grows with distinct pieces only; counts have 64 bits.  */

#ifndef TEXT_WORD_COUNT_H
#define TEXT_WORD_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "pretokenize.h"

/* All zero at first.  Pieces that fit a key (piece_key.h) and longer ones are apart.  */
struct mm_words
{
  struct mm_short_word *shorts;         /* open addressing, at most half full */
  size_t n_shorts, shorts_capacity;
  struct mm_long_word *longs;
  size_t n_longs, longs_capacity;
  char *text;                           /* of the long ones */
  size_t text_size, text_capacity;
  uint64_t n_pieces;                    /* counted, with repetitions */
};

void mm_words_free (struct mm_words *w);

/* Count the pieces of TEXT, valid UTF-8.  */
mm_status mm_words_count (struct mm_words *w, enum mm_pattern pattern, const char *text,
                          size_t size) MM_NODISCARD;

/* Add the counts of FROM.  */
mm_status mm_words_merge (struct mm_words *w, const struct mm_words *from) MM_NODISCARD;

/* The distinct pieces: each has a slot below mm_words_slots.  mm_words_get is false for a slot
   that is free; the text is valid until W changes, or WORD does, whose buffer may hold it.  */
struct mm_word
{
  const char *text;
  size_t size;
  uint64_t count;
  char buffer[16];
};
size_t mm_words_slots (const struct mm_words *w);
bool mm_words_get (const struct mm_words *w, size_t slot, struct mm_word *word);

#endif /* TEXT_WORD_COUNT_H */

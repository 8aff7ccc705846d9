/* word_count.h -- counting the distinct pieces of a corpus.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Memory grows with distinct pieces only, up to a limit if there is one; counts have 64
   bits.  */

#ifndef TEXT_WORD_COUNT_H
#define TEXT_WORD_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "pretokenize.h"

struct mm_words;

/* Makes room in W, whose tables would outgrow their limit, with mm_words_drain.  */
typedef mm_status mm_words_full_fn (void *arg, struct mm_words *w);

/* All zero at first, but for LIMIT and FULL if wanted.  Pieces that fit a key (piece_key.h) and longer ones are
   apart.  */
struct mm_words
{
  struct mm_short_word *shorts;         /* open addressing, at most half full */
  size_t n_shorts, shorts_capacity;
  struct mm_long_word *longs;
  size_t n_longs, longs_capacity;
  char *text;                           /* of the long ones */
  size_t text_size, text_capacity;
  uint64_t n_pieces, n_bytes;           /* counted, with repetitions */
  size_t limit;                         /* bytes of memory while a table grows; 0: none */
  mm_words_full_fn *full;
  void *full_arg;
};

void mm_words_free (struct mm_words *w);

/* Bytes of memory that W holds.  */
size_t mm_words_memory (const struct mm_words *w);

/* Count the pieces of TEXT, valid UTF-8.  */
mm_status mm_words_count (struct mm_words *w, enum mm_pattern pattern, const char *text,
                          size_t size) MM_NODISCARD;

/* Count N <= MM_WORDS_BATCH pieces of TEXT from AT on, which touch each other and end at ENDS.  */
enum { MM_WORDS_BATCH = 256 };
mm_status mm_words_batch (struct mm_words *w, const char *text, size_t size, size_t at, const size_t *ends,
                          size_t n) MM_NODISCARD;

/* Add the counts of FROM.  */
mm_status mm_words_merge (struct mm_words *w, const struct mm_words *from) MM_NODISCARD;

/* A distinct piece.  */
struct mm_word
{
  const char *text;
  size_t size;
  uint64_t count;
};

/* Takes one; its text is valid during the call.  */
typedef mm_status mm_word_fn (void *arg, const struct mm_word *word);

/* All of them, in no order, until FN fails.  */
mm_status mm_words_each (const struct mm_words *w, mm_word_fn *fn, void *arg) MM_NODISCARD;

/* All of them in the order of mm_word_compare; W is empty then, but for N_PIECES and N_BYTES.  */
mm_status mm_words_drain (struct mm_words *w, mm_word_fn *fn, void *arg) MM_NODISCARD;

/* An order of pieces that tables are nearly in: short ones, then long ones, by their hashes, then sizes, then
   bytes.  */
uint64_t mm_word_hash (const struct mm_word *word);
int mm_word_compare (const struct mm_word *a, uint64_t a_hash, const struct mm_word *b, uint64_t b_hash);

#endif /* TEXT_WORD_COUNT_H */

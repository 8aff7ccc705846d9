/* bpe_count.h -- counting the pieces of documents on several threads, in bounded memory if asked.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  The caller copies documents into blocks; other threads cut them into pieces and count, each
   into tables of its own, and so does the caller when all blocks are full.  Sums have no order, so what comes out
   depends on nothing but the documents.  Where memory is bounded a thread whose tables are full writes them to a
   temporary file (bpe_runs.h).  */

#ifndef TEXT_BPE_COUNT_H
#define TEXT_BPE_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "bpe_temp.h"
#include "tokenizer_impl.h"
#include "word_count.h"

struct mm_counter;              /* opaque */

enum { MM_COUNTER_BASE = 24 << 20 };    /* bytes of program, libraries and the reader of documents */

struct mm_counter_options
{
  int n_threads;                /* the caller's included */
  enum mm_pattern pattern;
  const struct mm_tokenizer *base;      /* whose added tokens cut text too, but special ones; or NULL */
  uint64_t max_memory;          /* bytes of the process; 0: not bounded */
  const char *folder;           /* for the temporary file */
};

/* Memory as messages tell it, in the units of --max-memory, whose M are 2^20 bytes; returns TEXT.  */
char *mm_memory_text (uint64_t bytes, char text[32]);

/* MM_EINVAL unless 1 <= n_threads <= 1024; MM_EUSAGE if max_memory is too little for them.  */
mm_status mm_counter_open (const struct mm_counter_options *o, struct mm_counter **c) MM_NODISCARD;
void mm_counter_close (struct mm_counter *c);   /* accepts NULL */

/* Count the pieces of TEXT, valid UTF-8, which is copied.  A failure may be that of a document before.  */
mm_status mm_counter_add (struct mm_counter *c, const char *text, size_t size) MM_NODISCARD;

/* The last place at or before LIMIT where TEXT may be cut, as for mm_bpe_trainer_cut; also without a counter.  */
size_t mm_text_cut (enum mm_pattern pattern, const char *text, size_t size, size_t limit);
size_t mm_counter_cut (const struct mm_counter *c, const char *text, size_t size, size_t limit);

/* Wait until all is counted; nothing may be added any more.  */
mm_status mm_counter_finish (struct mm_counter *c) MM_NODISCARD;

/* Once finished: call FN for each piece with its count, until it fails.  May be called again.  */
mm_status mm_counter_each (struct mm_counter *c, mm_word_fn *fn, void *arg) MM_NODISCARD;

/* Once finished: pieces and bytes counted.  */
void mm_counter_totals (const struct mm_counter *c, uint64_t *pieces, uint64_t *bytes);

/* Once finished: memory that the counts hold; the temporary file, opened if there was none.  */
size_t mm_counter_memory (const struct mm_counter *c);
mm_status mm_counter_temp (struct mm_counter *c, struct mm_temp **temp) MM_NODISCARD;

/* Free the counts, when they are no longer needed.  */
void mm_counter_release (struct mm_counter *c);

#endif /* TEXT_BPE_COUNT_H */

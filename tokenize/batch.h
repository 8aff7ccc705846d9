/* batch.h -- encoding many texts on several threads, in their order.
   SPDX-License-Identifier: Apache-2.0

   Texts are collected until there is work for all threads, cut where ids do not change, encoded,
   and read back in the order in which they came: the ids do not depend on the threads.  */

#ifndef TOKENIZE_BATCH_H
#define TOKENIZE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/tokenizer.h>

struct batch;

mm_status batch_open (const struct mm_tokenizer *t, unsigned flags, int n_threads,
                      struct batch **b) MM_NODISCARD;
void batch_close (struct batch *b);     /* accepts NULL */

/* Collect a part of a document.  *FULL when it is time to run.  */
mm_status batch_add (struct batch *b, const char *text, size_t size, bool first, bool last,
                     bool *full) MM_NODISCARD;

/* Encode all that was collected since the last run.  */
mm_status batch_run (struct batch *b) MM_NODISCARD;

/* The ids of what was collected, in order: from *I = 0 on until it returns false.  Collecting or
   running again forgets them.  */
struct batch_ids
{
  const uint32_t *ids;
  size_t count;
  bool first, last;             /* of their document */
};
bool batch_next (const struct batch *b, size_t *i, struct batch_ids *ids);

#endif /* TOKENIZE_BATCH_H */

/* bpe_queue.h -- pairs waiting to be merged, the most frequent first.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Ordered by count descending, then by pair ascending.  Of millions of
   pairs in a corpus a few thousand are ever merged: only those with a count of at least a
   threshold are kept in a heap, the others in a plain list until the heap runs empty and the
   threshold sinks.  */

#ifndef TEXT_BPE_QUEUE_H
#define TEXT_BPE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "bpe_temp.h"

struct mm_bpe_entry
{
  uint64_t count;               /* when it was queued */
  uint64_t pair;                /* left << 32 | right */
  uint32_t places;              /* where it occurs: the trainer's business */
};

/* All zero at first, but for a THRESHOLD of UINT64_MAX and TEMP if entries are to lie there.  */
struct mm_bpe_queue
{
  struct mm_bpe_entry *heap, *rest;
  size_t n_heap, heap_capacity, n_rest, rest_capacity;
  uint64_t threshold;           /* heap: counts from here on; rest: counts below */
  struct mm_temp *temp;
};

mm_status mm_bpe_queue_push (struct mm_bpe_queue *q, struct mm_bpe_entry e) MM_NODISCARD;

/* Take the first entry; *SOME is false if there is none.  */
mm_status mm_bpe_queue_pop (struct mm_bpe_queue *q, struct mm_bpe_entry *e, bool *some) MM_NODISCARD;

void mm_bpe_queue_free (struct mm_bpe_queue *q);

#endif /* TEXT_BPE_QUEUE_H */

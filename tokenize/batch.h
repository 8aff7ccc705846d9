/* batch.h -- encoding many documents on several threads, in their order.
   SPDX-License-Identifier: Apache-2.0

   A crew of threads, each with an encoder, and batches that it encodes: of texts, or of rows of
   conversations.  They are collected in a batch until there is work for all threads, texts cut where ids
   do not change, encoded, and read back in the order in which they came: neither ids nor failures depend on
   the threads.  While the crew encodes one batch, its first thread first does what else there is to do, such as
   filling the next and writing the one before.  */

#ifndef TOKENIZE_BATCH_H
#define TOKENIZE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/tokenizer.h>

#include "source.h"

struct crew;
struct batch;

/* For the documents of S, which is borrowed.  */
mm_status crew_open (const struct source *s, int n_threads, struct crew **c) MM_NODISCARD;
void crew_close (struct crew *c);       /* accepts NULL; after its batches */

mm_status batch_open (struct crew *c, struct batch **b) MM_NODISCARD;
void batch_close (struct batch *b);     /* accepts NULL */

bool batch_is_empty (const struct batch *b);

/* Forget what was collected and encoded.  */
void batch_clear (struct batch *b);

/* Collect a part of a text, or a row that begins at PLACE.  *FULL when it is time to run.  */
mm_status batch_add (struct batch *b, const char *text, size_t size, bool first, bool last,
                     bool *full) MM_NODISCARD;
mm_status batch_add_row (struct batch *b, const char *place, const char *json, size_t size, bool *full) MM_NODISCARD;

/* Encode all that was collected; meanwhile the calling thread does BESIDE (ARG) before it takes its
   share.  Returns the status of BESIDE, which does not stop the encoding; what fails there is batch_next's to
   tell.  */
typedef mm_status batch_beside (void *arg);
mm_status batch_run (struct batch *b, batch_beside *beside, void *arg) MM_NODISCARD;

/* What became of what was collected, in order: from *I = 0 on until it returns false.  */
struct batch_ids
{
  const void *ids;              /* packed, as mm_ids_pack */
  size_t count;
  bool first, last;             /* of their document */
  mm_status status;             /* of the encoding; what comes behind a failure may not be encoded, unless
                                   row_may_be_skipped */
  const char *problem;          /* its message */

  /* Of conversations.  */
  const uint8_t *mask;          /* [count] */
  const size_t *turn_ends;
  size_t n_turns;
  size_t bytes;                 /* rendered */
};
bool batch_next (const struct batch *b, size_t *i, struct batch_ids *ids);

#endif /* TOKENIZE_BATCH_H */

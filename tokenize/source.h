/* source.h -- the documents to be encoded, and the tokenizer and settings for it.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TOKENIZE_SOURCE_H
#define TOKENIZE_SOURCE_H

#include "row.h"
#include "tokenize.h"

struct source
{
  struct mm_tokenizer *t;
  struct mm_documents *documents;
  struct tokenize_frame frame;  /* of texts */
  bool chat;                    /* documents are rows of conversations, not texts */
  struct row_options rows;      /* of conversations */
  unsigned flags;               /* of mm_encode */
};

/* Load the tokenizer, open the inputs and find out what they are.  The cutter of texts points into S, which stays
   where it is.  MM_EUSAGE for options that do not go with it; the statuses of tokenizer.h, documents.h and
   chat.h.  Close S whatever the result.  */
mm_status source_open (const struct tokenize_config *c, struct source *s) MM_NODISCARD;
void source_close (struct source *s);

#endif /* TOKENIZE_SOURCE_H */

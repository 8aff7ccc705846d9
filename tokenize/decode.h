/* decode.h -- documents of ids as text, one after the other.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TOKENIZE_DECODE_H
#define TOKENIZE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/files.h>

#include "tokenize.h"

struct decoder
{
  const struct tokenize_config *c;
  struct mm_output *out;
  bool any;                     /* a document was written */
  char *text;                   /* decoded, not yet written */
  size_t size, capacity;
  char *escaped;
  size_t escaped_capacity;
};

/* Begin a document, write ids of it, end it.  */
mm_status decoder_begin (struct decoder *d) MM_NODISCARD;
mm_status decoder_put (struct decoder *d, const struct mm_tokenizer *t, const uint32_t *ids,
                       size_t count) MM_NODISCARD;
mm_status decoder_end (struct decoder *d) MM_NODISCARD;

/* The ids of PATH, of the kind that the command line tells: a line is a document, or what ends with the eos of FRAME,
   which is left out, as is the bos that begins it.  MM_EFORMAT for what is no id of T.  */
mm_status decode_ids (struct decoder *d, const struct mm_tokenizer *t, const struct tokenize_frame *frame,
                      const char *path) MM_NODISCARD;

#endif /* TOKENIZE_DECODE_H */

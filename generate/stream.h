/* stream.h -- tokens as text, in whole characters.
   SPDX-License-Identifier: Apache-2.0

   A token may end inside a UTF-8 sequence: its bytes wait for the rest.  What can't become a
   character is U+FFFD, one for each maximal part, as HuggingFace's decoder has it: so the text is
   valid UTF-8 whatever the model says.  */

#ifndef GENERATE_STREAM_H
#define GENERATE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include <minimind/tokenizer.h>

struct stream
{
  const struct mm_tokenizer *tokenizer;
  char *text;                   /* NULL before the first character */
  size_t size, capacity;        /* whoever takes the text away sets the size to 0 */
  char *raw;                    /* decoded bytes not yet in text */
  size_t raw_size, raw_capacity;
};

/* Append token ID; special tokens are not shown.  */
mm_status stream_add (struct stream *s, uint32_t id) MM_NODISCARD;

/* The tokens end.  A character under way is left out if they were CUT short, else U+FFFD.  */
mm_status stream_end (struct stream *s, bool cut) MM_NODISCARD;
void stream_free (struct stream *s);

#endif /* GENERATE_STREAM_H */

/* normalize.h -- Unicode normalisation form C, as HF tokenizers does it.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  HF normalises by the tables of Unicode 9.0; code points that came later take
   no part, whatever version utf8proc has: only runs of code points that take part go through it.  */

#ifndef TEXT_NORMALIZE_H
#define TEXT_NORMALIZE_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

/* Scratch memory and the result.  All zero at first.  */
struct mm_nfc
{
  char *text;                   /* normalised */
  size_t size, capacity;
  int32_t *points, *sorted;     /* of one run */
  size_t points_capacity, sorted_capacity;
};

/* Offset of the first character of TEXT, valid UTF-8, that NFC might change, move, or join to what
   stands before it; SIZE if there is none, and then TEXT is normalised.  What ends before such a
   character stays as it is but for the last character.  */
size_t mm_nfc_check (const char *text, size_t size);

/* Normalise TEXT, valid UTF-8, into N->text.  Time is linear.  */
mm_status mm_nfc_make (struct mm_nfc *n, const char *text, size_t size) MM_NODISCARD;
void mm_nfc_free (struct mm_nfc *n);

#endif /* TEXT_NORMALIZE_H */

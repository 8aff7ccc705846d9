/* byte_class.h -- the classes of 64 bytes at once, as bit masks.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  What the pre-tokenizer needs to find boundaries by logic on words
   instead of stepping from byte to byte.  */

#ifndef TEXT_BYTE_CLASS_H
#define TEXT_BYTE_CLASS_H

#include <stdint.h>

/* Bit i is for byte i.  Only ASCII and letters that a lead byte alone gives away are classified;
   the other characters are named in LEADS for the caller to look up.  */
struct mm_byte_class
{
  uint64_t letter;              /* all bytes of the character */
  uint64_t number, space;
  uint64_t blank, quote;        /* U+0020 and ' */
  uint64_t leads;               /* first bytes of the characters not classified */
  uint64_t high;                /* bytes from 0x80 on */
};

/* Classify the 64 bytes at P.  A character cut off by the end counts as far as it is seen.  */
typedef void mm_byte_class_fn (const unsigned char *p, struct mm_byte_class *c);

/* The fastest version for this processor.  */
mm_byte_class_fn *mm_byte_class_best (void);

/* Each version by itself, for tests; NULL if this processor or build does not have it.  */
enum { MM_BYTE_CLASS_VERSIONS = 3 };
mm_byte_class_fn *mm_byte_class_version (int i);

#endif /* TEXT_BYTE_CLASS_H */

/* byte_class.h -- the classes of 64 bytes at once, as bit masks.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  What the pre-tokenizer needs to find boundaries by logic on words
   instead of stepping from byte to byte.  byte_class_x86.h has the same for AVX2 and AVX-512.

   Beside ASCII these ranges of lead bytes hold nothing but letters, whatever follows, and are
   taken at once: E5 to E9 (U+5000 to U+9FFF, Han), E4 but for E4 B7 (the hexagrams), EB and EC
   (Hangul), D0 and D1 (Cyrillic).  tests/unit/text.c compares them with the table.  */

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

/* From masks of leads to all bytes of those characters.  */
static inline void
mm_byte_class_letters (struct mm_byte_class *c, uint64_t three, uint64_t two, uint64_t all_leads)
{
  c->letter |= three | three << 1 | three << 2 | two | two << 1;
  c->leads = all_leads & ~three & ~two;
}

/* The definition.  */
static inline void
mm_byte_class_plain (const unsigned char *p, struct mm_byte_class *c)
{
  uint64_t three = 0, two = 0, leads = 0;

  *c = (struct mm_byte_class) { 0 };
  for (int i = 0; i < 64; i++)
    {
      unsigned char b = p[i];
      uint64_t bit = UINT64_C (1) << i;

      if (b >= 0x80)
        {
          c->high |= bit;
          if (b >= 0xc0)
            leads |= bit;
          if ((b >= 0xe5 && b <= 0xe9) || (b == 0xe4 && (i == 63 || p[i + 1] != 0xb7))
              || b == 0xeb || b == 0xec)
            three |= bit;
          if (b == 0xd0 || b == 0xd1)
            two |= bit;
        }
      else if ((unsigned char) ((b | 0x20) - 'a') < 26)
        c->letter |= bit;
      else if ((unsigned char) (b - '0') < 10)
        c->number |= bit;
      else if (b == ' ' || (unsigned char) (b - '\t') < 5)
        {
          c->space |= bit;
          if (b == ' ')
            c->blank |= bit;
        }
      else if (b == '\'')
        c->quote |= bit;
    }
  mm_byte_class_letters (c, three, two, leads);
}

#endif /* TEXT_BYTE_CLASS_H */

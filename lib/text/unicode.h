/* unicode.h -- classes of code points and steps through valid UTF-8.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  The table is made by make-unicode.py from the engine that HF tokenizers
   splits with, so that a class means here what it means there.  */

#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include <stddef.h>
#include <stdint.h>

enum
{
  MM_LETTER = 0x01,             /* \p{L} */
  MM_NUMBER = 0x02,             /* \p{N} */
  MM_SPACE = 0x04,              /* \s */
  MM_WORD = 0x08,               /* \w of Rust's regex: what single_word tokens look at */
  MM_CATEGORY = 0xf0,           /* Lu Ll Lt Lm Lo M P S as 1 to 8, else 0 */
  MM_CATEGORY_MARK = 6
};

/* Of the second table.  Normalisation is that of Unicode 9.0 in HF tokenizers, whatever the library
   knows: what came later is neither changed nor moved.  */
enum
{
  MM_NFC_JOINS = 0x01,          /* NFC may change or move it or join it to what stands before */
  MM_NFC_LEADS = 0x02,          /* what follows may join it or move before its marks; never JOINS too */
  MM_DIGIT = 0x04,              /* is_numeric of Rust: what the pre-tokenizer Digits splits off */
  MM_ASSIGNED = 0x08            /* not \p{Cn} */
};

extern const uint8_t mm_unicode_index[8704], mm_unicode_more_index[8704];
extern const uint8_t mm_unicode_blocks[][128], mm_unicode_more_blocks[][128];

/* The class of code point C, at most 0x10ffff.  */
static inline uint8_t
mm_unicode_class (uint32_t c)
{
  return mm_unicode_blocks[mm_unicode_index[c >> 7]][c & 127];
}

/* Its flags in the second table.  */
static inline uint8_t
mm_unicode_more (uint32_t c)
{
  return mm_unicode_more_blocks[mm_unicode_more_index[c >> 7]][c & 127];
}

/* Bytes of the sequence that LEAD begins, in valid UTF-8.  */
static inline unsigned
mm_utf8_length (unsigned char lead)
{
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* The code point at P, in valid UTF-8; *LENGTH is its number of bytes.  */
static inline uint32_t
mm_utf8_get (const char *text, unsigned *length)
{
  const unsigned char *p = (const unsigned char *) text;

  *length = mm_utf8_length (*p);
  switch (*length)
    {
    case 1:
      return p[0];
    case 2:
      return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    case 3:
      return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    default:
      return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
    }
}

/* Where TEXT, SIZE > 0 bytes, does not start with a character: how many bytes one U+FFFD stands
   for (the maximal subpart of an ill-formed sequence).  */
size_t mm_utf8_bad_length (const char *text, size_t size);

#endif /* TEXT_UNICODE_H */

/* utf8.c -- is it UTF-8, and where does it stop being so.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include <minimind/tokenizer.h>

#include "unicode.h"

/* Bytes at P, with N > 0 left, that are the start of a well-formed sequence, by the table of the
   Unicode standard (3.9, D92: no overlong forms, no surrogates, nothing past U+10FFFF); *NEED is
   the length of the whole sequence.  0 if no sequence starts with this byte.  */
static size_t
match (const unsigned char *p, size_t n, size_t *need)
{
  unsigned char lead = p[0], low = 0x80, high = 0xbf;
  size_t i;

  *need = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4)
    return 0;
  if (lead == 0xe0)
    low = 0xa0;
  else if (lead == 0xed)
    high = 0x9f;
  else if (lead == 0xf0)
    low = 0x90;
  else if (lead == 0xf4)
    high = 0x8f;
  for (i = 1; i < *need && i < n && p[i] >= low && p[i] <= high; i++)
    {
      low = 0x80;
      high = 0xbf;
    }
  return i;
}

size_t
mm_utf8_bad_length (const char *text, size_t size)
{
  size_t need, n = match ((const unsigned char *) text, size, &need);

  return n > 0 ? n : 1;
}

size_t
mm_utf8_check (const char *text, size_t size, bool *truncated)
{
  const unsigned char *p = (const unsigned char *) text;
  size_t i = 0, need, n;

  if (truncated)
    *truncated = false;
  while (i < size)
    {
      uint64_t a, b;
      uint32_t c;

      /* Sixteen of ASCII at once, then three-byte sequences that need no special bounds
         (leads E1 to EC, EE, EF), which is most of what is not ASCII in large texts.  */
      while (size - i >= 16 && (memcpy (&a, p + i, 8), memcpy (&b, p + i + 8, 8),
                                ((a | b) & UINT64_C (0x8080808080808080)) == 0))
        i += 16;
      while (size - i >= 4 && p[i] > 0xe0 && p[i] < 0xf0 && p[i] != 0xed
             && (c = (uint32_t) (p[i + 1] << 8 | p[i + 2]), (c & 0xc0c0) == 0x8080))
        i += 3;
      if (i < size)
        {
          n = match (p + i, size - i, &need);
          if (n < need)
            {
              if (truncated)
                *truncated = n > 0 && n == size - i;
              break;
            }
          i += n;
        }
    }
  return i;
}

size_t
mm_utf8_incomplete_tail (const char *text, size_t size)
{
  const unsigned char *p = (const unsigned char *) text;
  size_t need;

  for (size_t back = 1; back <= 3 && back <= size; back++)
    if ((p[size - back] & 0xc0) != 0x80)
      return match (p + size - back, back, &need) == back && back < need ? back : 0;
  return 0;
}

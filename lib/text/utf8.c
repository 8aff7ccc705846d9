/* utf8.c -- is it UTF-8, and where does it stop being so.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include <minimind/tokenizer.h>

/* Bytes of the well-formed sequence at P with N > 0 bytes left, by the table of the Unicode
   standard (3.9, D92: no overlong forms, no surrogates, nothing past U+10FFFF).  0 if there is
   none, -1 if the end cuts off what could be one.  */
static int
sequence (const unsigned char *p, size_t n)
{
  unsigned char lead = p[0], low = 0x80, high = 0xbf;
  size_t need;

  if (lead < 0x80)
    return 1;
  if (lead < 0xc2 || lead > 0xf4)
    return 0;
  need = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead == 0xe0)
    low = 0xa0;
  else if (lead == 0xed)
    high = 0x9f;
  else if (lead == 0xf0)
    low = 0x90;
  else if (lead == 0xf4)
    high = 0x8f;
  for (size_t i = 1; i < need; i++)
    {
      if (i == n)
        return -1;
      if (p[i] < low || p[i] > high)
        return 0;
      low = 0x80;
      high = 0xbf;
    }
  return (int) need;
}

size_t
mm_utf8_check (const char *text, size_t size, bool *truncated)
{
  const unsigned char *p = (const unsigned char *) text;
  size_t i = 0;
  int step = 1;

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
          step = sequence (p + i, size - i);
          if (step <= 0)
            break;
          i += (size_t) step;
        }
    }
  if (truncated)
    *truncated = step < 0;
  return i;
}

size_t
mm_utf8_incomplete_tail (const char *text, size_t size)
{
  const unsigned char *p = (const unsigned char *) text;

  for (size_t back = 1; back <= 3 && back <= size; back++)
    if ((p[size - back] & 0xc0) != 0x80)
      return sequence (p + size - back, back) < 0 ? back : 0;
  return 0;
}

/* byte_table.c -- the characters that stand for bytes.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "byte_table.h"

static bool
is_itself (unsigned c)
{
  return (c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

uint32_t
mm_table_code_point (unsigned char c)
{
  uint32_t n = 0;

  if (is_itself (c))
    return c;
  for (unsigned i = 0; i < c; i++)
    n += !is_itself (i);
  return 0x100 + n;
}

/* The byte that code point C stands for, or -1.  */
static int
byte_of (uint32_t c)
{
  /* U+0100 and on are 0x00-0x20, 0x7F-0xA0, 0xAD.  */
  if (c < 0x100)
    return is_itself (c) ? (int) c : -1;
  c -= 0x100;
  return c <= 0x20 ? (int) c : c <= 0x42 ? (int) (c - 0x21 + 0x7f) : c == 0x43 ? 0xad : -1;
}

/* One step through TEXT: characters of the table have one or two bytes.  */
static int
next_byte (const unsigned char **p)
{
  uint32_t c = *(*p)++;

  if (c >= 0x80)
    {
      if ((c & 0xe0) != 0xc0 || (**p & 0xc0) != 0x80)
        return -1;
      c = (c & 0x1f) << 6 | (*(*p)++ & 0x3fu);
    }
  return byte_of (c);
}

bool
mm_is_table_text (const char *text)
{
  const unsigned char *p = (const unsigned char *) text;

  while (*p)
    if (next_byte (&p) < 0)
      return false;
  return true;
}

bool
mm_bytes_of_table_text (const char *text, size_t size, char *bytes, size_t *n_bytes)
{
  const unsigned char *p = (const unsigned char *) text, *end = p + size;

  for (*n_bytes = 0; p < end; ++*n_bytes)
    {
      int c = next_byte (&p);

      if (c < 0)
        return false;
      bytes[*n_bytes] = (char) c;
    }
  return true;
}

void
mm_table_text (const char *bytes, size_t size, char *out)
{
  for (size_t i = 0; i < size; i++)
    {
      uint32_t c = mm_table_code_point ((unsigned char) bytes[i]);

      if (c < 0x80)
        *out++ = (char) c;
      else
        {
          *out++ = (char) (0xc0 | c >> 6);
          *out++ = (char) (0x80 | (c & 0x3f));
        }
    }
  *out = '\0';
}

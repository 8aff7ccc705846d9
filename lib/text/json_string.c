/* json_string.c -- strings of JSON: where they end, and their characters (json_string.h).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include "json_string.h"

/* 16 and the value of a hexadecimal digit; 0 of what is none.  */
static const uint8_t digits[256] = {
  ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21,
  ['6'] = 22, ['7'] = 23, ['8'] = 24, ['9'] = 25,
  ['a'] = 26, ['b'] = 27, ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31,
  ['A'] = 26, ['B'] = 27, ['C'] = 28, ['D'] = 29, ['E'] = 30, ['F'] = 31,
};

/* The four hexadecimal digits at P, or -1.  */
static inline int
hex4 (const char *p, const char *end)
{
  const unsigned char *d = (const unsigned char *) p;
  unsigned a, b, c, e;

  if (end - p < 4)
    return -1;
  a = digits[d[0]], b = digits[d[1]], c = digits[d[2]], e = digits[d[3]];
  return a & b & c & e & 16 ? (int) ((a & 15) << 12 | (b & 15) << 8 | (c & 15) << 4 | (e & 15)) : -1;
}

const char *
mm_json_string_scan (const char **p, const char *end, struct mm_json_span *span)
{
  const char *q = *p;

  if (q == end || *q != '"')
    return "want a string";
  *span = (struct mm_json_span) { ++q, NULL, false };
  for (;;)
    {
      *p = q = mm_scan_json (q, end);
      if (q == end)
        return "the line ends within a string";
      if (*q == '"')
        break;
      if (*q != '\\')
        return "control character in a string";
      span->escapes = true;
      if (end - q < 2 || !mm_json_escapes[(unsigned char) q[1]])
        return "unknown escape in a string";
      if (q[1] == 'u' && hex4 (q + 2, end) < 0)
        return "want four hexadecimal digits";
      q += q[1] == 'u' ? 6 : 2;
    }
  span->end = q;
  *p = q + 1;
  return NULL;
}

static char *
put_utf8 (char *out, uint32_t c)
{
  if (c < 0x80)
    *out++ = (char) c;
  else if (c < 0x800)
    {
      *out++ = (char) (0xc0 | c >> 6);
      *out++ = (char) (0x80 | (c & 0x3f));
    }
  else if (c < 0x10000)
    {
      *out++ = (char) (0xe0 | c >> 12);
      *out++ = (char) (0x80 | (c >> 6 & 0x3f));
      *out++ = (char) (0x80 | (c & 0x3f));
    }
  else
    {
      *out++ = (char) (0xf0 | c >> 18);
      *out++ = (char) (0x80 | (c >> 12 & 0x3f));
      *out++ = (char) (0x80 | (c >> 6 & 0x3f));
      *out++ = (char) (0x80 | (c & 0x3f));
    }
  return out;
}

/* The character of the escape \u at *P, which is moved behind it: behind both halves of a pair.
   0xd800 and on where a half stands alone.  */
static uint32_t
unicode_escape (const char **p, const char *end)
{
  uint32_t c = (uint32_t) hex4 (*p + 2, end);
  int low;

  *p += 6;
  if ((c & 0xfc00) != 0xd800 || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
    return c;
  low = hex4 (*p + 2, end);
  if ((low & 0xfc00) != 0xdc00)
    return c;
  *p += 6;
  return 0x10000 + ((c & 0x3ff) << 10 | (uint32_t) (low & 0x3ff));
}

const char *
mm_json_string_read (const char **p, const char *end, struct mm_json_text *text)
{
  for (;;)
    {
      const char *q;
      uint32_t c;

      text->end = mm_json_unescape (mm_vector_best (), p, end, text->end);
      q = *p;
      if (q == end)
        return "the line ends within a string";
      if (*q == '"')
        return NULL;
      if (*q != '\\')
        return "control character in a string";
      if (end - q < 2 || q[1] != 'u')
        return "unknown escape in a string";
      if (hex4 (q + 2, end) < 0)
        return "want four hexadecimal digits";
      c = unicode_escape (p, end);
      if (c >= 0xd800 && c < 0xe000)
        {
          if (text->lone++ == 0)
            text->first = q;
          c = 0xfffd;
        }
      text->end = put_utf8 (text->end, c);
    }
}

char *
mm_json_string_get (const struct mm_json_span *span, char *out, uint64_t *lone)
{
  struct mm_json_text text = { .end = out };
  const char *p = span->start;

  (void) mm_json_string_read (&p, span->end, &text);    /* ends there without a quote */
  *lone += text.lone;
  return text.end;
}

size_t
mm_json_mend_surrogates (char *text, size_t size)
{
  const char *end = text + size;
  size_t n = 0;

  for (char *p = text; (p = memchr (p, '\\', (size_t) (end - p)));)
    {
      const char *behind = p;
      uint32_t c;

      if (end - p < 2 || p[1] != 'u' || hex4 (p + 2, end) < 0)
        {
          p += end - p < 2 ? 1 : 2;
          continue;
        }
      c = unicode_escape (&behind, end);
      if (c >= 0xd800 && c < 0xe000)
        {
          memcpy (p + 2, "fffd", 4);
          n++;
        }
      p += behind - p;
    }
  return n;
}

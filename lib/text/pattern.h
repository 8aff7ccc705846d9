/* pattern.h -- steps that the state machines of patterns share.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Each machine has a function that finds the end of the piece that starts
   at AT, character by character; it says what the pattern means.  TEXT is valid UTF-8 and ends at
   SIZE; AT < SIZE.  */

#ifndef TEXT_PATTERN_H
#define TEXT_PATTERN_H

#include <stdbool.h>
#include <string.h>

#include "unicode.h"

enum
{
  CLASS = MM_LETTER | MM_NUMBER | MM_SPACE,     /* at most one of them is set */
  OTHER = 0
};

/* The machines outside pretokenize.c.  */
size_t mm_pattern_cl100k_end (const char *text, size_t size, size_t at);
size_t mm_pattern_o200k_end (const char *text, size_t size, size_t at);
size_t mm_pattern_qwen35_end (const char *text, size_t size, size_t at);
size_t mm_pattern_deepseek3_end (const char *text, size_t size, size_t at);

static inline unsigned
class_at (const char *text, size_t at, unsigned *length)
{
  return mm_unicode_class (mm_utf8_get (text + at, length)) & CLASS;
}

/* End of the run of characters of class WANT from AT on.  */
static inline size_t
run_end (const char *text, size_t size, size_t at, unsigned want)
{
  unsigned length;

  while (at < size && class_at (text, at, &length) == want)
    at += length;
  return at;
}

static inline bool
is_newline (char c)
{
  return c == '\n' || c == '\r';
}

/* `[\r\n]*`  */
static inline size_t
newlines_end (const char *text, size_t size, size_t at)
{
  while (at < size && is_newline (text[at]))
    at++;
  return at;
}

/* `\s+(?!\S)|\s+`: white space up to the last character before something else; AT if there is
   none.  */
static inline size_t
space_end (const char *text, size_t size, size_t at)
{
  size_t i = at, last = at;
  unsigned length;

  while (i < size && class_at (text, i, &length) == MM_SPACE)
    {
      last = i;
      i += length;
    }
  return i < size && last > at ? last : i;
}

/* `\s*[\r\n]+`: white space up to its last line end; AT if it has none.  */
static inline size_t
line_end (const char *text, size_t size, size_t at)
{
  size_t end = run_end (text, size, at, MM_SPACE);

  while (end > at && !is_newline (text[end - 1]))
    end--;
  return end;
}

/* `\s*[\r\n]+|\s+(?!\S)|\s+`  */
static inline size_t
line_or_space_end (const char *text, size_t size, size_t at)
{
  size_t end = line_end (text, size, at);

  return end > at ? end : space_end (text, size, at);
}

/* `\p{N}{1,MOST}`; AT if no number stands there.  */
static inline size_t
digits_end (const char *text, size_t size, size_t at, int most)
{
  unsigned length;

  while (most-- > 0 && at < size && class_at (text, at, &length) == MM_NUMBER)
    at += length;
  return at;
}

/* Bytes of 's, 't, 're, 've, 'm, 'll or 'd at P with N bytes left, 0 if it is none.  */
static inline size_t
contraction (const char *p, size_t n)
{
  if (n < 2 || p[0] != '\'')
    return 0;
  switch (p[1])
    {
    case 's': case 't': case 'm': case 'd':
      return 2;
    case 'r': case 'v':
      return n > 2 && p[2] == 'e' ? 3 : 0;
    case 'l':
      return n > 2 && p[2] == 'l' ? 3 : 0;
    default:
      return 0;
    }
}

/* As contraction, of either case; U+017F counts as an s.  */
static inline size_t
contraction_fold (const char *p, size_t n)
{
  char folded[3] = { '\'', '\0', '\0' };

  if (n < 2 || p[0] != '\'')
    return 0;
  if (n > 2 && memcmp (p + 1, "\xc5\xbf", 2) == 0)
    return 3;
  folded[1] = (char) (p[1] | 0x20);
  if (n > 2)
    folded[2] = (char) (p[2] | 0x20);
  return contraction (folded, n < 3 ? n : 3);
}

#endif /* TEXT_PATTERN_H */

/* pattern_deepseek.c -- the three splits of DeepSeek-V3, one after the other, as one state machine.
   SPDX-License-Identifier: Apache-2.0

   \p{N}{1,3}, then in what is left [一-龥぀-ゟ゠-ヿ]+, then in what is left of that
   [!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
   (the first of these alternatives lists the punctuation and symbols of ASCII).  What no
   alternative matches, controls before anything but a letter or mark, is a piece too.  */

#include <config.h>

#include "pattern.h"

/* What the third split tells apart.  BARRIER is what the splits before it took: for the third the
   text ends there.  */
enum kind { BARRIER, WORD, SYMBOL, SPACE, CONTROL };

static inline bool
is_cjk (uint32_t c)
{
  return (c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff);
}

static inline enum kind
kind_at (const char *text, size_t size, size_t at, unsigned *length)
{
  uint32_t c;
  unsigned class;

  *length = 0;
  if (at >= size)
    return BARRIER;
  c = mm_utf8_get (text + at, length);
  class = mm_unicode_class (c);
  if (class & MM_NUMBER || is_cjk (c))
    return BARRIER;
  if (class & MM_SPACE)
    return SPACE;
  /* Categories 1 to 6 are letters and marks, 7 and 8 punctuation and symbols.  */
  class >>= 4;
  return class == 0 ? CONTROL : class <= 6 ? WORD : SYMBOL;
}

/* End of the run of KIND from AT on.  */
static size_t
kind_end (const char *text, size_t size, size_t at, enum kind kind)
{
  unsigned length;

  while (kind_at (text, size, at, &length) == kind)
    at += length;
  return at;
}

static inline bool
is_latin (char c)
{
  return (unsigned char) ((c | 0x20) - 'a') < 26;
}

/* What stands at AT is no white space nor what a split before took.  */
static size_t
rest_end (const char *text, size_t size, size_t at, enum kind kind, unsigned length)
{
  size_t end = at + length;
  unsigned next_length;

  if (kind == SYMBOL)
    {
      if (length == 1 && end < size && is_latin (text[end]))
        {
          while (end < size && is_latin (text[end]))
            end++;
          return end;
        }
      return newlines_end (text, size, kind_end (text, size, end, SYMBOL));
    }
  if (kind == WORD)
    return kind_end (text, size, end, WORD);
  /* Controls: the last one goes with the word behind them.  */
  if (kind_at (text, size, end, &next_length) == WORD)
    return kind_end (text, size, end, WORD);
  while (kind_at (text, size, end, &length) == CONTROL
         && kind_at (text, size, end + length, &next_length) != WORD)
    end += length;
  return end;
}

size_t
mm_pattern_deepseek3_end (const char *text, size_t size, size_t at)
{
  unsigned length, next_length;
  enum kind kind = kind_at (text, size, at, &length), next;
  size_t end = at;

  if (kind == BARRIER)
    {
      end = digits_end (text, size, at, 3);
      if (end == at)
        while (end < size && is_cjk (mm_utf8_get (text + end, &length)))
          end += length;
      return end;
    }
  if (kind != SPACE)
    return rest_end (text, size, at, kind, length);
  next = kind_at (text, size, at + length, &next_length);
  if (next == WORD && !is_newline (text[at]))
    return kind_end (text, size, at + length, WORD);
  if (next == SYMBOL && text[at] == ' ')
    return newlines_end (text, size, kind_end (text, size, at + length, SYMBOL));
  /* White space, which ends where the text ends or a split before took what follows.  */
  end = kind_end (text, size, at, SPACE);
  return line_or_space_end (text, kind_at (text, size, end, &length) == BARRIER ? end : size, at);
}

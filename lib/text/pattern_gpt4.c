/* pattern_gpt4.c -- the patterns of cl100k_base, o200k_base and Qwen3.5 as state machines.
   SPDX-License-Identifier: Apache-2.0

   cl100k_base   '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
                 |\s+$|\s*[\r\n]|\s+(?!\S)|\s
   o200k_base    P?U*W+C?|P?U+W*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
                 with P = [^\r\n\p{L}\p{N}], U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}],
                 W = [\p{Ll}\p{Lm}\p{Lo}\p{M}], C = (?i:'s|'t|'re|'ve|'m|'ll|'d)
   Qwen3.5       C|P?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+  */

#include <config.h>

#include "pattern.h"

/* Sets of general categories, a bit for each value of the table's.  */
enum
{
  LU = 1 << 1, LL = 1 << 2, LT = 1 << 3, LM = 1 << 4, LO = 1 << 5, MARK = 1 << 6,
  BOTH = LM | LO | MARK,        /* in U and in W */
  UPPER = LU | LT | BOTH,       /* U */
  LOWER = LL | BOTH,            /* W */
  WORD = UPPER | LOWER
};

static inline bool
is_in (const char *text, size_t at, unsigned set, unsigned *length)
{
  return set >> (mm_unicode_class (mm_utf8_get (text + at, length)) >> 4) & 1;
}

static size_t
set_end (const char *text, size_t size, size_t at, unsigned set)
{
  unsigned length;

  while (at < size && is_in (text, at, set, &length))
    at += length;
  return at;
}

/* `[^\r\n\p{L}\p{N}]`: its length, 0 where it does not match.  */
static inline size_t
prefix_length (const char *text, size_t at)
{
  unsigned length, class = class_at (text, at, &length);

  return class == MM_LETTER || class == MM_NUMBER || is_newline (text[at]) ? 0 : length;
}

/* ---- cl100k ---- */

size_t
mm_pattern_cl100k_end (const char *text, size_t size, size_t at)
{
  size_t end = at + contraction_fold (text + at, size - at), prefix = prefix_length (text, at);
  unsigned length;

  if (end > at)
    return end;
  end = run_end (text, size, at + prefix, MM_LETTER);
  if (end > at + prefix)
    return end;
  end = digits_end (text, size, at, 3);
  if (end > at)
    return end;
  end = at + (text[at] == ' ');
  if (end < size && class_at (text, end, &length) == OTHER)
    return newlines_end (text, size, run_end (text, size, end, OTHER));
  end = run_end (text, size, at, MM_SPACE);
  return end == size ? end : line_or_space_end (text, size, at);
}

/* ---- o200k ---- */

/* `U*W+`; AT where it does not match.  U* takes all it can; if no lower case letter follows, it
   gives back up to the last character that is in W too.  */
static size_t
upper_lower_end (const char *text, size_t size, size_t at)
{
  size_t i = at, end = at;
  unsigned length;

  for (; i < size && is_in (text, i, UPPER, &length); i += length)
    if (is_in (text, i, BOTH, &length))
      end = i + length;
  return i < size && is_in (text, i, LL, &length) ? set_end (text, size, i, LOWER) : end;
}

/* `U+W*`; AT where it does not match.  */
static size_t
uppers_end (const char *text, size_t size, size_t at)
{
  size_t end = set_end (text, size, at, UPPER);

  return end > at ? set_end (text, size, end, LOWER) : at;
}

/* `P?U*W+|P?U+W*`; AT where it does not match.  */
static size_t
cased_end (const char *text, size_t size, size_t at)
{
  size_t start = at + prefix_length (text, at), end = upper_lower_end (text, size, start);

  if (end == start && start > at)
    end = upper_lower_end (text, size, start = at);
  if (end > start)
    return end;
  start = at + prefix_length (text, at);
  end = uppers_end (text, size, start);
  return end > start ? end : uppers_end (text, size, at);
}

size_t
mm_pattern_o200k_end (const char *text, size_t size, size_t at)
{
  size_t end = cased_end (text, size, at);
  unsigned length;

  if (end > at)
    return end + contraction_fold (text + end, size - end);
  end = digits_end (text, size, at, 3);
  if (end > at)
    return end;
  end = at + (text[at] == ' ');
  if (end < size && class_at (text, end, &length) == OTHER)
    {
      end = run_end (text, size, end, OTHER);
      while (end < size && (is_newline (text[end]) || text[end] == '/'))
        end++;
      return end;
    }
  return line_or_space_end (text, size, at);
}

/* ---- Qwen3.5 ---- */

size_t
mm_pattern_qwen35_end (const char *text, size_t size, size_t at)
{
  size_t end = at + contraction_fold (text + at, size - at), prefix = prefix_length (text, at), i;
  unsigned length;

  if (end > at)
    return end;
  end = set_end (text, size, at + prefix, WORD);
  if (end > at + prefix)
    return end;
  end = set_end (text, size, at, WORD);         /* a mark by itself */
  if (end > at)
    return end;
  end = digits_end (text, size, at, 1);
  if (end > at)
    return end;
  i = end = at + (text[at] == ' ');
  while (i < size && class_at (text, i, &length) == OTHER && !is_in (text, i, MARK, &length))
    i += length;
  return i > end ? newlines_end (text, size, i) : line_or_space_end (text, size, at);
}

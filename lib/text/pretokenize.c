/* pretokenize.c -- the patterns of pre-tokenizers as state machines.
   SPDX-License-Identifier: Apache-2.0

   Each pattern has a function that finds the end of one piece, character by character; it says
   what the pattern means.  GPT-2's has a second form in pretokenize_gpt2.c, which is what runs.  */

#include <config.h>

#include <string.h>

#include "pattern.h"
#include "pretokenize_gpt2.h"

/* ---- GPT-2 ---- */

/* ` ?[...]+` for the class of the character behind the optional space: its end, or AT where the
   pattern does not match because that character is white space or missing.  */
static size_t
spaced_run_end (const char *text, size_t size, size_t at)
{
  size_t start = at + (text[at] == ' ');
  unsigned length, class = start < size ? class_at (text, start, &length) : MM_SPACE;

  return class == MM_SPACE ? at : run_end (text, size, start + length, class);
}

size_t
mm_gpt2_end (const char *text, size_t size, size_t at)
{
  size_t end = at + contraction (text + at, size - at);

  if (end == at)
    end = spaced_run_end (text, size, at);
  return end == at ? space_end (text, size, at) : end;
}

/* ---- Qwen2 and Llama-3 ---- */

static size_t
qwen2_end (const char *text, size_t size, size_t at, int max_digits)
{
  size_t end = at + contraction_fold (text + at, size - at);
  unsigned length, class = class_at (text, at, &length), next_length;

  if (end > at)
    return end;
  if (class == MM_LETTER
      || (class != MM_NUMBER && !is_newline (text[at]) && at + length < size
          && class_at (text, at + length, &next_length) == MM_LETTER))
    return run_end (text, size, at + length, MM_LETTER);
  if (class == MM_NUMBER)
    return digits_end (text, size, at, max_digits);
  /* ` ?[^\s\p{L}\p{N}]+[\r\n]*`  */
  end = at + (text[at] == ' ');
  if (end < size && class_at (text, end, &length) == OTHER)
    return newlines_end (text, size, run_end (text, size, end, OTHER));
  return line_or_space_end (text, size, at);
}

/* ---- all patterns ---- */

static size_t
piece_end (enum mm_pattern pattern, const char *text, size_t size, size_t at)
{
  switch (pattern)
    {
    case MM_PATTERN_CL100K:
      return mm_pattern_cl100k_end (text, size, at);
    case MM_PATTERN_O200K:
      return mm_pattern_o200k_end (text, size, at);
    case MM_PATTERN_QWEN35:
      return mm_pattern_qwen35_end (text, size, at);
    case MM_PATTERN_DEEPSEEK3:
      return mm_pattern_deepseek3_end (text, size, at);
    default:
      return qwen2_end (text, size, at, pattern == MM_PATTERN_QWEN2 ? 1 : 3);
    }
}

size_t
mm_pretokenize (enum mm_pattern pattern, const char *text, size_t size, size_t at, size_t *ends,
                size_t max)
{
  size_t count = 0;

  if (pattern == MM_PATTERN_GPT2)
    return mm_gpt2_pieces (mm_vector_best (), text, size, at, ends, max);
  for (; at < size && count < max; ends[count++] = at)
    at = piece_end (pattern, text, size, at);
  return count;
}

/* Letters and numbers end before anything but their like, and what may join a piece on the right
   (a blank, a quote, punctuation) starts it.  Some patterns have marks among letters, or take
   contractions to the word before.  */
bool
mm_pretokenize_may_cut (enum mm_pattern pattern, const char *text, size_t at)
{
  size_t before = at - 1;
  unsigned length, class;

  while (before > 0 && ((unsigned char) text[before] & 0xc0) == 0x80)
    before--;
  class = class_at (text, before, &length);
  if (class != MM_LETTER && class != MM_NUMBER)
    return false;
  class = mm_unicode_class (mm_utf8_get (text + at, &length));
  if (pattern >= MM_PATTERN_O200K && (text[at] == '\'' || class >> 4 == MM_CATEGORY_MARK))
    return false;
  class &= CLASS;
  return class == OTHER || class == MM_SPACE;
}

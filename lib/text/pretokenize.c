/* pretokenize.c -- the patterns of pre-tokenizers as state machines.
   SPDX-License-Identifier: Apache-2.0

   Each pattern has a function that finds the end of one piece, character by character; it says
   what the pattern means.  GPT-2's has a second form that finds all boundaries within 64 bytes
   by logic on masks of classes, which is what usually runs.  */

#include <config.h>

#include <string.h>

#include "byte_class.h"
#include "pattern.h"
#include "pretokenize.h"

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

static size_t
gpt2_end (const char *text, size_t size, size_t at)
{
  size_t end = at + contraction (text + at, size - at);

  if (end == at)
    end = spaced_run_end (text, size, at);
  return end == at ? space_end (text, size, at) : end;
}

/* Look up the characters that C names in LEADS.  */
static void
classify_rest (const char *p, struct mm_byte_class *c)
{
  for (uint64_t leads = c->leads; leads; leads &= leads - 1)
    {
      int i = __builtin_ctzll (leads);
      unsigned length, class = class_at (p, (size_t) i, &length);
      uint64_t bits = ((UINT64_C (1) << length) - 1) << i;

      if (class == MM_LETTER)
        c->letter |= bits;
      else if (class == MM_NUMBER)
        c->number |= bits;
      else if (class == MM_SPACE)
        c->space |= bits;
    }
}

/* Of the last bytes of white space ENDS, move those of characters of several bytes to their
   first.  */
static uint64_t
to_first_byte (const char *p, uint64_t ends, uint64_t high)
{
  for (uint64_t late = ends & high; late; late &= late - 1)
    {
      int i = __builtin_ctzll (late), first = i;

      while (first > 0 && ((unsigned char) p[first] & 0xc0) == 0x80)
        first--;
      ends = (ends & ~(UINT64_C (1) << i)) | UINT64_C (1) << first;
    }
  return ends;
}

/* The places after 0 where pieces start among the first bytes of P, where one starts: bit i for
   place i.  N <= 64 bytes are valid; the text goes on behind them unless it ENDS there.  Where it
   goes on, places after 60 are not told: they may depend on what follows.  */
static uint64_t
gpt2_starts (mm_byte_class_fn *classify, const char *p, size_t n, bool ends)
{
  uint64_t valid = n == 64 ? UINT64_MAX : (UINT64_C (1) << n) - 1, other, starts, last_spaces;
  uint64_t told = ends ? valid : UINT64_MAX >> 3;
  struct mm_byte_class c;

  classify ((const unsigned char *) p, &c);
  /* A character may go on behind the 64 bytes; the last leads are then not needed.  */
  c.leads &= ends ? valid : UINT64_MAX >> 2;
  if (c.leads)
    classify_rest (p, &c);
  other = ~(c.letter | c.number | c.space);

  /* A run of one class starts a piece, unless a blank before it does.  White space starts one,
     and its last character too when something else follows.  */
  starts = ((c.letter & ~(c.letter << 1)) | (c.number & ~(c.number << 1)) | (other & ~(other << 1)))
           & ~(c.blank << 1);
  starts |= c.space & ~(c.space << 1);
  last_spaces = c.space & ~(c.space >> 1) & valid >> 1 & told;
  starts |= to_first_byte (p, last_spaces, c.high);

  /* Contractions start where a run of other characters starts with a quote, and the piece after
     them starts whatever stands there.  */
  for (uint64_t quotes = starts & c.quote & c.letter >> 1; quotes; quotes &= quotes - 1)
    {
      int i = __builtin_ctzll (quotes);
      size_t length = contraction (p + i, n - (size_t) i);

      if (length > 0)
        {
          starts &= ~(((UINT64_C (1) << (length - 1)) - 1) << (i + 1));
          if (i + length < 64)
            starts |= UINT64_C (1) << (i + (int) length);
        }
    }
  return starts & told & ~UINT64_C (1);
}

static size_t
gpt2_pieces (const char *text, size_t size, size_t at, size_t *ends, size_t max)
{
  mm_byte_class_fn *classify = mm_byte_class_best ();
  size_t count = 0;

  while (at < size && count + MM_PIECES_MIN <= max)
    {
      size_t n = size - at < 64 ? size - at : 64;
      bool all = n == size - at;
      const char *p = text + at;
      char tail[64] = { 0 };
      uint64_t starts;

      if (n < 64)
        p = memcpy (tail, p, n);
      starts = gpt2_starts (classify, p, n, all);
      for (; starts; starts &= starts - 1)
        ends[count++] = at + (size_t) __builtin_ctzll (starts);
      if (all)
        ends[count++] = at = size;
      else if (count > 0 && ends[count - 1] > at)
        at = ends[count - 1];
      else
        ends[count++] = at = gpt2_end (text, size, at);
    }
  return count;
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
    return gpt2_pieces (text, size, at, ends, max);
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

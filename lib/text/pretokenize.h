/* pretokenize.h -- cutting text into the pieces that are encoded each alone.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Each pattern is a state machine by hand for one regular expression that
   tokenizers use; they agree with the engine on every text (tests/interop/).

   GPT-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
   Qwen2    (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*
            |\s*[\r\n]+|\s+(?!\S)|\s+
   Llama-3  the same with \p{N}{1,3}

   The others stand in pattern_gpt4.c and pattern_deepseek.c.  MM_PATTERN_GENERAL is what is none of
   these.  */

#ifndef TEXT_PRETOKENIZE_H
#define TEXT_PRETOKENIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mm_pattern
{
  MM_PATTERN_GPT2,
  MM_PATTERN_QWEN2,
  MM_PATTERN_LLAMA3,
  MM_PATTERN_CL100K,
  MM_PATTERN_O200K,             /* from here on marks may join letters */
  MM_PATTERN_QWEN35,
  MM_PATTERN_DEEPSEEK3,
  MM_PATTERN_GENERAL
};

/* The pattern whose regular expressions, one split after the other, are the N of REGEXES; false if
   it is none of these.  */
bool mm_pattern_find (const char *const *regexes, size_t n, enum mm_pattern *pattern);

/* The regular expression of a pattern of one split, or NULL.  */
const char *mm_pattern_regex (enum mm_pattern pattern);

enum { MM_PIECES_MIN = 65 };

/* Cut TEXT, valid UTF-8, into pieces from AT < SIZE on, a place where one starts.  Their ends go
   to ENDS, at most MAX >= MM_PIECES_MIN of them; returns their number, at least 1.  The text ends
   at SIZE: a piece never looks beyond.  */
size_t mm_pretokenize (enum mm_pattern pattern, const char *text, size_t size, size_t at,
                       size_t *ends, size_t max);

/* May TEXT be cut at AT, whatever stands further left and right, without a change of pieces?
   0 < AT, and both characters beside AT are complete.  Not every such place is found.  */
bool mm_pretokenize_may_cut (enum mm_pattern pattern, const char *text, size_t at);

#endif /* TEXT_PRETOKENIZE_H */

/* pattern_known.c -- the regular expressions that are built in, as their files spell them.
   SPDX-License-Identifier: Apache-2.0

   Two spellings of one pattern are two lines.  Which engine reads a spelling matters: Oniguruma,
   which HF tokenizers splits with, reads {1,3}+ as a repeated repetition, tiktoken's as a
   possessive one; the spelling of cl100k_base here means the same to both.  */

#include <config.h>

#include <string.h>

#include "pretokenize.h"

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define QWEN(numbers) \
  CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers \
  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define PREFIX "[^\\r\\n\\p{L}\\p{N}]?"

static const struct { enum mm_pattern pattern; const char *regex; } known[] = {
  { MM_PATTERN_GPT2, "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                     "|\\s+(?!\\S)|\\s+" },
  { MM_PATTERN_GPT2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$"
                     "|\\s+(?!\\S)|\\s" },
  { MM_PATTERN_QWEN2, QWEN ("\\p{N}") },
  { MM_PATTERN_LLAMA3, QWEN ("\\p{N}{1,3}") },
  { MM_PATTERN_CL100K, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}"
                       "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s" },
  { MM_PATTERN_O200K, PREFIX UPPER "*" LOWER "+" CONTRACTION "?|" PREFIX UPPER "+" LOWER "*"
                      CONTRACTION "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+"
                      "|\\s+(?!\\S)|\\s+" },
  { MM_PATTERN_QWEN35, CONTRACTION "|" PREFIX "[\\p{L}\\p{M}]+|\\p{N}"
                       "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" },
};

/* The three splits of DeepSeek-V3.  */
static const char *const deepseek3[] = {
  "\\p{N}{1,3}",
  "[一-龥\xe3\x81\x80-ゟ゠-ヿ]+",       /* the second range starts at U+3040, which is no character */
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
  "| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
};

/* Is REGEX the spelling WANT?  A line end may stand for itself.  */
static bool
is_spelt (const char *regex, const char *want)
{
  for (; *regex && *want; regex++, want++)
    if (*regex != *want)
      {
        if (*want != '\\' || *regex != (want[1] == 'n' ? '\n' : want[1] == 'r' ? '\r' : '\0'))
          return false;
        want++;
      }
  return !*regex && !*want;
}

bool
mm_pattern_find (const char *const *regexes, size_t n, enum mm_pattern *pattern)
{
  for (size_t i = 0; n == 1 && i < sizeof known / sizeof *known; i++)
    if (is_spelt (*regexes, known[i].regex))
      {
        *pattern = known[i].pattern;
        return true;
      }
  if (n != sizeof deepseek3 / sizeof *deepseek3)
    return false;
  for (size_t i = 0; i < n; i++)
    if (!is_spelt (regexes[i], deepseek3[i]))
      return false;
  *pattern = MM_PATTERN_DEEPSEEK3;
  return true;
}

const char *
mm_pattern_regex (enum mm_pattern pattern)
{
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].pattern == pattern)
      return known[i].regex;
  return NULL;
}

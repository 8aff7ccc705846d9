/* split_regex.h -- a regular expression of Oniguruma in the words of PCRE2.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  HF tokenizers splits with Oniguruma in its Ruby syntax.  The two engines
   agree on alternation, greed and backtracking, but spell some things differently, and a few things
   mean different sets of strings though they are spelt alike.  What is known to mean the same is
   translated; all else is refused by name.  */

#ifndef TEXT_SPLIT_REGEX_H
#define TEXT_SPLIT_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include <minimind/error.h>

/* Where the two know different versions of Unicode: a bit for each code point.  */
struct mm_split_unicode
{
  uint8_t *theirs;              /* assigned for HF only */
  uint8_t *ours;                /* assigned for PCRE2 only */
};

/* REGEX for PCRE2 into *OUT, which the caller frees.  Properties of characters are written out for
   code points of U->theirs where the general category says enough; *DOUBT tells whether it does
   not.  *PROPERTIES tells whether there are properties at all; U is NULL on a first pass to find
   that out.  NAME stands in messages.  MM_EUNSUP.  */
mm_status mm_split_regex (const char *name, const char *regex, const struct mm_split_unicode *u,
                          char **out, bool *properties, bool *doubt) MM_NODISCARD;

/* The same for a string that is to be found as it is.  */
mm_status mm_split_literal (const char *name, const char *text, char **out) MM_NODISCARD;

#endif /* TEXT_SPLIT_REGEX_H */

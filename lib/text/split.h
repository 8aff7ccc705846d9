/* split.h -- pre-tokenizers that are not built in: splits by any pattern, one after the other.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Each step cuts every piece of the step before, as HF's Sequence does: Split
   with its five behaviours and invert, Digits.  A step's pattern never sees beyond its piece.
   Patterns are run by PCRE2.  Where they ask for properties of characters, what its version of
   Unicode does not know yet is written out; where that cannot be done, a text with such a code point
   is refused.  */

#ifndef TEXT_SPLIT_H
#define TEXT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "split_regex.h"

enum { MM_SPLIT_STEPS = 16 };

/* What becomes of matches and of what stands between them.  */
enum mm_split_behavior
{
  MM_SPLIT_ISOLATED,            /* each is a piece */
  MM_SPLIT_REMOVED,             /* matches are dropped */
  MM_SPLIT_WITH_PREVIOUS,       /* a match is joined to what stands before it */
  MM_SPLIT_WITH_NEXT,           /* or behind it */
  MM_SPLIT_CONTIGUOUS           /* matches that touch are one piece */
};

struct mm_split_step
{
  struct pcre2_real_code_8 *code;       /* NULL: digits, each a match */
  enum mm_split_behavior behavior;
  bool invert;                  /* what matches and what does not are exchanged */
};

struct mm_split
{
  struct mm_split_step steps[MM_SPLIT_STEPS];
  size_t n_steps;
  struct mm_split_unicode unicode;      /* where patterns ask for properties, else NULL */
  bool doubt;                   /* they ask for some of code points that only HF knows */
};

/* Add a step: a regular expression or, with LITERAL, a string.  NAME stands in messages.
   MM_EUNSUP.  */
mm_status mm_split_add (struct mm_split *split, const char *name, const char *pattern, bool literal,
                        enum mm_split_behavior behavior, bool invert) MM_NODISCARD;
/* Digits: each by itself, or each run.  */
mm_status mm_split_add_digits (struct mm_split *split, const char *name,
                               bool individual) MM_NODISCARD;
void mm_split_free (struct mm_split *split);

/* Splitting one text at a time.  Belongs to a thread.  */
struct mm_splitter;

mm_status mm_splitter_open (const struct mm_split *split, struct mm_splitter **s) MM_NODISCARD;
void mm_splitter_close (struct mm_splitter *s);         /* accepts NULL */

/* Begin with TEXT, valid UTF-8, borrowed until all pieces are taken.  MM_EUNSUP if it has a code
   point in doubt.  */
mm_status mm_splitter_begin (struct mm_splitter *s, const char *text, size_t size) MM_NODISCARD;

/* The next pieces that touch each other: the first starts at *START, their ends go to ENDS, *COUNT
   of them, at most MAX; 0 when there are no more.  MM_EUNSUP where a pattern takes more steps than
   PCRE2 allows.  */
mm_status mm_splitter_next (struct mm_splitter *s, size_t *start, size_t *ends, size_t max,
                            size_t *count) MM_NODISCARD;

#endif /* TEXT_SPLIT_H */

/* answer.h -- one answer of a model: what it thinks, what it says, why it ends.
   SPDX-License-Identifier: Apache-2.0

   Thoughts are what stands between <think> and </think> at the beginning, without the line ends around them, as
   templates have it (chat.h).  They are told from the text, so that it does not matter which tokens it is made of.  */

#ifndef GENERATE_ANSWER_H
#define GENERATE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "display.h"
#include "engine.h"
#include "stream.h"

enum answer_part
{
  ANSWER_OPENING,               /* so far a beginning of <think>, or nothing */
  ANSWER_THOUGHT,
  ANSWER_SAID
};

struct answer_text
{
  char *text;                   /* NULL while it is empty; valid UTF-8 when the answer has ended */
  size_t size, capacity;
  size_t shown;                 /* bytes of it that were displayed */
};

struct answer
{
  struct stream stream;
  struct display *display;      /* NULL: nothing is shown */
  enum answer_part part;
  size_t matched;               /* bytes of <think> or </think> seen, not yet in a text */
  size_t line_ends;             /* of the thought, seen, not yet in it */
  bool skipping;                /* line ends, in front of what is said */
  struct answer_text thought, said;
  size_t count;                 /* tokens */
  bool stopped;                 /* by a person */
  bool complete;                /* by its end token: neither full, cut nor stopped */
};

/* Let E, whose sequence is a prompt, answer with at most MAX_TOKENS tokens.  THINKING: the prompt opened a thought.
   DISPLAY may be NULL.  Free whatever the result.  */
mm_status answer_make (struct engine *e, size_t max_tokens, bool thinking, struct display *display,
                       struct answer *a) MM_NODISCARD;
void answer_free (struct answer *a);

#endif /* GENERATE_ANSWER_H */

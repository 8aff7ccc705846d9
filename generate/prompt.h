/* prompt.h -- the text to go on from, as ids.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef GENERATE_PROMPT_H
#define GENERATE_PROMPT_H

#include <stdint.h>

#include <minimind/tokenizer.h>

#include "generate.h"

struct prompt
{
  char *text;                   /* NUL behind its SIZE bytes */
  size_t size;
  int32_t *ids;
  size_t count;                 /* >= 1 */
};

/* Read and encode the prompt.  Free with prompt_free whatever the result.  */
mm_status prompt_read (const struct generate_config *c, const struct mm_tokenizer *t,
                       struct prompt *p) MM_NODISCARD;
void prompt_free (struct prompt *p);

#endif /* GENERATE_PROMPT_H */

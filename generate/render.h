/* render.h -- conversations as the ids that an answer goes on from.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef GENERATE_RENDER_H
#define GENERATE_RENDER_H

#include <minimind/chat.h>

#include "generate.h"

struct renderer
{
  enum mm_chat_template template;
  enum mm_thinking thinking;
  struct mm_encoder *encoder;
  struct mm_chat_text text;
  struct mm_chat_ids ids;
};

/* Render as TALK says for the tokenizer T.  *END_OF_TURN is the token that ends a turn; MM_EUNSUP where T has
   none.  The statuses of mm_chat_template_find.  Close whatever the result.  */
mm_status renderer_open (struct renderer *r, const struct generate_talk *talk, const struct mm_tokenizer *t,
                         int32_t *end_of_turn) MM_NODISCARD;
void renderer_close (struct renderer *r);

/* Does the prompt open a thought?  */
bool renderer_opens_thought (const struct renderer *r);

/* The prompt for an answer to C.  *IDS is R's, until the next call.  */
mm_status renderer_prompt (struct renderer *r, const struct mm_chat *c, const int32_t **ids,
                           size_t *count) MM_NODISCARD;

#endif /* GENERATE_RENDER_H */

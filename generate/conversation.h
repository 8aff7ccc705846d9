/* conversation.h -- the turns of a conversation under way.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef GENERATE_CONVERSATION_H
#define GENERATE_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include <minimind/chat.h>

#include "answer.h"

struct conversation
{
  json_t *turns;                /* messages, as OpenAI has them */
  size_t head;                  /* of them a system turn: 0 or 1; it always stays */
};

/* One with the system turn SYSTEM, or none where that is NULL.  MM_EFORMAT where it is not UTF-8.  Close whatever the
   result.  */
mm_status conversation_open (struct conversation *c, const char *system) MM_NODISCARD;
void conversation_close (struct conversation *c);

/* A question, an answer.  MM_EFORMAT for a text that is not UTF-8 or holds a NUL.  */
mm_status conversation_ask (struct conversation *c, const char *text, size_t size) MM_NODISCARD;
mm_status conversation_answer (struct conversation *c, const struct answer *a) MM_NODISCARD;

/* Without its last turn; without all but the system turn.  */
void conversation_take_back (struct conversation *c);
void conversation_reset (struct conversation *c);

/* Without its oldest question and the answer to it.  False, and nothing is done, where only one question is left.  */
bool conversation_forget (struct conversation *c);

/* The same for templates, new.  */
mm_status conversation_chat (const struct conversation *c, struct mm_chat **chat) MM_NODISCARD;

#endif /* GENERATE_CONVERSATION_H */

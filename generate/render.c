/* render.c -- conversations as the ids that an answer goes on from.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "render.h"

/* All templates end turns with it.  */
static const char end_mark[] = "<|im_end|>";

mm_status
renderer_open (struct renderer *r, const struct generate_talk *talk, const struct mm_tokenizer *t,
               int32_t *end_of_turn)
{
  mm_status st;

  *r = (struct renderer) { .thinking = talk->thinking };
  st = mm_chat_template_find (talk->template, t, &r->template);
  if (st < 0)
    return st;
  *end_of_turn = mm_tokenizer_find (t, end_mark);
  if (*end_of_turn == MM_NO_TOKEN)
    return mm_fail (MM_EUNSUP, "the tokenizer has no token %s, with which %s ends a turn: an answer would never end",
                    end_mark, mm_chat_template_name (r->template));
  return mm_encoder_open (t, &r->encoder);
}

void
renderer_close (struct renderer *r)
{
  mm_encoder_close (r->encoder);
  mm_chat_text_free (&r->text);
  mm_chat_ids_free (&r->ids);
}

bool
renderer_opens_thought (const struct renderer *r)
{
  return r->template == MM_CHAT_MINIMIND3 && r->thinking == MM_THINKING_ON;
}

mm_status
renderer_prompt (struct renderer *r, const struct mm_chat *c, const int32_t **ids, size_t *count)
{
  mm_status st = mm_chat_render (c, r->template, r->thinking, true, &r->text);

  if (st == MM_OK)
    st = mm_chat_encode (r->encoder, &r->text, &r->ids);
  *ids = (const int32_t *) r->ids.ids.data;
  *count = r->ids.ids.count;
  return st;
}

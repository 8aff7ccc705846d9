/* row.c -- a row of chat data into ids and targets: read, put in order, rendered, encoded.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "row.h"

static mm_status
encode (struct row *r, const struct row_options *o, struct mm_encoder *e, const struct mm_chat *chat)
{
  mm_status st = mm_chat_render (chat, o->template, MM_THINKING_DEFAULT, false, &r->text);

  if (st < 0)
    return st;
  return o->minimind ? mm_chat_encode_minimind (e, &r->text, &r->ids) : mm_chat_encode (e, &r->text, &r->ids);
}

mm_status
row_encode (struct row *r, const struct row_options *o, struct mm_encoder *e, const char *place, const char *json,
            size_t size)
{
  struct mm_chat *chat;
  mm_status st = mm_chat_parse (place, json, size, &chat);

  if (st == MM_OK)
    st = mm_chat_check_order (place, chat);
  if (st == MM_OK)
    {
      st = encode (r, o, e, chat);
      if (st < 0)
        st = mm_fail_prefix (st, "%s", place);
    }
  mm_chat_free (chat);
  return st;
}

void
row_free (struct row *r)
{
  mm_chat_text_free (&r->text);
  mm_chat_ids_free (&r->ids);
}

bool
row_may_be_skipped (mm_status st)
{
  return st == MM_EFORMAT || st == MM_EUNSUP;
}

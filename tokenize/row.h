/* row.h -- a row of chat data into ids and targets.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TOKENIZE_ROW_H
#define TOKENIZE_ROW_H

#include <minimind/chat.h>

struct row_options
{
  enum mm_chat_template template;
  bool minimind;                /* ids and labels as MiniMind makes them */
};

/* What a row became, and memory for the next one.  All zero at first.  */
struct row
{
  struct mm_chat_text text;
  struct mm_chat_ids ids;
};

/* Make ids of the SIZE bytes at JSON with E.  PLACE stands in messages.  MM_EFORMAT and MM_EUNSUP are the row's
   own: others may be fine.  */
mm_status row_encode (struct row *r, const struct row_options *o, struct mm_encoder *e, const char *place,
                      const char *json, size_t size) MM_NODISCARD;
void row_free (struct row *r);

/* Can a run go on without a row that failed with ST?  */
bool row_may_be_skipped (mm_status st);

#endif /* TOKENIZE_ROW_H */

/* conversation.c -- the turns of a conversation under way.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>

#include "conversation.h"

static mm_status
no_memory (void)
{
  return mm_fail (MM_ENOMEM, "no memory for a conversation");
}

static mm_status
check_text (const char *text, size_t size)
{
  size_t valid = mm_utf8_check (text, size, NULL);

  if (valid < size)
    return mm_fail (MM_EFORMAT, "not UTF-8 at byte %zu", valid);
  return memchr (text, '\0', size) ? mm_fail (MM_EFORMAT, "there is a NUL in it") : MM_OK;
}

static mm_status
add (struct conversation *c, json_t *turn)
{
  return turn && json_array_append_new (c->turns, turn) == 0 ? MM_OK : no_memory ();
}

mm_status
conversation_open (struct conversation *c, const char *system)
{
  mm_status st;

  *c = (struct conversation) { .turns = json_array (), .head = system != NULL };
  if (!c->turns)
    return no_memory ();
  if (!system)
    return MM_OK;
  st = check_text (system, strlen (system));
  if (st < 0)
    return mm_fail_prefix (st, "--system");
  return add (c, json_pack ("{s:s, s:s}", "role", "system", "content", system));
}

void
conversation_close (struct conversation *c)
{
  json_decref (c->turns);
}

mm_status
conversation_ask (struct conversation *c, const char *text, size_t size)
{
  mm_status st = check_text (text, size);

  return st < 0 ? st : add (c, json_pack ("{s:s, s:s%}", "role", "user", "content", text, size));
}

/* What a model says may hold a NUL, which JSON here may not: it is left out.  */
static json_t *
string_of (const struct answer_text *x)
{
  char *text = malloc (x->size + 1);
  size_t n = 0;
  json_t *string;

  if (!text)
    return NULL;
  for (size_t i = 0; i < x->size; i++)
    if (x->text[i])
      text[n++] = x->text[i];
  string = json_stringn (text, n);
  free (text);
  return string;
}

mm_status
conversation_answer (struct conversation *c, const struct answer *a)
{
  return add (c, json_pack ("{s:s, s:o, s:o}", "role", "assistant", "content", string_of (&a->said),
                            "reasoning_content", string_of (&a->thought)));
}

void
conversation_take_back (struct conversation *c)
{
  json_array_remove (c->turns, json_array_size (c->turns) - 1);
}

void
conversation_reset (struct conversation *c)
{
  while (json_array_size (c->turns) > c->head)
    conversation_take_back (c);
}

bool
conversation_forget (struct conversation *c)
{
  if (json_array_size (c->turns) < c->head + 3)
    return false;
  json_array_remove (c->turns, c->head);
  json_array_remove (c->turns, c->head);
  return true;
}

mm_status
conversation_chat (const struct conversation *c, struct mm_chat **chat)
{
  char *text;
  mm_status st = mm_json_text (c->turns, false, &text);

  *chat = NULL;
  if (st == MM_OK)
    st = mm_chat_parse ("the conversation", text, strlen (text), chat);
  free (text);
  return st;
}

/* messages.c -- one answer to a conversation in a file.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/input.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "answer.h"
#include "messages.h"
#include "render.h"

enum { FILE_LIMIT = 64 << 20, PIECE = 65536 };  /* bytes */

/* ---- the conversation ---- */

static mm_status
read_member (struct mm_input *in, char **text, size_t *size)
{
  size_t capacity = 0, got;
  bool more;
  mm_status st = mm_input_next (in, &more);

  do
    {
      if (st == MM_OK)
        st = mm_grow ("conversation", text, &capacity, *size + PIECE, 1);
      if (st == MM_OK)
        st = mm_input_read (in, *text + *size, PIECE, &got);
      if (st < 0)
        return st;
      *size += got;
      if (*size > FILE_LIMIT)
        return mm_fail (MM_EFORMAT, "%s: a conversation of more than %d bytes", mm_input_name (in), FILE_LIMIT);
    }
  while (got > 0);
  return MM_OK;
}

/* Bytes of the mark U+FEFF that editors of some systems begin a file with.  */
static size_t
mark_size (const char *text, size_t size)
{
  return size >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static mm_status
read_conversation (const char *path, struct mm_chat **c)
{
  const char *name = strcmp (path, "-") == 0 ? "standard input" : path;
  struct mm_input *in = NULL;
  char *text = NULL;
  size_t size = 0;
  mm_status st = mm_input_open (path, &in);

  if (st == MM_OK)
    st = read_member (in, &text, &size);
  if (st == MM_OK)
    {
      st = mm_chat_parse (name, text + mark_size (text, size), size - mark_size (text, size), c);
      if (st == MM_EFORMAT)
        st = mm_fail_prefix (st, "want one conversation, an object or array of JSON");
    }
  if (st == MM_OK)
    st = mm_chat_check_order (name, *c);
  if (st == MM_OK && mm_chat_is_answered (*c))
    st = mm_fail (MM_EFORMAT, "%s: nothing is asked: want a last turn of the user or a tool", name);
  free (text);
  mm_input_close (in);
  return st;
}

/* ---- the answer ---- */

static mm_status
print_object (const struct answer *a, size_t prompt_tokens)
{
  char *text = NULL;
  json_t *thought = a->thought.size ? json_stringn (a->thought.text, a->thought.size) : json_null ();
  json_t *root = json_pack ("{s:s, s:s%, s:o, s:s, s:I, s:I}", "role", "assistant",
                            "content", a->said.text ? a->said.text : "", a->said.size,
                            "reasoning_content", thought, "finish_reason", a->complete ? "stop" : "length",
                            "prompt_tokens", (json_int_t) prompt_tokens, "tokens", (json_int_t) a->count);
  mm_status st = root ? mm_json_text (root, false, &text) : mm_fail (MM_ENOMEM, "no memory for the result");

  if (st == MM_OK)
    puts (text);
  free (text);
  json_decref (root);
  return st;
}

/* The prompt is IDS: what the model may say to it.  */
static mm_status
answer (struct engine *e, const int32_t *ids, size_t count, bool thinking)
{
  const struct generate_config *c = e->config;
  struct display display = display_open (c->talk.show_thinking);
  struct answer a;
  size_t context;
  mm_status st = engine_context (e, &context);

  if (st == MM_OK && count >= context)
    st = mm_fail (MM_EUSAGE, "the conversation has %s, of %zu that there may be: no room for an answer",
                  MM_COUNT (count, "token"), context);
  if (st == MM_OK)
    st = engine_make_room (e, c->max_tokens < context - count ? count + c->max_tokens : context);
  if (st < 0)
    return st;
  engine_begin (e, ids, count);
  st = answer_make (e, c->max_tokens, thinking, c->json ? NULL : &display, &a);
  if (st == MM_OK && c->json)
    st = print_object (&a, count);
  else if (st == MM_OK)
    display_end (&display);
  answer_free (&a);
  return st;
}

mm_status
messages_answer (struct engine *e)
{
  const struct generate_talk *talk = &e->config->talk;
  struct renderer r;
  struct mm_chat *c = NULL;
  const int32_t *ids;
  size_t count;
  mm_status st = renderer_open (&r, talk, e->tokenizer, &e->end_of_turn);

  if (st == MM_OK)
    st = read_conversation (talk->messages, &c);
  if (st == MM_OK)
    {
      st = renderer_prompt (&r, c, &ids, &count);
      if (st < 0)
        st = mm_fail_prefix (st, "%s", talk->messages);
    }
  if (st == MM_OK)
    st = answer (e, ids, count, renderer_opens_thought (&r));
  mm_chat_free (c);
  renderer_close (&r);
  return st;
}

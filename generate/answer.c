/* answer.c -- one answer of a model: what it thinks, what it says, why it ends.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "answer.h"

static const char opening[] = "<think>", closing[] = "</think>";

/* ---- thought and said ---- */

static mm_status
append (struct answer_text *x, const char *bytes, size_t size)
{
  mm_status st = size ? mm_grow ("answer", &x->text, &x->capacity, x->size + size, 1) : MM_OK;

  if (st < 0 || size == 0)
    return st;
  memcpy (x->text + x->size, bytes, size);
  x->size += size;
  return MM_OK;
}

/* BYTES that are no tag, at the place where the answer is.  */
static mm_status
add_bytes (struct answer *a, const char *bytes, size_t size)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < size; i++)
    if (a->part == ANSWER_THOUGHT && bytes[i] == '\n')
      a->line_ends += a->thought.size > 0;
    else if (a->part == ANSWER_THOUGHT)
      {
        for (; st == MM_OK && a->line_ends > 0; a->line_ends--)
          st = append (&a->thought, "\n", 1);
        if (st == MM_OK)
          st = append (&a->thought, bytes + i, 1);
      }
    else if (!a->skipping || bytes[i] != '\n')
      {
        a->skipping = false;
        st = append (&a->said, bytes + i, 1);
      }
  return st;
}

/* The tag that may come, NULL once all is said aloud.  */
static const char *
tag_of (const struct answer *a)
{
  return a->part == ANSWER_OPENING ? opening : a->part == ANSWER_THOUGHT ? closing : NULL;
}

/* What looked like the beginning of a tag is none.  */
static mm_status
give_up_tag (struct answer *a)
{
  const char *tag = tag_of (a);
  size_t size = a->matched;

  a->matched = 0;
  if (a->part == ANSWER_OPENING)
    a->part = ANSWER_SAID;
  return tag ? add_bytes (a, tag, size) : MM_OK;
}

static mm_status
add_byte (struct answer *a, char byte)
{
  const char *tag = tag_of (a);
  mm_status st = MM_OK;

  /* A tag's first byte does not occur in it again: behind a failed match it may only begin afresh.  */
  if (tag && byte != tag[a->matched] && (a->matched > 0 || a->part == ANSWER_OPENING))
    {
      st = give_up_tag (a);
      tag = tag_of (a);
    }
  if (st < 0)
    return st;
  if (!tag || byte != tag[a->matched])
    return add_bytes (a, &byte, 1);
  if (tag[++a->matched])
    return MM_OK;
  a->matched = a->line_ends = 0;
  a->skipping = a->part == ANSWER_THOUGHT;
  a->part = a->part == ANSWER_THOUGHT ? ANSWER_SAID : ANSWER_THOUGHT;
  return MM_OK;
}

/* ---- making ---- */

/* What X has more by DISPLAY_IT.  */
static void
show_more (struct display *d, struct answer_text *x, void (*display_it) (struct display *, const char *, size_t))
{
  if (x->size > x->shown)
    display_it (d, x->text + x->shown, x->size - x->shown);
  x->shown = x->size;
}

static void
show (struct answer *a)
{
  if (!a->display)
    return;
  show_more (a->display, &a->thought, display_thought);
  show_more (a->display, &a->said, display_text);
}

/* What the stream has become.  */
static mm_status
take (struct answer *a)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < a->stream.size; i++)
    st = add_byte (a, a->stream.text[i]);
  a->stream.size = 0;
  if (st == MM_OK)
    show (a);
  return st;
}

static mm_status
finish (struct answer *a)
{
  mm_status st = stream_end (&a->stream, !a->complete);

  if (st == MM_OK)
    st = take (a);
  if (st == MM_OK)
    st = give_up_tag (a);
  if (st == MM_OK)
    show (a);
  return st;
}

mm_status
answer_make (struct engine *e, size_t max_tokens, bool thinking, struct display *display, struct answer *a)
{
  enum engine_step step = ENGINE_TOKEN;
  mm_status st = MM_OK;

  *a = (struct answer) { .stream = { .tokenizer = e->tokenizer }, .display = display,
                         .part = thinking ? ANSWER_THOUGHT : ANSWER_OPENING };
  while (st == MM_OK && a->count < max_tokens && !ferror (stdout))
    {
      int32_t id;

      st = engine_next (e, &step, &id);
      if (st < 0 || step != ENGINE_TOKEN)
        break;
      a->count++;
      st = stream_add (&a->stream, (uint32_t) id);
      if (st == MM_OK)
        st = take (a);
    }
  a->complete = step == ENGINE_END;
  a->stopped = step == ENGINE_STOPPED;
  return st < 0 ? st : finish (a);
}

void
answer_free (struct answer *a)
{
  stream_free (&a->stream);
  free (a->thought.text);
  free (a->said.text);
}

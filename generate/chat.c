/* chat.c -- a conversation, message by message.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "answer.h"
#include "chat.h"
#include "conversation.h"
#include "line.h"
#include "render.h"

struct chat
{
  struct engine *engine;
  struct renderer renderer;
  struct conversation conversation;
  struct line_reader lines;
  struct display display;
  size_t context;               /* tokens that the conversation may have */
  char *message;                /* lines joined, and a NUL */
  size_t size, capacity;
};

static const char help[] =
  "/help   show this\n"
  "/reset  forget the conversation; the system prompt stays\n"
  "/quit   leave, as Ctrl-D does\n"
  "A line that ends in \\ goes on in the next.  Ctrl-C ends an answer.\n";

/* ---- what a person wants ---- */

static volatile sig_atomic_t stop;

static void
on_interrupt (int signo)
{
  (void) signo;
  stop = 1;
}

static void
catch_interrupts (void)
{
  struct sigaction action = { .sa_handler = on_interrupt };

  sigemptyset (&action.sa_mask);
  sigaction (SIGINT, &action, NULL);
}

/* A message or command failed with ST: a person is told and may go on, a program is not.  */
static mm_status
refuse (const struct chat *x, mm_status st)
{
  if (!x->lines.interactive)
    return x->lines.number ? mm_fail_prefix (st, "standard input: line %zu", x->lines.number) : st;
  mm_warn ("%s", mm_error_message ());
  return MM_OK;
}

/* ---- one exchange ---- */

static mm_status
render (struct chat *x, const int32_t **ids, size_t *count)
{
  struct mm_chat *chat;
  mm_status st = conversation_chat (&x->conversation, &chat);

  if (st == MM_OK)
    st = renderer_prompt (&x->renderer, chat, ids, count);
  mm_chat_free (chat);
  return st;
}

/* Render the conversation without its oldest exchanges, as far as that is needed: for an answer there should be a
   quarter of the context, or what may be said, and there must be one token.  MM_EUSAGE where there is not.  */
static mm_status
render_to_fit (struct chat *x, const int32_t **ids, size_t *count)
{
  size_t most = x->engine->config->max_tokens, quarter = x->context / 4, forgotten = 0;
  size_t wanted = most < quarter ? most : quarter;
  mm_status st = render (x, ids, count);

  while (st == MM_OK && *count + wanted > x->context && conversation_forget (&x->conversation))
    {
      forgotten++;
      st = render (x, ids, count);
    }
  if (forgotten)
    mm_info ("(the context of %zu tokens is full: %s at the beginning forgotten)", x->context,
             MM_COUNT (forgotten, "exchange"));
  if (st == MM_OK && *count >= x->context)
    st = mm_fail (MM_EUSAGE, "the message does not fit: with it there are %s, of %zu that there may be",
                  MM_COUNT (*count, "token"), x->context);
  return st;
}

/* Why an answer is not whole.  */
static void
tell_end (const struct chat *x, const struct answer *a)
{
  if (a->stopped)
    mm_info ("(stopped)");
  else if (!a->complete && a->count == x->engine->config->max_tokens)
    mm_info ("(cut off after %s: --max-tokens)", MM_COUNT (a->count, "token"));
  else if (!a->complete)
    mm_info ("(cut off: the context of %zu tokens is full)", x->context);
}

/* The model's answer to the prompt IDS becomes a turn.  One that was stopped before its first word takes the question
   with it.  */
static mm_status
answer (struct chat *x, const int32_t *ids, size_t count)
{
  size_t kept = engine_begin (x->engine, ids, count);
  double start = mm_now ();
  struct answer a;
  mm_status st = answer_make (x->engine, x->engine->config->max_tokens, renderer_opens_thought (&x->renderer),
                              &x->display, &a);

  display_end (&x->display);
  if (!ferror (stdout))
    fflush (stdout);
  if (st == MM_OK)
    {
      tell_end (x, &a);
      mm_verbose ("prompt: %zu tokens, of which %zu were known; answer: %zu tokens, %.0f tokens/s with the prompt",
                  count, kept, a.count, (double) a.count / (mm_now () - start));
      if (x->lines.interactive)
        putchar ('\n');
    }
  if (st == MM_OK && a.stopped && a.count == 0)
    conversation_take_back (&x->conversation);
  else if (st == MM_OK)
    st = conversation_answer (&x->conversation, &a);
  answer_free (&a);
  return st;
}

static mm_status
exchange (struct chat *x, const char *text, size_t size)
{
  const int32_t *ids;
  size_t count;
  mm_status st = conversation_ask (&x->conversation, text, size);

  if (st < 0)
    return refuse (x, st);
  st = render_to_fit (x, &ids, &count);
  if (st == MM_EUSAGE)
    {
      conversation_take_back (&x->conversation);
      return refuse (x, st);
    }
  return st < 0 ? st : answer (x, ids, count);
}

/* ---- lines ---- */

/* The next message: lines up to one that does not end in a backslash.  */
static mm_status
read_message (struct chat *x, enum line_event *event)
{
  bool more = true;

  x->size = 0;
  while (more)
    {
      const struct line_reader *r = &x->lines;
      mm_status st = line_read (&x->lines, x->size ? "  " : "> ", event);

      if (st == MM_OK)
        st = mm_grow ("message", &x->message, &x->capacity, x->size + r->size + 2, 1);
      if (st < 0 || *event != LINE_TEXT)
        return st;
      memcpy (x->message + x->size, r->text, r->size);
      x->size += r->size;
      more = r->size > 0 && r->text[r->size - 1] == '\\';
      if (more)
        x->message[x->size - 1] = '\n';
      x->message[x->size] = '\0';
    }
  return MM_OK;
}

/* A line that begins with a slash.  *LEAVE: it says so.  */
static mm_status
command (struct chat *x, bool *leave)
{
  *leave = strcmp (x->message, "/quit") == 0;
  if (*leave)
    return MM_OK;
  if (strcmp (x->message, "/help") == 0)
    fputs (help, stdout);
  else if (strcmp (x->message, "/reset") == 0)
    {
      conversation_reset (&x->conversation);
      mm_info ("(forgotten)");
    }
  else
    return refuse (x, mm_fail (MM_EUSAGE, "%.40s: no such command: /help lists them; a message that begins so needs a "
                               "blank before it", x->message));
  return MM_OK;
}

static mm_status
converse (struct chat *x)
{
  enum line_event event = LINE_TEXT;
  bool leave = false;
  mm_status st = MM_OK;

  while (st == MM_OK && !leave && !ferror (stdout))
    {
      stop = 0;
      st = read_message (x, &event);
      if (st < 0 || event == LINE_END)
        break;
      if (event == LINE_STOPPED)
        mm_info ("(Ctrl-D or /quit leaves)");
      else if (x->message[0] == '/')
        st = command (x, &leave);
      else if (x->size > 0)
        {
          if (x->engine->config->echo && !x->lines.interactive)
            printf ("> %s\n", x->message);
          st = exchange (x, x->message, x->size);
        }
    }
  return st;
}

/* Converse by the lines of standard input.  */
static mm_status
converse_by_lines (struct chat *x)
{
  mm_status st = line_open (&x->lines, x->engine->config->talk.history, &stop);

  if (st < 0)
    return st;
  if (x->lines.interactive)
    {
      catch_interrupts ();
      x->engine->stop = &stop;
      mm_info ("%s, by the template %s; /help tells what can be typed, Ctrl-D leaves", x->engine->dir,
               mm_chat_template_name (x->renderer.template));
    }
  return converse (x);
}

mm_status
chat (struct engine *e)
{
  const struct generate_config *c = e->config;
  struct chat x = { .engine = e, .display = display_open (c->talk.show_thinking) };
  mm_status st = renderer_open (&x.renderer, &c->talk, e->tokenizer, &e->end_of_turn);

  if (st == MM_OK)
    st = engine_context (e, &x.context);
  if (st == MM_OK)
    st = engine_make_room (e, x.context);
  if (st == MM_OK)
    st = conversation_open (&x.conversation, c->talk.system);
  if (st == MM_OK)
    st = c->prompt ? exchange (&x, c->prompt, strlen (c->prompt)) : converse_by_lines (&x);
  line_close (&x.lines);
  conversation_close (&x.conversation);
  renderer_close (&x.renderer);
  free (x.message);
  return st;
}

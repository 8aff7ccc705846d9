/* generate.c -- a model continues a text; conversations are messages.c's and chat.c's.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include <minimind/comm.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "chat.h"
#include "display.h"
#include "engine.h"
#include "generate.h"
#include "messages.h"
#include "prompt.h"
#include "score.h"
#include "stream.h"

/* A prompt and what comes behind it.  */
struct text
{
  struct engine *engine;
  struct prompt prompt;
  struct display display;
  struct stream stream;
  json_t *ids;                  /* new ones, for --json */
  size_t count;                 /* of them */
  const char *finish;           /* why it ended: "eos", "length" or "positions" */
  double prompt_seconds, seconds;
};

/* How far the positions reach, and memory for as many tokens.  */
static mm_status
make_room (struct text *x)
{
  const struct generate_config *c = x->engine->config;
  size_t positions = mm_model_config (x->engine->model)->max_positions, count = x->prompt.count;
  size_t wanted = c->score ? 0 : c->max_tokens;

  if (count > positions || (wanted > 0 && count == positions))
    return mm_fail (MM_EUSAGE, "the prompt has %s, the model %s", MM_COUNT (count, "token"),
                    MM_COUNT (positions, "position"));
  return engine_make_room (x->engine, count + (wanted < positions - count ? wanted : positions - count));
}

/* Print what the stream has become, unless an object will hold it.  */
static void
show (struct text *x)
{
  if (x->engine->config->json || x->stream.size == 0)
    return;
  display_text (&x->display, x->stream.text, x->stream.size);
  x->stream.size = 0;
}

/* Sample tokens until the document ends, there are enough, or nobody listens.  */
static mm_status
continue_prompt (struct text *x)
{
  enum engine_step step = ENGINE_TOKEN;
  mm_status st = MM_OK;

  while (st == MM_OK && x->count < x->engine->config->max_tokens && !ferror (stdout))
    {
      int32_t id;

      st = engine_next (x->engine, &step, &id);
      if (st < 0 || step != ENGINE_TOKEN)
        break;
      x->count++;
      json_array_append_new (x->ids, json_integer (id));
      st = stream_add (&x->stream, (uint32_t) id);
      show (x);
    }
  x->finish = step == ENGINE_END ? "eos" : step == ENGINE_FULL ? "positions" : "length";
  if (st == MM_OK)
    st = stream_end (&x->stream, step != ENGINE_END);
  show (x);
  return st;
}

static mm_status
print_object (const struct text *x)
{
  char *text = NULL;
  json_t *root = json_pack ("{s:s%, s:s%, s:s, s:I, s:I, s:O}",
                            "prompt", x->prompt.text, x->prompt.size,
                            "text", x->stream.text ? x->stream.text : "", x->stream.size,
                            "finish", x->finish, "prompt_tokens", (json_int_t) x->prompt.count,
                            "tokens", (json_int_t) x->count, "ids", x->ids);
  mm_status st = root ? mm_json_text (root, false, &text)
                      : mm_fail (MM_ENOMEM, "no memory for the result");

  if (st >= 0)
    puts (text);
  free (text);
  json_decref (root);
  return st;
}

static mm_status
run (struct text *x)
{
  const struct generate_config *c = x->engine->config;
  double start = mm_now ();
  mm_status st;

  if (c->score)
    return score (x->engine, &x->prompt);
  if (c->echo && !c->json)
    {
      fwrite (x->prompt.text, 1, x->prompt.size, stdout);
      fflush (stdout);
    }
  engine_begin (x->engine, x->prompt.ids, x->prompt.count);
  st = engine_read (x->engine);
  if (st < 0)
    return st;
  x->prompt_seconds = mm_now () - start;
  st = continue_prompt (x);
  x->seconds = mm_now () - start - x->prompt_seconds;
  if (st >= 0 && c->json)
    return print_object (x);
  display_end (&x->display);
  return st;
}

static void
print_speed (const struct text *x)
{
  mm_verbose ("prompt: %zu tokens, %.0f tokens/s", x->prompt.count,
              (double) x->prompt.count / x->prompt_seconds);
  mm_verbose ("generated: %zu tokens, %.0f tokens/s (%s)", x->count,
              (double) x->count / x->seconds, x->finish);
}

/* Continue the prompt.  */
static mm_status
go_on (struct engine *e)
{
  struct text x = { .engine = e, .ids = json_array (), .display = display_open (SHOW_NEVER),
                    .stream = { .tokenizer = e->tokenizer } };
  mm_status st = prompt_read (e->config, e->tokenizer, &x.prompt);

  if (st >= 0)
    st = make_room (&x);
  if (st >= 0)
    st = run (&x);
  if (st >= 0 && !e->config->score)
    print_speed (&x);
  stream_free (&x.stream);
  prompt_free (&x.prompt);
  json_decref (x.ids);
  return st;
}

mm_status
generate (const struct generate_config *c)
{
  struct engine e;
  mm_status st = mm_comm_alone ("minimind-generate");

  if (st < 0)
    return st;
  st = engine_open (&e, c);
  if (st >= 0)
    st = c->talk.chat ? chat (&e) : c->talk.messages ? messages_answer (&e) : go_on (&e);
  engine_close (&e);
  return st;
}

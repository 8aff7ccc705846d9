/* generate.c -- a model continues a text.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <minimind/backend.h>
#include <minimind/checkpoint.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/model.h>

#include "generate.h"
#include "prompt.h"
#include "score.h"
#include "stream.h"

/* What is open.  */
struct generation
{
  const struct generate_config *config;
  char *dir;                    /* the model folder */
  struct mm_tokenizer *tokenizer;
  struct mm_backend *backend;
  struct mm_model *model;
  struct mm_session *session;
  struct prompt prompt;
  size_t limit;                 /* new tokens that may come */
  size_t vocab_size;            /* of the model */
  size_t n_choices;             /* ids that both model and tokenizer have */
  float *logits, *scratch;      /* [vocab_size] */
  int32_t *order;               /* the same */

  struct stream stream;
  json_t *ids;                  /* new ones, for --json */
  size_t count;                 /* of them */
  const char *finish;           /* why it ended: "eos", "length" or "positions" */
  double prompt_seconds, seconds;
};

static mm_status
open_model (struct generation *g)
{
  const struct generate_config *c = g->config;
  mm_status st = mm_model_folder (c->model, &g->dir);
  size_t ids;

  if (st >= 0)
    st = mm_tokenizer_load (g->dir, &g->tokenizer);
  if (st >= 0)
    st = mm_backend_open (c->compute.backend, c->compute.threads, &g->backend);
  if (st >= 0)
    st = mm_model_open (g->backend, g->dir, false, &g->model);
  if (st < 0)
    return st;
  ids = mm_tokenizer_vocab_size (g->tokenizer);
  g->vocab_size = mm_model_config (g->model)->vocab_size;
  g->n_choices = ids < g->vocab_size ? ids : g->vocab_size;
  if (ids > g->vocab_size)
    return mm_fail (MM_ECONFLICT, "%s: vocabulary of %zu, but its tokenizer has ids up to %zu",
                    g->dir, g->vocab_size, ids - 1);
  return MM_OK;
}

/* How far the positions reach, and memory for as many tokens.  */
static mm_status
make_room (struct generation *g)
{
  const struct generate_config *c = g->config;
  size_t positions = mm_model_config (g->model)->max_positions, count = g->prompt.count;
  size_t wanted = c->score ? 0 : c->max_tokens;
  mm_status st;

  if (count > positions || (wanted > 0 && count == positions))
    return mm_fail (MM_EUSAGE, "the prompt has %s, the model %s", MM_COUNT (count, "token"),
                    MM_COUNT (positions, "position"));
  g->limit = wanted < positions - count ? wanted : positions - count;
  st = mm_session_open (g->model, count + g->limit, &g->session);
  if (st >= 0)
    st = mm_alloc ("logits", g->vocab_size, sizeof *g->logits, &g->logits);
  if (st >= 0)
    st = mm_alloc ("logits", g->vocab_size, sizeof *g->scratch, &g->scratch);
  if (st >= 0)
    st = mm_alloc ("logits", g->vocab_size, sizeof *g->order, &g->order);
  return st;
}

static bool
is_end (const struct generation *g, int32_t id)
{
  return !g->config->ignore_eos
         && (id == mm_tokenizer_eos (g->tokenizer) || id == mm_model_config (g->model)->eos_id);
}

/* Sample tokens until the document ends, there are enough, or nobody listens.  */
static mm_status
continue_prompt (struct generation *g)
{
  bool ended = false;

  while (g->count < g->limit && !ferror (stdout))
    {
      int32_t id = mm_sample (&g->config->sampling, g->logits, g->n_choices,
                              g->prompt.count + g->count, g->scratch, g->order);
      mm_status st;

      if (id < 0)
        return mm_fail (MM_EFORMAT, "%s: the model's logits are not finite", g->dir);
      if (is_end (g, id))
        {
          ended = true;
          break;
        }
      g->count++;
      json_array_append_new (g->ids, json_integer (id));
      st = stream_add (&g->stream, (uint32_t) id);
      if (st >= 0 && g->count < g->limit)
        st = mm_session_feed (g->session, &id, 1, g->logits);
      if (st < 0)
        return st;
    }
  g->finish = ended ? "eos" : g->limit < g->config->max_tokens ? "positions" : "length";
  return stream_end (&g->stream, !ended);
}

static mm_status
print_object (const struct generation *g)
{
  char *text = NULL;
  json_t *root = json_pack ("{s:s%, s:s%, s:s, s:I, s:I, s:O}",
                            "prompt", g->prompt.text, g->prompt.size,
                            "text", g->stream.text ? g->stream.text : "", g->stream.size,
                            "finish", g->finish, "prompt_tokens", (json_int_t) g->prompt.count,
                            "tokens", (json_int_t) g->count, "ids", g->ids);
  mm_status st = root ? mm_json_text (root, false, &text)
                      : mm_fail (MM_ENOMEM, "no memory for the result");

  if (st >= 0)
    puts (text);
  free (text);
  json_decref (root);
  return st;
}

static mm_status
run (struct generation *g)
{
  const struct generate_config *c = g->config;
  double start = mm_now ();
  mm_status st;

  if (c->score)
    return score (g->session, &g->prompt, g->vocab_size, g->logits);
  if (c->echo && !c->json)
    {
      fwrite (g->prompt.text, 1, g->prompt.size, stdout);
      fflush (stdout);
    }
  st = mm_session_feed (g->session, g->prompt.ids, g->prompt.count, g->logits);
  if (st < 0)
    return st;
  g->prompt_seconds = mm_now () - start;
  st = continue_prompt (g);
  g->seconds = mm_now () - start - g->prompt_seconds;
  if (st >= 0 && c->json)
    return print_object (g);
  putchar ('\n');
  return st;
}

static void
print_speed (const struct generation *g)
{
  mm_verbose ("prompt: %zu tokens, %.0f tokens/s", g->prompt.count,
              (double) g->prompt.count / g->prompt_seconds);
  mm_verbose ("generated: %zu tokens, %.0f tokens/s (%s)", g->count,
              (double) g->count / g->seconds, g->finish);
}

mm_status
generate (const struct generate_config *c)
{
  struct generation g = { .config = c, .ids = json_array () };
  mm_status st = open_model (&g);

  if (st >= 0)
    st = prompt_read (c, g.tokenizer, &g.prompt);
  if (st >= 0)
    st = make_room (&g);
  g.stream.tokenizer = g.tokenizer;
  g.stream.live = !c->json;
  if (st >= 0)
    st = run (&g);
  if (st >= 0 && !c->score)
    print_speed (&g);

  stream_free (&g.stream);
  prompt_free (&g.prompt);
  mm_session_close (g.session);
  mm_model_free (g.model);
  mm_backend_close (g.backend);
  mm_tokenizer_free (g.tokenizer);
  json_decref (g.ids);
  free (g.dir);
  free (g.logits);
  free (g.scratch);
  free (g.order);
  return st;
}

/* engine.c -- an open model and the sequence that it is at.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/backend.h>
#include <minimind/checkpoint.h>
#include <minimind/log.h>
#include <minimind/lora.h>
#include <minimind/memory.h>

#include "engine.h"

enum { PIECE = 256 };           /* ids read between two looks at what a person wants */

/* ---- opening ---- */

static mm_status
check_base (const struct engine *e, const char *dir, const struct mm_adapter *a)
{
  char sha256[MM_SHA256_TEXT];
  mm_status st = mm_model_sha256 (e->model, sha256);

  return st == MM_OK ? mm_adapter_check_base (a, dir, sha256) : st;
}

static mm_status
attach_adapter (struct engine *e)
{
  struct mm_adapter *a = NULL;
  char *dir;
  mm_status st = mm_adapter_folder (e->config->adapter, &dir);

  if (st == MM_OK)
    st = mm_adapter_open (dir, mm_model_config (e->model), &a);
  if (st == MM_OK)
    st = check_base (e, dir, a);
  if (st == MM_OK)
    st = mm_adapter_attach (a, e->model);
  mm_adapter_close (a);
  free (dir);
  return st;
}

mm_status
engine_open (struct engine *e, const struct generate_config *c)
{
  mm_status st;
  size_t ids;

  *e = (struct engine) { .config = c, .end_of_turn = MM_NO_TOKEN };
  st = mm_model_folder (c->model, &e->dir);
  if (st == MM_OK)
    st = mm_tokenizer_load (e->dir, &e->tokenizer);
  if (st == MM_OK)
    st = mm_backend_open (c->compute.backend, c->compute.threads, &e->backend);
  if (st == MM_OK)
    st = mm_model_open (e->backend, e->dir, &e->model);
  if (st < 0)
    return st;
  ids = mm_tokenizer_vocab_size (e->tokenizer);
  e->vocab_size = mm_model_config (e->model)->vocab_size;
  e->n_choices = ids < e->vocab_size ? ids : e->vocab_size;
  if (ids > e->vocab_size)
    return mm_fail (MM_ECONFLICT, "%s: vocabulary of %zu, but its tokenizer has ids up to %zu",
                    e->dir, e->vocab_size, ids - 1);
  return c->adapter ? attach_adapter (e) : MM_OK;
}

void
engine_close (struct engine *e)
{
  mm_session_close (e->session);
  mm_model_free (e->model);
  mm_backend_close (e->backend);
  mm_tokenizer_free (e->tokenizer);
  free (e->dir);
  free (e->ids);
  free (e->logits);
  free (e->scratch);
  free (e->order);
}

mm_status
engine_context (const struct engine *e, size_t *context)
{
  size_t positions = mm_model_config (e->model)->max_positions, wanted = e->config->talk.context;

  *context = wanted ? wanted : positions;
  if (*context > positions)
    return mm_fail (MM_EUSAGE, "--context=%zu: the model has %s", wanted, MM_COUNT (positions, "position"));
  return MM_OK;
}

mm_status
engine_make_room (struct engine *e, size_t room)
{
  mm_status st = mm_session_open (e->model, room, &e->session);

  e->room = room;
  if (st == MM_OK)
    st = mm_alloc ("tokens", room, sizeof *e->ids, &e->ids);
  if (st == MM_OK)
    st = mm_alloc ("logits", e->vocab_size, sizeof *e->logits, &e->logits);
  if (st == MM_OK)
    st = mm_alloc ("logits", e->vocab_size, sizeof *e->scratch, &e->scratch);
  if (st == MM_OK)
    st = mm_alloc ("logits", e->vocab_size, sizeof *e->order, &e->order);
  return st;
}

/* ---- the sequence ---- */

size_t
engine_begin (struct engine *e, const int32_t *ids, size_t count)
{
  size_t known = mm_session_length (e->session), same = 0;

  /* The last one is read again where all are known: its logits may be another's by now.  */
  while (same < known && same + 1 < count && e->ids[same] == ids[same])
    same++;
  mm_session_truncate (e->session, same);
  memcpy (e->ids, ids, count * sizeof *ids);
  e->count = count;
  return same;
}

static bool
is_stopped (const struct engine *e)
{
  return e->stop && *e->stop;
}

mm_status
engine_read (struct engine *e)
{
  mm_status st = MM_OK;
  size_t done;

  while (st == MM_OK && !is_stopped (e) && (done = mm_session_length (e->session)) < e->count)
    st = mm_session_feed (e->session, e->ids + done, e->count - done < PIECE ? e->count - done : PIECE, e->logits);
  return st;
}

static bool
is_end (const struct engine *e, int32_t id)
{
  return !e->config->ignore_eos
         && (id == mm_tokenizer_eos (e->tokenizer) || id == mm_model_config (e->model)->eos_id
             || id == e->end_of_turn);
}

mm_status
engine_next (struct engine *e, enum engine_step *step, int32_t *id)
{
  mm_status st;

  *step = ENGINE_FULL;
  if (e->count == e->room)
    return MM_OK;
  st = engine_read (e);
  *step = ENGINE_STOPPED;
  if (st < 0 || is_stopped (e))
    return st;
  *id = mm_sample (&e->config->sampling, e->logits, e->n_choices, e->count, e->scratch, e->order);
  if (*id < 0)
    return mm_fail (MM_EFORMAT, "%s: the model's logits are not finite", e->dir);
  *step = is_end (e, *id) ? ENGINE_END : ENGINE_TOKEN;
  if (*step == ENGINE_TOKEN)
    e->ids[e->count++] = *id;
  return MM_OK;
}

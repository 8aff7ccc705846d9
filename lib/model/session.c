/* session.c -- generation: one sequence under way, with its keys and values.
   SPDX-License-Identifier: Apache-2.0

   A token's row goes through the same operations as in a pass over the whole document, and no
   operation's bits depend on how many rows stand beside it: so neither do these.  */

#include <config.h>

#include <stdlib.h>

#include "impl.h"

enum { CHUNK = 512 };           /* tokens that go through the layers together */

struct mm_session
{
  struct mm_run run;
  size_t chunk;                 /* tokens that the run has memory for */
  size_t length, max_tokens;
  float *logits;                /* [V], device */
  int32_t *positions, *row_numbers;     /* [chunk], [n_rows] */
  size_t n_rows;                /* that are copied at once */
  struct mm_segment segment;    /* the document: the chunk behind what came before */
  void *memory;
};

static void
session_layout (struct mm_session *s, const struct mm_model_config *c, struct mm_arena *a)
{
  mm_run_layout (&s->run, c, s->chunk, false, a);
  s->logits = mm_arena_take (a, c->vocab_size, sizeof *s->logits);
  s->run.cache = mm_arena_take (a, s->max_tokens, c->n_layers * mm_width_kv (c) * sizeof (float));
}

/* The host's arrays, then the device's memory.  Keys and values of all max_tokens are reserved at
   once; on the CPU their pages are taken when they are first written.  */
static mm_status
session_allocate (struct mm_session *s, struct mm_model *m)
{
  struct mm_arena a = { NULL, 0, 0 };
  mm_status st
    = mm_alloc ("layer memory", m->config.n_layers, sizeof *s->run.layers, &s->run.layers);

  if (st == MM_OK)
    st = mm_alloc ("positions", s->chunk, sizeof *s->positions, &s->positions);
  if (st == MM_OK)
    st = mm_alloc ("row numbers", s->n_rows, sizeof *s->row_numbers, &s->row_numbers);
  if (st < 0)
    return st;
  for (size_t i = 0; i < s->n_rows; i++)
    s->row_numbers[i] = (int32_t) i;
  session_layout (s, &m->config, &a);
  st = mm_backend_alloc (m->be, "keys and values", a.used, &s->memory);
  if (st < 0)
    return st;
  a = (struct mm_arena) { s->memory, 0, a.used };
  session_layout (s, &m->config, &a);
  return mm_run_rope_tables (&s->run);
}

mm_status
mm_session_open (struct mm_model *m, size_t max_tokens, struct mm_session **out)
{
  struct mm_session *s;
  mm_status st;

  *out = NULL;
  if (max_tokens < 1 || max_tokens > INT32_MAX)
    return mm_fail (MM_EINVAL, "session: want room for 1 to %d tokens, found %zu", INT32_MAX,
                    max_tokens);
  st = mm_alloc ("session", 1, sizeof *s, &s);
  if (st < 0)
    return st;
  s->max_tokens = s->run.capacity = s->run.table_rows = max_tokens;
  s->chunk = max_tokens < CHUNK ? max_tokens : CHUNK;
  s->n_rows = mm_cache_planes (&m->config);
  if (s->n_rows < s->chunk)
    s->n_rows = s->chunk;
  s->run.model = m;
  s->run.lora_width = m->lora ? m->lora->widest : 0;
  st = session_allocate (s, m);
  s->run.positions = s->positions;
  s->run.row_numbers = s->row_numbers;
  if (st < 0)
    mm_session_close (s);
  else
    *out = s;
  return st;
}

void
mm_session_close (struct mm_session *s)
{
  if (!s)
    return;
  mm_backend_release (s->run.model->be, s->memory);
  free (s->run.layers);
  free (s->positions);
  free (s->row_numbers);
  free (s);
}

size_t
mm_session_length (const struct mm_session *s)
{
  return s->length;
}

void
mm_session_truncate (struct mm_session *s, size_t length)
{
  if (length < s->length)
    s->length = length;
}

/* COUNT tokens, at most a chunk, behind PAST others.  */
static mm_status
feed_chunk (struct mm_session *s, const int32_t *ids, size_t past, size_t count)
{
  struct mm_run *run = &s->run;

  s->segment = (struct mm_segment) { .q0 = 0, .n_q = count, .k0 = 0, .n_k = past + count };
  for (size_t i = 0; i < count; i++)
    s->positions[i] = (int32_t) (past + i);
  run->n = count;
  run->past = past;
  run->ids = ids;
  run->segments = &s->segment;
  run->n_segments = 1;
  return mm_run_layers (run);
}

/* Logits after the last token of the chunk at hand.  */
static mm_status
last_logits (struct mm_session *s, float *logits)
{
  const struct mm_run *run = &s->run;
  struct mm_model *m = run->model;
  size_t h = m->config.hidden_size, v = m->config.vocab_size;
  mm_status st = mm_run_final_norm (run, run->n - 1, 1);

  if (st == MM_OK)
    st = mm_linear (m->be, mm_mat (run->normed, 1, h), m->w_head, mm_no_mat (),
                    mm_mat (s->logits, 1, v));
  if (st == MM_OK)
    st = mm_backend_sync (m->be);
  return st < 0 ? st : mm_backend_get (m->be, logits, s->logits, v * sizeof *logits);
}

mm_status
mm_session_feed (struct mm_session *s, const int32_t *ids, size_t count, float *logits)
{
  mm_status st = MM_OK;

  if (count == 0)
    return mm_fail (MM_EINVAL, "session: want at least one token");
  if (count > s->max_tokens - s->length)
    return mm_fail (MM_EUSAGE, "session: %zu tokens and %zu more exceed its room for %zu",
                    s->length, count, s->max_tokens);
  for (size_t i = 0; i < count && st == MM_OK; i += s->chunk)
    st = feed_chunk (s, ids + i, s->length + i, count - i < s->chunk ? count - i : s->chunk);
  if (st == MM_OK)
    st = last_logits (s, logits);
  if (st == MM_OK)
    s->length += count;
  return st;
}

/* batch.c -- encoding many documents on several threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/thread.h>
#include <minimind/tokens.h>

#include "batch.h"

enum
{
  SEGMENT = 1 << 16,            /* bytes that a thread takes at a time */
  COLLECT = 1 << 20,            /* bytes collected for each thread */
  LARGE = 1 << 20               /* ids that are too many to be held twice */
};

struct segment
{
  size_t at, size;              /* in the text */
  size_t place;                 /* of a row, in the text too */
  bool first, last;
  int worker;                   /* who encoded it */
  size_t ids, count;            /* in the worker's ids */
  size_t turns, n_turns;        /* in its ends of turns */
  size_t bytes;
  mm_status status;
  char *problem;
};

struct worker
{
  struct mm_encoder *encoder;
  struct mm_ids ids;            /* of one segment: they stay in the core's cache until they are packed */
  struct row row;
};

struct crew
{
  const struct source *source;
  int n_threads;
  size_t width;                 /* bytes of an id, packed */
  struct mm_team *team;
  struct worker *workers;
};

/* What a worker made, one segment behind the other.  */
struct made
{
  uint8_t *ids;                 /* packed */
  size_t count, ids_capacity;
  uint8_t *mask;                /* of rows: [count] */
  size_t mask_capacity;
  size_t *turn_ends;
  size_t n_turns, turns_capacity;
};

struct batch
{
  struct crew *crew;
  char *text;
  size_t size, capacity;
  struct segment *segments;
  size_t n_segments, segments_capacity;
  atomic_size_t next_segment;
  atomic_bool stopped;          /* a segment failed, those behind it are in vain */
  struct made *made;            /* of each worker */

  batch_beside *beside;         /* of the run under way */
  void *beside_arg;
  mm_status beside_status;
};

/* ---- opening and closing ---- */

mm_status
crew_open (const struct source *s, int n_threads, struct crew **out)
{
  struct crew *c;
  mm_status st = mm_alloc ("threads", 1, sizeof *c, &c);

  *out = NULL;
  if (st < 0)
    return st;
  c->source = s;
  c->width = mm_ids_width (mm_tokenizer_vocab_size (s->t));
  c->n_threads = n_threads;
  st = mm_alloc ("threads", (size_t) n_threads, sizeof *c->workers, &c->workers);
  if (st == MM_OK)
    st = mm_team_open (n_threads, &c->team);
  for (int i = 0; st == MM_OK && i < n_threads; i++)
    st = mm_encoder_open (s->t, &c->workers[i].encoder);
  if (st < 0)
    crew_close (c);
  else
    *out = c;
  return st;
}

void
crew_close (struct crew *c)
{
  if (!c)
    return;
  for (int i = 0; c->workers && i < c->n_threads; i++)
    {
      mm_encoder_close (c->workers[i].encoder);
      free (c->workers[i].ids.data);
      row_free (&c->workers[i].row);
    }
  mm_team_close (c->team);
  free (c->workers);
  free (c);
}

mm_status
batch_open (struct crew *c, struct batch **out)
{
  struct batch *b;
  mm_status st = mm_alloc ("batch", 1, sizeof *b, &b);

  *out = NULL;
  if (st < 0)
    return st;
  b->crew = c;
  st = mm_alloc ("batch", (size_t) c->n_threads, sizeof *b->made, &b->made);
  if (st < 0)
    batch_close (b);
  else
    *out = b;
  return st;
}

void
batch_close (struct batch *b)
{
  if (!b)
    return;
  batch_clear (b);
  for (int i = 0; b->made && i < b->crew->n_threads; i++)
    {
      free (b->made[i].ids);
      free (b->made[i].mask);
      free (b->made[i].turn_ends);
    }
  free (b->made);
  free (b->text);
  free (b->segments);
  free (b);
}

bool
batch_is_empty (const struct batch *b)
{
  return b->n_segments == 0;
}

void
batch_clear (struct batch *b)
{
  for (size_t i = 0; i < b->n_segments; i++)
    free (b->segments[i].problem);
  b->size = b->n_segments = 0;
  for (int i = 0; b->made && i < b->crew->n_threads; i++)
    b->made[i].count = b->made[i].n_turns = 0;
}

/* ---- collecting ---- */

/* The end of the next segment of TEXT: all of it where there is no place to cut.  */
static size_t
segment_end (const struct batch *b, const char *text, size_t size)
{
  for (size_t limit = SEGMENT; limit < size; limit *= 2)
    {
      size_t cut = mm_encode_cut (b->crew->source->t, text, size, limit, b->crew->source->flags);

      if (cut > 0)
        return cut;
    }
  return size;
}

/* Append SIZE bytes to the text.  */
static mm_status
keep (struct batch *b, const char *text, size_t size)
{
  mm_status st = mm_grow ("batch", &b->text, &b->capacity, b->size + size, 1);

  if (st < 0)
    return st;
  memcpy (b->text + b->size, text, size);
  b->size += size;
  return MM_OK;
}

static mm_status
add_segment (struct batch *b, const struct segment *s)
{
  mm_status st = mm_grow ("batch", &b->segments, &b->segments_capacity, b->n_segments + 1, sizeof *b->segments);

  if (st == MM_OK)
    b->segments[b->n_segments++] = *s;
  return st;
}

static bool
is_full (const struct batch *b)
{
  return b->size >= (size_t) b->crew->n_threads * COLLECT;
}

mm_status
batch_add (struct batch *b, const char *text, size_t size, bool first, bool last, bool *full)
{
  size_t done = 0, at = b->size;
  mm_status st = keep (b, text, size);

  do
    {
      size_t end = done + segment_end (b, text + done, size - done);

      if (st == MM_OK)
        st = add_segment (b, &(struct segment) { .at = at + done, .size = end - done, .first = first && done == 0,
                                                 .last = last && end == size });
      done = end;
    }
  while (st == MM_OK && done < size);
  *full = is_full (b);
  return st;
}

mm_status
batch_add_row (struct batch *b, const char *place, const char *json, size_t size, bool *full)
{
  struct segment s = { .place = b->size, .at = b->size + strlen (place) + 1, .size = size, .first = true,
                       .last = true };
  mm_status st = keep (b, place, strlen (place) + 1);

  if (st == MM_OK)
    st = keep (b, json, size);
  if (st == MM_OK)
    st = add_segment (b, &s);
  *full = is_full (b);
  return st;
}

/* ---- encoding ---- */

/* Append COUNT ids to MADE.  */
static mm_status
append_ids (const struct crew *c, const uint32_t *ids, size_t count, struct made *made)
{
  mm_status st = mm_grow ("ids", &made->ids, &made->ids_capacity, made->count + count, c->width);

  if (st < 0)
    return st;
  mm_ids_pack (ids, count, c->width, made->ids + made->count * c->width);
  made->count += count;
  return MM_OK;
}

/* Let MADE, which is empty, have the memory of IDS, and pack them there; IDS gets what MADE had.  */
static void
hand_over (const struct crew *c, struct mm_ids *ids, struct made *made)
{
  struct mm_ids left = { .data = (uint32_t *) (void *) made->ids,
                         .capacity = made->ids_capacity * c->width / sizeof *ids->data };

  mm_ids_pack (ids->data, ids->count, c->width, ids->data);
  made->ids = (uint8_t *) ids->data;
  made->count = ids->count;
  made->ids_capacity = ids->capacity * sizeof *ids->data / c->width;
  *ids = left;
}

/* Append ROW to MADE.  */
static mm_status
append_row (const struct crew *c, const struct row *row, struct made *made)
{
  const struct mm_chat_ids *x = &row->ids;
  size_t count = made->count;
  mm_status st = mm_grow ("mask", &made->mask, &made->mask_capacity, count + x->ids.count, 1);

  if (st == MM_OK)
    st = mm_grow ("turns", &made->turn_ends, &made->turns_capacity, made->n_turns + x->n_turns,
                  sizeof *made->turn_ends);
  if (st == MM_OK)
    st = append_ids (c, x->ids.data, x->ids.count, made);
  if (st < 0 || x->ids.count == 0)
    return st;
  memcpy (made->mask + count, x->mask, x->ids.count);
  memcpy (made->turn_ends + made->n_turns, x->turn_ends, x->n_turns * sizeof *x->turn_ends);
  made->n_turns += x->n_turns;
  return MM_OK;
}

static mm_status
encode_text (struct batch *b, struct worker *w, struct segment *s, struct made *made)
{
  mm_status st;

  w->ids.count = 0;
  st = mm_encode (w->encoder, b->text + s->at, s->size, b->crew->source->flags | MM_VALID_UTF8, &w->ids);
  if (st == MM_OK && w->ids.count >= LARGE && made->count == 0)
    {
      hand_over (b->crew, &w->ids, made);
      return MM_OK;
    }
  return st < 0 ? st : append_ids (b->crew, w->ids.data, w->ids.count, made);
}

static mm_status
encode_row (struct batch *b, struct worker *w, struct segment *s, struct made *made)
{
  mm_status st = row_encode (&w->row, &b->crew->source->rows, w->encoder, b->text + s->place, b->text + s->at, s->size);

  if (st < 0)
    return st;
  s->bytes = w->row.text.size;
  return append_row (b->crew, &w->row, made);
}

static void
encode_segment (struct batch *b, struct worker *w, struct segment *s, struct made *made)
{
  s->ids = made->count;
  s->turns = made->n_turns;
  s->status = (b->crew->source->chat ? encode_row : encode_text) (b, w, s, made);
  s->count = made->count - s->ids;
  s->n_turns = made->n_turns - s->turns;
  if (s->status < 0)
    s->problem = strdup (mm_error_message ());
  if (s->status < 0 && !row_may_be_skipped (s->status))
    atomic_store (&b->stopped, true);
}

static void
encode_segments (void *arg, int thread, int n_threads)
{
  struct batch *b = arg;
  size_t i;

  (void) n_threads;
  if (thread == 0 && b->beside)
    b->beside_status = b->beside (b->beside_arg);
  while (!atomic_load (&b->stopped) && (i = atomic_fetch_add (&b->next_segment, 1)) < b->n_segments)
    {
      b->segments[i].worker = thread;
      encode_segment (b, b->crew->workers + thread, b->segments + i, b->made + thread);
    }
}

mm_status
batch_run (struct batch *b, batch_beside *beside, void *arg)
{
  atomic_store (&b->next_segment, 0);
  atomic_store (&b->stopped, false);
  b->beside = beside;
  b->beside_arg = arg;
  b->beside_status = MM_OK;
  mm_team_run (b->crew->team, encode_segments, b);
  return b->beside_status;
}

bool
batch_next (const struct batch *b, size_t *i, struct batch_ids *ids)
{
  const struct segment *s;
  const struct made *made;

  if (*i == b->n_segments)
    return false;
  s = &b->segments[(*i)++];
  made = b->made + s->worker;
  *ids = (struct batch_ids) {
    .ids = made->ids + s->ids * b->crew->width, .count = s->count, .first = s->first, .last = s->last,
    .status = s->status, .problem = s->problem ? s->problem : "no memory for a message" };
  if (made->mask)
    {
      ids->mask = made->mask + s->ids;
      ids->turn_ends = made->turn_ends + s->turns;
      ids->n_turns = s->n_turns;
      ids->bytes = s->bytes;
    }
  return true;
}

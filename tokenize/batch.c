/* batch.c -- encoding many texts on several threads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/thread.h>

#include "batch.h"

enum
{
  SEGMENT = 1 << 16,            /* bytes that a thread takes at a time */
  COLLECT = 1 << 20             /* bytes collected for each thread */
};

struct segment
{
  size_t at, size;              /* in the text */
  bool first, last;
  int worker;                   /* who encoded it */
  size_t ids, count;            /* in the worker's ids */
};

struct worker
{
  struct mm_encoder *encoder;
  mm_status status;
  char message[256];            /* messages belong to threads */
};

struct crew
{
  const struct mm_tokenizer *t;
  unsigned flags;
  int n_threads;
  struct mm_team *team;
  struct worker *workers;
};

struct batch
{
  struct crew *crew;
  char *text;
  size_t size, capacity;
  struct segment *segments;
  size_t n_segments, segments_capacity;
  atomic_size_t next_segment;
  struct mm_ids *ids;           /* of each worker */

  batch_beside *beside;         /* of the run under way */
  void *beside_arg;
  mm_status beside_status;
};

/* ---- opening and closing ---- */

mm_status
crew_open (const struct mm_tokenizer *t, unsigned flags, int n_threads, struct crew **out)
{
  struct crew *c;
  mm_status st = mm_alloc ("threads", 1, sizeof *c, &c);

  *out = NULL;
  if (st < 0)
    return st;
  c->t = t;
  c->flags = flags;
  c->n_threads = n_threads;
  st = mm_alloc ("threads", (size_t) n_threads, sizeof *c->workers, &c->workers);
  if (st == MM_OK)
    st = mm_team_open (n_threads, &c->team);
  for (int i = 0; st == MM_OK && i < n_threads; i++)
    st = mm_encoder_open (t, &c->workers[i].encoder);
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
    mm_encoder_close (c->workers[i].encoder);
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
  st = mm_alloc ("batch", (size_t) c->n_threads, sizeof *b->ids, &b->ids);
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
  for (int i = 0; b->ids && i < b->crew->n_threads; i++)
    free (b->ids[i].data);
  free (b->ids);
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
  b->size = b->n_segments = 0;
  for (int i = 0; i < b->crew->n_threads; i++)
    b->ids[i].count = 0;
}

/* ---- collecting ---- */

/* The end of the next segment of TEXT: all of it where there is no place to cut.  */
static size_t
segment_end (const struct batch *b, const char *text, size_t size)
{
  for (size_t limit = SEGMENT; limit < size; limit *= 2)
    {
      size_t cut = mm_encode_cut (b->crew->t, text, size, limit, b->crew->flags);

      if (cut > 0)
        return cut;
    }
  return size;
}

mm_status
batch_add (struct batch *b, const char *text, size_t size, bool first, bool last, bool *full)
{
  size_t done = 0;
  mm_status st;

  st = mm_grow ("batch", &b->text, &b->capacity, b->size + size, 1);
  if (st < 0)
    return st;
  memcpy (b->text + b->size, text, size);
  do
    {
      size_t end = done + segment_end (b, text + done, size - done);

      st = mm_grow ("batch", &b->segments, &b->segments_capacity, b->n_segments + 1,
                    sizeof *b->segments);
      if (st < 0)
        return st;
      b->segments[b->n_segments++] = (struct segment) {
        .at = b->size + done, .size = end - done, .first = first && done == 0,
        .last = last && end == size };
      done = end;
    }
  while (done < size);
  b->size += size;
  *full = b->size >= (size_t) b->crew->n_threads * COLLECT;
  return MM_OK;
}

/* ---- encoding ---- */

static void
encode_segments (void *arg, int thread, int n_threads)
{
  struct batch *b = arg;
  struct worker *w = b->crew->workers + thread;
  struct mm_ids *ids = b->ids + thread;
  size_t i;

  (void) n_threads;
  if (thread == 0 && b->beside)
    b->beside_status = b->beside (b->beside_arg);
  while (w->status == MM_OK && (i = atomic_fetch_add (&b->next_segment, 1)) < b->n_segments)
    {
      struct segment *s = b->segments + i;

      s->worker = thread;
      s->ids = ids->count;
      w->status = mm_encode (w->encoder, b->text + s->at, s->size, b->crew->flags, ids);
      s->count = ids->count - s->ids;
      if (w->status < 0)
        snprintf (w->message, sizeof w->message, "%s", mm_error_message ());
    }
}

mm_status
batch_run (struct batch *b, batch_beside *beside, void *arg)
{
  struct crew *c = b->crew;

  atomic_store (&b->next_segment, 0);
  b->beside = beside;
  b->beside_arg = arg;
  b->beside_status = MM_OK;
  mm_team_run (c->team, encode_segments, b);
  for (int i = 0; i < c->n_threads; i++)
    if (c->workers[i].status < 0)
      return mm_fail (c->workers[i].status, "%s", c->workers[i].message);
  return b->beside_status;
}

bool
batch_next (const struct batch *b, size_t *i, struct batch_ids *ids)
{
  const struct segment *s = b->segments + *i;

  if (*i == b->n_segments)
    return false;
  ++*i;
  *ids = (struct batch_ids) { b->ids[s->worker].data + s->ids, s->count, s->first, s->last };
  return true;
}

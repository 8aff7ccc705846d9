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
  struct mm_ids ids;
  mm_status status;
  char message[256];            /* messages belong to threads */
};

struct batch
{
  const struct mm_tokenizer *t;
  unsigned flags;
  int n_threads;
  struct mm_team *team;
  struct worker *workers;
  char *text;
  size_t size, capacity;
  struct segment *segments;
  size_t n_segments, segments_capacity;
  atomic_size_t next_segment;
  bool ran;
};

mm_status
batch_open (const struct mm_tokenizer *t, unsigned flags, int n_threads, struct batch **out)
{
  struct batch *b;
  mm_status st = mm_alloc ("batch", 1, sizeof *b, &b);

  *out = NULL;
  if (st < 0)
    return st;
  b->t = t;
  b->flags = flags;
  b->n_threads = n_threads;
  st = mm_alloc ("batch", (size_t) n_threads, sizeof *b->workers, &b->workers);
  if (st == MM_OK)
    st = mm_team_open (n_threads, &b->team);
  for (int i = 0; st == MM_OK && i < n_threads; i++)
    st = mm_encoder_open (t, &b->workers[i].encoder);
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
  for (int i = 0; b->workers && i < b->n_threads; i++)
    {
      mm_encoder_close (b->workers[i].encoder);
      free (b->workers[i].ids.data);
    }
  mm_team_close (b->team);
  free (b->workers);
  free (b->text);
  free (b->segments);
  free (b);
}

/* The end of the next segment of TEXT: all of it where there is no place to cut.  */
static size_t
segment_end (const struct batch *b, const char *text, size_t size)
{
  for (size_t limit = SEGMENT; limit < size; limit *= 2)
    {
      size_t cut = mm_encode_cut (b->t, text, size, limit, b->flags);

      if (cut > 0)
        return cut;
    }
  return size;
}

/* Forget what was encoded, once it has been.  */
static void
forget (struct batch *b)
{
  if (!b->ran)
    return;
  b->ran = false;
  b->size = b->n_segments = 0;
  for (int i = 0; i < b->n_threads; i++)
    b->workers[i].ids.count = 0;
}

mm_status
batch_add (struct batch *b, const char *text, size_t size, bool first, bool last, bool *full)
{
  size_t done = 0;
  mm_status st;

  forget (b);
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
  *full = b->size >= (size_t) b->n_threads * COLLECT;
  return MM_OK;
}

static void
encode_segments (void *arg, int thread, int n_threads)
{
  struct batch *b = arg;
  struct worker *w = b->workers + thread;
  size_t i;

  (void) n_threads;
  while (w->status == MM_OK && (i = atomic_fetch_add (&b->next_segment, 1)) < b->n_segments)
    {
      struct segment *s = b->segments + i;

      s->worker = thread;
      s->ids = w->ids.count;
      w->status = mm_encode (w->encoder, b->text + s->at, s->size, b->flags, &w->ids);
      s->count = w->ids.count - s->ids;
      if (w->status < 0)
        snprintf (w->message, sizeof w->message, "%s", mm_error_message ());
    }
}

mm_status
batch_run (struct batch *b)
{
  forget (b);
  atomic_store (&b->next_segment, 0);
  b->ran = true;
  if (b->n_segments > 0)
    mm_team_run (b->team, encode_segments, b);
  for (int i = 0; i < b->n_threads; i++)
    if (b->workers[i].status < 0)
      return mm_fail (b->workers[i].status, "%s", b->workers[i].message);
  return MM_OK;
}

bool
batch_next (const struct batch *b, size_t *i, struct batch_ids *ids)
{
  const struct segment *s = b->segments + *i;

  if (!b->ran || *i == b->n_segments)
    return false;
  ++*i;
  *ids = (struct batch_ids) { b->workers[s->worker].ids.data + s->ids, s->count, s->first, s->last };
  return true;
}

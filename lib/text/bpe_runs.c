/* bpe_runs.c -- writing sorted runs of counts, and merging them.
   SPDX-License-Identifier: Apache-2.0

   A record is size, count (each seven bits a byte, the lowest first, the high bit set on all but the last), text.  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "bpe_runs.h"

enum
{
  WRITE_BUFFER = 1 << 18,
  READ_MIN = 1 << 14,           /* bytes read of a run at a time, at least and at most */
  READ_MAX = 1 << 20,
  FAN_IN = 256,                 /* runs merged at once, at most */
  VARINT = 10                   /* bytes of a number, at most */
};

void
mm_runs_open (struct mm_runs *r, struct mm_temp *temp)
{
  *r = (struct mm_runs) { .temp = temp };
  pthread_mutex_init (&r->lock, NULL);
}

void
mm_runs_close (struct mm_runs *r)
{
  if (r->temp)
    pthread_mutex_destroy (&r->lock);
  free (r->runs);
  *r = (struct mm_runs) { 0 };
}

/* ---- writing ---- */

struct writer
{
  struct mm_temp *temp;
  uint64_t start, offset;
  char *buffer;
  size_t used;
};

/* A run of at most SIZE bytes begins; the file has a hole where it stays smaller.  */
static mm_status
writer_open (struct writer *w, struct mm_temp *temp, uint64_t size)
{
  mm_status st = mm_temp_reserve (temp, size, &w->start);

  w->temp = temp;
  w->offset = w->start;
  w->used = 0;
  return st < 0 ? st : mm_alloc ("temporary file", WRITE_BUFFER, 1, &w->buffer);
}

static mm_status
writer_flush (struct writer *w)
{
  mm_status st = mm_temp_write (w->temp, w->offset, w->buffer, w->used);

  w->offset += w->used;
  w->used = 0;
  return st;
}

static mm_status
write_bytes (struct writer *w, const char *data, size_t size)
{
  mm_status st = MM_OK;

  while (st == MM_OK && size > 0)
    {
      size_t room = WRITE_BUFFER - w->used, n = size < room ? size : room;

      memcpy (w->buffer + w->used, data, n);
      w->used += n;
      data += n;
      size -= n;
      if (w->used == WRITE_BUFFER)
        st = writer_flush (w);
    }
  return st;
}

static size_t
put_number (char *p, uint64_t x)
{
  size_t n = 0;

  for (; x >= 0x80; x >>= 7)
    p[n++] = (char) (x | 0x80);
  p[n++] = (char) x;
  return n;
}

/* An mm_word_fn.  */
static mm_status
write_word (void *arg, const struct mm_word *word)
{
  char head[2 * VARINT];
  size_t n = put_number (head, word->size);
  mm_status st;

  n += put_number (head + n, word->count);
  st = write_bytes (arg, head, n);
  return st < 0 ? st : write_bytes (arg, word->text, word->size);
}

/* The run ends; it joins R if all went well, as ST says.  */
static mm_status
writer_close (struct writer *w, mm_status st, struct mm_runs *r)
{
  if (st == MM_OK)
    st = writer_flush (w);
  free (w->buffer);
  if (st < 0)
    return st;
  pthread_mutex_lock (&r->lock);
  st = mm_grow ("temporary file", &r->runs, &r->runs_capacity, r->n_runs + 1, sizeof *r->runs);
  if (st == MM_OK)
    r->runs[r->n_runs++] = (struct mm_run) { w->start, w->offset - w->start };
  pthread_mutex_unlock (&r->lock);
  return st;
}

mm_status
mm_runs_add (struct mm_runs *r, struct mm_words *words)
{
  struct writer w;
  mm_status st;

  if (words->n_shorts + words->n_longs == 0)
    return MM_OK;
  st = writer_open (&w, r->temp, words->n_shorts * (uint64_t) (2 * VARINT + 15)
                                 + words->n_longs * (uint64_t) (2 * VARINT) + words->text_size);

  return st < 0 ? st : writer_close (&w, mm_words_drain (words, write_word, &w), r);
}

/* ---- reading ---- */

struct cursor
{
  struct mm_temp *temp;
  uint64_t at, end;             /* what has not been read yet */
  char *buffer;
  size_t capacity, from, to;    /* what has, and has not been taken */
  struct mm_word word;
  uint64_t hash;
};

/* At least NEED bytes in the buffer, or all there are.  */
static mm_status
fill (struct cursor *c, size_t need)
{
  size_t have = c->to - c->from, n;
  mm_status st;

  if (have >= need || c->at == c->end)
    return MM_OK;
  memmove (c->buffer, c->buffer + c->from, have);
  c->from = 0;
  c->to = have;
  st = mm_grow ("temporary file", &c->buffer, &c->capacity, need, 1);
  if (st < 0)
    return st;
  n = c->end - c->at < c->capacity - have ? (size_t) (c->end - c->at) : c->capacity - have;
  st = mm_temp_read (c->temp, c->at, c->buffer + have, n);
  c->at += n;
  c->to += n;
  return st;
}

static bool
get_number (struct cursor *c, uint64_t *x)
{
  *x = 0;
  for (int shift = 0; c->from < c->to && shift < 64; shift += 7)
    {
      unsigned char byte = (unsigned char) c->buffer[c->from++];

      *x |= (uint64_t) (byte & 0x7f) << shift;
      if (byte < 0x80)
        return true;
    }
  return false;
}

/* The next record into WORD; *SOME is false behind the last.  */
static mm_status
next_word (struct cursor *c, bool *some)
{
  uint64_t size, count;
  mm_status st = fill (c, 2 * VARINT);

  *some = st == MM_OK && c->from < c->to;
  if (!*some)
    return st;
  if (!get_number (c, &size) || !get_number (c, &count) || size > c->to - c->from + (c->end - c->at))
    return mm_fail (MM_EIO, "the temporary file has changed");
  st = fill (c, (size_t) size);
  if (st < 0)
    return st;
  c->word = (struct mm_word) { c->buffer + c->from, (size_t) size, count };
  c->hash = mm_word_hash (&c->word);
  c->from += (size_t) size;
  return MM_OK;
}

static bool
is_before (const struct cursor *a, const struct cursor *b)
{
  return mm_word_compare (&a->word, a->hash, &b->word, b->hash) < 0;
}

/* Move HEAP[I] of N down to its place.  */
static void
sink (struct cursor **heap, size_t n, size_t i)
{
  struct cursor *one = heap[i];

  for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1)
    {
      if (child + 1 < n && is_before (heap[child + 1], heap[child]))
        child++;
      if (!is_before (heap[child], one))
        break;
      heap[i] = heap[child];
      i = child;
    }
  heap[i] = one;
}

/* Take the first of HEAP's *N cursors one record on.  */
static mm_status
advance (struct cursor **heap, size_t *n)
{
  bool some;
  mm_status st = next_word (heap[0], &some);

  if (st == MM_OK && !some)
    heap[0] = heap[--*n];
  if (st == MM_OK && *n > 0)
    sink (heap, *n, 0);
  return st;
}

/* A piece whose count is being added up, in memory of its own.  */
struct sum
{
  struct mm_word word;
  uint64_t hash;
  char *text;
  size_t capacity;
};

static mm_status
begin_sum (struct sum *s, const struct cursor *c)
{
  mm_status st = mm_grow ("temporary file", &s->text, &s->capacity, c->word.size, 1);

  if (st < 0)
    return st;
  memcpy (s->text, c->word.text, c->word.size);
  s->word = (struct mm_word) { s->text, c->word.size, c->word.count };
  s->hash = c->hash;
  return MM_OK;
}

static mm_status
merge_cursors (struct cursor **heap, size_t n, mm_word_fn *fn, void *arg)
{
  struct sum sum = { 0 };
  mm_status st = MM_OK;

  for (size_t i = n / 2; i-- > 0;)
    sink (heap, n, i);
  while (st == MM_OK && n > 0)
    {
      st = begin_sum (&sum, heap[0]);
      while (st == MM_OK && (st = advance (heap, &n)) == MM_OK && n > 0
             && mm_word_compare (&heap[0]->word, heap[0]->hash, &sum.word, sum.hash) == 0)
        sum.word.count += heap[0]->word.count;
      if (st == MM_OK)
        st = fn (arg, &sum.word);
    }
  free (sum.text);
  return st;
}

/* Call FN for the pieces of N runs together.  */
static mm_status
merge_runs (struct mm_temp *temp, const struct mm_run *runs, size_t n, size_t memory, mm_word_fn *fn, void *arg)
{
  size_t share = memory / (n + 1), n_heap = 0;
  struct cursor *cursors, **heap = NULL;
  bool some;
  mm_status st = mm_alloc ("temporary file", n, sizeof *cursors, &cursors);

  share = share < READ_MIN ? READ_MIN : share > READ_MAX ? READ_MAX : share;
  if (st == MM_OK)
    st = mm_alloc ("temporary file", n, sizeof *heap, &heap);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      cursors[i] = (struct cursor) { .temp = temp, .at = runs[i].offset, .end = runs[i].offset + runs[i].size };
      st = mm_grow ("temporary file", &cursors[i].buffer, &cursors[i].capacity, share, 1);
      if (st == MM_OK)
        st = next_word (cursors + i, &some);
      if (st == MM_OK && some)
        heap[n_heap++] = cursors + i;
    }
  if (st == MM_OK)
    st = merge_cursors (heap, n_heap, fn, arg);
  for (size_t i = 0; cursors && i < n; i++)
    free (cursors[i].buffer);
  free (cursors);
  free (heap);
  return st;
}

/* Make one run of the first FAN_IN.  */
static mm_status
join_runs (struct mm_runs *r, size_t memory)
{
  struct writer w;
  uint64_t size = 0;
  mm_status st;

  for (size_t i = 0; i < FAN_IN; i++)
    size += r->runs[i].size;
  st = writer_open (&w, r->temp, size);
  if (st == MM_OK)
    st = writer_close (&w, merge_runs (r->temp, r->runs, FAN_IN, memory, write_word, &w), r);
  if (st < 0)
    return st;
  for (size_t i = 0; i < FAN_IN; i++)
    mm_temp_drop (r->temp, r->runs[i].offset, r->runs[i].size);
  r->n_runs -= FAN_IN;
  memmove (r->runs, r->runs + FAN_IN, r->n_runs * sizeof *r->runs);
  return MM_OK;
}

mm_status
mm_runs_each (struct mm_runs *r, size_t memory, mm_word_fn *fn, void *arg)
{
  mm_status st = MM_OK;

  while (st == MM_OK && r->n_runs > FAN_IN)
    st = join_runs (r, memory);
  return st < 0 ? st : merge_runs (r->temp, r->runs, r->n_runs, memory, fn, arg);
}

/* bpe_count.c -- the threads that count, and the blocks of text between them.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "bpe_count.h"
#include "bpe_runs.h"

enum
{
  BLOCK = 1 << 19,              /* bytes of text handed over together */
  SPARE_BLOCKS = 2,             /* beside one for each thread */
  MAX_THREADS = 1024,
  THREAD_MEMORY = 4 << 20,      /* of a thread's tables, at least */
  BREATH_MEMORY = 16 << 20      /* touched between two looks at what is resident */
};

/* Documents, or parts of some, one behind the other.  */
struct block
{
  char *text;
  size_t size, capacity;
  size_t *ends;                 /* of each document or part */
  size_t n, ends_capacity;
  struct block *next;
};

struct worker
{
  struct mm_counter *counter;
  struct mm_words words;
  struct mm_splitter *splitter; /* where the base's pattern is not built in, else NULL */
  struct mm_nfc nfc;
  pthread_t thread;
};

struct mm_counter
{
  struct mm_counter_options o;
  struct mm_temp *temp;
  struct mm_runs runs;
  struct worker *workers;       /* the first is the caller */
  int n_started;                /* of the others */
  struct block *blocks, *filling;       /* all; the one that the caller fills */
  uint64_t pieces, bytes;       /* once finished */
  bool finished;

  pthread_mutex_t lock;         /* for all that follows */
  pthread_cond_t full_comes, free_comes;
  struct block *full, *free;    /* lists */
  int n_busy;                   /* threads that count */
  bool leave;
  mm_status status;             /* of the first failure, and its message: messages belong to threads */
  char message[256];
};

/* ---- counting one block ---- */

/* An mm_words_full_fn.  */
static mm_status
spill (void *arg, struct mm_words *words)
{
  struct mm_counter *c = arg;
  struct mm_temp *temp;
  mm_status st = MM_OK;

  pthread_mutex_lock (&c->lock);
  if (!c->temp)
    {
      st = mm_counter_temp (c, &temp);
      if (st == MM_OK)
        mm_runs_open (&c->runs, temp);
    }
  pthread_mutex_unlock (&c->lock);
  return st < 0 ? st : mm_runs_add (&c->runs, words);
}

/* Count text without added tokens.  */
static mm_status
count_plain (struct worker *w, const char *text, size_t size)
{
  size_t ends[MM_WORDS_BATCH], start, n = 1;
  mm_status st;

  if (!w->splitter)
    return mm_words_count (&w->words, w->counter->o.pattern, text, size);
  st = mm_splitter_begin (w->splitter, text, size);
  while (st == MM_OK && n > 0)
    {
      st = mm_splitter_next (w->splitter, &start, ends, MM_WORDS_BATCH, &n);
      if (st == MM_OK && n > 0)
        st = mm_words_batch (&w->words, text, size, start, ends, n);
    }
  return st;
}

/* Count what stands between the added tokens of the first set: as the encoder does.  */
static mm_status
count_between (struct worker *w, const char *text, size_t size)
{
  const struct mm_tokenizer *t = w->counter->o.base;
  size_t at = 0, done = 0;
  struct mm_added_match match;
  mm_status st = MM_OK;

  if (t->nfc && mm_nfc_check (text, size) < size)
    {
      st = mm_nfc_make (&w->nfc, text, size);
      text = w->nfc.text;
      size = w->nfc.size;
    }
  while (st == MM_OK && mm_added_next (&t->normalized, text, size, false, &at, done, &match))
    {
      st = count_plain (w, text + done, match.start - done);
      done = match.end;
    }
  return st < 0 ? st : count_plain (w, text + done, size - done);
}

/* Count one document or part.  */
static mm_status
count_text (struct worker *w, const char *text, size_t size)
{
  const struct mm_tokenizer *t = w->counter->o.base;
  size_t at = 0, done = 0;
  struct mm_added_match match;
  mm_status st = MM_OK;

  if (!t)
    return count_plain (w, text, size);
  while (st == MM_OK && mm_added_next (&t->verbatim, text, size, false, &at, done, &match))
    {
      st = count_between (w, text + done, match.start - done);
      done = match.end;
    }
  return st < 0 ? st : count_between (w, text + done, size - done);
}

static mm_status
count_block (struct worker *w, const struct block *b)
{
  mm_status st = MM_OK;

  for (size_t i = 0, at = 0; st == MM_OK && i < b->n; at = b->ends[i++])
    st = count_text (w, b->text + at, b->ends[i] - at);
  return st;
}

/* Count the first full block, which is there; LOCK is held, but let go meanwhile.  */
static void
count_full (struct worker *w)
{
  struct mm_counter *c = w->counter;
  struct block *b = c->full;
  bool skip = c->status < 0;
  mm_status st;

  c->full = b->next;
  c->n_busy++;
  pthread_mutex_unlock (&c->lock);
  st = skip ? MM_OK : count_block (w, b);
  pthread_mutex_lock (&c->lock);
  if (st < 0 && c->status == MM_OK)
    {
      c->status = st;
      snprintf (c->message, sizeof c->message, "%s", mm_error_message ());
    }
  c->n_busy--;
  b->n = b->size = 0;
  if (b->capacity > 2 * BLOCK)  /* a part of unusual size */
    {
      free (b->text);
      b->text = NULL;
      b->capacity = 0;
    }
  b->next = c->free;
  c->free = b;
  pthread_cond_signal (&c->free_comes);
}

static void *
work (void *arg)
{
  struct worker *w = arg;
  struct mm_counter *c = w->counter;

  pthread_mutex_lock (&c->lock);
  while (!c->leave)
    if (c->full)
      count_full (w);
    else
      pthread_cond_wait (&c->full_comes, &c->lock);
  pthread_mutex_unlock (&c->lock);
  return NULL;
}

/* ---- opening and closing ---- */

char *
mm_memory_text (uint64_t bytes, char text[32])
{
  if (bytes >> 20 > 0)
    snprintf (text, 32, "%llu MB", (unsigned long long) bytes >> 20);
  else
    snprintf (text, 32, "%llu B", (unsigned long long) bytes);
  return text;
}

/* How much a thread's tables may take.  */
static mm_status
share_memory (const struct mm_counter_options *o, size_t *limit)
{
  uint64_t n = (uint64_t) o->n_threads, base = MM_COUNTER_BASE + (n + SPARE_BLOCKS) * BLOCK;
  char text[32];

  *limit = 0;
  if (o->max_memory == 0)
    return MM_OK;
  if (o->max_memory < base + n * THREAD_MEMORY)
    return mm_fail (MM_EUSAGE, "%s of memory are too little for %d threads: want at least %llu MB",
                    mm_memory_text (o->max_memory, text), o->n_threads,
                    (unsigned long long) (base + n * THREAD_MEMORY) / (1 << 20) + 1);
  *limit = (size_t) ((o->max_memory - base) / n);
  return MM_OK;
}

static mm_status
start_threads (struct mm_counter *c)
{
  for (int i = 1; i < c->o.n_threads; i++, c->n_started++)
    if (pthread_create (&c->workers[i].thread, NULL, work, c->workers + i) != 0)
      return mm_fail (MM_ENOMEM, "thread %d of %d cannot start", i + 1, c->o.n_threads);
  return MM_OK;
}

static void
stop_threads (struct mm_counter *c)
{
  pthread_mutex_lock (&c->lock);
  c->leave = true;
  pthread_cond_broadcast (&c->full_comes);
  pthread_mutex_unlock (&c->lock);
  for (; c->n_started > 0; c->n_started--)
    pthread_join (c->workers[c->n_started].thread, NULL);
}

mm_status
mm_counter_open (const struct mm_counter_options *o, struct mm_counter **out)
{
  struct mm_counter *c;
  size_t limit, n_blocks = (size_t) o->n_threads + SPARE_BLOCKS;
  mm_status st;

  *out = NULL;
  if (o->n_threads < 1 || o->n_threads > MAX_THREADS)
    return mm_fail (MM_EINVAL, "%d threads: want 1 to %d", o->n_threads, MAX_THREADS);
  st = share_memory (o, &limit);
  if (st == MM_OK)
    st = mm_alloc ("counts", 1, sizeof *c, &c);
  if (st < 0)
    return st;
  c->o = *o;
  pthread_mutex_init (&c->lock, NULL);
  pthread_cond_init (&c->full_comes, NULL);
  pthread_cond_init (&c->free_comes, NULL);
  st = mm_alloc ("counts", (size_t) o->n_threads, sizeof *c->workers, &c->workers);
  for (int i = 0; st == MM_OK && i < o->n_threads; i++)
    {
      c->workers[i].counter = c;
      c->workers[i].words = (struct mm_words) { .limit = limit, .full = spill, .full_arg = c };
      if (o->base && o->pattern == MM_PATTERN_GENERAL)
        st = mm_splitter_open (&o->base->split, &c->workers[i].splitter);
    }
  if (st == MM_OK)
    st = mm_alloc ("documents", n_blocks, sizeof *c->blocks, &c->blocks);
  if (st == MM_OK)
    {
      for (size_t i = 1; i + 1 < n_blocks; i++)
        c->blocks[i].next = c->blocks + i + 1;
      c->filling = c->blocks;
      c->free = c->blocks + 1;
      st = start_threads (c);
    }
  if (st < 0)
    mm_counter_close (c);
  else
    *out = c;
  return st;
}

void
mm_counter_close (struct mm_counter *c)
{
  if (!c)
    return;
  stop_threads (c);
  mm_counter_release (c);
  for (int i = 0; c->blocks && i < c->o.n_threads + SPARE_BLOCKS; i++)
    {
      free (c->blocks[i].text);
      free (c->blocks[i].ends);
    }
  mm_temp_close (c->temp);
  pthread_mutex_destroy (&c->lock);
  pthread_cond_destroy (&c->full_comes);
  pthread_cond_destroy (&c->free_comes);
  free (c->blocks);
  free (c->workers);
  free (c);
}

void
mm_counter_release (struct mm_counter *c)
{
  for (int i = 0; c->workers && i < c->o.n_threads; i++)
    {
      mm_words_free (&c->workers[i].words);
      mm_splitter_close (c->workers[i].splitter);
      c->workers[i].splitter = NULL;
      mm_nfc_free (&c->workers[i].nfc);
    }
  mm_runs_close (&c->runs);
}

/* ---- adding documents ---- */

size_t
mm_text_cut (enum mm_pattern pattern, const char *text, size_t size, size_t limit)
{
  for (size_t at = limit < size ? limit + 1 : size; at-- > 1;)
    if (((unsigned char) text[at] & 0xc0) != 0x80 && mm_pretokenize_may_cut (pattern, text, at))
      return at;
  return 0;
}

size_t
mm_counter_cut (const struct mm_counter *c, const char *text, size_t size, size_t limit)
{
  return c->o.base ? mm_encode_cut (c->o.base, text, size, limit, 0) : mm_text_cut (c->o.pattern, text, size, limit);
}

/* Hand the block over and get an empty one; the caller counts where nobody else does.  */
static mm_status
hand_over (struct mm_counter *c)
{
  struct block **last = &c->full;
  mm_status st;

  pthread_mutex_lock (&c->lock);
  while (*last)
    last = &(*last)->next;
  c->filling->next = NULL;
  *last = c->filling;
  pthread_cond_signal (&c->full_comes);
  while (!c->free || (c->o.n_threads == 1 && c->full))
    if (c->full)
      count_full (c->workers);
    else
      pthread_cond_wait (&c->free_comes, &c->lock);
  c->filling = c->free;
  c->free = c->filling->next;
  st = c->status;
  pthread_mutex_unlock (&c->lock);
  return st < 0 ? mm_fail (st, "%s", c->message) : MM_OK;
}

static mm_status
fill_block (struct block *b, const char *text, size_t size)
{
  mm_status st = mm_grow ("documents", &b->text, &b->capacity, b->size + size, 1);

  if (st == MM_OK)
    st = mm_grow ("documents", &b->ends, &b->ends_capacity, b->n + 1, sizeof *b->ends);
  if (st < 0)
    return st;
  memcpy (b->text + b->size, text, size);
  b->size += size;
  b->ends[b->n++] = b->size;
  return MM_OK;
}

mm_status
mm_counter_add (struct mm_counter *c, const char *text, size_t size)
{
  mm_status st = MM_OK;

  assert (!c->finished);
  while (st == MM_OK && size > 0)
    {
      size_t room = BLOCK - c->filling->size, part = size, limit = room;

      if (size > room)
        part = mm_counter_cut (c, text, size, room);
      /* A text without a place to cut is one part, of any size.  */
      for (; part == 0 && c->filling->size == 0; part = limit < size ? mm_counter_cut (c, text, size, limit) : size)
        limit *= 2;
      if (part > 0)
        st = fill_block (c->filling, text, part);
      if (st == MM_OK && part < size)
        st = hand_over (c);
      text += part;
      size -= part;
    }
  return st < 0 || c->filling->size < BLOCK ? st : hand_over (c);
}

/* ---- taking the counts ---- */

/* One place for the counts of all tables: the first of them, or the file.  */
static mm_status
gather (struct mm_counter *c)
{
  mm_status st = MM_OK;

  if (c->o.max_memory && c->o.n_threads > 1 && !c->temp
      && 2 * mm_counter_memory (c) > c->o.max_memory - MM_COUNTER_BASE)
    st = spill (c, &c->workers[0].words);
  c->workers[0].words.limit = 0;        /* there is room for all: no more may be spilled */
  for (int i = c->temp ? 0 : 1; st == MM_OK && i < c->o.n_threads; i++)
    if (c->temp)
      st = mm_runs_add (&c->runs, &c->workers[i].words);
    else
      {
        st = mm_words_merge (&c->workers[0].words, &c->workers[i].words);
        mm_words_free (&c->workers[i].words);
      }
  return st;
}

mm_status
mm_counter_finish (struct mm_counter *c)
{
  mm_status st = c->filling->size > 0 ? hand_over (c) : MM_OK;

  c->finished = true;
  pthread_mutex_lock (&c->lock);
  while (c->full || c->n_busy > 0)
    if (c->full)
      count_full (c->workers);
    else
      pthread_cond_wait (&c->free_comes, &c->lock);
  if (st == MM_OK)
    st = c->status;
  pthread_mutex_unlock (&c->lock);
  if (st < 0)
    return mm_fail (st, "%s", c->message);
  stop_threads (c);
  for (int i = 0; i < c->o.n_threads + SPARE_BLOCKS; i++)
    {
      free (c->blocks[i].text);
      free (c->blocks[i].ends);
      c->blocks[i] = (struct block) { 0 };
    }
  for (int i = 0; i < c->o.n_threads; i++)
    {
      c->pieces += c->workers[i].words.n_pieces;
      c->bytes += c->workers[i].words.n_bytes;
    }
  return gather (c);
}

mm_status
mm_counter_each (struct mm_counter *c, mm_word_fn *fn, void *arg)
{
  return c->runs.n_runs > 0 ? mm_runs_each (&c->runs, (size_t) c->o.max_memory / 4, fn, arg)
                            : mm_words_each (&c->workers[0].words, fn, arg);
}

void
mm_counter_totals (const struct mm_counter *c, uint64_t *pieces, uint64_t *bytes)
{
  *pieces = c->pieces;
  *bytes = c->bytes;
}

size_t
mm_counter_memory (const struct mm_counter *c)
{
  size_t sum = 0;

  for (int i = 0; i < c->o.n_threads; i++)
    sum += mm_words_memory (&c->workers[i].words);
  return sum;
}

mm_status
mm_counter_temp (struct mm_counter *c, struct mm_temp **temp)
{
  mm_status st = MM_OK;

  if (!c->temp)
    st = mm_temp_open (c->o.folder, c->o.max_memory - BREATH_MEMORY, &c->temp);
  *temp = c->temp;
  return st;
}

/* bpe_trainer.c -- counting documents on several threads, then learning.
   SPDX-License-Identifier: Apache-2.0

   Documents are collected until there is work for all threads; each thread counts into tables of
   its own, which are added up at the end.  Sums have no order, so the result depends on nothing
   but the documents.  */

#include <config.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/bpe_trainer.h>
#include <minimind/memory.h>
#include <minimind/thread.h>
#include <minimind/tokenizer.h>

#include "bpe_train.h"
#include "bpe_write.h"
#include "byte_table.h"
#include "tokenizer_impl.h"

enum
{
  SEGMENT = 1 << 16,            /* bytes that a thread takes at a time */
  COLLECT = 1 << 21             /* bytes collected for each thread */
};

struct segment
{
  size_t at, size;
};

struct worker
{
  struct mm_words words;
  mm_status status;
  char message[256];            /* messages belong to threads */
};

struct mm_bpe_trainer
{
  struct mm_bpe_options o;
  char **special;               /* copies; o.special points to them */
  struct mm_team *team;
  int n_threads;
  struct worker *workers;
  char *text;                   /* collected */
  size_t size, capacity;
  struct segment *segments;
  size_t n_segments, segments_capacity;
  atomic_size_t next_segment;
  bool finished;
};

/* ---- opening ---- */

/* Keep copies of the special tokens and let the roles point to them.  */
static mm_status
copy_special (struct mm_bpe_trainer *t, const struct mm_bpe_options *o)
{
  const char **roles[] = { &t->o.bos, &t->o.eos, &t->o.pad, &t->o.unk };
  const char *wanted[] = { o->bos, o->eos, o->pad, o->unk };
  mm_status st = mm_alloc ("special tokens", o->n_special, sizeof *t->special, &t->special);

  if (st < 0)
    return st;
  for (size_t i = 0; i < o->n_special; i++)
    if (!(t->special[i] = strdup (o->special[i])))
      return mm_fail (MM_ENOMEM, "special tokens: out of memory");
  t->o.special = (const char *const *) t->special;
  for (size_t r = 0; r < 4; r++)
    {
      *roles[r] = NULL;
      for (size_t i = 0; wanted[r] && i < o->n_special; i++)
        if (strcmp (wanted[r], t->special[i]) == 0)
          *roles[r] = t->special[i];
      if (wanted[r] && !*roles[r])
        return mm_fail (MM_EUSAGE, "%s has a role but is not one of the special tokens", wanted[r]);
    }
  return MM_OK;
}

static mm_status
check_special (const struct mm_bpe_options *o)
{
  for (size_t i = 0; i < o->n_special; i++)
    {
      const char *s = o->special[i];
      size_t size = strlen (s);

      if (size == 0)
        return mm_fail (MM_EUSAGE, "a special token is empty");
      if (size > MM_ADDED_LONGEST)
        return mm_fail (MM_EUSAGE, "a special token has %zu bytes, at most %d are supported", size,
                        MM_ADDED_LONGEST);
      if (mm_utf8_check (s, size, NULL) < size)
        return mm_fail (MM_EUSAGE, "special token %s is not valid UTF-8", s);
      for (size_t k = 0; mm_is_table_text (s) && k < size; k++)
        if ((unsigned char) s[k] >= 0x80)
          return mm_fail (MM_EUSAGE, "special token %s is how the vocabulary spells other bytes", s);
      for (size_t j = 0; j < i; j++)
        if (strcmp (s, o->special[j]) == 0)
          return mm_fail (MM_EUSAGE, "special token %s is given twice", s);
    }
  return MM_OK;
}

mm_status
mm_bpe_trainer_open (const struct mm_bpe_options *o, struct mm_bpe_trainer **out)
{
  struct mm_bpe_trainer *t;
  mm_status st = check_special (o);

  *out = NULL;
  if (st < 0)
    return st;
  if (o->vocab_size < o->n_special + 256 || o->vocab_size > MM_MAX_ID)
    return mm_fail (MM_EUSAGE, "a vocabulary of %u: want at least %zu (256 bytes and %zu special "
                    "tokens) and at most %d", o->vocab_size, o->n_special + 256, o->n_special,
                    MM_MAX_ID);
  st = mm_alloc ("trainer", 1, sizeof *t, &t);
  if (st < 0)
    return st;
  t->o = *o;
  t->n_threads = o->n_threads;
  st = copy_special (t, o);
  if (st == MM_OK)
    st = mm_team_open (o->n_threads, &t->team);
  if (st == MM_OK)
    st = mm_alloc ("trainer", (size_t) o->n_threads, sizeof *t->workers, &t->workers);
  if (st < 0)
    mm_bpe_trainer_close (t);
  else
    *out = t;
  return st;
}

void
mm_bpe_trainer_close (struct mm_bpe_trainer *t)
{
  if (!t)
    return;
  for (int i = 0; t->workers && i < t->n_threads; i++)
    mm_words_free (&t->workers[i].words);
  for (size_t i = 0; t->special && i < t->o.n_special; i++)
    free (t->special[i]);
  mm_team_close (t->team);
  free (t->special);
  free (t->workers);
  free (t->text);
  free (t->segments);
  free (t);
}

/* ---- counting ---- */

static void
count_segments (void *arg, int thread, int n_threads)
{
  struct mm_bpe_trainer *t = arg;
  struct worker *w = t->workers + thread;
  size_t i;

  (void) n_threads;
  while (w->status == MM_OK && (i = atomic_fetch_add (&t->next_segment, 1)) < t->n_segments)
    {
      w->status = mm_words_count (&w->words, MM_PATTERN_GPT2, t->text + t->segments[i].at,
                                  t->segments[i].size);
      if (w->status < 0)
        snprintf (w->message, sizeof w->message, "%s", mm_error_message ());
    }
}

/* Count what is collected.  */
static mm_status
flush (struct mm_bpe_trainer *t)
{
  atomic_store (&t->next_segment, 0);
  if (t->n_segments > 0)
    mm_team_run (t->team, count_segments, t);
  t->n_segments = t->size = 0;
  for (int i = 0; i < t->n_threads; i++)
    if (t->workers[i].status < 0)
      return mm_fail (t->workers[i].status, "%s", t->workers[i].message);
  return MM_OK;
}

/* Collect one segment.  */
static mm_status
collect (struct mm_bpe_trainer *t, const char *text, size_t size)
{
  mm_status st = mm_grow ("documents", &t->text, &t->capacity, t->size + size, 1);

  if (st == MM_OK)
    st = mm_grow ("documents", &t->segments, &t->segments_capacity, t->n_segments + 1,
                  sizeof *t->segments);
  if (st < 0)
    return st;
  memcpy (t->text + t->size, text, size);
  t->segments[t->n_segments++] = (struct segment) { t->size, size };
  t->size += size;
  return t->size >= (size_t) t->n_threads * COLLECT ? flush (t) : MM_OK;
}

size_t
mm_bpe_trainer_cut (const char *text, size_t size, size_t limit)
{
  for (size_t at = limit < size ? limit + 1 : size; at-- > 1;)
    if (((unsigned char) text[at] & 0xc0) != 0x80 && mm_pretokenize_may_cut (MM_PATTERN_GPT2, text, at))
      return at;
  return 0;
}

mm_status
mm_bpe_trainer_add (struct mm_bpe_trainer *t, const char *text, size_t size)
{
  size_t valid = mm_utf8_check (text, size, NULL);
  mm_status st = MM_OK;

  if (t->finished)
    return mm_fail (MM_EINVAL, "the trainer has finished");
  if (valid < size)
    return mm_fail (MM_EFORMAT, "invalid UTF-8 at byte %zu", valid);
  while (st == MM_OK && size > 0)
    {
      size_t part = size, limit = SEGMENT;

      /* A text without a place to cut is one segment.  */
      for (part = 0; limit < size && part == 0; limit *= 2)
        part = mm_bpe_trainer_cut (text, size, limit);
      if (part == 0)
        part = size;
      st = collect (t, text, part);
      text += part;
      size -= part;
    }
  return st;
}

void
mm_bpe_trainer_counts (const struct mm_bpe_trainer *t, uint64_t *pieces, uint64_t *distinct)
{
  *pieces = *distinct = 0;
  for (int i = 0; i < t->n_threads; i++)
    {
      *pieces += t->workers[i].words.n_pieces;
      *distinct += t->workers[i].words.n_shorts + t->workers[i].words.n_longs;
    }
}

/* ---- learning ---- */

/* Bytes in the order of their characters in the table, as HF sorts its alphabet.  */
static mm_status
add_bytes (struct mm_learnt *l)
{
  mm_status st = MM_OK;

  for (uint32_t c = 0; st == MM_OK && c <= 0x143; c++)
    for (unsigned b = 0; b < 256; b++)
      if (mm_table_code_point ((unsigned char) b) == c)
        {
          char byte = (char) b;

          l->bytes[b] = mm_learnt_find (l, &byte, 1);
          if (l->bytes[b] == MM_BPE_NONE)
            {
              l->bytes[b] = (uint32_t) l->n_tokens;
              st = mm_learnt_add (l, &byte, 1);
            }
        }
  return st;
}

/* Special tokens come first.  One of ASCII without blanks is spelt like its bytes: a merge that
   makes the same text makes the same token, as for HF.  */
static mm_status
first_tokens (struct mm_learnt *l, const struct mm_bpe_options *o)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < o->n_special; i++)
    st = mm_learnt_add (l, o->special[i],
                        mm_is_table_text (o->special[i]) ? strlen (o->special[i]) : 0);
  return st < 0 ? st : add_bytes (l);
}

mm_status
mm_bpe_trainer_finish (struct mm_bpe_trainer *t, char **json, char **config, uint32_t *reached)
{
  struct mm_learnt learnt = { 0 };
  mm_status st = flush (t);

  *json = *config = NULL;
  *reached = 0;
  if (t->finished)
    return mm_fail (MM_EINVAL, "the trainer has finished");
  t->finished = true;
  for (int i = 1; st == MM_OK && i < t->n_threads; i++)
    {
      st = mm_words_merge (&t->workers[0].words, &t->workers[i].words);
      mm_words_free (&t->workers[i].words);
    }
  if (st == MM_OK)
    st = first_tokens (&learnt, &t->o);
  if (st == MM_OK)
    st = mm_bpe_train (&learnt, &t->workers[0].words, t->o.vocab_size);
  if (st == MM_OK)
    st = mm_bpe_write (&learnt, &t->o, json, config);
  if (st == MM_OK)
    *reached = (uint32_t) learnt.n_tokens;
  mm_learnt_free (&learnt);
  return st;
}

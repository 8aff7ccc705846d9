/* word_count.c -- hash tables of pieces.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/memory.h>

#include "piece_key.h"
#include "word_count.h"

enum
{
  FIRST_CAPACITY = 1 << 12      /* of tables: holds a batch */
};

struct mm_short_word
{
  uint64_t key[2];              /* zero where it is free */
  uint64_t count;
};

struct mm_long_word
{
  uint64_t hash;
  uint64_t count;               /* zero where it is free */
  size_t offset, size;          /* of its text */
};

void
mm_words_free (struct mm_words *w)
{
  free (w->shorts);
  free (w->longs);
  free (w->text);
  *w = (struct mm_words) { 0 };
}

/* Highest bits of HASH as an index into a table of CAPACITY, a power of two.  */
static inline size_t
slot_of (uint64_t hash, size_t capacity)
{
  return hash >> (64 - __builtin_ctzll (capacity));
}

size_t
mm_words_memory (const struct mm_words *w)
{
  return w->shorts_capacity * sizeof *w->shorts + w->longs_capacity * sizeof *w->longs + w->text_capacity;
}

/* Make room where W is about to hold MORE bytes in addition, if that is beyond its limit.  An empty table may
   grow all the same, so that a piece of any size can be counted.  */
static mm_status
keep_limit (struct mm_words *w, size_t more)
{
  return w->limit && mm_words_memory (w) + more > w->limit && w->n_shorts + w->n_longs > 0
         ? w->full (w->full_arg, w) : MM_OK;
}

/* Capacity of a table that takes N more beside COUNT without filling more than half.  */
static size_t
enough (size_t capacity, size_t count, size_t n)
{
  capacity = capacity ? capacity : FIRST_CAPACITY;
  while (2 * (count + n) > capacity)
    capacity *= 2;
  return capacity;
}

/* ---- short pieces ---- */

static struct mm_short_word *
find_short (const struct mm_words *w, const uint64_t key[2])
{
  size_t i = slot_of (mm_key_hash (key), w->shorts_capacity);

  while (w->shorts[i].count && !mm_key_same (w->shorts[i].key, key))
    i = (i + 1) & (w->shorts_capacity - 1);
  return w->shorts + i;
}

static inline void
add_short (struct mm_words *w, const uint64_t key[2], uint64_t count)
{
  struct mm_short_word *s = find_short (w, key);

  if (!s->count)
    {
      s->key[0] = key[0];
      s->key[1] = key[1];
      w->n_shorts++;
    }
  s->count += count;
}

static mm_status
reserve_short (struct mm_words *w, size_t n)
{
  struct mm_words old;
  mm_status st;

  if (2 * (w->n_shorts + n) <= w->shorts_capacity)
    return MM_OK;
  st = keep_limit (w, enough (w->shorts_capacity, w->n_shorts, n) * sizeof *w->shorts);
  if (st < 0)
    return st;
  old = *w;
  w->shorts_capacity = enough (old.shorts_capacity, w->n_shorts, n);
  if (w->shorts_capacity == old.shorts_capacity)
    return MM_OK;
  st = mm_alloc ("distinct pieces", w->shorts_capacity, sizeof *w->shorts, &w->shorts);
  if (st < 0)
    {
      *w = old;
      return st;
    }
  for (size_t i = 0; i < old.shorts_capacity; i++)
    if (old.shorts[i].count)
      *find_short (w, old.shorts[i].key) = old.shorts[i];
  free (old.shorts);
  return MM_OK;
}

/* ---- long pieces ---- */

static struct mm_long_word *
find_long (const struct mm_words *w, uint64_t hash, const char *text, size_t size)
{
  size_t i = slot_of (hash, w->longs_capacity);

  while (w->longs[i].count
         && !(w->longs[i].hash == hash && w->longs[i].size == size
              && memcmp (w->text + w->longs[i].offset, text, size) == 0))
    i = (i + 1) & (w->longs_capacity - 1);
  return w->longs + i;
}

static mm_status
reserve_long (struct mm_words *w, size_t n)
{
  struct mm_words old;
  mm_status st;

  if (2 * (w->n_longs + n) <= w->longs_capacity)
    return MM_OK;
  st = keep_limit (w, enough (w->longs_capacity, w->n_longs, n) * sizeof *w->longs);
  if (st < 0)
    return st;
  old = *w;
  w->longs_capacity = enough (old.longs_capacity, w->n_longs, n);
  if (w->longs_capacity == old.longs_capacity)
    return MM_OK;
  st = mm_alloc ("distinct pieces", w->longs_capacity, sizeof *w->longs, &w->longs);
  if (st < 0)
    {
      *w = old;
      return st;
    }
  for (size_t i = 0; i < old.longs_capacity; i++)
    if (old.longs[i].count)
      {
        size_t k = slot_of (old.longs[i].hash, w->longs_capacity);

        while (w->longs[k].count)
          k = (k + 1) & (w->longs_capacity - 1);
        w->longs[k] = old.longs[i];
      }
  free (old.longs);
  return MM_OK;
}

/* Room for SIZE more bytes of text.  */
static mm_status
reserve_text (struct mm_words *w, size_t size)
{
  size_t more = w->text_capacity > size ? w->text_capacity : size;
  mm_status st = w->text_size + size <= w->text_capacity ? MM_OK : keep_limit (w, 2 * more);

  return st < 0 ? st : mm_grow ("distinct pieces", &w->text, &w->text_capacity, w->text_size + size, 1);
}

static mm_status
add_long (struct mm_words *w, const char *text, size_t size, uint64_t count)
{
  uint64_t hash = mm_text_hash (text, size);
  struct mm_long_word *l;
  mm_status st = reserve_long (w, 1);

  if (st < 0)
    return st;
  l = find_long (w, hash, text, size);
  if (!l->count)
    {
      st = reserve_text (w, size);
      if (st < 0)
        return st;
      l = find_long (w, hash, text, size);      /* the table may have been emptied */
      memcpy (w->text + w->text_size, text, size);
      *l = (struct mm_long_word) { hash, 0, w->text_size, size };
      w->text_size += size;
      w->n_longs++;
    }
  l->count += count;
  return MM_OK;
}

/* ---- texts ---- */

/* The cache lines of the short ones are called for before any is counted.  */
mm_status
mm_words_batch (struct mm_words *w, const char *text, size_t size, size_t at, const size_t *ends,
             size_t n)
{
  uint64_t keys[MM_WORDS_BATCH][2];
  size_t n_keys = 0, start = at;
  mm_status st = reserve_short (w, n);

  for (size_t i = 0; st == MM_OK && i < n; at = ends[i++])
    if (ends[i] - at <= MM_KEY_BYTES)
      {
        mm_piece_key (text + at, ends[i] - at, size - at, keys[n_keys]);
        __builtin_prefetch (w->shorts + slot_of (mm_key_hash (keys[n_keys]), w->shorts_capacity));
        n_keys++;
      }
    else
      st = add_long (w, text + at, ends[i] - at, 1);
  if (st < 0)
    return st;
  for (size_t i = 0; i < n_keys; i++)
    add_short (w, keys[i], 1);
  w->n_pieces += n;
  w->n_bytes += ends[n - 1] - start;
  return MM_OK;
}

mm_status
mm_words_count (struct mm_words *w, enum mm_pattern pattern, const char *text, size_t size)
{
  size_t ends[MM_WORDS_BATCH];

  for (size_t at = 0; at < size;)
    {
      size_t n = mm_pretokenize (pattern, text, size, at, ends, MM_WORDS_BATCH);
      mm_status st = mm_words_batch (w, text, size, at, ends, n);

      if (st < 0)
        return st;
      at = ends[n - 1];
    }
  return MM_OK;
}

mm_status
mm_words_merge (struct mm_words *w, const struct mm_words *from)
{
  /* Room for all at first: what comes in the order of hashes would crowd a table that grows.  */
  mm_status st = reserve_short (w, from->n_shorts);

  if (st == MM_OK)
    st = reserve_long (w, from->n_longs);
  if (st < 0)
    return st;
  for (size_t i = 0; i < from->shorts_capacity; i++)
    if (from->shorts[i].count)
      add_short (w, from->shorts[i].key, from->shorts[i].count);
  for (size_t i = 0; st == MM_OK && i < from->longs_capacity; i++)
    if (from->longs[i].count)
      st = add_long (w, from->text + from->longs[i].offset, from->longs[i].size,
                     from->longs[i].count);
  w->n_pieces += from->n_pieces;
  w->n_bytes += from->n_bytes;
  return st;
}

/* ---- taking them out ---- */

static mm_status
take_short (const struct mm_short_word *s, mm_word_fn *fn, void *arg)
{
  char text[sizeof s->key];

  memcpy (text, s->key, sizeof text);
  return fn (arg, &(struct mm_word) { text, s->key[1] >> 56, s->count });
}

static mm_status
take_long (const struct mm_words *w, const struct mm_long_word *l, mm_word_fn *fn, void *arg)
{
  return fn (arg, &(struct mm_word) { w->text + l->offset, l->size, l->count });
}

mm_status
mm_words_each (const struct mm_words *w, mm_word_fn *fn, void *arg)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < w->shorts_capacity; i++)
    if (w->shorts[i].count)
      st = take_short (w->shorts + i, fn, arg);
  for (size_t i = 0; st == MM_OK && i < w->longs_capacity; i++)
    if (w->longs[i].count)
      st = take_long (w, w->longs + i, fn, arg);
  return st;
}

uint64_t
mm_word_hash (const struct mm_word *word)
{
  uint64_t key[2];

  if (word->size > MM_KEY_BYTES)
    return mm_text_hash (word->text, word->size);
  mm_piece_key (word->text, word->size, word->size, key);
  return mm_key_hash (key);
}

int
mm_word_compare (const struct mm_word *a, uint64_t a_hash, const struct mm_word *b, uint64_t b_hash)
{
  bool a_long = a->size > MM_KEY_BYTES, b_long = b->size > MM_KEY_BYTES;

  if (a_long != b_long)
    return a_long ? 1 : -1;
  if (a_hash != b_hash)
    return a_hash < b_hash ? -1 : 1;
  if (a->size != b->size)
    return a->size < b->size ? -1 : 1;
  return memcmp (a->text, b->text, a->size);
}

static bool
short_before (const struct mm_short_word *a, const struct mm_short_word *b)
{
  uint64_t a_hash = mm_key_hash (a->key), b_hash = mm_key_hash (b->key);

  if (a_hash != b_hash)
    return a_hash < b_hash;
  if (a->key[1] >> 56 != b->key[1] >> 56)
    return a->key[1] >> 56 < b->key[1] >> 56;
  return memcmp (a->key, b->key, sizeof a->key) < 0;
}

static bool
long_before (const struct mm_words *w, const struct mm_long_word *a, const struct mm_long_word *b)
{
  struct mm_word x = { w->text + a->offset, a->size, 0 }, y = { w->text + b->offset, b->size, 0 };

  return mm_word_compare (&x, a->hash, &y, b->hash) < 0;
}

/* Slots are in the order of hashes but for neighbours that found their places taken, so sorting by insertion
   takes linear time.  */
static void
sort_shorts (struct mm_words *w)
{
  struct mm_short_word *s = w->shorts;
  size_t n = 0;

  for (size_t i = 0; i < w->shorts_capacity; i++)
    if (s[i].count)
      {
        struct mm_short_word one = s[i];
        size_t k = n++;

        for (; k > 0 && short_before (&one, s + k - 1); k--)
          s[k] = s[k - 1];
        s[k] = one;
      }
}

static void
sort_longs (struct mm_words *w)
{
  struct mm_long_word *l = w->longs;
  size_t n = 0;

  for (size_t i = 0; i < w->longs_capacity; i++)
    if (l[i].count)
      {
        struct mm_long_word one = l[i];
        size_t k = n++;

        for (; k > 0 && long_before (w, &one, l + k - 1); k--)
          l[k] = l[k - 1];
        l[k] = one;
      }
}

/* A small table in the place of TABLE: which of them needs most room is found anew.  There is room for a batch.  */
static mm_status
renew (void *table, size_t *capacity, size_t size)
{
  void *old, *fresh;
  mm_status st = mm_alloc ("distinct pieces", FIRST_CAPACITY, size, &fresh);

  if (st < 0)
    return st;
  memcpy (&old, table, sizeof old);
  free (old);
  memcpy (table, &fresh, sizeof fresh);
  *capacity = FIRST_CAPACITY;
  return MM_OK;
}

mm_status
mm_words_drain (struct mm_words *w, mm_word_fn *fn, void *arg)
{
  mm_status st = MM_OK;

  sort_shorts (w);
  for (size_t i = 0; st == MM_OK && i < w->n_shorts; i++)
    st = take_short (w->shorts + i, fn, arg);
  sort_longs (w);
  for (size_t i = 0; st == MM_OK && i < w->n_longs; i++)
    st = take_long (w, w->longs + i, fn, arg);
  free (w->text);
  w->text = NULL;
  w->n_shorts = w->n_longs = w->text_size = w->text_capacity = 0;
  if (st == MM_OK && w->shorts)
    st = renew (&w->shorts, &w->shorts_capacity, sizeof *w->shorts);
  if (st == MM_OK && w->longs)
    st = renew (&w->longs, &w->longs_capacity, sizeof *w->longs);
  return st;
}

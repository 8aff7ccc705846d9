/* word_count.c -- hash tables of pieces.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/memory.h>

#include "piece_key.h"
#include "word_count.h"

enum
{
  BATCH = 256,                  /* pieces found before they are counted */
  FIRST_CAPACITY = 1 << 12
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

/* Make room for N more without filling more than half.  */
static mm_status
reserve_short (struct mm_words *w, size_t n)
{
  struct mm_words old = *w;
  mm_status st;

  if (2 * (w->n_shorts + n) <= w->shorts_capacity)
    return MM_OK;
  w->shorts_capacity = old.shorts_capacity ? 2 * old.shorts_capacity : FIRST_CAPACITY;
  while (2 * (w->n_shorts + n) > w->shorts_capacity)
    w->shorts_capacity *= 2;
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
  struct mm_words old = *w;
  mm_status st;

  if (2 * (w->n_longs + n) <= w->longs_capacity)
    return MM_OK;
  w->longs_capacity = old.longs_capacity ? 2 * old.longs_capacity : FIRST_CAPACITY;
  while (2 * (w->n_longs + n) > w->longs_capacity)
    w->longs_capacity *= 2;
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
      st = mm_grow ("distinct pieces", &w->text, &w->text_capacity, w->text_size + size, 1);
      if (st < 0)
        return st;
      memcpy (w->text + w->text_size, text, size);
      *l = (struct mm_long_word) { hash, 0, w->text_size, size };
      w->text_size += size;
      w->n_longs++;
    }
  l->count += count;
  return MM_OK;
}

/* ---- texts ---- */

/* Count N pieces of TEXT from AT on that end at ENDS.  The cache lines of the short ones are
   called for before any is counted.  */
static mm_status
count_batch (struct mm_words *w, const char *text, size_t size, size_t at, const size_t *ends,
             size_t n)
{
  uint64_t keys[BATCH][2];
  size_t n_keys = 0;
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
  return MM_OK;
}

mm_status
mm_words_count (struct mm_words *w, enum mm_pattern pattern, const char *text, size_t size)
{
  size_t ends[BATCH];

  for (size_t at = 0; at < size;)
    {
      size_t n = mm_pretokenize (pattern, text, size, at, ends, BATCH);
      mm_status st = count_batch (w, text, size, at, ends, n);

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
  return st;
}

size_t
mm_words_slots (const struct mm_words *w)
{
  return w->shorts_capacity + w->longs_capacity;
}

bool
mm_words_get (const struct mm_words *w, size_t slot, struct mm_word *word)
{
  if (slot < w->shorts_capacity)
    {
      const struct mm_short_word *s = w->shorts + slot;

      memcpy (word->buffer, s->key, 16);
      word->text = word->buffer;
      word->size = s->key[1] >> 56;
      word->count = s->count;
    }
  else
    {
      const struct mm_long_word *l = w->longs + (slot - w->shorts_capacity);

      word->text = w->text + l->offset;
      word->size = l->size;
      word->count = l->count;
    }
  return word->count > 0;
}

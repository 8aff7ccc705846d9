/* bpe_corpus.c -- laying out the pieces of a corpus.
   SPDX-License-Identifier: Apache-2.0

   The counts are gone through twice: first to learn how much room the pieces of each count take, then to put each
   where the pieces of its count stand.  */

#include <config.h>

#include <stdlib.h>

#include <minimind/memory.h>

#include "bpe_corpus.h"
#include "encode_pieces.h"

enum
{
  FEW = 4096,                   /* counts below have a table */
  BREATH = 1024,                /* pieces between two looks at memory */
  /* What laying out and learning take for each place: a symbol, its places in lists of pairs as they arise, queues.
     8 million places of Chinese and 13 million of random words took 18 bytes each, counts included.  */
  PLACE_MEMORY = 24,
  /* What is looked at in no order, so that each look at what is not in memory is one at the disk: the symbols, and a
     part of the lists.  With 6 bytes 8 million places of Chinese took 2.5 times as long as with all memory, with 5
     already 15 times.  */
  PLACE_NEED = 6,
  QUICK_PLACES = 4000000        /* so few are quick to look up from a file, too */
};

/* The pieces that occur COUNT times.  */
struct group
{
  uint64_t count, places;
  size_t at;                    /* where the next one stands */
};

struct layout
{
  struct mm_corpus *corpus;
  const struct mm_corpus_start *start;
  struct mm_bpe_scratch scratch;
  uint32_t *ids;                /* of the piece at hand, with a base */
  size_t n_ids, ids_capacity;
  struct group few[FEW];
  struct group *many;           /* first one for each piece, then one for each count, ascending */
  size_t n_many, many_capacity;
  uint64_t places, n;           /* in all; pieces put */
};

/* Let the base encode WORD.  */
static mm_status
find_ids (struct layout *l, const struct mm_word *word)
{
  mm_status st = mm_grow ("distinct pieces", &l->ids, &l->ids_capacity, word->size, sizeof *l->ids);

  return st < 0 ? st : mm_piece_encode (l->start->base, &l->scratch, word->text, word->size, l->ids, &l->n_ids);
}

/* An mm_word_fn: of the first time.  */
static mm_status
measure (void *arg, const struct mm_word *word)
{
  struct layout *l = arg;
  uint32_t id = l->start->bytes[(unsigned char) *word->text];
  size_t n = word->size;
  mm_status st;

  l->corpus->distinct++;
  if (l->start->base)
    {
      st = find_ids (l, word);
      if (st < 0)
        return st;
      id = l->ids[0];
      n = l->n_ids;
    }
  if (n == 1)
    {
      l->start->alone[id] += word->count;
      return MM_OK;
    }
  l->places += word->size + 1;
  if (word->count < FEW)
    {
      l->few[word->count].places += word->size + 1;
      return MM_OK;
    }
  st = mm_grow ("distinct pieces", &l->many, &l->many_capacity, l->n_many + 1, sizeof *l->many);
  if (st == MM_OK)
    l->many[l->n_many++] = (struct group) { word->count, word->size + 1, 0 };
  return st;
}

static int
by_count (const void *a, const void *b)
{
  const struct group *x = a, *y = b;

  return x->count < y->count ? -1 : x->count > y->count;
}

static mm_status
begin_range (struct mm_corpus *c, struct group *g)
{
  mm_status st = mm_grow ("distinct pieces", &c->ranges, &c->ranges_capacity, c->n_ranges + 1,
                          sizeof *c->ranges);

  if (st == MM_OK)
    c->ranges[c->n_ranges++] = (struct mm_weight_range) { (uint32_t) c->n, g->count };
  g->at = c->n;
  c->n += g->places;
  return st;
}

/* Find the places of all groups; the corpus begins with a separator.  */
static mm_status
order_groups (struct layout *l)
{
  struct group first = { 0, 1, 0 };
  mm_status st = begin_range (l->corpus, &first);
  size_t kept = 0;

  if (l->n_many > 0)
    qsort (l->many, l->n_many, sizeof *l->many, by_count);
  for (size_t i = 0; i < l->n_many; i++)
    if (kept > 0 && l->many[kept - 1].count == l->many[i].count)
      l->many[kept - 1].places += l->many[i].places;
    else
      l->many[kept++] = l->many[i];
  l->n_many = kept;
  for (size_t c = 0; st == MM_OK && c < FEW; c++)
    {
      l->few[c].count = c;
      if (l->few[c].places > 0)
        st = begin_range (l->corpus, l->few + c);
    }
  for (size_t i = 0; st == MM_OK && i < l->n_many; i++)
    st = begin_range (l->corpus, l->many + i);
  if (st == MM_OK)
    st = begin_range (l->corpus, &(struct group) { 0 });
  l->corpus->n_ranges--;
  return st;
}

/* The symbols of WORD, as the base has it, in its places at SYMBOLS.  */
static void
put_ids (const struct layout *l, uint32_t *symbols)
{
  for (size_t i = 0; i < l->n_ids; i++)
    {
      size_t size = l->start->base->texts[l->ids[i]].size;

      for (size_t k = 1; k + 1 < size; k++)
        symbols[k] = MM_SYMBOL_GONE;
      symbols[0] = symbols[size - 1] = l->ids[i];
      symbols += size;
    }
}

/* An mm_word_fn: of the second time.  */
static mm_status
put (void *arg, const struct mm_word *word)
{
  struct layout *l = arg;
  struct group key = { word->count, 0, 0 }, *g;
  uint32_t *symbols;

  if (l->start->base)
    {
      mm_status st = find_ids (l, word);

      if (st < 0 || l->n_ids == 1)
        return st;
    }
  else if (word->size == 1)
    return MM_OK;
  g = word->count < FEW ? l->few + word->count : bsearch (&key, l->many, l->n_many, sizeof key, by_count);
  symbols = l->corpus->symbols + g->at;
  if (l->start->base)
    put_ids (l, symbols);
  else
    for (size_t i = 0; i < word->size; i++)
      symbols[i] = l->start->bytes[(unsigned char) word->text[i]];
  symbols[word->size] = MM_SYMBOL_SEPARATOR;
  g->at += word->size + 1;
  if (++l->n % BREATH == 0)
    mm_temp_breathe (l->corpus->temp);
  return MM_OK;
}

/* Refuse what would not end in reasonable time.  */
static mm_status
check_memory (uint64_t max_memory, uint64_t places)
{
  uint64_t need = MM_COUNTER_BASE + PLACE_NEED * places;
  char text[32];

  if (max_memory == 0 || max_memory >= need || places < QUICK_PLACES)
    return MM_OK;
  return mm_fail (MM_EUSAGE, "%s of memory are too little for %llu bytes of distinct pieces: want at least %llu MB",
                  mm_memory_text (max_memory, text), (unsigned long long) places,
                  (unsigned long long) (need >> 20) + 1);
}

mm_status
mm_corpus_build (struct mm_corpus *c, struct mm_counter *counter, uint64_t max_memory,
                 const struct mm_corpus_start *start)
{
  struct layout *l;
  mm_status st = mm_alloc ("distinct pieces", 1, sizeof *l, &l);

  *c = (struct mm_corpus) { 0 };
  if (st < 0)
    return st;
  l->corpus = c;
  l->start = start;
  if (start->base)
    st = mm_bpe_scratch_open (&l->scratch);
  if (st == MM_OK)
    st = mm_counter_each (counter, measure, l);
  if (st == MM_OK && l->places + 1 >= MM_SYMBOL_GONE)
    st = mm_fail (MM_EUNSUP, "the corpus has %llu bytes of distinct pieces: more than 4 GiB are not supported",
                  (unsigned long long) l->places);
  if (st == MM_OK)
    st = order_groups (l);
  if (st == MM_OK)
    st = check_memory (max_memory, l->places);
  if (st == MM_OK && max_memory && mm_counter_memory (counter) + PLACE_MEMORY * l->places > max_memory)
    st = mm_counter_temp (counter, &c->temp);
  if (st == MM_OK)
    st = mm_temp_alloc (c->temp, "distinct pieces", c->n, sizeof *c->symbols, &c->symbols);
  if (st == MM_OK)
    {
      c->symbols[0] = MM_SYMBOL_SEPARATOR;
      st = mm_counter_each (counter, put, l);
    }
  c->range = c->ranges;
  if (start->base)
    mm_bpe_scratch_close (&l->scratch);
  free (l->ids);
  free (l->many);
  free (l);
  if (st < 0)
    mm_corpus_free (c);
  return st;
}

void
mm_corpus_free (struct mm_corpus *c)
{
  mm_temp_free (c->temp, c->symbols, c->n * sizeof *c->symbols);
  free (c->ranges);
  *c = (struct mm_corpus) { 0 };
}

const struct mm_weight_range *
mm_corpus_range (const struct mm_corpus *c, uint32_t at)
{
  size_t low = 0, high = c->n_ranges;

  while (high - low > 1)
    {
      size_t middle = low + (high - low) / 2;

      if (c->ranges[middle].from <= at)
        low = middle;
      else
        high = middle;
    }
  return c->ranges + low;
}

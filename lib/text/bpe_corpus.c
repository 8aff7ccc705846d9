/* bpe_corpus.c -- laying out the pieces of a corpus.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/memory.h>

#include "bpe_corpus.h"

enum { FEW = 4096 };            /* counts below are sorted by counting */

struct ordered
{
  uint64_t count;
  size_t slot;
};

static int
by_count (const void *a, const void *b)
{
  const struct ordered *x = a, *y = b;

  if (x->count != y->count)
    return x->count < y->count ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* The slots of pieces of two bytes and more by ascending count; *PLACES is what they take.  */
static mm_status
sort_words (const struct mm_words *words, struct ordered **out, size_t *n, size_t *places)
{
  size_t slots = mm_words_slots (words), start[FEW + 1] = { 0 }, end;
  struct mm_word word;
  mm_status st;

  *n = 0;
  *places = 1;
  for (size_t i = 0; i < slots; i++)
    if (mm_words_get (words, i, &word) && word.size > 1)
      {
        start[word.count < FEW ? word.count + 1 : 0]++;
        *places += word.size + 1;
        ++*n;
      }
  st = mm_alloc ("distinct pieces", *n, sizeof **out, out);
  if (st < 0)
    return st;
  start[0] = 0;
  for (size_t c = 0; c < FEW; c++)
    start[c + 1] += start[c];
  end = start[FEW];             /* where those with large counts begin */
  for (size_t i = 0, large = end; i < slots; i++)
    if (mm_words_get (words, i, &word) && word.size > 1)
      (*out)[word.count < FEW ? start[word.count]++ : large++] = (struct ordered) { word.count, i };
  if (*n > end)
    qsort (*out + end, *n - end, sizeof **out, by_count);
  return MM_OK;
}

static mm_status
add_range (struct mm_corpus *c, uint64_t weight)
{
  mm_status st = mm_grow ("distinct pieces", &c->ranges, &c->ranges_capacity, c->n_ranges + 1,
                          sizeof *c->ranges);

  if (st == MM_OK)
    c->ranges[c->n_ranges++] = (struct mm_weight_range) { (uint32_t) c->n, weight };
  return st;
}

static mm_status
lay_out (struct mm_corpus *c, const struct mm_words *words, const struct ordered *order, size_t n,
         const uint32_t bytes[256])
{
  struct mm_word word;
  mm_status st = add_range (c, 0);

  c->symbols[c->n++] = MM_SYMBOL_SEPARATOR;
  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      mm_words_get (words, order[i].slot, &word);
      if (c->ranges[c->n_ranges - 1].weight != word.count)
        st = add_range (c, word.count);
      for (size_t k = 0; k < word.size; k++)
        c->symbols[c->n++] = bytes[(unsigned char) word.text[k]];
      c->symbols[c->n++] = MM_SYMBOL_SEPARATOR;
    }
  if (st == MM_OK)
    st = add_range (c, 0);
  c->n_ranges--;
  c->range = c->ranges;
  return st;
}

mm_status
mm_corpus_build (struct mm_corpus *c, const struct mm_words *words, const uint32_t bytes[256])
{
  struct ordered *order = NULL;
  size_t n, places;
  mm_status st;

  *c = (struct mm_corpus) { 0 };
  st = sort_words (words, &order, &n, &places);
  if (st == MM_OK && places >= MM_SYMBOL_GONE)
    st = mm_fail (MM_EUNSUP, "the corpus has %zu bytes of distinct pieces: more than 4 GiB are not "
                  "supported", places);
  if (st == MM_OK)
    st = mm_alloc ("distinct pieces", places, sizeof *c->symbols, &c->symbols);
  if (st == MM_OK)
    st = lay_out (c, words, order, n, bytes);
  free (order);
  if (st < 0)
    mm_corpus_free (c);
  return st;
}

void
mm_corpus_free (struct mm_corpus *c)
{
  free (c->symbols);
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

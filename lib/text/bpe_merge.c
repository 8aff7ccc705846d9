/* bpe_merge.c -- the merge loop of BPE, with a heap.
   SPDX-License-Identifier: Apache-2.0

   The definition that bpe.c is an acceleration of.  Symbols are a linked list in the order of
   the text; the heap holds the pairs that may be merged, those of lowest rank first, the leftmost
   of equals first; entries whose symbols have changed since are skipped.  */

#include <config.h>

#include <stdbool.h>

#include <minimind/memory.h>

#include "bpe.h"

enum { NO_SYMBOL = UINT32_MAX };

struct mm_bpe_symbol
{
  uint32_t number;              /* of the token; MM_BPE_NONE once merged into the one before */
  uint32_t before, after;
};

struct mm_bpe_merge
{
  uint32_t when, at;            /* at: the left symbol */
  uint32_t left, right;         /* numbers then: entries of the past are known by them */
};

static bool
is_before (const struct mm_bpe_merge *a, const struct mm_bpe_merge *b)
{
  return a->when < b->when || (a->when == b->when && a->at < b->at);
}

static void
heap_push (struct mm_bpe_merge *heap, size_t *n, struct mm_bpe_merge m)
{
  size_t i = (*n)++;

  while (i > 0 && is_before (&m, &heap[(i - 1) / 2]))
    {
      heap[i] = heap[(i - 1) / 2];
      i = (i - 1) / 2;
    }
  heap[i] = m;
}

static struct mm_bpe_merge
heap_pop (struct mm_bpe_merge *heap, size_t *n)
{
  struct mm_bpe_merge top = heap[0], last = heap[--*n];
  size_t i = 0;

  for (size_t child = 1; child < *n; child = 2 * i + 1)
    {
      if (child + 1 < *n && is_before (&heap[child + 1], &heap[child]))
        child++;
      if (!is_before (&heap[child], &last))
        break;
      heap[i] = heap[child];
      i = child;
    }
  heap[i] = last;
  return top;
}

/* Push the pair whose left symbol is AT, if a rule merges it.  */
static void
consider (const struct mm_bpe *bpe, struct mm_bpe_scratch *s, size_t *n_heap, uint32_t at)
{
  uint32_t after = at == NO_SYMBOL ? NO_SYMBOL : s->symbols[at].after, when;

  if (after == NO_SYMBOL)
    return;
  when = mm_bpe_when (bpe, s->symbols[at].number, s->symbols[after].number);
  if (when != MM_BPE_NONE)
    heap_push (s->heap, n_heap,
               (struct mm_bpe_merge) { when, at, s->symbols[at].number, s->symbols[after].number });
}

mm_status
mm_bpe_merge_loop (const struct mm_bpe *bpe, struct mm_bpe_scratch *s, const char *piece,
                   size_t size, uint32_t *ids, size_t *count)
{
  struct mm_bpe_symbol *symbol;
  size_t n_heap = 0;
  mm_status st;

  if (size > UINT32_MAX / 4)
    return mm_fail (MM_EUNSUP, "a piece of %zu bytes without a boundary is beyond this tokenizer",
                    size);
  /* Each merge adds at most two pairs and takes one.  */
  st = mm_grow ("encoder", &s->symbols, &s->symbols_capacity, size, sizeof *s->symbols);
  if (st == MM_OK)
    st = mm_grow ("encoder", &s->heap, &s->heap_capacity, 3 * size, sizeof *s->heap);
  if (st < 0)
    return st;
  symbol = s->symbols;
  for (size_t i = 0; i < size; i++)
    symbol[i] = (struct mm_bpe_symbol) { (unsigned char) piece[i], (uint32_t) i - 1,
                                         i + 1 < size ? (uint32_t) i + 1 : NO_SYMBOL };
  for (size_t i = 0; i < size; i++)
    consider (bpe, s, &n_heap, (uint32_t) i);

  while (n_heap > 0)
    {
      struct mm_bpe_merge m = heap_pop (s->heap, &n_heap);
      uint32_t right = symbol[m.at].after;

      if (symbol[m.at].number != m.left || right == NO_SYMBOL || symbol[right].number != m.right)
        continue;
      symbol[m.at].number = bpe->rules[m.when - MM_BPE_BYTES].made;
      symbol[m.at].after = symbol[right].after;
      symbol[right].number = MM_BPE_NONE;
      if (symbol[right].after != NO_SYMBOL)
        symbol[symbol[right].after].before = m.at;
      consider (bpe, s, &n_heap, symbol[m.at].before);
      consider (bpe, s, &n_heap, m.at);
    }
  *count = 0;
  for (uint32_t i = 0; i != NO_SYMBOL; i = symbol[i].after)
    ids[(*count)++] = bpe->ids[symbol[i].number];
  return MM_OK;
}

/* bpe_queue.c -- a binary heap over the frequent pairs, a list of the others.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/memory.h>

#include "bpe_queue.h"

enum { BREATH = 1 << 17 };      /* entries between two looks at memory */

static bool
is_before (const struct mm_bpe_entry *a, const struct mm_bpe_entry *b)
{
  return a->count > b->count || (a->count == b->count && a->pair < b->pair);
}

static mm_status
heap_push (struct mm_bpe_queue *q, struct mm_bpe_entry e)
{
  struct mm_bpe_entry *heap;
  size_t i = q->n_heap;
  mm_status st = mm_temp_grow (q->temp, "queue of pairs", &q->heap, &q->heap_capacity, i + 1, sizeof e);

  if (st < 0)
    return st;
  heap = q->heap;
  for (q->n_heap++; i > 0 && is_before (&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = e;
  return MM_OK;
}

static struct mm_bpe_entry
heap_pop (struct mm_bpe_queue *q)
{
  struct mm_bpe_entry *heap = q->heap, top = heap[0], last = heap[--q->n_heap];
  size_t i = 0, n = q->n_heap;

  for (size_t child = 1; child < n; child = 2 * i + 1)
    {
      if (child + 1 < n && is_before (&heap[child + 1], &heap[child]))
        child++;
      if (!is_before (&heap[child], &last))
        break;
      heap[i] = heap[child];
      i = child;
    }
  heap[i] = last;
  return top;
}

/* N entries were gone through: now and then memory is looked at.  */
static inline void
breathe (const struct mm_bpe_queue *q, size_t n)
{
  if (n % BREATH == 0)
    mm_temp_breathe (q->temp);
}

/* Sink the threshold to half of the highest count below it, and move what is above.  */
static mm_status
refill (struct mm_bpe_queue *q)
{
  uint64_t top = 0;
  size_t kept = 0;

  for (size_t i = 0; i < q->n_rest; i++, breathe (q, i))
    if (q->rest[i].count > top)
      top = q->rest[i].count;
  q->threshold = top / 2;
  for (size_t i = 0; i < q->n_rest; i++, breathe (q, i))
    if (q->rest[i].count < q->threshold)
      q->rest[kept++] = q->rest[i];
    else
      {
        mm_status st = heap_push (q, q->rest[i]);

        if (st < 0)
          return st;
      }
  q->n_rest = kept;
  return MM_OK;
}

mm_status
mm_bpe_queue_push (struct mm_bpe_queue *q, struct mm_bpe_entry e)
{
  mm_status st;

  if (e.count >= q->threshold)
    return heap_push (q, e);
  st = mm_temp_grow (q->temp, "queue of pairs", &q->rest, &q->rest_capacity, q->n_rest + 1, sizeof e);
  if (st == MM_OK)
    q->rest[q->n_rest++] = e;
  return st;
}

mm_status
mm_bpe_queue_pop (struct mm_bpe_queue *q, struct mm_bpe_entry *e, bool *some)
{
  mm_status st = q->n_heap == 0 && q->n_rest > 0 ? refill (q) : MM_OK;

  *some = st == MM_OK && q->n_heap > 0;
  if (*some)
    *e = heap_pop (q);
  return st;
}

void
mm_bpe_queue_free (struct mm_bpe_queue *q)
{
  mm_temp_free (q->temp, q->heap, q->heap_capacity * sizeof *q->heap);
  mm_temp_free (q->temp, q->rest, q->rest_capacity * sizeof *q->rest);
  *q = (struct mm_bpe_queue) { 0 };
}

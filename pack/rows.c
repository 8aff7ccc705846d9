/* rows.c -- concat, fit and pad: three ways to lay documents into rows.
   SPDX-License-Identifier: Apache-2.0

   A row is filled in a bin.  concat has one bin and lets documents run on from row to row; the
   last token of a row is the first of the next, so that every token but a document's first is a
   target in exactly one row.  pad takes a new bin for each document; fit keeps many open and
   puts a document where the least room would be left.  A document longer than a row is cut under
   pad and fit as well, its pieces sharing a token in the same way.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "rows.h"

enum { OPEN_BINS = 1024 };      /* under fit: how far back a document may still go */
enum { OPEN_BYTES = 32 << 20 }; /* of them all, at most */

struct bin
{
  uint32_t *ids;                /* [T + 1] */
  uint8_t *starts, *mask;
  size_t used;                  /* tokens */
  size_t shared;                /* of them, those that an earlier row or piece has too */
};

struct rows
{
  struct mm_dataset_writer *writer;
  enum mm_split split;
  enum pack_strategy strategy;
  size_t row_tokens;            /* T + 1 */
  uint32_t padding_id;

  /* A ring: bins [first, first + open) modulo n_bins, in the order of their first document, in
     which they are written.  */
  struct bin *bins;
  size_t n_bins, first, open;
  struct rows_counts counts;
};

static struct bin *
bin_at (struct rows *r, size_t i)
{
  return &r->bins[(r->first + i) % r->n_bins];
}

/* Is there something to learn in the row?  */
static uint64_t
count_targets (const struct rows *r, const struct bin *b)
{
  uint64_t n = 0;

  for (size_t i = 1; i < r->row_tokens; i++)
    n += b->mask[i] && !b->starts[i];
  return n;
}

/* Write the first bin's row, or drop it when it has no target, and close the bin.  */
static mm_status
emit (struct rows *r)
{
  struct bin *b = bin_at (r, 0);
  struct rows_counts *counts = &r->counts;
  size_t padding = r->row_tokens - b->used;
  uint64_t targets;

  if (padding > 0)
    {
      for (size_t i = b->used; i < r->row_tokens; i++)
        b->ids[i] = r->padding_id;
      memset (b->starts + b->used, 0, padding);
      memset (b->mask + b->used, 0, padding);
      b->starts[b->used] = 1;
    }
  r->first = (r->first + 1) % r->n_bins;
  r->open--;

  targets = count_targets (r, b);
  if (targets == 0)
    {
      counts->untargeted_rows++;
      counts->untargeted_tokens += b->used - b->shared;
      return MM_OK;
    }
  counts->rows++;
  counts->kept += b->used - b->shared;
  counts->targets += targets;
  counts->padding += padding;
  return mm_dataset_add (r->writer, r->split, b->ids, b->starts, b->mask);
}

/* *B = a new empty bin behind the open ones.  */
static mm_status
open_bin (struct rows *r, struct bin **b)
{
  mm_status st = r->open == r->n_bins ? emit (r) : MM_OK;

  *b = bin_at (r, r->open);
  r->open++;
  (*b)->used = (*b)->shared = 0;
  return st;
}

/* Append COUNT tokens of F from FIRST on to B; a document, or the rest of one, starts there if
   START.  */
static mm_status
append (struct bin *b, struct mm_tokens *f, uint64_t first, size_t count, bool start)
{
  mm_status st = mm_tokens_read (f, first, count, b->ids + b->used, b->mask + b->used);

  if (st < 0)
    return st;
  memset (b->starts + b->used, 0, count);
  b->starts[b->used] = start;
  b->used += count;
  return MM_OK;
}

/* ---- concat ---- */

/* The bin is full: write it and begin the next row with its last token, which counts there if the
   row was dropped.  */
static mm_status
turn_over (struct rows *r)
{
  struct bin *b = bin_at (r, 0);
  size_t last = r->row_tokens - 1;
  uint64_t rows = r->counts.rows;
  mm_status st = emit (r);

  b->ids[0] = b->ids[last];
  b->mask[0] = b->mask[last];
  b->starts[0] = 1;
  b->used = b->shared = 1;
  r->open = 1;
  if (r->counts.rows == rows)
    {
      b->shared = 0;
      r->counts.untargeted_tokens--;
    }
  return st;
}

static mm_status
add_concat (struct rows *r, struct mm_tokens *f, uint64_t first, uint64_t length)
{
  bool start = true;

  while (length > 0)
    {
      struct bin *b = bin_at (r, 0);
      size_t room = r->row_tokens - b->used;
      size_t n = length < room ? (size_t) length : room;
      mm_status st;

      r->open = 1;
      st = append (b, f, first, n, start);
      if (st >= 0 && n == room)
        st = turn_over (r);
      if (st < 0)
        return st;
      first += n;
      length -= n;
      start = false;
    }
  return MM_OK;
}

/* ---- fit and pad ---- */

/* The open bin where COUNT tokens leave the least room, the earliest of such; NULL if none has
   enough.  */
static struct bin *
best_bin (struct rows *r, size_t count)
{
  struct bin *best = NULL;

  for (size_t i = 0; i < r->open; i++)
    {
      struct bin *b = bin_at (r, i);

      if (r->row_tokens - b->used >= count && (!best || b->used > best->used))
        best = b;
    }
  return best;
}

static mm_status
add_whole (struct rows *r, struct mm_tokens *f, uint64_t first, uint64_t length)
{
  size_t shared = 0;

  r->counts.cut += length > r->row_tokens;
  do
    {
      size_t n = length < r->row_tokens ? (size_t) length : r->row_tokens;
      struct bin *b = best_bin (r, n);
      mm_status st = b ? MM_OK : open_bin (r, &b);

      if (st >= 0)
        st = append (b, f, first, n, true);
      if (st < 0)
        return st;
      b->shared += shared;
      shared = 1;
      first += n - 1;
      length -= n - 1;
    }
  while (length > 1);
  return MM_OK;
}

/* ---- the whole ---- */

mm_status
rows_add (struct rows *r, struct mm_tokens *f, uint64_t first, uint64_t length)
{
  struct rows_counts *counts = &r->counts;
  mm_status st;

  counts->documents++;
  counts->tokens += length;
  if (length > counts->longest)
    counts->longest = length;
  if (r->strategy == PACK_CONCAT)
    return add_concat (r, f, first, length);
  if (length == 0)
    return MM_OK;
  st = add_whole (r, f, first, length);
  /* One bin under pad: the document's last row is complete.  */
  return st >= 0 && r->strategy == PACK_PAD ? emit (r) : st;
}

static mm_status
allocate_bins (struct rows *r)
{
  size_t bytes = r->row_tokens * (sizeof *r->bins->ids + 2);
  mm_status st;

  r->n_bins = 1;
  if (r->strategy == PACK_FIT)
    {
      r->n_bins = OPEN_BYTES / bytes + 1;
      r->n_bins = r->n_bins < OPEN_BINS ? r->n_bins : OPEN_BINS;
    }
  st = mm_alloc ("rows", r->n_bins, sizeof *r->bins, &r->bins);
  for (size_t i = 0; st >= 0 && i < r->n_bins; i++)
    {
      struct bin *b = &r->bins[i];

      st = mm_alloc ("rows", r->row_tokens, sizeof *b->ids, &b->ids);
      if (st >= 0)
        st = mm_alloc ("rows", r->row_tokens, 1, &b->starts);
      if (st >= 0)
        st = mm_alloc ("rows", r->row_tokens, 1, &b->mask);
    }
  return st;
}

mm_status
rows_open (const struct pack_config *c, const struct mm_tokenizer *t, struct mm_dataset_writer *w,
           enum mm_split split, struct rows **out)
{
  int32_t padding = mm_tokenizer_pad (t);
  struct rows *r;
  mm_status st;

  *out = NULL;
  if (padding == MM_NO_TOKEN)
    padding = mm_tokenizer_eos (t);
  if (padding == MM_NO_TOKEN && c->strategy != PACK_CONCAT)
    return mm_fail (MM_EFORMAT, "the tokenizer has neither a pad nor an eos token to fill rows "
                    "with; --strategy=concat needs none");
  st = mm_alloc ("rows", 1, sizeof *r, &r);
  if (st < 0)
    return st;
  r->writer = w;
  r->split = split;
  r->strategy = c->strategy;
  r->row_tokens = (size_t) c->seq_len + 1;
  r->padding_id = (uint32_t) padding;
  st = allocate_bins (r);
  if (st < 0)
    {
      rows_abort (r);
      return st;
    }
  *out = r;
  return MM_OK;
}

mm_status
rows_finish (struct rows *r, struct rows_counts *counts)
{
  mm_status st = MM_OK;

  if (r->strategy == PACK_CONCAT)
    r->counts.tail = r->bins[0].used - r->bins[0].shared;
  else
    while (st >= 0 && r->open > 0)
      st = emit (r);
  *counts = r->counts;
  rows_abort (r);
  return st;
}

void
rows_abort (struct rows *r)
{
  if (!r)
    return;
  for (size_t i = 0; r->bins && i < r->n_bins; i++)
    {
      free (r->bins[i].ids);
      free (r->bins[i].starts);
      free (r->bins[i].mask);
    }
  free (r->bins);
  free (r);
}

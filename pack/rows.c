/* rows.c -- concat, fit and pad: three ways to lay documents into rows.
   SPDX-License-Identifier: Apache-2.0

   A row is filled in a bin.  concat has one bin and lets documents run on from row to row; the
   last token of a row is the first of the next, so that every token but a document's first is a
   target in exactly one row.  pad takes a new bin for each document; fit keeps many open and
   puts a document where the least room is left (shelf.c finds it).  A document longer than a row is cut
   under pad and fit as well, its pieces sharing a token in the same way; but a conversation is cut
   behind the last answer that fits whole, so that the next piece begins with a question, and no token is shared
   there.

   Counting takes the same way as writing, without ids: so the plan knows every row beforehand.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "rows.h"
#include "shelf.h"

enum { OPEN_BINS = 2048 };      /* under fit: how far back a document may still go */

struct bin
{
  uint8_t *ids;                 /* [T + 1] of the sink's width */
  uint8_t *starts, *mask;       /* [T + 1]; all three NULL where rows are counted, mask where none is kept */
  size_t used;                  /* tokens */
  size_t shared;                /* of them, those that an earlier row or piece has too */
  uint64_t targets;
};

struct rows
{
  struct rows_options o;
  bool dry;                     /* nothing is written */
  size_t row_tokens;            /* T + 1 */
  uint8_t *mask;                /* [T + 1], of a piece that is only counted */

  /* A ring: bins [first, first + open) modulo n_bins, in the order of their first document, in
     which they are written.  */
  struct bin *bins;
  size_t n_bins, first, open;
  struct shelf *shelf;          /* fit: the open ones by their room */
  struct rows_counts counts;
};

void
rows_counts_add (struct rows_counts *sum, const struct rows_counts *n)
{
  sum->rows += n->rows;
  sum->documents += n->documents;
  sum->tokens += n->tokens;
  sum->longest = n->longest > sum->longest ? n->longest : sum->longest;
  sum->cut += n->cut;
  sum->kept += n->kept;
  sum->targets += n->targets;
  sum->padding += n->padding;
  sum->tail += n->tail;
  sum->untargeted_rows += n->untargeted_rows;
  sum->untargeted_tokens += n->untargeted_tokens;
}

/* ---- bins ---- */

static void
fill_up (const struct rows *r, struct bin *b)
{
  size_t padding = r->row_tokens - b->used, width = r->o.width;

  if (padding == 0)
    return;
  for (size_t i = b->used; i < r->row_tokens; i++)
    for (size_t byte = 0; byte < width; byte++)
      b->ids[i * width + byte] = (uint8_t) (r->o.padding_id >> 8 * byte);
  memset (b->starts + b->used, 0, padding);
  b->starts[b->used] = 1;
  if (b->mask)
    memset (b->mask + b->used, 0, padding);
}

/* Write the first bin's row, or drop it when it has no target, and close the bin.  */
static mm_status
emit (struct rows *r)
{
  struct bin *b = &r->bins[r->first];
  struct rows_counts *counts = &r->counts;

  if (r->shelf)
    shelf_remove (r->shelf, r->first, r->row_tokens - b->used);
  r->first = r->first + 1 < r->n_bins ? r->first + 1 : 0;
  r->open--;
  if (b->targets == 0)
    {
      counts->untargeted_rows++;
      counts->untargeted_tokens += b->used - b->shared;
      return MM_OK;
    }
  counts->rows++;
  counts->kept += b->used - b->shared;
  counts->targets += b->targets;
  counts->padding += r->row_tokens - b->used;
  if (r->dry)
    return MM_OK;
  fill_up (r, b);
  return mm_dataset_add_packed (r->o.sink.dataset, r->o.split, b->ids, b->starts, b->mask);
}

/* *B = a new empty bin behind the open ones.  */
static mm_status
open_bin (struct rows *r, size_t *b)
{
  mm_status st = r->open == r->n_bins ? emit (r) : MM_OK;

  *b = r->first + r->open;
  *b = *b < r->n_bins ? *b : *b - r->n_bins;
  r->open++;
  r->bins[*b].used = r->bins[*b].shared = 0;
  r->bins[*b].targets = 0;
  if (r->shelf)
    shelf_add (r->shelf, *b, r->row_tokens);
  return st;
}

/* Append COUNT tokens of F from FIRST on to B; a document, or the rest of one, starts there if
   START.  */
static mm_status
append (struct rows *r, struct bin *b, struct mm_tokens *f, uint64_t first, size_t count, bool start)
{
  bool masked = mm_tokens_has_mask (f);
  uint8_t *mask = b->mask ? b->mask + b->used : masked ? r->mask : NULL;
  mm_status st = MM_OK;
  uint64_t targets = count - start;

  if (!r->dry || masked)
    st = mm_tokens_read_packed (f, first, count, r->dry ? NULL : b->ids + b->used * r->o.width, mask);
  if (st < 0)
    return st;
  if (masked)
    {
      targets = 0;
      for (size_t i = start; i < count; i++)
        targets += mask[i];
    }
  if (!r->dry)
    {
      memset (b->starts + b->used, 0, count);
      b->starts[b->used] = start;
    }
  b->used += count;
  b->targets += targets;
  return MM_OK;
}

/* ---- concat ---- */

/* The bin is full: write it and begin the next row with its last token, which counts there if the
   row was dropped.  */
static mm_status
turn_over (struct rows *r)
{
  struct bin *b = &r->bins[0];
  size_t last = r->row_tokens - 1, width = r->o.width;
  uint64_t rows = r->counts.rows;
  mm_status st = emit (r);

  if (!r->dry)
    {
      memcpy (b->ids, b->ids + last * width, width);
      b->starts[0] = 1;
      if (b->mask)
        b->mask[0] = b->mask[last];
    }
  b->used = b->shared = 1;
  b->targets = 0;
  r->open = 1;
  if (r->counts.rows == rows)
    {
      b->shared = 0;
      r->counts.untargeted_tokens--;
    }
  return st;
}

static mm_status
take_concat (struct rows *r, struct document *d)
{
  struct bin *b = &r->bins[0];
  uint64_t left = d->length - d->at;
  size_t room = r->row_tokens - b->used, n = left < room ? (size_t) left : room;
  mm_status st;

  r->open = 1;
  if (n == 0)
    return MM_OK;
  st = append (r, b, d->file, d->first + d->at, n, d->at == 0);
  d->at += n;
  return st >= 0 && n == room ? turn_over (r) : st;
}

/* ---- fit and pad ---- */

/* *TURN = where the last turn behind FROM and up to LIMIT begins that follows an answer, which its last token tells: a
   target; FROM if there is none.  */
static mm_status
find_question (struct mm_tokens *f, uint64_t from, uint64_t limit, uint64_t *turn)
{
  uint8_t answered = 0;
  mm_status st = mm_tokens_turn_before (f, from, limit, turn);

  while (st >= 0 && *turn > from && !answered)
    {
      st = mm_tokens_read_packed (f, *turn - 1, 1, NULL, &answered);
      if (st >= 0 && !answered)
        st = mm_tokens_turn_before (f, from, *turn - 1, turn);
    }
  return st;
}

/* Tokens of the next piece of D, which is longer than a row; *SHARES if the piece after it begins with its
   last token.  */
static mm_status
cut (const struct rows *r, const struct document *d, size_t *n, bool *shares)
{
  uint64_t from = d->first + d->at, turn;
  mm_status st = find_question (d->file, from, from + r->row_tokens, &turn);

  *shares = turn == from;
  *n = *shares ? r->row_tokens : (size_t) (turn - from);
  return st;
}

static mm_status
take_whole (struct rows *r, struct document *d)
{
  uint64_t left = d->length - d->at;
  size_t n = (size_t) left, bin = 0;
  bool shares = false, found;
  struct bin *b;
  mm_status st = MM_OK;

  if (left == 0)
    return MM_OK;
  if (left > r->row_tokens)
    st = cut (r, d, &n, &shares);
  if (st < 0)
    return st;
  found = r->shelf && shelf_find (r->shelf, n, &bin);
  if (!found)
    st = open_bin (r, &bin);
  b = &r->bins[bin];
  if (st >= 0 && r->shelf)
    shelf_move (r->shelf, bin, r->row_tokens - b->used, r->row_tokens - b->used - n);
  if (st >= 0)
    st = append (r, b, d->file, d->first + d->at, n, true);
  b->shared += d->shares;
  d->shares = shares;
  d->at += n - shares;
  return st >= 0 && r->o.strategy == PACK_PAD ? emit (r) : st;
}

/* ---- the whole ---- */

void
rows_begin (struct rows *r, const struct document *d)
{
  struct rows_counts *counts = &r->counts;

  counts->documents++;
  counts->tokens += d->length;
  if (d->length > counts->longest)
    counts->longest = d->length;
  counts->cut += r->o.strategy != PACK_CONCAT && d->length > r->row_tokens;
}

/* For llm.c's files documents go as they are.  */
static mm_status
take_stream (struct rows *r, struct document *d)
{
  mm_status st = r->dry ? MM_OK : llmc_add (r->o.sink.llmc, r->o.split, d->file, d->first, d->length);

  r->counts.kept += d->length;
  r->counts.targets += d->length > 0 ? d->length - 1 : 0;
  d->at = d->length;
  return st;
}

mm_status
rows_take (struct rows *r, struct document *d)
{
  if (r->o.format == PACK_LLMC)
    return take_stream (r, d);
  return r->o.strategy == PACK_CONCAT ? take_concat (r, d) : take_whole (r, d);
}

mm_status
rows_flush (struct rows *r, bool *more)
{
  *more = r->o.strategy == PACK_FIT && r->open > 0;
  return *more ? emit (r) : MM_OK;
}

struct rows_counts
rows_count (const struct rows *r)
{
  struct rows_counts counts = r->counts;

  for (size_t i = 0; i < r->open; i++)
    {
      const struct bin *b = &r->bins[(r->first + i) % r->n_bins];

      counts.tail += b->used - b->shared;
    }
  return counts;
}

uint64_t
rows_targets (const struct rows *r)
{
  return r->counts.targets;
}

static mm_status
allocate_bin (const struct rows *r, struct bin *b)
{
  mm_status st = mm_alloc ("rows", r->row_tokens, r->o.width, &b->ids);

  if (st >= 0)
    st = mm_alloc ("rows", r->row_tokens, 1, &b->starts);
  if (st >= 0 && r->o.with_mask)
    st = mm_alloc ("rows", r->row_tokens, 1, &b->mask);
  return st;
}

static mm_status
allocate_bins (struct rows *r)
{
  size_t bytes = r->row_tokens * (r->o.width + 2);
  mm_status st;

  r->n_bins = 1;
  if (r->o.strategy == PACK_FIT)
    {
      r->n_bins = r->o.memory / bytes + 1;
      r->n_bins = r->n_bins < OPEN_BINS ? r->n_bins : OPEN_BINS;
    }
  st = mm_alloc ("rows", r->n_bins, sizeof *r->bins, &r->bins);
  if (st >= 0)
    st = mm_alloc ("rows", r->row_tokens, 1, &r->mask);
  for (size_t i = 0; st >= 0 && !r->dry && i < r->n_bins; i++)
    st = allocate_bin (r, &r->bins[i]);
  if (st >= 0 && r->o.strategy == PACK_FIT)
    st = shelf_open (r->n_bins, r->row_tokens, &r->shelf);
  return st;
}

mm_status
rows_open (const struct rows_options *o, struct rows **out)
{
  struct rows *r;
  mm_status st = mm_alloc ("rows", 1, sizeof *r, &r);

  *out = NULL;
  if (st < 0)
    return st;
  r->o = *o;
  r->dry = !o->sink.dataset && !o->sink.llmc;
  r->row_tokens = (size_t) o->seq_len + 1;
  st = allocate_bins (r);
  if (st < 0)
    rows_close (r);
  else
    *out = r;
  return st;
}

void
rows_close (struct rows *r)
{
  if (!r)
    return;
  for (size_t i = 0; r->bins && i < r->n_bins; i++)
    {
      free (r->bins[i].ids);
      free (r->bins[i].starts);
      free (r->bins[i].mask);
    }
  shelf_close (r->shelf);
  free (r->mask);
  free (r->bins);
  free (r);
}

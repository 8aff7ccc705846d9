/* rows.h -- documents into rows, by one of the strategies.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_ROWS_H
#define PACK_ROWS_H

#include <minimind/dataset.h>
#include <minimind/tokens.h>

#include "llmc.h"
#include "pack.h"

/* What became of the tokens given: tokens = kept + tail + those in rows without a target.  */
struct rows_counts
{
  uint64_t rows;
  uint64_t documents, tokens;   /* given */
  uint64_t longest;             /* document, tokens */
  uint64_t cut;                 /* documents that did not fit one row (not under concat) */
  uint64_t kept;                /* tokens in rows; one that two rows share counts in the first */
  uint64_t targets;
  uint64_t padding;             /* tokens */
  uint64_t tail;                /* tokens of rows not complete at the end, dropped */
  uint64_t untargeted_rows, untargeted_tokens;  /* dropped: nothing there to train on */
};

void rows_counts_add (struct rows_counts *sum, const struct rows_counts *n);

/* Where rows go.  */
struct rows_sink
{
  struct mm_dataset_writer *dataset;    /* or NULL */
  struct llmc_writer *llmc;     /* or NULL; both NULL: rows are only counted */
};

/* A document, or a part of one, on its way into rows.  */
struct document
{
  struct mm_tokens *file;
  uint64_t first, length;       /* tokens */
  uint64_t at;                  /* tokens that are in rows; the document is done at LENGTH */
  bool shares;                  /* the next piece begins with the last token of the one before */
};

struct rows_options
{
  enum pack_strategy strategy;
  enum pack_format format;
  uint32_t seq_len;             /* T */
  size_t width;                 /* bytes an id, as mm_tokens_width */
  bool with_mask;               /* rows carry a loss mask */
  uint32_t padding_id;          /* fills rows up */
  size_t memory;                /* bytes of open rows, at most, under fit */
  enum mm_split split;
  struct rows_sink sink;
};

struct rows;

mm_status rows_open (const struct rows_options *o, struct rows **r) MM_NODISCARD;
void rows_close (struct rows *r);       /* accepts NULL */

/* A document is to come.  */
void rows_begin (struct rows *r, const struct document *d);

/* Take the next piece of D, a row's worth at most (all of it for llm.c's files); rows go to the sink as they
   fill.  Where nothing is written the ids are not read.  */
mm_status rows_take (struct rows *r, struct document *d) MM_NODISCARD;

/* Under fit: the oldest row that is open goes to the sink; *MORE is false when there was none.  concat has
   nothing to give: its row is not full.  */
mm_status rows_flush (struct rows *r, bool *more) MM_NODISCARD;

/* So far; tail holds what is in open rows.  */
struct rows_counts rows_count (const struct rows *r);

/* Of it, the targets: at no cost.  */
uint64_t rows_targets (const struct rows *r);

#endif /* PACK_ROWS_H */

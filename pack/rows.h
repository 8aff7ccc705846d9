/* rows.h -- documents of one split into its rows, by one of the strategies.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_ROWS_H
#define PACK_ROWS_H

#include <minimind/dataset.h>
#include <minimind/tokens.h>

#include "pack.h"

/* What became of the split's tokens: tokens = kept + tail + those in rows without a target.  */
struct rows_counts
{
  uint64_t rows;
  uint64_t documents, tokens;   /* given */
  uint64_t longest;             /* document, tokens */
  uint64_t cut;                 /* documents that did not fit one row (not under concat) */
  uint64_t kept;                /* tokens in rows; one that two rows share counts in the first */
  uint64_t targets;
  uint64_t padding;             /* tokens */
  uint64_t tail;                /* tokens of the short last row, dropped under concat */
  uint64_t untargeted_rows, untargeted_tokens;  /* dropped: nothing there to train on */
};

struct rows;

/* Rows go to SPLIT of W as they fill.  T is the tokenizer: its pad, else its eos fills rows up;
   MM_EFORMAT where the strategy pads and there is neither.  */
mm_status rows_open (const struct pack_config *c, const struct mm_tokenizer *t,
                     struct mm_dataset_writer *w, enum mm_split split, struct rows **r) MM_NODISCARD;

/* The next document, or a part of one: LENGTH tokens of F from FIRST on.  */
mm_status rows_add (struct rows *r, struct mm_tokens *f, uint64_t first, uint64_t length) MM_NODISCARD;

/* What is left, then *COUNTS.  Frees R whatever the result.  */
mm_status rows_finish (struct rows *r, struct rows_counts *counts) MM_NODISCARD;
void rows_abort (struct rows *r);       /* accepts NULL */

#endif /* PACK_ROWS_H */

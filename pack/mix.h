/* mix.h -- all sources into rows, in the order in which these stand.
   SPDX-License-Identifier: Apache-2.0

   The next piece is always taken from the source whose targets are fewest for its weight, so that any
   stretch of rows has about the mix.  A source that ends begins anew, until each was read once: the
   one that is largest for its weight is read once, the others as often as that takes.  */

#ifndef PACK_MIX_H
#define PACK_MIX_H

#include "plan.h"
#include "rows.h"

struct mix_counts
{
  struct rows_counts splits[2]; /* by enum mm_split; of all sources */
  struct rows_counts *sources;  /* [n_sources], of the training rows */
};

/* Lay all documents into rows that go to SINK; where it is empty they are only counted.  EXPECTED rows stand in
   the report of progress.  *COUNTS has been allocated by mix_counts_new.  MM_EFORMAT for a source without a target
   in a mix; MM_EFORMAT where rows are to be filled up and the tokenizer has neither pad nor eos.  */
mm_status mix_run (struct corpus *c, const struct plan *p, const struct rows_sink *sink, uint64_t expected,
                   struct mix_counts *counts) MM_NODISCARD;

mm_status mix_counts_new (const struct corpus *c, struct mix_counts *counts) MM_NODISCARD;
void mix_counts_free (struct mix_counts *counts);

#endif /* PACK_MIX_H */

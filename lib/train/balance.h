/* balance.h -- deal micro-batches to ranks by their speed.
   SPDX-License-Identifier: Apache-2.0

   Which rank runs which micro-batch shows in no bit (docs/numerics.md), only in the time.  */

#ifndef MM_TRAIN_BALANCE_H
#define MM_TRAIN_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_balance
{
  int ranks;
  double *seconds;              /* [ranks] a micro-batch takes, averaged over the last steps; all 0 at the start */
  uint64_t *counts;             /* [ranks] micro-batches of a full window */
  double *measured;             /* [ranks] what all say of a step */
  uint64_t *scratch;            /* [ranks] */
};

/* For windows of MICRO_BATCHES >= RANKS, dealt evenly to begin with.  */
mm_status mm_balance_open (int ranks, uint64_t micro_batches, struct mm_balance *b) MM_NODISCARD;
void mm_balance_close (struct mm_balance *b);   /* accepts a zeroed one */

/* COUNTS [RANKS] add up to MICRO_BATCHES and let the slowest rank, at SECONDS [RANKS] (> 0) a micro-batch, finish as
   early as can be; at least one each, as far as they go, so that every rank goes on being measured.  */
void mm_balance_deal (const double *seconds, int ranks, uint64_t micro_batches, uint64_t *counts);

/* A step took MEASURED [ranks] seconds a micro-batch, 0 where a rank had none.  Deals anew if the slowest rank is then
   expected to finish by more than a twentieth earlier: true if so.  The same on all ranks for the same figures.  */
bool mm_balance_note (struct mm_balance *b, const double *measured);

/* The part of a window of MICRO_BATCHES that is RANK's: a short one is dealt in the proportions of a full one.  */
void mm_balance_share (const struct mm_balance *b, int rank, uint64_t micro_batches, uint64_t *first,
                       uint64_t *count);

#endif /* MM_TRAIN_BALANCE_H */

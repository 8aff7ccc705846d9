/* validate.c -- the loss on rows that training does not see.
   SPDX-License-Identifier: Apache-2.0

   It has a loader and an order of its own, and runs the forward pass only: training goes on as if it had
   not been.  */

#include <config.h>

#include <math.h>

#include <minimind/ops.h>

#include "trainer.h"

/* Losses add up in steps of 2^-14 here: a large validation set would wrap the finer sum, and this is
   exact enough for a mean.  Integers, so that the number of ranks does not show.  */
enum { COARSE_BITS = 14, DROPPED_BITS = MM_FIXED_BITS - COARSE_BITS };

static mm_status
sum_losses (struct mm_trainer *t, struct mm_loader *loader, int64_t sums[3])
{
  const struct mm_batch *b;

  for (;;)
    {
      struct mm_loss loss = { 0 };
      mm_status st = mm_loader_next (loader, 0, &b, NULL);

      if (st < 0 || !b)
        return st;
      st = mm_model_evaluate (t->pass, b, &loss, NULL);
      if (st < 0)
        return st;
      sums[0] += (loss.sum + (INT64_C (1) << (DROPPED_BITS - 1))) >> DROPPED_BITS;
      sums[1] += (int64_t) loss.n_targets;
      sums[2] += loss.overflow != 0;
    }
}

mm_status
mm_trainer_validate (struct mm_trainer *t, double *loss, uint64_t *targets)
{
  uint64_t rows = mm_dataset_rows (t->data, MM_VALIDATION);
  struct mm_order order = { .rows = rows, .global_batch = rows,
                            .micro_batch = t->plan.order.micro_batch };
  struct mm_loader *loader = NULL;
  int64_t sums[3] = { 0 };
  mm_status st = mm_loader_open (t->data, MM_VALIDATION, &order, 0, mm_comm_rank (t->comm),
                                 mm_comm_size (t->comm), &loader);

  if (st == MM_OK)
    st = sum_losses (t, loader, sums);
  mm_loader_close (loader);
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK)
    st = mm_comm_sum_i64 (t->comm, sums, 3);
  if (st < 0)
    return st;
  *targets = (uint64_t) sums[1];
  *loss = sums[2] ? NAN : ldexp ((double) sums[0], -COARSE_BITS) / (double) sums[1];
  return MM_OK;
}

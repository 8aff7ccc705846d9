/* order.c -- which samples make up a step: arithmetic on the step alone, nothing to replay.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/batch.h>

uint64_t
mm_order_windows (const struct mm_order *o)
{
  return o->rows / o->global_batch + (o->rows % o->global_batch != 0);
}

void
mm_order_window (const struct mm_order *o, uint64_t step, uint64_t *epoch, uint64_t *first,
                 uint64_t *count)
{
  uint64_t windows = mm_order_windows (o);
  uint64_t left;

  *epoch = step / windows;
  *first = step % windows * o->global_batch;
  left = o->rows - *first;
  *count = left < o->global_batch ? left : o->global_batch;
}

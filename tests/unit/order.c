/* Windows cut an epoch without gap or overlap, for any step.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/batch.h>

#include "../tap.h"

/* Do the windows of epoch EPOCH cover its samples in order?  */
static bool
covers (const struct mm_order *o, uint64_t epoch)
{
  uint64_t windows = mm_order_windows (o), at = 0;

  for (uint64_t w = 0; w < windows; w++)
    {
      uint64_t e, first, count;

      mm_order_window (o, epoch * windows + w, &e, &first, &count);
      if (e != epoch || first != at || count == 0 || count > o->global_batch
          || (w + 1 < windows && count != o->global_batch))
        return false;
      at += count;
    }
  return at == o->rows;
}

int
main (void)
{
  bool all = true;
  uint64_t epoch, first, count;
  struct mm_order o = { .rows = 10, .global_batch = 4, .micro_batch = 3 };

  ok (mm_order_windows (&o) == 3, "10 rows by 4 are 3 windows");
  mm_order_window (&o, 2, &epoch, &first, &count);
  ok (epoch == 0 && first == 8 && count == 2, "the last window of an epoch is short");
  mm_order_window (&o, 3, &epoch, &first, &count);
  ok (epoch == 1 && first == 0 && count == 4, "then the next epoch begins");
  mm_order_window (&o, UINT64_C (3) << 60, &epoch, &first, &count);
  ok (epoch == UINT64_C (1) << 60 && first == 0 && count == 4, "a far step costs nothing");

  o.global_batch = 64;
  mm_order_window (&o, 5, &epoch, &first, &count);
  ok (mm_order_windows (&o) == 1 && epoch == 5 && first == 0 && count == 10,
      "fewer rows than a window are one window");

  for (o.rows = 1; o.rows <= 40; o.rows++)
    for (o.global_batch = 1; o.global_batch <= 41; o.global_batch++)
      all = all && covers (&o, 0) && covers (&o, 7);
  ok (all, "windows cover each epoch once for all sizes to 40");
  o.rows = UINT64_MAX;
  o.global_batch = 2;
  ok (mm_order_windows (&o) == UINT64_C (1) << 63, "the number of windows does not wrap");
  return tap_done ();
}

/* balance.h (lib/train): dealing by speed is as good as can be, shares cover a window, noise changes nothing.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>

#include <train/balance.h>

#include "../tap.h"

enum { MOST = 12 };

static double
last_end (const double *seconds, int ranks, const uint64_t *counts)
{
  double last = 0;

  for (int r = 0; r < ranks; r++)
    last = fmax (last, seconds[r] * (double) counts[r]);
  return last;
}

/* The earliest end of all ways to deal LEFT micro-batches to RANKS ranks, one each at least.  */
static double
best_end (const double *seconds, int ranks, uint64_t left)
{
  double best = INFINITY;

  if (ranks == 1)
    return seconds[0] * (double) left;
  for (uint64_t n = 1; n + (uint64_t) ranks - 1 <= left; n++)
    best = fmin (best, fmax (seconds[0] * (double) n, best_end (seconds + 1, ranks - 1, left - n)));
  return best;
}

static void
test_deal (void)
{
  bool whole = true, best = true, some = true;
  uint64_t counts[MOST];

  srand (1);
  for (int i = 0; i < 2000; i++)
    {
      int ranks = 1 + rand () % 4;
      uint64_t micro_batches = (uint64_t) (ranks + rand () % 9), sum = 0;
      double seconds[MOST];

      for (int r = 0; r < ranks; r++)
        seconds[r] = i % 3 ? 1 + rand () % 20 : 1e-3 * (1 + rand () % 3);
      mm_balance_deal (seconds, ranks, micro_batches, counts);
      for (int r = 0; r < ranks; r++)
        {
          sum += counts[r];
          some &= counts[r] > 0;
        }
      whole &= sum == micro_batches;
      best &= last_end (seconds, ranks, counts) <= best_end (seconds, ranks, micro_batches) * (1 + 1e-12);
    }
  ok (whole, "all micro-batches are dealt");
  ok (some, "every rank has some");
  ok (best, "no other way lets the slowest rank finish earlier");
}

static void
test_note (void)
{
  static const double even[] = { 1, 1, 1 }, noisy[] = { 1, 1.04, 0.97 }, slow[] = { 1, 3, 0 }, none[] = { 0, 0, 2 };
  struct mm_balance b;

  if (mm_balance_open (3, 8, &b) < 0)
    exit (99);
  ok (b.counts[0] == 3 && b.counts[1] == 3 && b.counts[2] == 2, "even to begin with");
  ok (!mm_balance_note (&b, none), "nothing changes before all ranks have been measured");
  ok (!mm_balance_note (&b, even), "nor where they are equal, nearly");
  mm_balance_close (&b);
  if (mm_balance_open (3, 8, &b) < 0)
    exit (99);
  ok (!mm_balance_note (&b, even) && !mm_balance_note (&b, noisy) && b.counts[1] == 3, "noise changes nothing");
  ok (mm_balance_note (&b, slow), "a rank that is three times slower does");
  for (int i = 0; i < 10; i++)
    mm_balance_note (&b, slow);
  ok (b.counts[0] + b.counts[2] == 7 && b.counts[1] == 1, "it has one of eight; who ran none keeps its speed");
  mm_balance_close (&b);
  mm_balance_close (&b);
}

static void
test_share (void)
{
  struct mm_balance b;
  bool covered = true;

  if (mm_balance_open (4, 10, &b) < 0)
    exit (99);
  b.counts[0] = 5;
  b.counts[1] = 1;
  b.counts[2] = 1;
  b.counts[3] = 3;
  for (uint64_t n = 0; n <= 10; n++)
    {
      uint64_t next = 0, first, count;

      for (int r = 0; r < 4; r++)
        {
          mm_balance_share (&b, r, n, &first, &count);
          covered &= first == next && (n < 10 || count == b.counts[r]);
          next = first + count;
        }
      covered &= next == n;
    }
  ok (covered, "shares cover full and short windows");
  mm_balance_close (&b);
}

int
main (void)
{
  test_deal ();
  test_note ();
  test_share ();
  return tap_done ();
}

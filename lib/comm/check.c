/* check.c -- known sums through every operation, before anything depends on them.
   SPDX-License-Identifier: Apache-2.0

   Whole numbers that float32 holds exactly, so that both types have one right answer.  Sizes that no grain
   divides, so that parts are uneven.  */

#include <config.h>

#include <stdio.h>

#include "impl.h"

enum { COUNT = 10007, GRAIN = 16 };

/* What rank RANK has at position I: below 2^12, whatever the number of ranks.  */
static int
value (int rank, size_t i)
{
  return (int) (((unsigned) rank * 7919u + (unsigned) i * 104729u) % 4093u);
}

/* Their sum over SIZE ranks.  */
static int64_t
total (int size, size_t i)
{
  int64_t sum = 0;

  for (int r = 0; r < size; r++)
    sum += value (r, i);
  return sum;
}

static mm_status
fail (const char *what, size_t i, double found, double want)
{
  return mm_fail (MM_EDEVICE, "%s over the ranks is wrong: element %zu is %.17g, want %.17g", what, i, found, want);
}

static mm_status
check_sums (struct mm_comm *c)
{
  static int64_t integers[COUNT];
  static float floats[COUNT];
  mm_status st;

  for (size_t i = 0; i < COUNT; i++)
    floats[i] = (float) (integers[i] = value (c->rank, i));
  st = mm_comm_sum_i64 (c, integers, COUNT);
  if (st == MM_OK)
    st = mm_comm_sum_f32 (c, floats, COUNT);
  for (size_t i = 0; i < COUNT && st == MM_OK; i++)
    if (integers[i] != total (c->size, i))
      st = fail ("a sum of integers", i, (double) integers[i], (double) total (c->size, i));
    else if (floats[i] != (float) total (c->size, i))
      st = fail ("a sum of floats", i, floats[i], (double) total (c->size, i));
  return st;
}

/* Reduce-scatter and all-gather together make a sum; a broadcast then changes nothing.  */
static mm_status
check_parts (struct mm_comm *c)
{
  static int64_t data[COUNT];
  mm_status st;

  for (size_t i = 0; i < COUNT; i++)
    data[i] = value (c->rank, i);
  st = mm_comm_reduce_scatter_i64 (c, data, COUNT, GRAIN);
  if (st == MM_OK)
    st = mm_comm_all_gather (c, data, COUNT, sizeof *data, GRAIN);
  if (st == MM_OK)
    st = mm_comm_broadcast (c, data, sizeof data, c->size - 1);
  for (size_t i = 0; i < COUNT && st == MM_OK; i++)
    if (data[i] != total (c->size, i))
      st = fail ("a sum by parts", i, (double) data[i], (double) total (c->size, i));
  return st;
}

/* A sum under way, in pieces.  */
static mm_status
check_flow (struct mm_comm *c)
{
  static int64_t data[COUNT];
  mm_status st = mm_comm_begin_i64 (c, data, COUNT, 0, COUNT / 5);

  for (size_t i = COUNT; i > 0 && st == MM_OK;)
    {
      size_t next = i > COUNT / 3 ? i - COUNT / 3 : 0;

      while (i > next)
        {
          i--;
          data[i] = value (c->rank, i);
        }
      st = mm_comm_hand_over (c, i);
    }
  if (st == MM_OK)
    st = mm_comm_end (c);
  for (size_t i = 0; i < COUNT && st == MM_OK; i++)
    if (data[i] != total (c->size, i))
      st = fail ("a sum under way", i, (double) data[i], (double) total (c->size, i));
  return st;
}

mm_status
mm_comm_check (struct mm_comm *c)
{
  mm_status st = check_sums (c);

  if (st == MM_OK)
    st = check_parts (c);
  if (st == MM_OK)
    st = check_flow (c);
  /* A failed call leaves nothing to agree with.  */
  return st == MM_OK || st == MM_EDEVICE ? mm_comm_agree (c, st) : st;
}

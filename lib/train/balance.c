/* balance.c -- deal micro-batches to ranks by their speed.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "trainer.h"

static const double newest_weight = 0.5;        /* of a step's figure in the average */
static const double worth_it = 0.95;    /* of the time expected: noise alone does not deal anew */

mm_status
mm_balance_open (int ranks, uint64_t micro_batches, struct mm_balance *b)
{
  size_t n = (size_t) ranks;
  mm_status st;

  *b = (struct mm_balance) { .ranks = ranks };
  st = mm_alloc ("speeds of ranks", n, sizeof *b->seconds, &b->seconds);
  if (st == MM_OK)
    st = mm_alloc ("speeds of ranks", n, sizeof *b->measured, &b->measured);
  if (st == MM_OK)
    st = mm_alloc ("shares of ranks", n, sizeof *b->counts, &b->counts);
  if (st == MM_OK)
    st = mm_alloc ("shares of ranks", n, sizeof *b->scratch, &b->scratch);
  for (int r = 0; r < ranks && st == MM_OK; r++)
    b->counts[r] = micro_batches / n + ((size_t) r < micro_batches % n);
  return st;
}

void
mm_balance_close (struct mm_balance *b)
{
  free (b->seconds);
  free (b->measured);
  free (b->counts);
  free (b->scratch);
  *b = (struct mm_balance) { 0 };
}

/* The rank that would finish first with one more, or (not MORE) of those with two or more the one that finishes
   last; the lowest among equals.  */
static int
find_rank (const double *seconds, int ranks, const uint64_t *counts, bool more)
{
  int found = -1;
  double best = 0;

  for (int r = 0; r < ranks; r++)
    {
      double end = seconds[r] * (double) (counts[r] + more);

      if ((more || counts[r] > 1) && (found < 0 || (more ? end < best : end > best)))
        {
          found = r;
          best = end;
        }
    }
  return found;
}

void
mm_balance_deal (const double *seconds, int ranks, uint64_t micro_batches, uint64_t *counts)
{
  double speed = 0;
  uint64_t dealt = 0;
  int r;

  for (r = 0; r < ranks; r++)
    speed += 1 / seconds[r];
  for (r = 0; r < ranks; r++)
    {
      counts[r] = (uint64_t) ((double) micro_batches / seconds[r] / speed);
      if (counts[r] == 0)
        counts[r] = 1;
      dealt += counts[r];
    }
  for (; dealt < micro_batches; dealt++)
    counts[find_rank (seconds, ranks, counts, true)]++;
  for (; dealt > micro_batches && (r = find_rank (seconds, ranks, counts, false)) >= 0; dealt--)
    counts[r]--;
}

/* When the last rank is done.  */
static double
last_end (const double *seconds, int ranks, const uint64_t *counts)
{
  double last = 0;

  for (int r = 0; r < ranks; r++)
    if (seconds[r] * (double) counts[r] > last)
      last = seconds[r] * (double) counts[r];
  return last;
}

bool
mm_balance_note (struct mm_balance *b, const double *measured)
{
  uint64_t total = 0, *old = b->counts;

  for (int r = 0; r < b->ranks; r++)
    {
      if (measured[r] > 0)
        b->seconds[r] = b->seconds[r] > 0 ? b->seconds[r] + newest_weight * (measured[r] - b->seconds[r]) : measured[r];
      if (!(b->seconds[r] > 0))
        return false;           /* not all have been measured */
      total += b->counts[r];
    }
  mm_balance_deal (b->seconds, b->ranks, total, b->scratch);
  if (last_end (b->seconds, b->ranks, b->scratch) >= worth_it * last_end (b->seconds, b->ranks, old))
    return false;
  b->counts = b->scratch;
  b->scratch = old;
  return true;
}

void
mm_balance_share (const struct mm_balance *b, int rank, uint64_t micro_batches, uint64_t *first, uint64_t *count)
{
  uint64_t total = 0, before = 0, behind;

  for (int r = 0; r < b->ranks; r++)
    {
      before += r < rank ? b->counts[r] : 0;
      total += b->counts[r];
    }
  behind = before + b->counts[rank];
  *first = before * micro_batches / total;
  *count = behind * micro_batches / total - *first;
}

/* ---- in a run ---- */

static void
share_of_window (const struct mm_trainer *t, uint64_t step, uint64_t *first, uint64_t *count)
{
  uint64_t epoch, sample, samples, m = t->plan.order.micro_batch;

  mm_order_window (&t->plan.order, step, &epoch, &sample, &samples);
  mm_balance_share (&t->balance, mm_comm_rank (t->comm), samples / m + (samples % m != 0), first, count);
}

mm_status
mm_trainer_open_loader (struct mm_trainer *t)
{
  const struct mm_order *order = &t->plan.order;
  int ranks = mm_comm_size (t->comm);
  uint64_t first, count;
  mm_status st;

  if (!t->plan.balance)
    return mm_loader_open (t->data, MM_TRAIN, order, t->first, mm_comm_rank (t->comm), ranks, &t->loader);
  st = mm_balance_open (ranks, t->plan.micro_batches, &t->balance);
  if (st < 0)
    return st;
  share_of_window (t, t->first, &first, &count);
  return mm_loader_open_shared (t->data, MM_TRAIN, order, t->first, first, count, &t->loader);
}

mm_status
mm_trainer_deal (struct mm_trainer *t)
{
  uint64_t next = t->state.step + 1, first, count;

  if (!t->plan.balance)
    return MM_OK;
  share_of_window (t, next, &first, &count);
  return mm_loader_share (t->loader, next, first, count);
}

/* Into the log, and for those who want to see more.  */
static void
tell_shares (struct mm_trainer *t)
{
  json_t *counts = json_array ();
  char text[200] = "";
  size_t used = 0;

  for (int r = 0; r < t->balance.ranks; r++)
    {
      json_array_append_new (counts, json_integer ((json_int_t) t->balance.counts[r]));
      if (used < sizeof text)
        used += (size_t) snprintf (text + used, sizeof text - used, "%s%" PRIu64, r ? ", " : "", t->balance.counts[r]);
    }
  mm_verbose ("step %" PRIu64 ": micro-batches of the ranks from now on: %s", t->state.step + 1, text);
  if (t->log)
    mm_runlog_event (t->log, "balance", json_pack ("{s:I, s:o}", "step", (json_int_t) t->state.step + 1,
                                                   "micro_batches", counts));
  else
    json_decref (counts);
}

mm_status
mm_trainer_note_speed (struct mm_trainer *t, double seconds)
{
  double *all = t->balance.measured;
  mm_status st;

  if (!t->plan.balance)
    return MM_OK;
  all[mm_comm_rank (t->comm)] = seconds;
  st = mm_comm_all_gather (t->comm, all, (size_t) mm_comm_size (t->comm), sizeof *all, 1);
  if (st == MM_OK && mm_balance_note (&t->balance, all))
    tell_shares (t);
  return st;
}

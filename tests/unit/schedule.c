/* schedule.h: rates against libm's, ends, bounds.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <string.h>

#include <minimind/schedule.h>

#include "../tap.h"

enum { TOTAL = 50, WARMUP = 7 };

/* The definition again, by libm.  */
static double
expected (const struct mm_schedule *s, uint64_t step)
{
  double last = (double) s->total - 1, first = (double) s->warmup, at = (double) step;
  double fifth = (double) (s->total / 5), p;

  if (step < s->warmup)
    return s->peak * (at + 1) / first;
  switch (s->kind)
    {
    case MM_COSINE:
      p = (at - first) / (last - first);
      return s->peak * (s->min_ratio + (1 - s->min_ratio) * (1 + cos (M_PI * p)) / 2);
    case MM_LINEAR:
      p = (at - first) / (last - first);
      return s->peak * (1 - (1 - s->min_ratio) * p);
    case MM_WSD:
      p = fmax (0, (at - (last - fifth)) / fifth);
      return s->peak * (1 - (1 - s->min_ratio) * p);
    default:
      return s->peak;
    }
}

static void
test_kind (enum mm_schedule_kind kind)
{
  struct mm_schedule s = { .kind = kind, .peak = 3e-4, .min_ratio = 0.1, .warmup = WARMUP,
                           .total = TOTAL };
  double worst = 0, last = kind == MM_CONSTANT ? 3e-4 : 3e-5;
  char name[80];

  for (uint64_t step = 0; step < TOTAL; step++)
    worst = fmax (worst, fabs (mm_schedule_rate (&s, step) - expected (&s, step)));
  snprintf (name, sizeof name, "%s follows its formula", mm_schedule_names[kind]);
  ok (worst < 1e-18, name);     /* a few units in the last place of 3e-4 in double */
  snprintf (name, sizeof name, "%s ends where it should and stays there", mm_schedule_names[kind]);
  ok (fabs (mm_schedule_rate (&s, TOTAL - 1) - last) < 1e-18
      && mm_schedule_rate (&s, TOTAL - 1) == mm_schedule_rate (&s, TOTAL + 1000), name);
  snprintf (name, sizeof name, "%s warms up from peak / warmup to peak", mm_schedule_names[kind]);
  ok (mm_schedule_rate (&s, 0) == 3e-4 * (1.0 / WARMUP) && mm_schedule_rate (&s, WARMUP - 1) == 3e-4, name);
}

/* Runs of one step, all warm-up, too short for a last fifth.  */
static void
test_short (void)
{
  for (int kind = 0; mm_schedule_names[kind]; kind++)
    for (uint64_t total = 1; total < 7; total++)
      for (uint64_t warmup = 0; warmup <= total; warmup++)
        for (uint64_t step = 0; step < total; step++)
          {
            struct mm_schedule s = { .kind = (enum mm_schedule_kind) kind, .peak = 1, .min_ratio = 0.5,
                                     .warmup = warmup, .total = total };
            double rate = mm_schedule_rate (&s, step);

            if (!(rate > 0 && rate <= 1))
              {
                ok (0, "rates of short runs lie in (0, peak]");
                return;
              }
          }
  ok (1, "rates of short runs lie in (0, peak]");
}

/* Lengthening the run changes no rate before mm_schedule_decay_start.  */
static void
test_decay_start (void)
{
  struct mm_schedule s = { .kind = MM_WSD, .peak = 1, .warmup = WARMUP, .total = TOTAL }, longer = s;
  uint64_t start = mm_schedule_decay_start (&s);
  int same = 1;

  longer.total = 2 * TOTAL;
  for (uint64_t step = 0; step < start; step++)
    same &= mm_schedule_rate (&s, step) == mm_schedule_rate (&longer, step);
  ok (same && start == TOTAL - TOTAL / 5, "wsd: a longer run has the same rates up to the fall");
  ok (mm_schedule_rate (&s, start) < 1, "wsd: the fall begins there");
  s.kind = MM_CONSTANT;
  ok (mm_schedule_decay_start (&s) == UINT64_MAX, "constant never falls");
  s.kind = MM_COSINE;
  ok (mm_schedule_decay_start (&s) == WARMUP, "cosine falls after the warm-up");
}

int
main (void)
{
  for (int kind = 0; mm_schedule_names[kind]; kind++)
    test_kind ((enum mm_schedule_kind) kind);
  test_short ();
  test_decay_start ();
  return tap_done ();
}

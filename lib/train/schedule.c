/* schedule.c -- the learning rate as a function of the step, in double.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stddef.h>

#include <minimind/elementary.h>
#include <minimind/schedule.h>

const char *const mm_schedule_names[] = { "cosine", "linear", "constant", "wsd", NULL };

static const double pi = 0x1.921fb54442d18p+1;

/* Share of the way from the first step after warm-up (0) to the last step (1).  */
static double
progress (uint64_t step, uint64_t first, uint64_t total)
{
  if (step + 1 >= total)
    return 1;
  if (step <= first)
    return 0;
  return (double) (step - first) / (double) (total - 1 - first);
}

uint64_t
mm_schedule_decay_start (const struct mm_schedule *s)
{
  switch (s->kind)
    {
    case MM_CONSTANT:
      return UINT64_MAX;
    case MM_WSD:
      return s->total - s->total / 5;
    default:
      return s->warmup;
    }
}

double
mm_schedule_rate (const struct mm_schedule *s, uint64_t step)
{
  uint64_t start = mm_schedule_decay_start (s);
  double sine, cosine, remaining;

  if (step < s->warmup)
    return s->peak * ((double) (step + 1) / (double) s->warmup);
  switch (s->kind)
    {
    case MM_COSINE:
      mm_sincos (pi * progress (step, start, s->total), &sine, &cosine);
      remaining = 0.5 * (1 + cosine);
      break;
    case MM_LINEAR:
      remaining = 1 - progress (step, start, s->total);
      break;
    case MM_WSD:
      /* The fall begins with the first step of the last fifth, so that step is below the peak.  */
      remaining = step < start ? 1 : 1 - progress (step, start - 1, s->total);
      break;
    default:
      remaining = 1;
      break;
    }
  return s->peak * (s->min_ratio + (1 - s->min_ratio) * remaining);
}

/* schedule.h -- the learning rate as a function of the step.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_SCHEDULE_H
#define MINIMIND_SCHEDULE_H

#include <stdint.h>

#include <minimind/error.h>

enum mm_schedule_kind { MM_COSINE, MM_LINEAR, MM_CONSTANT, MM_WSD };
extern const char *const mm_schedule_names[];   /* NULL-terminated, in this order */

struct mm_schedule
{
  enum mm_schedule_kind kind;
  double peak;                  /* learning rate after warm-up */
  double min_ratio;             /* final rate / peak */
  uint64_t warmup, total;       /* steps */
};

/* Rate of update STEP (from 0).  Warm-up is linear from peak/warmup; cosine and linear fall to
   peak * min_ratio at the last step; wsd is constant and falls linearly over the last fifth, to the same.
   Beyond the last step the rate stays what it was there.  */
double mm_schedule_rate (const struct mm_schedule *s, uint64_t step);

/* The first step whose rate depends on the total length: until then a run may still be made longer or
   shorter.  The warm-up's end under cosine and linear, UINT64_MAX when constant.  */
uint64_t mm_schedule_decay_start (const struct mm_schedule *s);

#endif /* MINIMIND_SCHEDULE_H */

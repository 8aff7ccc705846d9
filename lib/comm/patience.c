/* patience.c -- how long a rank has waited.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/log.h>

#include "impl.h"

/* Longer than between two looks: then this process was stopped, or starved, and others are not to blame.  */
static const double longest_look = 2;   /* seconds */

void
mm_patience_begin (struct mm_patience *p, double limit)
{
  *p = (struct mm_patience) { .limit = limit, .last = mm_now () };
}

bool
mm_patience_over (struct mm_patience *p)
{
  double now = mm_now (), passed = now - p->last;

  p->waited += passed < longest_look ? passed : longest_look;
  p->last = now;
  return p->limit > 0 && p->waited > p->limit;
}

/* score.c -- the losses of the prompt's tokens, by way of generation's logits.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>

#include <minimind/elementary.h>

#include "score.h"

enum { LANES = 16 };

/* Cross-entropy as docs/numerics.md defines it: the lane sum is of 16 lanes, then a tree.  */
static float
cross_entropy (const float *logits, size_t n, int32_t target)
{
  float max = logits[0], lane[LANES] = { 0 };

  for (size_t i = 1; i < n; i++)
    max = max > logits[i] ? max : logits[i];
  for (size_t i = 0; i < n; i++)
    lane[i % LANES] += mm_expf (logits[i] - max);
  for (size_t width = LANES / 2; width > 0; width /= 2)
    for (size_t l = 0; l < width; l++)
      lane[l] += lane[l + width];
  return (mm_logf (lane[0]) + max) - logits[target];
}

mm_status
score (struct engine *e, const struct prompt *p)
{
  for (size_t i = 1; i < p->count; i++)
    {
      mm_status st = mm_session_feed (e->session, &p->ids[i - 1], 1, e->logits);

      if (st < 0)
        return st;
      printf ("%zu\t%" PRId32 "\t%a\n", i, p->ids[i],
              cross_entropy (e->logits, e->vocab_size, p->ids[i]));
    }
  return MM_OK;
}

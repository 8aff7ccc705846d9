/* peak.c -- how fast scalar fmas go.
   SPDX-License-Identifier: Apache-2.0  */

#include "ref.h"

#include <math.h>

double
mm_kernel (peak) (size_t rounds, float *sink)
{
  enum { CHAINS = 12 };
  float s[CHAINS] = { 0 };

  for (size_t r = 0; r < rounds; r++)
    for (int c = 0; c < CHAINS; c++)
      s[c] = fmaf (s[c], 0.5f, 1.0f);
  for (int c = 0; c < CHAINS; c++)
    *sink += s[c];
  return 2.0 * CHAINS * (double) rounds;
}

/* peak.c -- how fast vector fmas go: enough independent chains to hide their latency.
   SPDX-License-Identifier: Apache-2.0  */

#include "simd.h"

double
mm_kernel (peak) (size_t rounds, float *sink)
{
  /* As many registers as AVX2 and NEON hold beside the two constants.  */
#ifdef MM_ISA_AVX512
  enum { CHAINS = 12 };
#else
  enum { CHAINS = 6 };
#endif
  v16 s[CHAINS], half = v16_set1 (0.5f), one = v16_set1 (1);

  for (int c = 0; c < CHAINS; c++)
    s[c] = v16_zero ();
  for (size_t r = 0; r < rounds; r++)
    {
#pragma GCC unroll 12
      for (int c = 0; c < CHAINS; c++)
        s[c] = v16_fma (s[c], half, one);
    }
  for (int c = 0; c < CHAINS; c++)
    *sink += v16_sum (s[c]);
  return 2.0 * 16 * CHAINS * (double) rounds;
}

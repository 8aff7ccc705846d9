/* random.c -- Philox 4x32-10, uniform numbers, permutations.
   SPDX-License-Identifier: Apache-2.0

   Normal numbers are in normal.c.  */

#include <config.h>

#include <assert.h>

#include <minimind/random.h>

#include "philox.h"

void
mm_philox (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index,
           uint32_t out[4])
{
  mm_philox_inline (seed, purpose, stream, index, out, 1);
}

double
mm_uniform (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index)
{
  uint32_t w[4];

  mm_philox (seed, purpose, stream, index, w);
  return (double) (((uint64_t) w[0] << 32 | w[1]) >> 11) * 0x1p-53;
}

uint64_t
mm_permute (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t n, uint64_t index)
{
  enum { ROUNDS = 8 };
  uint64_t mask;
  int half = 1;                 /* bits of each half: 4^half >= n > 4^(half-1) */

  assert (index < n);
  if (n == 1)
    return 0;
  while (half < 32 && UINT64_C (1) << 2 * half < n)
    half++;
  mask = (UINT64_C (1) << half) - 1;
  /* The network permutes [0, 4^half); walking its cycle until a value below n comes
     permutes [0, n), in at most 4 steps on average.  */
  do
    {
      uint64_t left = index >> half, right = index & mask;

      for (uint64_t round = 0; round < ROUNDS; round++)
        {
          uint32_t w[4];
          uint64_t t;

          mm_philox (seed, purpose, stream, round << 32 | right, w);
          t = left ^ (w[0] & mask);
          left = right;
          right = t;
        }
      index = left << half | right;
    }
  while (index >= n);
  return index;
}

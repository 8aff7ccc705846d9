/* normal.c -- normal random numbers by Box and Muller (1958).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>

#include <minimind/elementary.h>
#include <minimind/random.h>

/* The two normals that counter INDEX yields.  */
static void
normal_pair (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index, double pair[2])
{
  static const double two_pi = 0x1.921fb54442d18p+2;
  uint32_t w[4];
  double u, v, radius, s, c;

  mm_philox (seed, purpose, stream, index, w);
  u = (double) (((uint64_t) w[0] << 32 | w[1]) >> 11) * 0x1p-53;
  v = (double) (((uint64_t) w[2] << 32 | w[3]) >> 11) * 0x1p-53;
  radius = sqrt (-2.0 * mm_log (1.0 - u));      /* 1 - u is exact and above 0 */
  mm_sincos (two_pi * v, &s, &c);
  pair[0] = radius * c;
  pair[1] = radius * s;
}

void
mm_normal (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t first,
           size_t n, double stddev, float *x)
{
  double pair[2];

  for (size_t i = 0; i < n; i++)
    {
      uint64_t element = first + i;

      if (i == 0 || element % 2 == 0)
        normal_pair (seed, purpose, stream, element / 2, pair);
      x[i] = (float) (stddev * pair[element % 2]);
    }
}

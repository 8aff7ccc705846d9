/* lanes.h -- the vector exponential and the lane sums that several kernels share.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef CPU_SIMD_LANES_H
#define CPU_SIMD_LANES_H

#include <math.h>

#include <minimind/elementary.h>

#include "simd.h"

/* mm_expf of each lane: elementary.h names the steps.  */
MM_INLINE v16
v16_exp (v16 x)
{
  v16 round = v16_set1 (MM_EXPF_ROUND), one = v16_set1 (1), n, r, p;

  /* NaN is kept by being the second operand.  */
  x = v16_max (v16_set1 (MM_EXPF_MIN), x);
  x = v16_min (v16_set1 (MM_EXPF_MAX), x);
  n = v16_sub (v16_fma (x, v16_set1 (MM_EXPF_LOG2E), round), round);
  r = v16_fnma (n, v16_set1 (MM_EXPF_LN2_HI), x);
  r = v16_fnma (n, v16_set1 (MM_EXPF_LN2_LO), r);
  p = v16_fma (v16_set1 (MM_EXPF_C6), r, v16_set1 (MM_EXPF_C5));
  p = v16_fma (p, r, v16_set1 (MM_EXPF_C4));
  p = v16_fma (p, r, v16_set1 (MM_EXPF_C3));
  p = v16_fma (p, r, v16_set1 (MM_EXPF_C2));
  p = v16_fma (p, r, one);
  p = v16_fma (p, r, one);
  return v16_scale (p, n);
}

/* 1 / (1 + exp (-g)) */
MM_INLINE v16
v16_sigmoid (v16 g)
{
  v16 one = v16_set1 (1);

  return v16_div (one, v16_add (one, v16_exp (v16_neg (g))));
}

/* lane + the first N lanes of a*b, rounded once; the other lanes keep even a zero's sign.  */
MM_INLINE v16
v16_fma_n (v16 a, v16 b, v16 lane, size_t n)
{
  return v16_select (m16_first (n), v16_fma (a, b, lane), lane);
}

/* Lane sum of a[i] b[i].  */
MM_INLINE float
lanes_dot (const float *a, const float *b, size_t n)
{
  v16 lane = v16_zero ();
  size_t i = 0;

  for (; i + 16 <= n; i += 16)
    lane = v16_fma (v16_load (a + i), v16_load (b + i), lane);
  if (i < n)
    lane = v16_fma_n (v16_load_n (a + i, n - i), v16_load_n (b + i, n - i), lane, n - i);
  return v16_sum (lane);
}

/* The largest of N values, NaN left aside; -inf of none.  Four maxima hide the latency: their order is
   free.  */
MM_INLINE float
lanes_max (const float *a, size_t n)
{
  v16 most[4];
  size_t i = 0;

  for (size_t l = 0; l < 4; l++)
    most[l] = v16_set1 (-INFINITY);
  for (; i + 64 <= n; i += 64)
    for (size_t l = 0; l < 4; l++)
      most[l] = v16_max (v16_load (a + i + 16 * l), most[l]);
  for (; i + 16 <= n; i += 16)
    most[0] = v16_max (v16_load (a + i), most[0]);
  if (i < n)
    most[1] = v16_max (v16_select (m16_first (n - i), v16_load_n (a + i, n - i), most[1]), most[1]);
  return v16_max_lane (v16_max (v16_max (most[0], most[1]), v16_max (most[2], most[3])));
}

#endif /* CPU_SIMD_LANES_H */

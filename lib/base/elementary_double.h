/* elementary_double.h -- logarithm, sine and cosine of doubles, where a loop over many calls them.
   SPDX-License-Identifier: Apache-2.0

   Without branches, so that a compiler can make vectors of such a loop: the operations are the same.  */

#ifndef MM_BASE_ELEMENTARY_DOUBLE_H
#define MM_BASE_ELEMENTARY_DOUBLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <minimind/elementary.h>

/* A function that a loop calls becomes part of it, for whichever processor the loop is.  */
#define LOOP_BODY static inline __attribute__ ((always_inline))

#define LN2 0x1.62e42fefa39efp-1
#define LN2_HI 0x1.62e42fee00000p-1     /* 32 bits: n * LN2_HI is exact */
#define LN2_LO 0x1.a39ef35793c76p-33
#define LOG2E 0x1.71547652b82fep+0
#define HALF_PI_HI 0x1.921fb54442d18p+0
#define HALF_PI_LO 0x1.1a62633145c07p-54
#define TWO_BY_PI 0x1.45f306dc9c883p-1
#define SQRT_2_FRACTION UINT64_C (0x6a09e667f3bcd)        /* sqrt 2 is 1 and 2^-52 of it */
#define ROUND 0x1.8p+52         /* adding it rounds to an integer, kept in the low bits */

/* X as a double: its bits below those of 2^52.  */
static inline double
mm_small_integer (uint32_t x)
{
  uint64_t bits = UINT64_C (0x433) << 52 | x;
  double d;

  memcpy (&d, &bits, sizeof d);
  return d - 0x1p+52;
}

/* X = M * 2^*N with M in [sqrt 1/2, sqrt 2), for finite X >= 2^-1022.  */
static inline double
mm_split (double x, double *n)
{
  uint64_t bits, fraction, over;
  double m;

  memcpy (&bits, &x, sizeof bits);
  fraction = bits & ((UINT64_C (1) << 52) - 1);
  over = (fraction + ((UINT64_C (1) << 52) - SQRT_2_FRACTION)) >> 52;   /* 1 where that of sqrt 2 or more */
  *n = mm_small_integer ((uint32_t) ((bits >> 52) + over)) - 1023;
  bits = fraction | (1023 - over) << 52;
  memcpy (&m, &bits, sizeof m);
  return m;
}

/* log (X * 2^SCALE) = *HI + *LO to about 2^-60, for finite X >= 2^-1022.

   With f = m - 1 and s = f / (2 + f), log m = 2 s + s R, R = 2 (s^2/3 + s^4/5 + ...); |s| <= 0.1716,
   so only 2 s needs more than a double, and the division's remainder gives it.  */
LOOP_BODY void
mm_log_parts (double x, double scale, double *hi, double *lo)
{
  enum { TERMS = 11 };          /* s^24 / 25 < 2^-65 */
  double n;
  double f = mm_split (x, &n) - 1, d = 2 + f, d_lo = f - (d - 2);
  double s = f / d, s_lo = (fma (-s, d, f) - s * d_lo) / d;
  double z = s * s, series = 0, big = (n += scale) * LN2_HI;

#pragma GCC unroll 16
  for (int k = TERMS; k >= 1; k--)
    series = fma (series, z, 2.0 / (2 * k + 1));
  *lo = fma (s, series * z, 2 * s_lo);
  /* |big| is 0 or exceeds |2 s|, so this sum's error is exact.  */
  *hi = big + 2 * s;
  *lo += 2 * s - (*hi - big) + n * LN2_LO;
}

/* X / C as division rounds it, in three operations, which loops overlap.  C is an integer, 1 < C < 2^10; X is 0 or
   2^-900 <= |X| < 2^900.  Markstein's correction (IBM J. Res. Dev. 34, 1990): Q is X / C within two units in the last
   place, so that what is left of X has a dozen bits and FMA makes it exactly.  That times 1 / C misses the rest by
   less than 2^-50 units, but X / C is at least 2^-11 units from the middle between two doubles: C times a middle, an
   odd number of 54 bits, is no double, and differs from X by half a unit of Q or more.  */
LOOP_BODY double
mm_divide_by_small (double x, double c)
{
  double reciprocal = 1 / c, q = x * reciprocal;

  return fma (fma (-q, c, x), reciprocal, q);
}

LOOP_BODY void
mm_sincos_inline (double x, double *s, double *c)
{
  double t = fma (x, TWO_BY_PI, ROUND), n = t - ROUND;
  double r = fma (n, -HALF_PI_HI, x);   /* exact */
  double sine = 1, cosine = 1, z;
  uint64_t quadrant;

  memcpy (&quadrant, &t, sizeof quadrant);
  r = fma (n, -HALF_PI_LO, r);
  z = r * r;
  /* r - r^3/3! + ... + r^17/17! and 1 - r^2/2! + ... + r^18/18!, |r| <= pi/4: both to 2^-57.  */
#pragma GCC unroll 16
  for (int k = 16; k >= 2; k -= 2)
    {
      sine = fma (sine, mm_divide_by_small (-z, k * (k + 1)), 1);
      cosine = fma (cosine, mm_divide_by_small (-z, (k + 1) * (k + 2)), 1);
    }
  sine *= r;
  cosine = fma (cosine, -z / 2, 1);
  *s = quadrant & 1 ? cosine : sine;
  *c = quadrant & 1 ? sine : cosine;
  if (quadrant & 2)
    *s = -*s;
  if ((quadrant + 1) & 2)
    *c = -*c;
}

#endif /* MM_BASE_ELEMENTARY_DOUBLE_H */

/* elementary.c -- exp, log, sin, cos, pow from IEEE operations alone.
   SPDX-License-Identifier: Apache-2.0

   Double functions reduce the argument exactly by fma and evaluate Taylor series, whose
   coefficients are quotients of small integers rounded once; a table would buy nothing, since only
   set-up code and one value a row call them.  The float exponential is the one that kernels repeat
   in vectors, so its steps stand in elementary.h.  */

#include <config.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "elementary_double.h"

static float
power_of_two_f (int32_t n)
{
  uint32_t bits = (uint32_t) (n + 127) << 23;
  float f;

  memcpy (&f, &bits, sizeof f);
  return f;
}

static double
power_of_two (int64_t n)
{
  uint64_t bits = (uint64_t) (n + 1023) << 52;
  double d;

  memcpy (&d, &bits, sizeof d);
  return d;
}

/* V * 2^N rounded once: the first product is exact for V near 1.  */
static double
scale (double v, int64_t n)
{
  int64_t half = n / 2;

  return v * power_of_two (half) * power_of_two (n - half);
}

float
mm_expf (float x)
{
  float t, n, r, p;
  int32_t whole, half;

  if (!(x == x))
    return x;
  x = x < MM_EXPF_MIN ? MM_EXPF_MIN : x;
  x = x > MM_EXPF_MAX ? MM_EXPF_MAX : x;
  t = fmaf (x, MM_EXPF_LOG2E, MM_EXPF_ROUND);
  n = t - MM_EXPF_ROUND;
  r = fmaf (n, -MM_EXPF_LN2_HI, x);
  r = fmaf (n, -MM_EXPF_LN2_LO, r);
  p = fmaf (MM_EXPF_C6, r, MM_EXPF_C5);
  p = fmaf (p, r, MM_EXPF_C4);
  p = fmaf (p, r, MM_EXPF_C3);
  p = fmaf (p, r, MM_EXPF_C2);
  p = fmaf (p, r, 1);
  p = fmaf (p, r, 1);
  whole = (int32_t) n;
  half = whole / 2;
  return p * power_of_two_f (half) * power_of_two_f (whole - half);
}

/* exp (HI + LO), |LO| far below 1.  */
static double
exp_parts (double hi, double lo)
{
  enum { DEGREE = 13 };         /* 0.3466^14 / 14! < 2^-57 */
  double n, r, p = 1;

  if (!(hi == hi))
    return hi;
  if (hi < -746 || hi > 710)    /* 0 and +inf there and beyond */
    {
      hi = hi < 0 ? -746 : 710;
      lo = 0;
    }
  n = fma (hi, LOG2E, ROUND) - ROUND;
  r = fma (n, -LN2_HI, hi);
  r = fma (n, -LN2_LO, r) + lo;
  /* 1 + r (1 + r/2 (1 + r/3 (...))) */
  for (int k = DEGREE; k >= 1; k--)
    p = fma (p, r / k, 1);
  return scale (p, (int64_t) n);
}

double
mm_exp (double x)
{
  return exp_parts (x, 0);
}

/* log X for finite X > 0.  */
static void
log_parts (double x, double *hi, double *lo)
{
  bool small = x < 0x1p-1022;

  mm_log_parts (small ? x * 0x1p+54 : x, small ? -54 : 0, hi, lo);
}

double
mm_log (double x)
{
  double hi, lo;

  if (!(x > 0) || x > 0x1.fffffffffffffp+1023)
    return x == 0 ? -INFINITY : x < 0 ? NAN : x;
  log_parts (x, &hi, &lo);
  return hi + lo;
}

float
mm_logf (float x)
{
  return (float) mm_log ((double) x);
}

double
mm_pow (double x, double y)
{
  double hi, lo, product;

  log_parts (x, &hi, &lo);
  product = hi * y;
  return exp_parts (product, fma (hi, y, -product) + lo * y);
}

void
mm_sincos (double x, double *s, double *c)
{
  mm_sincos_inline (x, s, c);
}

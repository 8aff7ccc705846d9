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

#include <minimind/elementary.h>

#define LN2 0x1.62e42fefa39efp-1
#define LN2_HI 0x1.62e42fee00000p-1     /* 32 bits: n * LN2_HI is exact */
#define LN2_LO 0x1.a39ef35793c76p-33
#define LOG2E 0x1.71547652b82fep+0
#define HALF_PI_HI 0x1.921fb54442d18p+0
#define HALF_PI_LO 0x1.1a62633145c07p-54
#define TWO_BY_PI 0x1.45f306dc9c883p-1
#define SQRT_2 0x1.6a09e667f3bcdp+0
#define ROUND 0x1.8p+52         /* adding it rounds to an integer, kept in the low bits */

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

/* X = M * 2^*N with M in [sqrt 1/2, sqrt 2), for finite X > 0.  */
static double
split (double x, int64_t *n)
{
  int64_t e = 0;
  uint64_t bits;
  double m;

  if (x < 0x1p-1022)
    {
      x *= 0x1p+54;
      e = -54;
    }
  memcpy (&bits, &x, sizeof bits);
  e += (int64_t) (bits >> 52) - 1023;
  bits = (bits & ~(UINT64_C (0xfff) << 52)) | UINT64_C (1023) << 52;
  memcpy (&m, &bits, sizeof m);
  if (m >= SQRT_2)
    {
      m /= 2;
      e++;
    }
  *n = e;
  return m;
}

/* log X = *HI + *LO to about 2^-60, for finite X > 0.

   With f = m - 1 and s = f / (2 + f), log m = 2 s + s R, R = 2 (s^2/3 + s^4/5 + ...); |s| <= 0.1716,
   so only 2 s needs more than a double, and the division's remainder gives it.  */
static void
log_parts (double x, double *hi, double *lo)
{
  enum { TERMS = 11 };          /* s^24 / 25 < 2^-65 */
  int64_t n;
  double f = split (x, &n) - 1, d = 2 + f, d_lo = f - (d - 2);
  double s = f / d, s_lo = (fma (-s, d, f) - s * d_lo) / d;
  double z = s * s, series = 0, big = (double) n * LN2_HI;

  for (int k = TERMS; k >= 1; k--)
    series = fma (series, z, 2.0 / (2 * k + 1));
  *lo = fma (s, series * z, 2 * s_lo);
  /* |big| is 0 or exceeds |2 s|, so this sum's error is exact.  */
  *hi = big + 2 * s;
  *lo += (big == 0 ? 0 : 2 * s - (*hi - big)) + (double) n * LN2_LO;
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
  double t = fma (x, TWO_BY_PI, ROUND), n = t - ROUND;
  double r = fma (n, -HALF_PI_HI, x);   /* exact */
  double sine = 1, cosine = 1, z;
  uint64_t quadrant;

  memcpy (&quadrant, &t, sizeof quadrant);
  r = fma (n, -HALF_PI_LO, r);
  z = r * r;
  /* r - r^3/3! + ... + r^17/17! and 1 - r^2/2! + ... + r^18/18!, |r| <= pi/4: both to 2^-57.  */
  for (int k = 16; k >= 2; k -= 2)
    {
      sine = fma (sine, -z / (k * (k + 1)), 1);
      cosine = fma (cosine, -z / ((k + 1) * (k + 2)), 1);
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

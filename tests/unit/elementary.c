/* The elementary functions against libm's of higher precision, over sweeps of all binades, at the
   edges, and by a digest that every compiler and processor must reproduce.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <minimind/elementary.h>

#include "../../lib/base/elementary_double.h"
#include "../tap.h"

static float
float_of (uint32_t bits)
{
  float f;

  memcpy (&f, &bits, sizeof f);
  return f;
}

/* A double from 64 bits of a linear congruential generator: reproducible, every exponent.  */
static double
next_double (uint64_t *state)
{
  double d;

  *state = *state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  memcpy (&d, state, sizeof d);
  return d;
}

/* Uniform in [LO, HI).  */
static double
next_uniform (uint64_t *state, double lo, double hi)
{
  *state = *state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  return lo + (hi - lo) * (double) (*state >> 11) * 0x1p-53;
}

/* |GOT - WANT| in steps of float32 at WANT.  */
static double
ulps (float got, double want)
{
  int e;

  if (fabs (want) > (double) FLT_MAX * (1 + 0x1p-25))
    return isinf (got) && (got > 0) == (want > 0) ? 0 : INFINITY;
  frexp (want, &e);
  return fabs ((double) got - want) / ldexp (1, (e < -125 ? -125 : e) - 24);
}

static void
test_expf (void)
{
  double worst = 0;

  for (uint32_t bits = 0; bits < 0x42c00000; bits += 641)       /* to 96 */
    {
      float x = float_of (bits);

      worst = fmax (worst, ulps (mm_expf (x), exp ((double) x)));
      worst = fmax (worst, ulps (mm_expf (-x), exp (-(double) x)));
    }
  for (float x = -104.5f; x < -86; x += 0x1p-10f)       /* subnormal results */
    worst = fmax (worst, ulps (mm_expf (x), exp ((double) x)));
  printf ("# expf: %.3f ulp\n", worst);
  ok (worst <= 1, "expf is within one step of exp");
  ok (mm_expf (0) == 1 && mm_expf (-0.0f) == 1, "expf of zero is one");
  ok (isinf (mm_expf (88.723f)) && isinf (mm_expf (INFINITY)) && mm_expf (1e30f) > 0,
      "expf overflows to infinity");
  ok (mm_expf (-103.98f) == 0 && mm_expf (-INFINITY) == 0, "expf underflows to zero");
  ok (isnan (mm_expf (NAN)), "expf of NaN is NaN");
}

static void
test_logf (void)
{
  double worst = 0;

  for (uint32_t bits = 1; bits < 0x7f800000; bits += 1283)
    {
      float x = float_of (bits);

      worst = fmax (worst, ulps (mm_logf (x), log ((double) x)));
    }
  printf ("# logf: %.3f ulp\n", worst);
  ok (worst <= 1, "logf is within one step of log");
  ok (mm_logf (1) == 0 && mm_logf (0) == -INFINITY && mm_logf (INFINITY) == INFINITY,
      "logf of one, zero and infinity");
  ok (isnan (mm_logf (-1)) && isnan (mm_logf (NAN)), "logf of a negative number and of NaN is NaN");
}

static void
test_exp_log (void)
{
  uint64_t state = 1;
  double worst_exp = 0, worst_log = 0;
  bool subnormal = true;

  for (int i = 0; i < 200000; i++)
    {
      double x = next_uniform (&state, -708, 709), near = next_uniform (&state, -1, 1);
      double any = fabs (next_double (&state)), tiny = next_uniform (&state, -746, -708);

      worst_exp = fmax (worst_exp, (double) fabsl (mm_exp (x) / expl (x) - 1));
      worst_exp = fmax (worst_exp, (double) fabsl (mm_exp (near) / expl (near) - 1));
      subnormal &= fabsl (mm_exp (tiny) - expl (tiny)) <= 0x1p-1074L;
      if (any > 0 && any <= DBL_MAX && any != 1)
        worst_log = fmax (worst_log, (double) fabsl (mm_log (any) / logl (any) - 1));
      if (near != 0)
        worst_log = fmax (worst_log, (double) fabsl (mm_log (1 + near) / logl (1 + near) - 1));
    }
  printf ("# exp: 2^%.1f, log: 2^%.1f\n", log2 (worst_exp), log2 (worst_log));
  ok (worst_exp <= 0x1p-50, "exp is accurate to 2^-50");
  ok (subnormal, "subnormal results of exp are within one step");
  ok (worst_log <= 0x1p-50, "log is accurate to 2^-50");
  ok (isinf (mm_exp (INFINITY)) && isinf (mm_exp (710)) && mm_exp (-INFINITY) == 0
      && mm_exp (-746) == 0 && mm_exp (0) == 1 && isnan (mm_exp (NAN)), "exp at the edges");
  ok (mm_log (0) == -INFINITY && mm_log (1) == 0 && mm_log (INFINITY) == INFINITY
      && isnan (mm_log (-1)) && isnan (mm_log (NAN)), "log at the edges");
}

static void
test_pow (void)
{
  uint64_t state = 2;
  double worst = 0;

  for (int i = 0; i < 200000; i++)
    {
      double x = fabs (next_double (&state)), y = next_uniform (&state, -40, 40);
      long double want;

      if (!(x > 0 && x <= DBL_MAX))
        continue;
      want = powl (x, y);
      if (want < DBL_MIN || want > DBL_MAX)
        continue;
      worst = fmax (worst, (double) fabsl (mm_pow (x, y) / want - 1));
    }
  /* The powers that training needs: bias corrections and RoPE frequencies.  */
  for (int t = 1; t < 200000; t += 7)
    worst = fmax (worst, (double) fabsl (mm_pow (0.999, t) / powl (0.999, t) - 1));
  for (int j = 0; j < 64; j++)
    worst = fmax (worst, (double) fabsl (mm_pow (1e6, -2.0 * j / 128) / powl (1e6, -2.0L * j / 128) - 1));
  printf ("# pow: 2^%.1f\n", log2 (worst));
  ok (worst <= 0x1p-45, "pow is accurate to 2^-45");
  ok (mm_pow (3, 0) == 1 && mm_pow (1, 1e300) == 1 && mm_pow (2, 10) == 1024, "pow of exact cases");
  ok (isinf (mm_pow (2, 1e308)) && mm_pow (2, -1e308) == 0, "pow overflows and underflows");
}

static void
test_sincos (void)
{
  uint64_t state = 3;
  double worst = 0, s, c;

  for (int i = 0; i < 400000; i++)
    {
      double range = i % 4 == 0 ? 1 : i % 4 == 1 ? 10 : i % 4 == 2 ? 40000 : 0x1p+30;
      double x = next_uniform (&state, -range, range);

      mm_sincos (x, &s, &c);
      worst = fmax (worst, (double) fabsl (s - sinl (x)));
      worst = fmax (worst, (double) fabsl (c - cosl (x)));
    }
  printf ("# sincos: 2^%.1f\n", log2 (worst));
  ok (worst <= 0x1p-50, "sin and cos are accurate to 2^-50");
  mm_sincos (0, &s, &c);
  ok (s == 0 && c == 1, "sincos of zero is exact");
  mm_sincos (NAN, &s, &c);
  ok (isnan (s) && isnan (c), "sincos of NaN is NaN");
}

/* FNV-1a over the results of all functions: the same on every machine.  */
/* As division rounds, for all divisors and numbers of all kinds: near multiples of the divisor, few bits, many.  */
static void
test_divide_by_small (void)
{
  uint64_t state = 5;
  bool same = true;

  for (int c = 2; c < 1024; c++)
    for (int i = 0; i < 300; i++)
      {
        double x = next_uniform (&state, -1, 1), near = c * next_uniform (&state, 1, 2);
        double few = ldexp (floor (ldexp (x, i % 50)), -i), tries[] = { x, near, nextafter (near, 0),
                                                                        nextafter (near, 9999), few, ldexp (x, -800) };

        for (size_t t = 0; t < sizeof tries / sizeof *tries; t++)
          same = same && mm_divide_by_small (tries[t], c) == tries[t] / c;
      }
  ok (same, "divided by small integers as division rounds");
}

static void
test_bits (void)
{
  uint64_t state = 4, hash = UINT64_C (14695981039346656037);

  for (int i = 0; i < 20000; i++)
    {
      double u = next_uniform (&state, -100, 100), s, c;
      double results[6] = { mm_expf ((float) u), mm_logf ((float) (u * u)), mm_exp (u), mm_log (u * u),
                            mm_pow (u * u, u / 9), 0 };
      unsigned char bytes[sizeof results];

      mm_sincos (u, &s, &c);
      results[5] = s + 2 * c;
      memcpy (bytes, results, sizeof bytes);
      for (size_t b = 0; b < sizeof bytes; b++)
        hash = (hash ^ bytes[b]) * UINT64_C (1099511628211);
    }
  printf ("# digest %016llx\n", (unsigned long long) hash);
  ok (hash == UINT64_C (0x376ec2a82cdb4533), "the bits are those of every other machine");
}

int
main (void)
{
  test_expf ();
  test_logf ();
  test_exp_log ();
  test_pow ();
  test_sincos ();
  test_divide_by_small ();
  test_bits ();
  return tap_done ();
}

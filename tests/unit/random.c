/* random.c -- Philox against its authors' vectors; what is made from it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <string.h>

#include <minimind/elementary.h>
#include <minimind/random.h>

#include "../tap.h"

/* Random123, tests/kat_vectors, lines "philox4x32 10": counter, key, output.  */
static const uint32_t known[][10] = {
  { 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
  { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
    0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
  { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
    0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 }
};

static void
test_philox (void)
{
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    {
      const uint32_t *k = known[i];
      uint32_t out[4];

      mm_philox ((uint64_t) k[5] << 32 | k[4], k[3], k[2], (uint64_t) k[1] << 32 | k[0], out);
      ok (memcmp (out, k + 6, sizeof out) == 0, "Philox known answer");
    }
}

static void
test_uniform (void)
{
  enum { N = 20000 };
  double sum = 0, squares = 0, low = 1, high = 0;

  ok (mm_uniform (0, 0, 0, 0) == (double) (0x6627e8d5e169c58d >> 11) / 9007199254740992.0,
      "53 bits of the first two words");
  for (uint64_t i = 0; i < N; i++)
    {
      double u = mm_uniform (7, MM_RANDOM_TEST, 1, i);

      sum += u;
      squares += u * u;
      low = u < low ? u : low;
      high = u > high ? u : high;
    }
  ok (low >= 0 && high < 1, "in [0, 1)");
  /* Six standard errors of the mean (0.289 / sqrt N) and of the mean square (0.298 / sqrt N).  */
  ok (fabs (sum / N - 0.5) < 6 * 0.289 / sqrt (N)
      && fabs (squares / N - 1.0 / 3) < 6 * 0.298 / sqrt (N), "uniform moments");
}

static void
test_permute (void)
{
  int bijection = 1, distinct, same = 0;

  for (uint64_t n = 1; n <= 300; n++)
    {
      char hit[300] = { 0 };

      for (uint64_t i = 0; i < n; i++)
        {
          uint64_t p = mm_permute (42, MM_RANDOM_ORDER, 3, n, i);

          if (p >= n || hit[p])
            bijection = 0;
          else
            hit[p] = 1;
        }
    }
  ok (bijection, "a permutation for each n from 1 to 300");

  for (uint64_t i = 0; i < 300; i++)
    same += mm_permute (42, MM_RANDOM_ORDER, 3, 300, i) == mm_permute (42, MM_RANDOM_ORDER, 4, 300, i);
  ok (same < 10, "another stream, another order");

  distinct = mm_permute (1, 2, 3, UINT64_MAX, 0) != mm_permute (1, 2, 3, UINT64_MAX, 1)
             && mm_permute (1, 2, 3, (1ull << 40) + 1, 1ull << 40) <= 1ull << 40;
  ok (distinct, "large n");
}

/* Where the first of five items lands, over many seeds: chi-square with 4 degrees of
   freedom is above 23.5 once in 10,000.  */
static void
test_permute_uniform (void)
{
  enum { SEEDS = 5000, N = 5 };
  int count[N] = { 0 };
  double chi = 0;

  for (uint64_t seed = 0; seed < SEEDS; seed++)
    count[mm_permute (seed, MM_RANDOM_ORDER, 0, N, 0)]++;
  for (int i = 0; i < N; i++)
    chi += pow (count[i] - SEEDS / N, 2) / (SEEDS / N);
  ok (chi < 23.5, "every place is as likely");
}

static void
test_normal (void)
{
  enum { N = 20000 };
  static float whole[N], cut[N];
  uint32_t w[4];
  double u, v, moment[5] = { 0 };
  int close = 1, same = 1;

  mm_normal (9, MM_RANDOM_TEST, 5, 0, N, 1, whole);
  for (size_t from = 0, size = 1; from < N; from += size++)
    mm_normal (9, MM_RANDOM_TEST, 5, from, size < N - from ? size : N - from, 1, cut + from);
  ok (memcmp (whole, cut, sizeof whole) == 0, "normals do not depend on how the range is cut");

  for (size_t i = 0; i < 1000; i += 2)
    {
      mm_philox (9, MM_RANDOM_TEST, 5, i / 2, w);
      u = mm_uniform (9, MM_RANDOM_TEST, 5, i / 2);
      v = (double) (((uint64_t) w[2] << 32 | w[3]) >> 11) / 9007199254740992.0;
      close &= fabs (sqrt (-2 * log1p (-u)) * cos (6.283185307179586 * v) - whole[i]) < 1e-6
               && fabs (sqrt (-2 * log1p (-u)) * sin (6.283185307179586 * v) - whole[i + 1]) < 1e-6;
    }
  ok (close, "Box and Muller's formula");
  for (size_t i = 0; i < N - 1; i += 2)
    {
      double sine, cosine, radius;

      mm_philox (9, MM_RANDOM_TEST, 5, i / 2, w);
      radius = sqrt (-2 * mm_log (1 - mm_uniform (9, MM_RANDOM_TEST, 5, i / 2)));
      mm_sincos (0x1.921fb54442d18p+2 * ((double) (((uint64_t) w[2] << 32 | w[3]) >> 11) * 0x1p-53), &sine, &cosine);
      same &= whole[i] == (float) (radius * cosine) && whole[i + 1] == (float) (radius * sine);
    }
  ok (same, "each to the bit as one by one, whatever vectors made them");

  for (int i = 0; i < N; i++)
    for (int k = 1; k <= 4; k++)
      moment[k] += pow (whole[i], k) / N;
  /* Moments of N(0, 1): 0, 1, 0, 3, within six standard errors of sqrt (1, 2, 15, 96 / N).  */
  ok (fabs (moment[1]) < 6 * sqrt (1.0 / N) && fabs (moment[2] - 1) < 6 * sqrt (2.0 / N)
      && fabs (moment[3]) < 6 * sqrt (15.0 / N) && fabs (moment[4] - 3) < 6 * sqrt (96.0 / N),
      "normal moments");
  mm_normal (9, MM_RANDOM_TEST, 5, 3, 1, 0.02, cut);
  ok (fabs (cut[0] - 0.02 * whole[3]) < 1e-9, "standard deviation");
}

int
main (void)
{
  test_normal ();
  test_philox ();
  test_uniform ();
  test_permute ();
  test_permute_uniform ();
  return tap_done ();
}

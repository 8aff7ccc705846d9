/* normal.c -- normal random numbers by Box and Muller (1958).
   SPDX-License-Identifier: Apache-2.0

   A model of 26 million parameters begins with as many of them, so they are made in blocks, by loops that compilers
   turn into vectors, for the processor at hand: the same bits.  */

#include <config.h>

#include <math.h>

#include <minimind/random.h>

#include "elementary_double.h"
#include "philox.h"

enum { BLOCK = 64 };            /* pairs */

/* 2^32 HIGH + LOW, without its last 11 bits, times 2^-64.  */
static inline double
unit (uint32_t high, uint32_t low)
{
  return fma (mm_small_integer (high), 0x1p-32, mm_small_integer (low >> 11) * 0x1p-53);
}

/* STDDEV times the normals of the pairs that counters INDEX and on yield, as double.  */
LOOP_BODY void
make_block (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index, double stddev, double x[2 * BLOCK])
{
  static const double two_pi = 0x1.921fb54442d18p+2;
  uint32_t w[4][BLOCK];
  double radius[BLOCK], s[BLOCK], c[BLOCK];

  for (uint32_t i = 0; i < BLOCK; i++)
    mm_philox_inline (seed, purpose, stream, index + i, &w[0][i], BLOCK);
  for (int i = 0; i < BLOCK; i++)
    {
      double hi, lo;

      mm_log_parts (1.0 - unit (w[0][i], w[1][i]), 0, &hi, &lo);   /* exact and above 0 */
      radius[i] = sqrt (-2.0 * (hi + lo));
    }
  for (int i = 0; i < BLOCK; i++)
    mm_sincos_inline (two_pi * unit (w[2][i], w[3][i]), &s[i], &c[i]);
  for (int i = 0; i < BLOCK; i++)
    {
      x[2 * i] = stddev * (radius[i] * c[i]);
      x[2 * i + 1] = stddev * (radius[i] * s[i]);
    }
}

typedef void block_fn (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index, double stddev,
                       double x[2 * BLOCK]);

static void
block_plain (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index, double stddev, double x[2 * BLOCK])
{
  make_block (seed, purpose, stream, index, stddev, x);
}

#if defined __x86_64__
__attribute__ ((target ("avx2,fma")))
static void
block_avx2 (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index, double stddev, double x[2 * BLOCK])
{
  make_block (seed, purpose, stream, index, stddev, x);
}

__attribute__ ((target ("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")))
static void
block_avx512 (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index, double stddev, double x[2 * BLOCK])
{
  make_block (seed, purpose, stream, index, stddev, x);
}
#endif

static block_fn *
choose_block (void)
{
#if defined __x86_64__
  if (__builtin_cpu_supports ("avx512dq") && __builtin_cpu_supports ("avx512vl"))
    return block_avx512;
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma"))
    return block_avx2;
#endif
  return block_plain;
}

void
mm_normal (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t first,
           size_t n, double stddev, float *x)
{
  block_fn *make = choose_block ();
  double block[2 * BLOCK];

  for (size_t done = 0; done < n;)
    {
      size_t skip = (size_t) ((first + done) % 2), count = 2 * BLOCK - skip;

      make (seed, purpose, stream, (first + done) / 2, stddev, block);
      if (count > n - done)
        count = n - done;
      for (size_t i = 0; i < count; i++)
        x[done + i] = (float) block[skip + i];
      done += count;
    }
}

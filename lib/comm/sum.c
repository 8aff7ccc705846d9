/* sum.c -- add buffers, element by element, in the order of the buffers.
   SPDX-License-Identifier: Apache-2.0

   A block stays in the innermost cache from its first read to its last write, so that main memory sees each buffer
   read once and written once.  The latency of memory bounds the speed: what lies a page ahead is asked for early,
   where processors do not look by themselves.  */

#include <config.h>

#include <string.h>

#include "impl.h"

enum
{
  LINE = 64,                    /* bytes of a cache line */
  BLOCK = 2 * LINE,             /* bytes at a time */
  AHEAD = 4096,                 /* bytes from what is added up to what is asked for */
  BF16_BLOCK = 512              /* elements of bfloat16 at a time */
};

size_t
mm_sum_size (enum mm_sum_type type)
{
  static const size_t sizes[MM_SUM_TYPES]
    = { [MM_SUM_I64] = sizeof (int64_t), [MM_SUM_F32] = sizeof (float), [MM_SUM_BF16] = sizeof (uint16_t) };

  return sizes[type];
}

/* Ask for BYTES of each buffer, AHEAD of byte AT.  */
static inline void
ask_ahead (void *const *in, int n_in, size_t at, size_t bytes)
{
  for (int r = 0; r < n_in; r++)
    for (size_t i = 0; i < bytes; i += LINE)
      __builtin_prefetch ((const char *) in[r] + at + i + AHEAD);
}

/* ---- integers and float32 ---- */

/* N bytes from byte AT on; inlined for a constant N, which compilers vectorise.  Integers are unsigned, because sums
   that wrap are defined so.  */
static inline __attribute__ ((always_inline)) void
sum_block (bool floats, void *const *in, int n_in, void *const *out, int n_out, size_t at, size_t n)
{
  union
  {
    float f32[BLOCK / sizeof (float)];
    uint64_t i64[BLOCK / sizeof (uint64_t)];
  } sum;

  memcpy (&sum, (const char *) in[0] + at, n);
  for (int r = 1; r < n_in; r++)
    {
      const void *x = (const char *) in[r] + at;

      for (size_t i = 0; floats && i < n / sizeof (float); i++)
        sum.f32[i] += ((const float *) x)[i];
      for (size_t i = 0; !floats && i < n / sizeof (uint64_t); i++)
        sum.i64[i] += ((const uint64_t *) x)[i];
    }
  for (int r = 0; r < n_out; r++)
    memcpy ((char *) out[r] + at, &sum, n);
}

/* Bytes [FROM, TO).  */
static inline __attribute__ ((always_inline)) void
sum_bytes (bool floats, void *const *in, int n_in, void *const *out, int n_out, size_t from, size_t to)
{
  size_t at = from;

  for (; to - at >= BLOCK; at += BLOCK)
    {
      ask_ahead (in, n_in, at, BLOCK);
      sum_block (floats, in, n_in, out, n_out, at, BLOCK);
    }
  sum_block (floats, in, n_in, out, n_out, at, to - at);
}

static void
sum_f32 (void *const *in, int n_in, void *const *out, int n_out, size_t from, size_t to)
{
  sum_bytes (true, in, n_in, out, n_out, from * sizeof (float), to * sizeof (float));
}

static void
sum_i64 (void *const *in, int n_in, void *const *out, int n_out, size_t from, size_t to)
{
  sum_bytes (false, in, n_in, out, n_out, from * sizeof (int64_t), to * sizeof (int64_t));
}

/* ---- bfloat16 ---- */

static inline float
widen (uint16_t x)
{
  uint32_t bits = (uint32_t) x << 16;
  float f;

  memcpy (&f, &bits, sizeof f);
  return f;
}

/* To the nearest, ties to even; a NaN stays one: mm_dtype_from_f32 without branches.  */
static inline uint16_t
narrow (float f)
{
  uint32_t bits, quiet;

  memcpy (&bits, &f, sizeof bits);
  quiet = bits >> 16 | 0x40;
  return (uint16_t) ((bits & 0x7fffffff) > 0x7f800000 ? quiet : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* N elements from AT on, as mm_sum_buffers; inlined for a constant N, which compilers vectorise.  */
static inline __attribute__ ((always_inline)) void
sum_block_bf16 (void *const *in, int n_in, void *const *out, int n_out, size_t at, size_t n)
{
  float sum[BF16_BLOCK];
  uint16_t rounded[BF16_BLOCK];

  for (size_t i = 0; i < n; i++)
    sum[i] = widen (((const uint16_t *) in[0])[at + i]);
  for (int r = 1; r < n_in; r++)
    for (size_t i = 0; i < n; i++)
      sum[i] += widen (((const uint16_t *) in[r])[at + i]);
  for (size_t i = 0; i < n; i++)
    rounded[i] = narrow (sum[i]);
  for (int r = 0; r < n_out; r++)
    memcpy ((uint16_t *) out[r] + at, rounded, n * sizeof *rounded);
}

static void
sum_bf16 (void *const *in, int n_in, void *const *out, int n_out, size_t from, size_t to)
{
  size_t at = from;

  for (; to - at >= BF16_BLOCK; at += BF16_BLOCK)
    {
      ask_ahead (in, n_in, at * sizeof (uint16_t), BF16_BLOCK * sizeof (uint16_t));
      sum_block_bf16 (in, n_in, out, n_out, at, BF16_BLOCK);
    }
  sum_block_bf16 (in, n_in, out, n_out, at, to - at);
}

/* ---- all types ---- */

void
mm_sum_buffers (enum mm_sum_type type, void *const *in, int n_in, void *const *out, int n_out,
                size_t from, size_t to)
{
  static void (*const sums[MM_SUM_TYPES]) (void *const *, int, void *const *, int, size_t, size_t)
    = { [MM_SUM_I64] = sum_i64, [MM_SUM_F32] = sum_f32, [MM_SUM_BF16] = sum_bf16 };

  sums[type] (in, n_in, out, n_out, from, to);
}

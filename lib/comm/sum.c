/* sum.c -- add buffers, element by element, in the order of the buffers.
   SPDX-License-Identifier: Apache-2.0

   A block stays in the innermost cache from its first read to its last write, so that main memory sees each
   buffer read once and written once.  */

#include <config.h>

#include <string.h>

#include "impl.h"

enum { BLOCK = 512 };           /* elements; 4 kB of the widest type */

size_t
mm_sum_size (enum mm_sum_type type)
{
  static const size_t sizes[MM_SUM_TYPES]
    = { [MM_SUM_I64] = sizeof (int64_t), [MM_SUM_F32] = sizeof (float), [MM_SUM_BF16] = sizeof (uint16_t) };

  return sizes[type];
}

/* A constant number of elements: compilers vectorise this without being told.  */
static void
add_block_i64 (uint64_t *restrict s, const uint64_t *restrict x)
{
  for (size_t i = 0; i < BLOCK; i++)
    s[i] += x[i];
}

static void
add_block_f32 (float *restrict s, const float *restrict x)
{
  for (size_t i = 0; i < BLOCK; i++)
    s[i] += x[i];
}

/* Unsigned, because sums that wrap are defined so.  */
static void
add_i64 (void *sum, const void *data, size_t n)
{
  uint64_t *s = sum;
  const uint64_t *x = data;

  if (n == BLOCK)
    add_block_i64 (s, x);
  else
    for (size_t i = 0; i < n; i++)
      s[i] += x[i];
}

static void
add_f32 (void *sum, const void *data, size_t n)
{
  float *s = sum;
  const float *x = data;

  if (n == BLOCK)
    add_block_f32 (s, x);
  else
    for (size_t i = 0; i < n; i++)
      s[i] += x[i];
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
  float sum[BLOCK];
  uint16_t rounded[BLOCK];

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

  for (; to - at >= BLOCK; at += BLOCK)
    sum_block_bf16 (in, n_in, out, n_out, at, BLOCK);
  sum_block_bf16 (in, n_in, out, n_out, at, to - at);
}

/* ---- all types ---- */

void
mm_sum_buffers (enum mm_sum_type type, void *const *in, int n_in, void *const *out, int n_out,
                size_t from, size_t to)
{
  void (*add) (void *, const void *, size_t) = type == MM_SUM_I64 ? add_i64 : add_f32;
  size_t size = mm_sum_size (type);
  _Alignas (64) char sum[BLOCK * sizeof (int64_t)];

  if (type == MM_SUM_BF16)
    {
      sum_bf16 (in, n_in, out, n_out, from, to);
      return;
    }
  for (size_t at = from; at < to; at += BLOCK)
    {
      size_t n = to - at < BLOCK ? to - at : BLOCK;

      memcpy (sum, (const char *) in[0] + at * size, n * size);
      for (int i = 1; i < n_in; i++)
        add (sum, (const char *) in[i] + at * size, n);
      for (int i = 0; i < n_out; i++)
        memcpy ((char *) out[i] + at * size, sum, n * size);
    }
}

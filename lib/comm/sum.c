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
  return type == MM_SUM_I64 ? sizeof (int64_t) : sizeof (float);
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

void
mm_sum_buffers (enum mm_sum_type type, void *const *in, int n_in, void *const *out, int n_out,
                size_t from, size_t to)
{
  void (*add) (void *, const void *, size_t) = type == MM_SUM_I64 ? add_i64 : add_f32;
  size_t size = mm_sum_size (type);
  _Alignas (64) char sum[BLOCK * sizeof (int64_t)];

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

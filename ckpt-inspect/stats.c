/* stats.c -- a tensor's values in one pass, in double precision.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>

#include "describe.h"

enum { PIECE = 4096 };          /* elements */

struct stats
{
  double min, max, mean, squares;       /* of finite values; squares: sum of (x - mean)^2 (Welford) */
  double norm;                  /* sum of x^2 */
  uint64_t finite, zeros, nonfinite;
};

uint64_t
tensor_elements (const struct mm_tensor *t)
{
  uint64_t n = 1;

  for (int i = 0; i < t->n_dims; i++)
    n *= t->shape[i];
  return n;
}

static void
add_value (struct stats *s, double x)
{
  double delta = x - s->mean;

  if (!isfinite (x))
    {
      s->nonfinite++;
      return;
    }
  s->finite++;
  s->zeros += x == 0;
  s->mean += delta / (double) s->finite;
  s->squares += delta * (x - s->mean);
  s->norm += x * x;
  if (s->finite == 1 || x < s->min)
    s->min = x;
  if (s->finite == 1 || x > s->max)
    s->max = x;
}

static json_t *
number (double x, bool there)
{
  return there && isfinite (x) ? json_real (x) : json_null ();
}

mm_status
stats_add (const struct mm_safetensors *file, const struct mm_tensor *t, json_t *d)
{
  double values[PIECE];
  char raw[PIECE * sizeof (double)];
  size_t width = mm_dtype_bits (t->dtype) / 8;
  struct stats s = { .min = 0 };

  if (!mm_dtype_values (t->dtype, raw, 0, values))
    return MM_OK;
  for (uint64_t at = 0; at < t->size;)
    {
      size_t n = t->size - at < PIECE * width ? (size_t) (t->size - at) : PIECE * width;
      mm_status st = mm_safetensors_read (file, t, at, raw, n);

      if (st < 0)
        return st;
      mm_dtype_values (t->dtype, raw, n / width, values);
      for (size_t i = 0; i < n / width; i++)
        add_value (&s, values[i]);
      at += n;
    }
  json_object_set_new (d, "min", number (s.min, s.finite));
  json_object_set_new (d, "max", number (s.max, s.finite));
  json_object_set_new (d, "mean", number (s.mean, s.finite));
  json_object_set_new (d, "std", number (sqrt (s.squares / (double) s.finite), s.finite));
  json_object_set_new (d, "norm", number (sqrt (s.norm), s.finite));
  json_object_set_new (d, "zeros", json_integer ((json_int_t) s.zeros));
  json_object_set_new (d, "nonfinite", json_integer ((json_int_t) s.nonfinite));
  return MM_OK;
}

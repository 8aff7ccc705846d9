/* dtype.c -- element types of safetensors, in the order of its enumeration.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <string.h>

#include <minimind/safetensors.h>

#include "safetensors_header.h"

static const struct
{
  const char *name;
  size_t bits;
} dtypes[MM_N_DTYPES] = {
  [MM_BOOL] = { "BOOL", 8 },
  [MM_F4] = { "F4", 4 },
  [MM_F6_E2M3] = { "F6_E2M3", 6 },
  [MM_F6_E3M2] = { "F6_E3M2", 6 },
  [MM_U8] = { "U8", 8 },
  [MM_I8] = { "I8", 8 },
  [MM_F8_E5M2] = { "F8_E5M2", 8 },
  [MM_F8_E4M3] = { "F8_E4M3", 8 },
  [MM_F8_E8M0] = { "F8_E8M0", 8 },
  [MM_F8_E4M3FNUZ] = { "F8_E4M3FNUZ", 8 },
  [MM_F8_E5M2FNUZ] = { "F8_E5M2FNUZ", 8 },
  [MM_I16] = { "I16", 16 },
  [MM_U16] = { "U16", 16 },
  [MM_F16] = { "F16", 16 },
  [MM_BF16] = { "BF16", 16 },
  [MM_I32] = { "I32", 32 },
  [MM_U32] = { "U32", 32 },
  [MM_F32] = { "F32", 32 },
  [MM_C64] = { "C64", 64 },
  [MM_F64] = { "F64", 64 },
  [MM_I64] = { "I64", 64 },
  [MM_U64] = { "U64", 64 },
};

const char *
mm_dtype_name (enum mm_dtype dtype)
{
  return dtypes[dtype].name;
}

size_t
mm_dtype_bits (enum mm_dtype dtype)
{
  return dtypes[dtype].bits;
}

bool
mm_dtype_find (const char *name, enum mm_dtype *dtype)
{
  for (int i = 0; i < MM_N_DTYPES; i++)
    if (strcmp (dtypes[i].name, name) == 0)
      {
        *dtype = (enum mm_dtype) i;
        return true;
      }
  return false;
}

bool
mm_tensor_bytes (enum mm_dtype dtype, int n_dims, const uint64_t *shape, uint64_t *bytes)
{
  uint64_t n = 1;

  for (int i = 0; i < n_dims; i++)
    if (__builtin_mul_overflow (n, shape[i], &n))
      return false;
  if (__builtin_mul_overflow (n, (uint64_t) dtypes[dtype].bits, &n) || n % 8 != 0)
    return false;
  *bytes = n / 8;
  return true;
}

/* ---- values ---- */

static double
from_f16 (uint16_t h)
{
  double sign = h & 0x8000 ? -1 : 1, mantissa = h & 1023;
  int exponent = h >> 10 & 31;

  if (exponent == 31)
    return mantissa ? NAN : sign * HUGE_VAL;
  if (exponent == 0)
    return sign * mantissa * 0x1p-24;
  return sign * ldexp (mantissa + 1024, exponent - 25);
}

static double
from_bf16 (uint16_t h)
{
  uint32_t bits = (uint32_t) h << 16;
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

#define COPY(type, expression) \
  do \
    for (size_t i = 0; i < count; i++) \
      { \
        type x; \
        memcpy (&x, at + i * sizeof x, sizeof x); \
        values[i] = (expression); \
      } \
  while (0)

bool
mm_dtype_values (enum mm_dtype dtype, const void *raw, size_t count, double *values)
{
  const char *at = raw;

  switch (dtype)
    {
    case MM_BOOL:
    case MM_U8:
      COPY (uint8_t, x);
      return true;
    case MM_I8:
      COPY (int8_t, x);
      return true;
    case MM_U16:
      COPY (uint16_t, x);
      return true;
    case MM_I16:
      COPY (int16_t, x);
      return true;
    case MM_U32:
      COPY (uint32_t, x);
      return true;
    case MM_I32:
      COPY (int32_t, x);
      return true;
    case MM_U64:
      COPY (uint64_t, (double) x);
      return true;
    case MM_I64:
      COPY (int64_t, (double) x);
      return true;
    case MM_F16:
      COPY (uint16_t, from_f16 (x));
      return true;
    case MM_BF16:
      COPY (uint16_t, from_bf16 (x));
      return true;
    case MM_F32:
      COPY (float, x);
      return true;
    case MM_F64:
      COPY (double, x);
      return true;
    default:
      return false;
    }
}

/* ---- back ---- */

/* The upper half of the bits, rounded to nearest even; a NaN stays one.  */
static uint16_t
to_bf16 (float value)
{
  uint32_t bits;

  memcpy (&bits, &value, sizeof bits);
  if (isnan (value))
    return (uint16_t) (bits >> 16 | 0x40);
  return (uint16_t) ((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Rounding happens by scaling to where the last place of the result is 1: nearest even, subnormals included.  */
static uint16_t
to_f16 (float value)
{
  uint16_t sign = signbit (value) ? 0x8000 : 0;
  double x = fabs ((double) value), units;
  int exponent;

  if (isnan (value))
    return sign | 0x7e00;
  if (x >= 65520)
    return sign | 0x7c00;
  frexp (x, &exponent);         /* x = m * 2^exponent, 0.5 <= m < 1 */
  if (x < 0x1p-14)
    exponent = -13;
  units = nearbyint (ldexp (x, 11 - exponent));
  /* Of 11 bits the highest is implied; a carry into the exponent is what it should be.  */
  return x < 0x1p-14 ? sign | (uint16_t) units
                     : (uint16_t) (sign | (((uint32_t) (exponent + 14) << 10) + (uint32_t) units - 1024));
}

bool
mm_dtype_from_f32 (enum mm_dtype dtype, const float *values, size_t count, void *raw)
{
  uint16_t *half = raw;

  if (dtype == MM_F32)
    memcpy (raw, values, count * sizeof *values);
  else if (dtype == MM_F16 || dtype == MM_BF16)
    for (size_t i = 0; i < count; i++)
      half[i] = dtype == MM_F16 ? to_f16 (values[i]) : to_bf16 (values[i]);
  else
    return false;
  return true;
}

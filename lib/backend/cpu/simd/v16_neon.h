/* v16_neon.h -- v16 as four q registers; see v16.h.
   SPDX-License-Identifier: Apache-2.0  */

#include <arm_neon.h>

typedef struct { float32x4_t a, b, c, d; } v16;
typedef struct { int32x4_t a, b, c, d; } i16;
typedef struct { uint32x4_t a, b, c, d; } m16;  /* all ones is true */
typedef struct { float64x2_t v[8]; } d16;

/* The same operation on all four quarters.  */
#define V16_UNARY(result, type, name, intrinsic) \
  MM_INLINE result name (type x) \
  { return (result) { intrinsic (x.a), intrinsic (x.b), intrinsic (x.c), intrinsic (x.d) }; }
#define V16_BINARY(result, type, name, intrinsic) \
  MM_INLINE result name (type x, type y) \
  { return (result) { intrinsic (x.a, y.a), intrinsic (x.b, y.b), intrinsic (x.c, y.c), \
                      intrinsic (x.d, y.d) }; }

/* ---- truth values ---- */

MM_INLINE m16
m16_first (size_t n)
{
  static const uint32_t index[4] = { 0, 1, 2, 3 };
  uint32x4_t i = vld1q_u32 (index), last = vdupq_n_u32 ((uint32_t) n);

  return (m16) { vcltq_u32 (i, last), vcltq_u32 (vaddq_u32 (i, vdupq_n_u32 (4)), last),
                 vcltq_u32 (vaddq_u32 (i, vdupq_n_u32 (8)), last),
                 vcltq_u32 (vaddq_u32 (i, vdupq_n_u32 (12)), last) };
}

MM_INLINE m16 m16_none (void) { return m16_first (0); }
V16_BINARY (m16, m16, m16_and, vandq_u32)
V16_BINARY (m16, m16, m16_or, vorrq_u32)
V16_UNARY (m16, m16, m16_not, vmvnq_u32)

MM_INLINE int
m16_any (m16 x)
{
  return vmaxvq_u32 (vorrq_u32 (vorrq_u32 (x.a, x.b), vorrq_u32 (x.c, x.d))) != 0;
}

/* ---- memory ---- */

MM_INLINE v16
v16_load (const float *p)
{
  return (v16) { vld1q_f32 (p), vld1q_f32 (p + 4), vld1q_f32 (p + 8), vld1q_f32 (p + 12) };
}

MM_INLINE void
v16_store (float *p, v16 x)
{
  vst1q_f32 (p, x.a);
  vst1q_f32 (p + 4, x.b);
  vst1q_f32 (p + 8, x.c);
  vst1q_f32 (p + 12, x.d);
}

MM_INLINE v16
v16_load_n (const float *p, size_t n)
{
  float part[16] = { 0 };

  for (size_t l = 0; l < n; l++)
    part[l] = p[l];
  return v16_load (part);
}

MM_INLINE void
v16_store_n (float *p, v16 x, size_t n)
{
  float part[16];

  v16_store (part, x);
  for (size_t l = 0; l < n; l++)
    p[l] = part[l];
}

MM_INLINE v16
v16_set1 (float x)
{
  float32x4_t q = vdupq_n_f32 (x);

  return (v16) { q, q, q, q };
}

MM_INLINE v16 v16_zero (void) { return v16_set1 (0); }

/* ---- comparison ---- */

V16_BINARY (m16, v16, v16_lt, vcltq_f32)
V16_BINARY (m16, v16, v16_le, vcleq_f32)
V16_BINARY (m16, v16, v16_gt, vcgtq_f32)
V16_BINARY (m16, v16, v16_ge, vcgeq_f32)
V16_BINARY (m16, v16, v16_eq, vceqq_f32)

MM_INLINE v16
v16_select (m16 m, v16 x, v16 y)
{
  return (v16) { vbslq_f32 (m.a, x.a, y.a), vbslq_f32 (m.b, x.b, y.b), vbslq_f32 (m.c, x.c, y.c),
                 vbslq_f32 (m.d, x.d, y.d) };
}

/* ---- arithmetic ---- */

V16_BINARY (v16, v16, v16_add, vaddq_f32)
V16_BINARY (v16, v16, v16_sub, vsubq_f32)
V16_BINARY (v16, v16, v16_mul, vmulq_f32)
V16_BINARY (v16, v16, v16_div, vdivq_f32)
V16_UNARY (v16, v16, v16_sqrt, vsqrtq_f32)
V16_UNARY (v16, v16, v16_neg, vnegq_f32)

MM_INLINE v16
v16_fma (v16 x, v16 y, v16 z)
{
  return (v16) { vfmaq_f32 (z.a, x.a, y.a), vfmaq_f32 (z.b, x.b, y.b), vfmaq_f32 (z.c, x.c, y.c),
                 vfmaq_f32 (z.d, x.d, y.d) };
}

MM_INLINE v16
v16_fnma (v16 x, v16 y, v16 z)
{
  return (v16) { vfmsq_f32 (z.a, x.a, y.a), vfmsq_f32 (z.b, x.b, y.b), vfmsq_f32 (z.c, x.c, y.c),
                 vfmsq_f32 (z.d, x.d, y.d) };
}

/* Not vmaxq_f32, which gives NaN where either is.  */
MM_INLINE v16 v16_max (v16 x, v16 y) { return v16_select (v16_gt (x, y), x, y); }
MM_INLINE v16 v16_min (v16 x, v16 y) { return v16_select (v16_lt (x, y), x, y); }

/* ---- integers ---- */

V16_UNARY (i16, v16, v16_to_i16, vcvtnq_s32_f32)
V16_UNARY (v16, i16, i16_to_v16, vcvtq_f32_s32)
V16_BINARY (i16, i16, i16_add, vaddq_s32)
V16_BINARY (i16, i16, i16_sub, vsubq_s32)

MM_INLINE i16
i16_set1 (int32_t x)
{
  int32x4_t q = vdupq_n_s32 (x);

  return (i16) { q, q, q, q };
}

MM_INLINE i16
i16_load (const int32_t *p)
{
  return (i16) { vld1q_s32 (p), vld1q_s32 (p + 4), vld1q_s32 (p + 8), vld1q_s32 (p + 12) };
}

MM_INLINE i16
i16_sra (i16 x, int count)
{
  int32x4_t by = vdupq_n_s32 (-count);  /* a left shift by less than nothing */

  return (i16) { vshlq_s32 (x.a, by), vshlq_s32 (x.b, by), vshlq_s32 (x.c, by), vshlq_s32 (x.d, by) };
}

MM_INLINE v16
i16_pow2 (i16 n)
{
  n = i16_add (n, i16_set1 (127));
  return (v16) { vreinterpretq_f32_s32 (vshlq_n_s32 (n.a, 23)), vreinterpretq_f32_s32 (vshlq_n_s32 (n.b, 23)),
                 vreinterpretq_f32_s32 (vshlq_n_s32 (n.c, 23)), vreinterpretq_f32_s32 (vshlq_n_s32 (n.d, 23)) };
}

/* The first product is exact.  */
MM_INLINE v16
v16_scale (v16 x, v16 n)
{
  i16 whole = v16_to_i16 (n), half = i16_sra (whole, 1);

  return v16_mul (v16_mul (x, i16_pow2 (half)), i16_pow2 (i16_sub (whole, half)));
}

/* ---- across lanes ---- */

MM_INLINE void
v16_transpose (v16 r[16])
{
  float part[16][16];

  for (int i = 0; i < 16; i++)
    v16_store (part[i], r[i]);
  for (int i = 0; i < 16; i++)
    {
      float column[16];

      for (int j = 0; j < 16; j++)
        column[j] = part[j][i];
      r[i] = v16_load (column);
    }
}

MM_INLINE float
v16_sum (v16 x)
{
  float32x4_t q = vaddq_f32 (vaddq_f32 (x.a, x.c), vaddq_f32 (x.b, x.d));
  float32x2_t h = vadd_f32 (vget_low_f32 (q), vget_high_f32 (q));

  return vget_lane_f32 (h, 0) + vget_lane_f32 (h, 1);
}

MM_INLINE float
v16_max_lane (v16 x)
{
  return vmaxvq_f32 (vmaxq_f32 (vmaxq_f32 (x.a, x.b), vmaxq_f32 (x.c, x.d)));
}

/* ---- fixed point ---- */

MM_INLINE m16
v16_add_fixed_n (int64_t *acc, v16 g, size_t n)
{
  float part[16];
  v16 magnitude = { vabsq_f32 (g.a), vabsq_f32 (g.b), vabsq_f32 (g.c), vabsq_f32 (g.d) };
  m16 good = v16_lt (magnitude, v16_set1 (V16_FIXED_BOUND));

  v16_store (part, v16_select (good, v16_mul (g, v16_set1 (V16_FIXED_SCALE)), v16_zero ()));
  for (size_t l = 0; l < n; l++)
    acc[l] += vcvtnd_s64_f64 ((double) part[l]);
  return m16_and (m16_not (good), m16_first (n));
}

MM_INLINE m16 v16_add_fixed (int64_t *acc, v16 g) { return v16_add_fixed_n (acc, g, 16); }

MM_INLINE v16
v16_from_i64_n (const int64_t *p, size_t n)
{
  float f[16] = { 0 };

  for (size_t l = 0; l < n; l++)
    f[l] = (float) p[l];
  return v16_load (f);
}

MM_INLINE v16 v16_from_i64 (const int64_t *p) { return v16_from_i64_n (p, 16); }

/* ---- doubles ---- */

MM_INLINE d16
d16_zero (void)
{
  d16 x;

  for (int i = 0; i < 8; i++)
    x.v[i] = vdupq_n_f64 (0);
  return x;
}

MM_INLINE d16
d16_from_v16 (v16 x)
{
  return (d16) { { vcvt_f64_f32 (vget_low_f32 (x.a)), vcvt_high_f64_f32 (x.a),
                   vcvt_f64_f32 (vget_low_f32 (x.b)), vcvt_high_f64_f32 (x.b),
                   vcvt_f64_f32 (vget_low_f32 (x.c)), vcvt_high_f64_f32 (x.c),
                   vcvt_f64_f32 (vget_low_f32 (x.d)), vcvt_high_f64_f32 (x.d) } };
}

MM_INLINE d16
d16_fma (d16 x, d16 y, d16 z)
{
  for (int i = 0; i < 8; i++)
    z.v[i] = vfmaq_f64 (z.v[i], x.v[i], y.v[i]);
  return z;
}

MM_INLINE double
d16_sum (d16 x)
{
  for (int half = 4; half > 0; half /= 2)
    for (int i = 0; i < half; i++)
      x.v[i] = vaddq_f64 (x.v[i], x.v[i + half]);
  return vgetq_lane_f64 (x.v[0], 0) + vgetq_lane_f64 (x.v[0], 1);
}

#undef V16_UNARY
#undef V16_BINARY

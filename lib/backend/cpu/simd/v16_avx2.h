/* v16_avx2.h -- v16 as two ymm registers; see v16.h.
   SPDX-License-Identifier: Apache-2.0  */

#include <immintrin.h>

typedef struct { __m256 a, b; } v16;
typedef struct { __m256i a, b; } i16;
typedef struct { __m256 a, b; } m16;    /* all ones is true */
typedef struct { __m256d a, b, c, d; } d16;

/* The same operation on both halves.  */
#define V16_UNARY(name, intrinsic) \
  MM_INLINE v16 name (v16 x) { return (v16) { intrinsic (x.a), intrinsic (x.b) }; }
#define V16_BINARY(type, name, intrinsic) \
  MM_INLINE type name (type x, type y) \
  { return (type) { intrinsic (x.a, y.a), intrinsic (x.b, y.b) }; }
#define V16_TERNARY(name, intrinsic) \
  MM_INLINE v16 name (v16 x, v16 y, v16 z) \
  { return (v16) { intrinsic (x.a, y.a, z.a), intrinsic (x.b, y.b, z.b) }; }
#define V16_COMPARE(name, predicate) \
  MM_INLINE m16 name (v16 x, v16 y) \
  { return (m16) { _mm256_cmp_ps (x.a, y.a, predicate), _mm256_cmp_ps (x.b, y.b, predicate) }; }

/* ---- truth values ---- */

/* Lane l is true where l < N.  */
MM_INLINE __m256i
v16_first8 (size_t n)
{
  return _mm256_cmpgt_epi32 (_mm256_set1_epi32 ((int) n), _mm256_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7));
}

MM_INLINE m16
m16_first (size_t n)
{
  return (m16) { _mm256_castsi256_ps (v16_first8 (n)),
                 _mm256_castsi256_ps (v16_first8 (n < 8 ? 0 : n - 8)) };
}

MM_INLINE m16 m16_none (void) { return (m16) { _mm256_setzero_ps (), _mm256_setzero_ps () }; }
V16_BINARY (m16, m16_and, _mm256_and_ps)
V16_BINARY (m16, m16_or, _mm256_or_ps)

MM_INLINE m16
m16_not (m16 x)
{
  __m256 ones = _mm256_castsi256_ps (_mm256_set1_epi32 (-1));

  return (m16) { _mm256_xor_ps (x.a, ones), _mm256_xor_ps (x.b, ones) };
}

MM_INLINE int m16_any (m16 x) { return _mm256_movemask_ps (_mm256_or_ps (x.a, x.b)) != 0; }

/* ---- memory ---- */

MM_INLINE v16 v16_load (const float *p) { return (v16) { _mm256_loadu_ps (p), _mm256_loadu_ps (p + 8) }; }

MM_INLINE v16
v16_load_n (const float *p, size_t n)
{
  m16 m = m16_first (n);

  return (v16) { _mm256_maskload_ps (p, _mm256_castps_si256 (m.a)),
                 _mm256_maskload_ps (p + 8, _mm256_castps_si256 (m.b)) };
}

MM_INLINE void
v16_store (float *p, v16 x)
{
  _mm256_storeu_ps (p, x.a);
  _mm256_storeu_ps (p + 8, x.b);
}

MM_INLINE void
v16_store_n (float *p, v16 x, size_t n)
{
  m16 m = m16_first (n);

  _mm256_maskstore_ps (p, _mm256_castps_si256 (m.a), x.a);
  _mm256_maskstore_ps (p + 8, _mm256_castps_si256 (m.b), x.b);
}

MM_INLINE v16 v16_set1 (float x) { return (v16) { _mm256_set1_ps (x), _mm256_set1_ps (x) }; }
MM_INLINE v16 v16_zero (void) { return (v16) { _mm256_setzero_ps (), _mm256_setzero_ps () }; }

/* ---- arithmetic ---- */

V16_BINARY (v16, v16_add, _mm256_add_ps)
V16_BINARY (v16, v16_sub, _mm256_sub_ps)
V16_BINARY (v16, v16_mul, _mm256_mul_ps)
V16_BINARY (v16, v16_div, _mm256_div_ps)
V16_UNARY (v16_sqrt, _mm256_sqrt_ps)
V16_TERNARY (v16_fma, _mm256_fmadd_ps)
V16_TERNARY (v16_fnma, _mm256_fnmadd_ps)
V16_BINARY (v16, v16_max, _mm256_max_ps)
V16_BINARY (v16, v16_min, _mm256_min_ps)

MM_INLINE v16
v16_neg (v16 x)
{
  __m256 sign = _mm256_set1_ps (-0.0f);

  return (v16) { _mm256_xor_ps (x.a, sign), _mm256_xor_ps (x.b, sign) };
}

/* ---- comparison ---- */

V16_COMPARE (v16_lt, _CMP_LT_OQ)
V16_COMPARE (v16_le, _CMP_LE_OQ)
V16_COMPARE (v16_gt, _CMP_GT_OQ)
V16_COMPARE (v16_ge, _CMP_GE_OQ)
V16_COMPARE (v16_eq, _CMP_EQ_OQ)

MM_INLINE v16
v16_select (m16 m, v16 x, v16 y)
{
  return (v16) { _mm256_blendv_ps (y.a, x.a, m.a), _mm256_blendv_ps (y.b, x.b, m.b) };
}

/* ---- integers ---- */

MM_INLINE i16 v16_to_i16 (v16 x) { return (i16) { _mm256_cvtps_epi32 (x.a), _mm256_cvtps_epi32 (x.b) }; }
MM_INLINE v16 i16_to_v16 (i16 x) { return (v16) { _mm256_cvtepi32_ps (x.a), _mm256_cvtepi32_ps (x.b) }; }
MM_INLINE i16 i16_set1 (int32_t x) { return (i16) { _mm256_set1_epi32 (x), _mm256_set1_epi32 (x) }; }
V16_BINARY (i16, i16_add, _mm256_add_epi32)
V16_BINARY (i16, i16_sub, _mm256_sub_epi32)

MM_INLINE i16
i16_load (const int32_t *p)
{
  return (i16) { _mm256_loadu_si256 ((const __m256i *) p), _mm256_loadu_si256 ((const __m256i *) p + 1) };
}

MM_INLINE i16
i16_sra (i16 x, int count)
{
  return (i16) { _mm256_srai_epi32 (x.a, count), _mm256_srai_epi32 (x.b, count) };
}

MM_INLINE v16
i16_pow2 (i16 n)
{
  n = i16_add (n, i16_set1 (127));
  return (v16) { _mm256_castsi256_ps (_mm256_slli_epi32 (n.a, 23)),
                 _mm256_castsi256_ps (_mm256_slli_epi32 (n.b, 23)) };
}

/* The first product is exact.  */
MM_INLINE v16
v16_scale (v16 x, v16 n)
{
  i16 whole = v16_to_i16 (n), half = i16_sra (whole, 1);

  return v16_mul (v16_mul (x, i16_pow2 (half)), i16_pow2 (i16_sub (whole, half)));
}

/* ---- across lanes ---- */

/* 8 x 8: pairs of rows, then of pairs, then halves of the registers.  */
MM_INLINE void
v16_transpose8 (__m256 r[8])
{
  __m256 t[8];

#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2)
    {
      t[i] = _mm256_unpacklo_ps (r[i], r[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps (r[i], r[i + 1]);
    }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4)
    {
      r[i] = _mm256_shuffle_ps (t[i], t[i + 2], 0x44);
      r[i + 1] = _mm256_shuffle_ps (t[i], t[i + 2], 0xee);
      r[i + 2] = _mm256_shuffle_ps (t[i + 1], t[i + 3], 0x44);
      r[i + 3] = _mm256_shuffle_ps (t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++)
    {
      __m256 low = r[i], high = r[i + 4];

      r[i] = _mm256_permute2f128_ps (low, high, 0x20);
      r[i + 4] = _mm256_permute2f128_ps (low, high, 0x31);
    }
}

/* Four blocks of 8 x 8; the two beside the diagonal change places.  */
MM_INLINE void
v16_transpose (v16 r[16])
{
  __m256 block[4][8];

#pragma GCC unroll 8
  for (int i = 0; i < 8; i++)
    {
      block[0][i] = r[i].a;
      block[1][i] = r[i].b;
      block[2][i] = r[i + 8].a;
      block[3][i] = r[i + 8].b;
    }
#pragma GCC unroll 4
  for (int b = 0; b < 4; b++)
    v16_transpose8 (block[b]);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++)
    {
      r[i] = (v16) { block[0][i], block[2][i] };
      r[i + 8] = (v16) { block[1][i], block[3][i] };
    }
}

MM_INLINE float
v16_sum (v16 a)
{
  __m256 y = _mm256_add_ps (a.a, a.b);
  __m128 x = _mm_add_ps (_mm256_castps256_ps128 (y), _mm256_extractf128_ps (y, 1));

  x = _mm_add_ps (x, _mm_movehl_ps (x, x));
  return _mm_cvtss_f32 (_mm_add_ss (x, _mm_movehdup_ps (x)));
}

MM_INLINE float
v16_max_lane (v16 a)
{
  __m256 y = _mm256_max_ps (a.a, a.b);
  __m128 x = _mm_max_ps (_mm256_castps256_ps128 (y), _mm256_extractf128_ps (y, 1));

  x = _mm_max_ps (x, _mm_movehl_ps (x, x));
  return _mm_cvtss_f32 (_mm_max_ss (x, _mm_movehdup_ps (x)));
}

/* ---- fixed point ---- */

/* int64 of four float32, |f| <= 2^51: adding 1.5 * 2^52 rounds to an integer that stands in the low bits.  */
MM_INLINE __m256i
v16_fixed4 (__m128 f)
{
  __m256d magic = _mm256_set1_pd (0x1.8p52);
  __m256d d = _mm256_add_pd (_mm256_cvtps_pd (f), magic);

  return _mm256_sub_epi64 (_mm256_castpd_si256 (d), _mm256_castpd_si256 (magic));
}

MM_INLINE void
v16_add4 (int64_t *acc, __m128 f)
{
  __m256i *p = (__m256i *) acc;

  _mm256_storeu_si256 (p, _mm256_add_epi64 (_mm256_loadu_si256 (p), v16_fixed4 (f)));
}

/* G times the scale where it is in range, else 0; *BAD: where it is not.  */
MM_INLINE v16
v16_to_fixed (v16 g, m16 *bad)
{
  v16 magnitude = { _mm256_andnot_ps (_mm256_set1_ps (-0.0f), g.a),
                    _mm256_andnot_ps (_mm256_set1_ps (-0.0f), g.b) };
  m16 good = v16_lt (magnitude, v16_set1 (V16_FIXED_BOUND));
  v16 q = v16_mul (g, v16_set1 (V16_FIXED_SCALE));

  *bad = m16_not (good);
  return (v16) { _mm256_and_ps (q.a, good.a), _mm256_and_ps (q.b, good.b) };
}

MM_INLINE m16
v16_add_fixed (int64_t *acc, v16 g)
{
  m16 bad;
  v16 q = v16_to_fixed (g, &bad);

  v16_add4 (acc, _mm256_castps256_ps128 (q.a));
  v16_add4 (acc + 4, _mm256_extractf128_ps (q.a, 1));
  v16_add4 (acc + 8, _mm256_castps256_ps128 (q.b));
  v16_add4 (acc + 12, _mm256_extractf128_ps (q.b, 1));
  return bad;
}

MM_INLINE m16
v16_add_fixed_n (int64_t *acc, v16 g, size_t n)
{
  int64_t part[16] = { 0 };
  m16 bad = v16_add_fixed (part, g);

  for (size_t l = 0; l < n; l++)
    acc[l] += part[l];
  return m16_and (bad, m16_first (n));
}

MM_INLINE v16
v16_from_i64_n (const int64_t *p, size_t n)
{
  float f[16] = { 0 };

  for (size_t l = 0; l < n; l++)
    f[l] = (float) p[l];
  return v16_load (f);
}

/* float32 of four int64 below 2^51: exact as doubles, by the sum of v16_fixed4 backwards.  */
MM_INLINE __m128
v16_from4 (__m256i q)
{
  __m256d magic = _mm256_set1_pd (0x1.8p52);
  __m256i d = _mm256_add_epi64 (q, _mm256_castpd_si256 (magic));

  return _mm256_cvtpd_ps (_mm256_sub_pd (_mm256_castsi256_pd (d), magic));
}

MM_INLINE v16
v16_from_i64 (const int64_t *p)
{
  __m256i q[4], over = _mm256_setzero_si256 ();

  for (int i = 0; i < 4; i++)
    {
      q[i] = _mm256_loadu_si256 ((const __m256i *) p + i);
      /* -2^51 <= q < 2^51 leaves no bit from 52 on.  */
      over = _mm256_or_si256 (over, _mm256_add_epi64 (q[i], _mm256_set1_epi64x (INT64_C (1) << 51)));
    }
  if (!_mm256_testz_si256 (over, _mm256_set1_epi64x (-(INT64_C (1) << 52))))
    return v16_from_i64_n (p, 16);
  return (v16) { _mm256_set_m128 (v16_from4 (q[1]), v16_from4 (q[0])),
                 _mm256_set_m128 (v16_from4 (q[3]), v16_from4 (q[2])) };
}

/* ---- doubles ---- */

MM_INLINE d16
d16_zero (void)
{
  __m256d z = _mm256_setzero_pd ();

  return (d16) { z, z, z, z };
}

MM_INLINE d16
d16_from_v16 (v16 x)
{
  return (d16) { _mm256_cvtps_pd (_mm256_castps256_ps128 (x.a)),
                 _mm256_cvtps_pd (_mm256_extractf128_ps (x.a, 1)),
                 _mm256_cvtps_pd (_mm256_castps256_ps128 (x.b)),
                 _mm256_cvtps_pd (_mm256_extractf128_ps (x.b, 1)) };
}

MM_INLINE d16
d16_fma (d16 x, d16 y, d16 z)
{
  return (d16) { _mm256_fmadd_pd (x.a, y.a, z.a), _mm256_fmadd_pd (x.b, y.b, z.b),
                 _mm256_fmadd_pd (x.c, y.c, z.c), _mm256_fmadd_pd (x.d, y.d, z.d) };
}

MM_INLINE double
d16_sum (d16 x)
{
  __m256d y = _mm256_add_pd (_mm256_add_pd (x.a, x.c), _mm256_add_pd (x.b, x.d));
  __m128d z = _mm_add_pd (_mm256_castpd256_pd128 (y), _mm256_extractf128_pd (y, 1));

  return _mm_cvtsd_f64 (_mm_add_sd (z, _mm_unpackhi_pd (z, z)));
}

#undef V16_UNARY
#undef V16_BINARY
#undef V16_TERNARY
#undef V16_COMPARE

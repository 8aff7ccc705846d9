/* v16_avx512.h -- v16 as one zmm register; see v16.h.
   SPDX-License-Identifier: Apache-2.0  */

#include <immintrin.h>

typedef __m512 v16;
typedef __m512i i16;
typedef __mmask16 m16;
typedef struct { __m512d a, b; } d16;

/* ---- truth values ---- */

MM_INLINE m16 m16_first (size_t n) { return (m16) ((1u << n) - 1); }
MM_INLINE m16 m16_none (void) { return 0; }
MM_INLINE m16 m16_and (m16 a, m16 b) { return a & b; }
MM_INLINE m16 m16_or (m16 a, m16 b) { return a | b; }
MM_INLINE m16 m16_not (m16 a) { return (m16) ~a; }
MM_INLINE int m16_any (m16 a) { return a != 0; }

/* ---- memory ---- */

MM_INLINE v16 v16_load (const float *p) { return _mm512_loadu_ps (p); }
MM_INLINE v16 v16_load_n (const float *p, size_t n) { return _mm512_maskz_loadu_ps (m16_first (n), p); }
MM_INLINE void v16_store (float *p, v16 a) { _mm512_storeu_ps (p, a); }
MM_INLINE void v16_store_n (float *p, v16 a, size_t n) { _mm512_mask_storeu_ps (p, m16_first (n), a); }
MM_INLINE v16 v16_set1 (float x) { return _mm512_set1_ps (x); }
MM_INLINE v16 v16_zero (void) { return _mm512_setzero_ps (); }

/* ---- arithmetic ---- */

MM_INLINE v16 v16_add (v16 a, v16 b) { return _mm512_add_ps (a, b); }
MM_INLINE v16 v16_sub (v16 a, v16 b) { return _mm512_sub_ps (a, b); }
MM_INLINE v16 v16_mul (v16 a, v16 b) { return _mm512_mul_ps (a, b); }
MM_INLINE v16 v16_div (v16 a, v16 b) { return _mm512_div_ps (a, b); }
MM_INLINE v16 v16_sqrt (v16 a) { return _mm512_sqrt_ps (a); }
MM_INLINE v16 v16_neg (v16 a) { return _mm512_xor_ps (a, _mm512_set1_ps (-0.0f)); }
MM_INLINE v16 v16_fma (v16 a, v16 b, v16 c) { return _mm512_fmadd_ps (a, b, c); }
MM_INLINE v16 v16_fnma (v16 a, v16 b, v16 c) { return _mm512_fnmadd_ps (a, b, c); }
MM_INLINE v16 v16_max (v16 a, v16 b) { return _mm512_max_ps (a, b); }
MM_INLINE v16 v16_min (v16 a, v16 b) { return _mm512_min_ps (a, b); }

/* ---- comparison ---- */

MM_INLINE m16 v16_lt (v16 a, v16 b) { return _mm512_cmp_ps_mask (a, b, _CMP_LT_OQ); }
MM_INLINE m16 v16_le (v16 a, v16 b) { return _mm512_cmp_ps_mask (a, b, _CMP_LE_OQ); }
MM_INLINE m16 v16_gt (v16 a, v16 b) { return _mm512_cmp_ps_mask (a, b, _CMP_GT_OQ); }
MM_INLINE m16 v16_ge (v16 a, v16 b) { return _mm512_cmp_ps_mask (a, b, _CMP_GE_OQ); }
MM_INLINE m16 v16_eq (v16 a, v16 b) { return _mm512_cmp_ps_mask (a, b, _CMP_EQ_OQ); }
MM_INLINE v16 v16_select (m16 m, v16 a, v16 b) { return _mm512_mask_blend_ps (m, b, a); }

/* ---- integers ---- */

MM_INLINE i16 v16_to_i16 (v16 a) { return _mm512_cvtps_epi32 (a); }
MM_INLINE v16 i16_to_v16 (i16 a) { return _mm512_cvtepi32_ps (a); }
MM_INLINE i16 i16_set1 (int32_t x) { return _mm512_set1_epi32 (x); }
MM_INLINE i16 i16_load (const int32_t *p) { return _mm512_loadu_si512 (p); }
MM_INLINE i16 i16_add (i16 a, i16 b) { return _mm512_add_epi32 (a, b); }
MM_INLINE i16 i16_sub (i16 a, i16 b) { return _mm512_sub_epi32 (a, b); }
#define i16_sra(a, count) _mm512_srai_epi32 (a, count)

MM_INLINE v16
i16_pow2 (i16 n)
{
  return _mm512_castsi512_ps (_mm512_slli_epi32 (_mm512_add_epi32 (n, _mm512_set1_epi32 (127)), 23));
}

MM_INLINE v16 v16_scale (v16 a, v16 n) { return _mm512_scalef_ps (a, n); }

/* ---- across lanes ---- */

/* Pairs of rows, then of pairs, then quarters of the registers, twice.  */
MM_INLINE void
v16_transpose (v16 r[16])
{
  v16 t[16];

#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2)
    {
      t[i] = _mm512_unpacklo_ps (r[i], r[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps (r[i], r[i + 1]);
    }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4)
    {
      __m512d a = _mm512_castps_pd (t[i]), b = _mm512_castps_pd (t[i + 1]);
      __m512d c = _mm512_castps_pd (t[i + 2]), d = _mm512_castps_pd (t[i + 3]);

      r[i] = _mm512_castpd_ps (_mm512_unpacklo_pd (a, c));
      r[i + 1] = _mm512_castpd_ps (_mm512_unpackhi_pd (a, c));
      r[i + 2] = _mm512_castpd_ps (_mm512_unpacklo_pd (b, d));
      r[i + 3] = _mm512_castpd_ps (_mm512_unpackhi_pd (b, d));
    }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++)
    {
      t[i] = _mm512_shuffle_f32x4 (r[i], r[i + 4], 0x88);
      t[i + 4] = _mm512_shuffle_f32x4 (r[i], r[i + 4], 0xdd);
      t[i + 8] = _mm512_shuffle_f32x4 (r[i + 8], r[i + 12], 0x88);
      t[i + 12] = _mm512_shuffle_f32x4 (r[i + 8], r[i + 12], 0xdd);
    }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++)
    {
      r[i] = _mm512_shuffle_f32x4 (t[i], t[i + 8], 0x88);
      r[i + 8] = _mm512_shuffle_f32x4 (t[i], t[i + 8], 0xdd);
      r[i + 4] = _mm512_shuffle_f32x4 (t[i + 4], t[i + 12], 0x88);
      r[i + 12] = _mm512_shuffle_f32x4 (t[i + 4], t[i + 12], 0xdd);
    }
}

MM_INLINE float
v16_sum (v16 a)
{
  __m256 y = _mm256_add_ps (_mm512_castps512_ps256 (a), _mm512_extractf32x8_ps (a, 1));
  __m128 x = _mm_add_ps (_mm256_castps256_ps128 (y), _mm256_extractf128_ps (y, 1));

  x = _mm_add_ps (x, _mm_movehl_ps (x, x));
  return _mm_cvtss_f32 (_mm_add_ss (x, _mm_movehdup_ps (x)));
}

MM_INLINE float v16_max_lane (v16 a) { return _mm512_reduce_max_ps (a); }

/* ---- fixed point ---- */

MM_INLINE m16
v16_add_fixed_n (int64_t *acc, v16 g, size_t n)
{
  m16 first = m16_first (n);
  m16 good = v16_lt (_mm512_abs_ps (g), _mm512_set1_ps (V16_FIXED_BOUND));
  v16 q = _mm512_maskz_mul_ps (good, g, _mm512_set1_ps (V16_FIXED_SCALE));
  __mmask8 low = (__mmask8) first, high = (__mmask8) (first >> 8);
  __m512i a = _mm512_cvtps_epi64 (_mm512_castps512_ps256 (q));
  __m512i b = _mm512_cvtps_epi64 (_mm512_extractf32x8_ps (q, 1));

  a = _mm512_add_epi64 (a, _mm512_maskz_loadu_epi64 (low, acc));
  b = _mm512_add_epi64 (b, _mm512_maskz_loadu_epi64 (high, acc + 8));
  _mm512_mask_storeu_epi64 (acc, low, a);
  _mm512_mask_storeu_epi64 (acc + 8, high, b);
  return m16_and (first, m16_not (good));
}

MM_INLINE m16 v16_add_fixed (int64_t *acc, v16 g) { return v16_add_fixed_n (acc, g, 16); }

MM_INLINE v16
v16_from_i64_n (const int64_t *p, size_t n)
{
  m16 first = m16_first (n);
  __m256 a = _mm512_cvtepi64_ps (_mm512_maskz_loadu_epi64 ((__mmask8) first, p));
  __m256 b = _mm512_cvtepi64_ps (_mm512_maskz_loadu_epi64 ((__mmask8) (first >> 8), p + 8));

  return _mm512_insertf32x8 (_mm512_castps256_ps512 (a), b, 1);
}

MM_INLINE v16 v16_from_i64 (const int64_t *p) { return v16_from_i64_n (p, 16); }

/* ---- doubles ---- */

MM_INLINE d16 d16_zero (void) { return (d16) { _mm512_setzero_pd (), _mm512_setzero_pd () }; }

MM_INLINE d16
d16_from_v16 (v16 a)
{
  return (d16) { _mm512_cvtps_pd (_mm512_castps512_ps256 (a)),
                 _mm512_cvtps_pd (_mm512_extractf32x8_ps (a, 1)) };
}

MM_INLINE d16
d16_fma (d16 a, d16 b, d16 c)
{
  return (d16) { _mm512_fmadd_pd (a.a, b.a, c.a), _mm512_fmadd_pd (a.b, b.b, c.b) };
}

MM_INLINE double
d16_sum (d16 a)
{
  __m512d z = _mm512_add_pd (a.a, a.b);
  __m256d y = _mm256_add_pd (_mm512_castpd512_pd256 (z), _mm512_extractf64x4_pd (z, 1));
  __m128d x = _mm_add_pd (_mm256_castpd256_pd128 (y), _mm256_extractf128_pd (y, 1));

  return _mm_cvtsd_f64 (_mm_add_sd (x, _mm_unpackhi_pd (x, x)));
}

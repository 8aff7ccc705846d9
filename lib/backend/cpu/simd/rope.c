/* rope.c -- rotary positions, sixteen pairs at a time.
   SPDX-License-Identifier: Apache-2.0  */

#include "simd.h"

/* Turn N <= 16 pairs (a[j], b[j]).  */
MM_INLINE void
turn (float *a, float *b, const float *cosine, const float *sine, bool grad, size_t n)
{
  v16 c = v16_load_n (cosine, n), s = v16_load_n (sine, n), x = v16_load_n (a, n), y = v16_load_n (b, n);

  if (grad)
    s = v16_neg (s);
  v16_store_n (a, v16_fnma (y, s, v16_mul (x, c)), n);
  v16_store_n (b, v16_fma (x, s, v16_mul (y, c)), n);
}

MM_INLINE void
turn16 (float *a, float *b, const float *cosine, const float *sine, bool grad)
{
  v16 c = v16_load (cosine), s = v16_load (sine), x = v16_load (a), y = v16_load (b);

  if (grad)
    s = v16_neg (s);
  v16_store (a, v16_fnma (y, s, v16_mul (x, c)));
  v16_store (b, v16_fma (x, s, v16_mul (y, c)));
}

void
mm_kernel (rope) (struct mm_mat x, size_t hd, const int32_t *positions, const float *cosines,
                  const float *sines, bool grad)
{
  size_t half = hd / 2;

  for (size_t i = 0; i < x.rows; i++)
    for (size_t h = 0; h < x.cols / hd; h++)
      {
        float *a = x.data + i * x.ld + h * hd;
        const float *cosine = cosines + (size_t) positions[i] * half;
        const float *sine = sines + (size_t) positions[i] * half;
        size_t j = 0;

        for (; j + 16 <= half; j += 16)
          turn16 (a + j, a + half + j, cosine + j, sine + j, grad);
        if (j < half)
          turn (a + j, a + half + j, cosine + j, sine + j, grad, half - j);
      }
}

/* rope.c -- rotary positions, pairs (j, j + hd/2).
   SPDX-License-Identifier: Apache-2.0  */

#include "real.h"

void
REF (rope) (struct real_mat x, size_t hd, const int32_t *positions, const real *cosines,
            const real *sines, bool grad)
{
  size_t half = hd / 2;

  for (size_t i = 0; i < x.rows; i++)
    for (size_t h = 0; h < x.cols / hd; h++)
      {
        real *a = real_row (x, i) + h * hd, *b = a + half;
        const real *cosine = cosines + (size_t) positions[i] * half;
        const real *sine = sines + (size_t) positions[i] * half;

        for (size_t j = 0; j < half; j++)
          {
            real c = cosine[j], s = grad ? -sine[j] : sine[j], aj = a[j], bj = b[j];

            a[j] = real_fma (-bj, s, aj * c);
            b[j] = real_fma (aj, s, bj * c);
          }
      }
}

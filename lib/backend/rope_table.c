/* rope_table.c -- cosines and sines of rotary positions, on the host for any backend.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/elementary.h>
#include <minimind/ops.h>

void
mm_rope_table (size_t positions, size_t hd, double theta, float *cosines, float *sines)
{
  size_t half = hd / 2;

  for (size_t j = 0; j < half; j++)
    {
      float frequency = (float) (1 / mm_pow (theta, (double) (2 * j) / (double) hd));

      for (size_t pos = 0; pos < positions; pos++)
        {
          float angle = (float) pos * frequency;
          double s, c;

          mm_sincos ((double) angle, &s, &c);
          cosines[pos * half + j] = (float) c;
          sines[pos * half + j] = (float) s;
        }
    }
}

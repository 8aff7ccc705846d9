/* head_grad_weight.c -- chains of the head's weight gradient over one chunk of rows.
   SPDX-License-Identifier: Apache-2.0  */

#include "ref.h"

#include <math.h>

void
mm_kernel (head_grad_weight) (struct mm_mat dy, struct mm_mat x, struct mm_mat dw, bool go_on)
{
  for (size_t n = 0; n < dw.rows; n++)
    {
      float *restrict out = dw.data + n * dw.ld;

      for (size_t k = 0; !go_on && k < dw.cols; k++)
        out[k] = 0;
      for (size_t i = 0; i < dy.rows; i++)
        {
          const float *xi = x.data + i * x.ld;
          float d = dy.data[i * dy.ld + n];

          for (size_t k = 0; k < dw.cols; k++)
            out[k] = fmaf (d, xi[k], out[k]);
        }
    }
}

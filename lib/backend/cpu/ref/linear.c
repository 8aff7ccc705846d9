/* linear.c -- the three products of a linear layer, by definition.
   SPDX-License-Identifier: Apache-2.0  */

#include "real.h"

void
REF (linear) (struct real_mat x, struct real_mat w, struct real_mat residual, struct real_mat y)
{
  for (size_t i = 0; i < x.rows; i++)
    for (size_t n = 0; n < w.rows; n++)
      {
        real sum = real_long_chain (real_row (x, i), 1, real_row (w, n), 1, x.cols);

        real_row (y, i)[n] = residual.data ? real_row (residual, i)[n] + sum : sum;
      }
}

void
REF (linear_grad_input) (struct real_mat dy, struct real_mat w, struct real_mat dx)
{
  for (size_t i = 0; i < dy.rows; i++)
    for (size_t k = 0; k < w.cols; k++)
      real_row (dx, i)[k] = real_long_chain (real_row (dy, i), 1, w.data + k, w.ld, w.rows);
}

void
REF (linear_grad_weight) (struct real_mat dy, struct real_mat x, struct real_mat dw)
{
  for (size_t n = 0; n < dy.cols; n++)
    for (size_t k = 0; k < x.cols; k++)
      real_row (dw, n)[k] = real_long_chain (dy.data + n, dy.ld, x.data + k, x.ld, x.rows);
}

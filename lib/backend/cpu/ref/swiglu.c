/* swiglu.c -- silu (gate) * up, and its gradient.
   SPDX-License-Identifier: Apache-2.0  */

#include "real.h"

static real
sigmoid (real g)
{
  return 1 / (1 + real_exp (-g));
}

void
REF (swiglu) (struct real_mat gate_up, struct real_mat y)
{
  for (size_t i = 0; i < y.rows; i++)
    for (size_t c = 0; c < y.cols; c++)
      {
        real g = real_row (gate_up, i)[c], u = real_row (gate_up, i)[y.cols + c];

        real_row (y, i)[c] = (g * sigmoid (g)) * u;
      }
}

void
REF (swiglu_grad) (struct real_mat dy, struct real_mat gate_up, struct real_mat d_gate_up,
                   struct real_mat y)
{
  for (size_t i = 0; i < dy.rows; i++)
    for (size_t c = 0; c < dy.cols; c++)
      {
        real g = real_row (gate_up, i)[c], u = real_row (gate_up, i)[dy.cols + c];
        real d = real_row (dy, i)[c], sig = sigmoid (g);

        real_row (d_gate_up, i)[c] = (d * u) * (sig * real_fma (g, 1 - sig, 1));
        real_row (d_gate_up, i)[dy.cols + c] = d * (g * sig);
        if (y.data)
          real_row (y, i)[c] = (g * sig) * u;
      }
}

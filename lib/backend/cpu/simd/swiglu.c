/* swiglu.c -- silu (gate) * up and its gradient, sixteen at a time.
   SPDX-License-Identifier: Apache-2.0  */

#include "lanes.h"

MM_INLINE v16
swiglu16 (v16 g, v16 u)
{
  return v16_mul (v16_mul (g, v16_sigmoid (g)), u);
}

void
mm_kernel (swiglu) (struct mm_mat gate_up, struct mm_mat y)
{
  size_t n = y.cols;

  for (size_t i = 0; i < y.rows; i++)
    {
      const float *g = gate_up.data + i * gate_up.ld, *u = g + n;
      float *yi = y.data + i * y.ld;
      size_t c = 0;

      for (; c + 16 <= n; c += 16)
        v16_store (yi + c, swiglu16 (v16_load (g + c), v16_load (u + c)));
      if (c < n)
        v16_store_n (yi + c, swiglu16 (v16_load_n (g + c, n - c), v16_load_n (u + c, n - c)), n - c);
    }
}

/* dg, du and y again of some lanes.  */
struct grad16
{
  v16 dg, du, y;
};

MM_INLINE struct grad16
swiglu_grad16 (v16 d, v16 g, v16 u)
{
  v16 one = v16_set1 (1), sig = v16_sigmoid (g), silu = v16_mul (g, sig);

  return (struct grad16) {
    .dg = v16_mul (v16_mul (d, u), v16_mul (sig, v16_fma (g, v16_sub (one, sig), one))),
    .du = v16_mul (d, silu),
    .y = v16_mul (silu, u),
  };
}

/* Inputs are read before outputs are written: they may be the same rows.  */
void
mm_kernel (swiglu_grad) (struct mm_mat dy, struct mm_mat gate_up, struct mm_mat d_gate_up, struct mm_mat y)
{
  size_t n = dy.cols;

  for (size_t i = 0; i < dy.rows; i++)
    {
      const float *d = dy.data + i * dy.ld, *g = gate_up.data + i * gate_up.ld, *u = g + n;
      float *dg = d_gate_up.data + i * d_gate_up.ld, *du = dg + n;
      float *yi = y.data ? y.data + i * y.ld : NULL;
      size_t c = 0;

      for (; c + 16 <= n; c += 16)
        {
          struct grad16 out = swiglu_grad16 (v16_load (d + c), v16_load (g + c), v16_load (u + c));

          v16_store (dg + c, out.dg);
          v16_store (du + c, out.du);
          if (yi)
            v16_store (yi + c, out.y);
        }
      if (c < n)
        {
          struct grad16 out = swiglu_grad16 (v16_load_n (d + c, n - c), v16_load_n (g + c, n - c),
                                             v16_load_n (u + c, n - c));

          v16_store_n (dg + c, out.dg, n - c);
          v16_store_n (du + c, out.du, n - c);
          if (yi)
            v16_store_n (yi + c, out.y, n - c);
        }
    }
}

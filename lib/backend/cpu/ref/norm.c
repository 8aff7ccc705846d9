/* norm.c -- RMSNorm of groups of WIDTH values: whole rows, or the heads of q and k.
   SPDX-License-Identifier: Apache-2.0

   rms [rows * groups], groups = x.cols / width.  */

#include "real.h"

void
REF (norm) (struct real_mat x, size_t width, const real *w, real eps, struct real_mat y, real *rms)
{
  size_t groups = x.cols / width;

  for (size_t i = 0; i < x.rows; i++)
    for (size_t g = 0; g < groups; g++)
      {
        const real *xg = real_row (x, i) + g * width;
        real *yg = real_row (y, i) + g * width;
        real squares = real_lane_dot (xg, xg, width);
        real r = 1 / real_sqrt (squares / (real) width + eps);

        for (size_t c = 0; c < width; c++)
          yg[c] = xg[c] * r * w[c];
        if (rms)
          rms[i * groups + g] = r;
      }
}

void
REF (norm_grad_input) (struct real_mat dy, struct real_mat x, size_t width, const real *w,
                       const real *rms, struct real_mat residual, struct real_mat dx)
{
  size_t groups = x.cols / width;

  for (size_t i = 0; i < x.rows; i++)
    for (size_t g = 0; g < groups; g++)
      {
        const real *xg = real_row (x, i) + g * width, *dyg = real_row (dy, i) + g * width;
        real *dxg = real_row (dx, i) + g * width;
        real r = rms[i * groups + g], lane[REF_LANES] = { 0 }, s, c;

        for (size_t j = 0; j < width; j++)
          lane[j % REF_LANES] = real_fma (dyg[j] * w[j], xg[j], lane[j % REF_LANES]);
        s = real_lane_tree (lane);
        c = ((s / (real) width) * r) * (r * r);
        for (size_t j = 0; j < width; j++)
          {
            real d = real_fma (-xg[j], c, dyg[j] * w[j] * r);

            dxg[j] = residual.data ? real_row (residual, i)[g * width + j] + d : d;
          }
      }
}

void
REF (norm_grad_weight) (struct real_mat dy, struct real_mat x, size_t width, const real *rms,
                        size_t from, size_t to, real *dw)
{
  size_t groups = x.cols / width, n = x.rows * groups;

  for (size_t j = from; j < to; j++)
    {
      real sum = 0, piece = 0;

      for (size_t at = 0; at < n; at++)
        {
          size_t i = at / groups, c = at % groups * width + j;

          if (at % REF_PIECE == 0 && at > 0)
            {
              sum = sum + piece;
              piece = 0;
            }
          piece = real_fma (real_row (dy, i)[c], real_row (x, i)[c] * rms[at], piece);
        }
      dw[j] = n > REF_PIECE ? sum + piece : piece;
    }
}

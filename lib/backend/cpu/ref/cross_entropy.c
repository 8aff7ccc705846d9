/* cross_entropy.c -- each row's loss, and the gradient in place of the logits.
   SPDX-License-Identifier: Apache-2.0  */

#include "real.h"

void
REF (cross_entropy) (struct real_mat logits, const int32_t *targets, real *losses, bool grad)
{
  for (size_t i = 0; i < logits.rows; i++)
    {
      real *row = real_row (logits, i), lane[REF_LANES] = { 0 }, m = -INFINITY, z;

      losses[i] = 0;
      if (targets[i] < 0)
        {
          for (size_t v = 0; grad && v < logits.cols; v++)
            row[v] = 0;
          continue;
        }
      for (size_t v = 0; v < logits.cols; v++)
        m = row[v] > m ? row[v] : m;
      for (size_t v = 0; v < logits.cols; v++)
        lane[v % REF_LANES] += real_exp (row[v] - m);
      z = real_lane_tree (lane);
      losses[i] = (real_log (z) + m) - row[targets[i]];
      if (!grad)
        continue;
      for (size_t v = 0; v < logits.cols; v++)
        row[v] = real_exp (row[v] - m) * (1 / z);
      row[targets[i]] -= 1;
    }
}

/* adamw.c -- one step of AdamW.
   SPDX-License-Identifier: Apache-2.0  */

#include "ref.h"

#include <math.h>

void
mm_kernel (adamw_step) (const struct mm_adamw *a, int64_t *acc, uint64_t n_targets, size_t n, float *p,
                        float *m, float *v)
{
  for (size_t i = 0; i < n; i++)
    {
      float g = ref_gradient (acc[i], n_targets) * a->clip;

      m[i] = fmaf (a->beta1, m[i], (1 - a->beta1) * g);
      v[i] = fmaf (a->beta2, v[i], ((1 - a->beta2) * g) * g);
      p[i] = p[i] * a->decay;
      p[i] = p[i] - a->step_size * (m[i] / fmaf (sqrtf (v[i]), a->inv_sqrt_bc2, a->eps));
      acc[i] = 0;
    }
}

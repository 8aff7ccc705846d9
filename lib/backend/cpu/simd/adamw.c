/* adamw.c -- one step of AdamW, sixteen parameters at a time.
   SPDX-License-Identifier: Apache-2.0  */

#include "gradient.h"

#include <string.h>

struct step
{
  v16 targets, clip, beta1, rest1, beta2, rest2, decay, step_size, inv_sqrt_bc2, eps;
};

/* New values of some lanes of P, M, V; Q: float32 of the fixed-point sum.  */
MM_INLINE void
step16 (const struct step *s, v16 q, v16 *p, v16 *m, v16 *v)
{
  v16 g = v16_mul (v16_gradient (q, s->targets), s->clip);

  *m = v16_fma (s->beta1, *m, v16_mul (s->rest1, g));
  *v = v16_fma (s->beta2, *v, v16_mul (v16_mul (s->rest2, g), g));
  *p = v16_mul (*p, s->decay);
  *p = v16_sub (*p, v16_mul (s->step_size,
                             v16_div (*m, v16_fma (v16_sqrt (*v), s->inv_sqrt_bc2, s->eps))));
}

void
mm_kernel (adamw_step) (const struct mm_adamw *a, int64_t *acc, uint64_t n_targets, size_t n, float *p,
                        float *m, float *v)
{
  const struct step s = {
    v16_set1 ((float) n_targets), v16_set1 (a->clip), v16_set1 (a->beta1), v16_set1 (1 - a->beta1),
    v16_set1 (a->beta2), v16_set1 (1 - a->beta2), v16_set1 (a->decay), v16_set1 (a->step_size),
    v16_set1 (a->inv_sqrt_bc2), v16_set1 (a->eps)
  };
  size_t i = 0;

  for (; i + 16 <= n; i += 16)
    {
      v16 pi = v16_load (p + i), mi = v16_load (m + i), vi = v16_load (v + i);

      step16 (&s, v16_from_i64 (acc + i), &pi, &mi, &vi);
      v16_store (p + i, pi);
      v16_store (m + i, mi);
      v16_store (v + i, vi);
      memset (acc + i, 0, 16 * sizeof *acc);
    }
  if (i < n)
    {
      v16 pi = v16_load_n (p + i, n - i), mi = v16_load_n (m + i, n - i), vi = v16_load_n (v + i, n - i);

      step16 (&s, v16_from_i64_n (acc + i, n - i), &pi, &mi, &vi);
      v16_store_n (p + i, pi, n - i);
      v16_store_n (m + i, mi, n - i);
      v16_store_n (v + i, vi, n - i);
      memset (acc + i, 0, (n - i) * sizeof *acc);
    }
}

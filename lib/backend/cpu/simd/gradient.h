/* gradient.h -- the gradient that a fixed-point sum stands for, sixteen at a time.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef CPU_SIMD_GRADIENT_H
#define CPU_SIMD_GRADIENT_H

#include "simd.h"

/* Q: float32 of the sum; TARGETS: of the number of target tokens.  */
MM_INLINE v16
v16_gradient (v16 q, v16 targets)
{
  return v16_div (v16_mul (q, v16_set1 (1 / V16_FIXED_SCALE)), targets);
}

#endif /* CPU_SIMD_GRADIENT_H */

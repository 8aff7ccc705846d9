/* ref.h -- included first by the reference kernels: plain scalar C, the definition of the bits.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef CPU_REF_H
#define CPU_REF_H

#include <config.h>

#define MM_ISA generic

/* Any tile gives the same bits.  */
enum { MM_MR = 4, MM_NR = 16, MM_NC = 256 };

#include "../kernels.h"

/* The gradient that a fixed-point sum stands for.  */
static inline float
ref_gradient (int64_t q, uint64_t n_targets)
{
  return (float) q / (float) (INT64_C (1) << MM_FIXED_BITS) / (float) n_targets;
}

#endif /* CPU_REF_H */

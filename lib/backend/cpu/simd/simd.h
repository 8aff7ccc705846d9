/* simd.h -- included first by the vector kernels, which are compiled once for each instruction set.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef CPU_SIMD_H
#define CPU_SIMD_H

#include <config.h>

#include "../kernels.h"
#include "v16.h"

/* The tile of gemm: as many sums as the registers hold beside one row of B and an element of A.  */
#ifdef MM_ISA_AVX512
enum { MM_MR = 14, MM_NR = 32, MM_NC = 256 };
#else
enum { MM_MR = 6, MM_NR = 16, MM_NC = 192 };
#endif

#endif /* CPU_SIMD_H */

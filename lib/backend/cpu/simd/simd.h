/* simd.h -- included first by the vector kernels, which are compiled once for each instruction set.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef CPU_SIMD_H
#define CPU_SIMD_H

#include <config.h>

#include "../kernels.h"
#include "v16.h"

#endif /* CPU_SIMD_H */

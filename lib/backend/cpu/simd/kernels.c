/* kernels.c -- the table of one instruction set's kernels.
   SPDX-License-Identifier: Apache-2.0  */

#include "simd.h"

#include "../kernel_table.h"

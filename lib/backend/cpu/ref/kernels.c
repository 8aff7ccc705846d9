/* kernels.c -- the table of the reference kernels.
   SPDX-License-Identifier: Apache-2.0  */

#include "ref.h"

#include "../kernel_table.h"

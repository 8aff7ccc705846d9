/* ref.h -- included first by the reference kernels: plain scalar C, the definition of the bits.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef CPU_REF_H
#define CPU_REF_H

#include <config.h>

#define MM_ISA generic

#include "../kernels.h"

#endif /* CPU_REF_H */

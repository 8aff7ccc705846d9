/* v16.h -- sixteen float32 lanes, whatever the registers are.
   SPDX-License-Identifier: Apache-2.0

   The lane sums of numerics.md have 16 lanes, so one v16 is one set of lanes: a zmm register with
   AVX-512, two ymm with AVX2, four q registers with NEON.  Every function does the same IEEE
   operation on each lane, so all instruction sets give the same bits.

     v16    16 float32          m16   16 truth values
     i16    16 int32            d16   16 float64

   Functions that end in _n work on the first N lanes, 0 <= N <= 16, touch no memory beyond them, and
   load +0 into the others.

     v16 v16_load (p), v16_load_n (p, n);  v16_store (p, a), v16_store_n (p, a, n)
     v16_set1 (x), v16_zero ()
     v16_add, v16_sub, v16_mul, v16_div (a, b);  v16_sqrt, v16_neg (a)
     v16_fma (a, b, c) = a*b + c, v16_fnma (a, b, c) = -a*b + c, rounded once
     v16_max (a, b) = a > b ? a : b, v16_min (a, b) = a < b ? a : b
     m16 v16_lt, v16_le, v16_gt, v16_ge, v16_eq (a, b): false where one is NaN
     v16_select (m, a, b) = m ? a : b
     m16_first (n), m16_none (), m16_and, m16_or (a, b), m16_not (a), m16_any (m)
     i16 v16_to_i16 (a): nearest even, |a| < 2^31;  v16 i16_to_v16 (i)
     i16_set1, i16_add, i16_sub (a, b);  i16_load (p), i16_sra (i, COUNT): arithmetic shift
     v16 i16_pow2 (i) = 2^i for -126 <= i <= 127
     v16 v16_scale (a, n) = a * 2^n, rounded once, for 1/2 <= |a| < 2 and n an integer, -152 to 128
     v16_transpose (r): element (i, j) of the 16 x 16 values r[16] to (j, i)
     float v16_sum (a): lane[l] += lane[l+8], then +4, +2, +1: the tree of numerics.md
     float v16_max_lane (a): the largest of 16 values none of which is NaN
     m16 v16_add_fixed (acc, g): acc[l] += fixed point of g[l]; the lanes that are NaN or out of
       range, which add 0.  v16_add_fixed_n
     v16 v16_from_i64 (p): float32 of int64, rounded once.  v16_from_i64_n
     d16_zero (), d16_from_v16 (a), d16_fma (a, b, c), double d16_sum (a): the same tree  */

#ifndef CPU_V16_H
#define CPU_V16_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/ops.h>       /* MM_FIXED_BITS */

#define MM_INLINE static inline __attribute__ ((__always_inline__, __unused__))

/* A float32 times this is exact, and an integer after rounding; below the bound it fits.  */
#define V16_FIXED_SCALE ((float) (INT64_C (1) << MM_FIXED_BITS))
#define V16_FIXED_BOUND 0x1p17f

#if defined MM_ISA_AVX512
# include "v16_avx512.h"
#elif defined MM_ISA_AVX2
# include "v16_avx2.h"
#elif defined MM_ISA_NEON
# include "v16_neon.h"
#endif

#endif /* CPU_V16_H */

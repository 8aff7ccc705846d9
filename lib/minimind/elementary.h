/* elementary.h -- exp, log, sin, cos, pow with the same bits everywhere.
   SPDX-License-Identifier: Apache-2.0

   Made of IEEE + - * / and fma only (numerics.md), so they do not depend on libm,
   compiler or processor.  Errors are bounds found by the test's sweep
   (tests/unit/elementary.c).  NaN gives NaN.  */

#ifndef MINIMIND_ELEMENTARY_H
#define MINIMIND_ELEMENTARY_H

float mm_expf (float x);        /* at most 1 ulp from exp; subnormals included */
float mm_logf (float x);        /* x > 0: at most 1 ulp; 0: -inf; x < 0: NaN */

double mm_exp (double x);       /* relative error at most 2^-50; of a subnormal result, one step */
double mm_log (double x);       /* as mm_exp; 0: -inf; x < 0: NaN */
double mm_pow (double x, double y);     /* x > 0; exp (y log x) in extra precision:
                                           relative error at most 2^-45 */
/* |x| <= 2^30 radians; absolute error at most 2^-50.  */
void mm_sincos (double x, double *s, double *c);

/* The definition of mm_expf, for kernels that compute it in vectors:

     x = x clamped to [MM_EXPF_MIN, MM_EXPF_MAX]        NaN stays
     t = fma (x, MM_EXPF_LOG2E, MM_EXPF_ROUND)          t's low bits hold n
     n = t - MM_EXPF_ROUND                              round (x / ln 2), -150 to 128
     r = fma (n, -MM_EXPF_LN2_HI, x)                    exact
     r = fma (n, -MM_EXPF_LN2_LO, r)                    |r| <= 0.3466
     p = Horner by fma from MM_EXPF_C6 to MM_EXPF_C2, then 1, then 1
     result = (p * 2^a) * 2^b, a = n >> 1 (floor), b = n - a

   The first product is exact and the second rounds once, so it is p * 2^n rounded once, whatever
   instruction does it.  Degree 6, the coefficients of r^2 to r^6 by Remez for the relative error
   (3.1e-9 before rounding) on |r| <= 1.0005 ln(2)/2.  */
#define MM_EXPF_MIN -104.0f             /* below exp's last rounding to a subnormal */
#define MM_EXPF_MAX 89.0f               /* above exp's first overflow: gives +inf */
#define MM_EXPF_LOG2E 0x1.715476p+0f
#define MM_EXPF_ROUND 0x1.8p+23f
#define MM_EXPF_LN2_HI 0x1.62e43p-1f
#define MM_EXPF_LN2_LO -0x1.05c61p-29f
#define MM_EXPF_C2 0x1.fffffcp-2f
#define MM_EXPF_C3 0x1.555492p-3f
#define MM_EXPF_C4 0x1.5558f2p-5f
#define MM_EXPF_C5 0x1.123a2p-7f
#define MM_EXPF_C6 0x1.6a23dp-10f

#endif /* MINIMIND_ELEMENTARY_H */

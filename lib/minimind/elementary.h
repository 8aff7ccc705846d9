/* elementary.h -- exp, log, sin, cos, pow with the same bits everywhere.
   SPDX-License-Identifier: Apache-2.0

   Made of IEEE + - * / and fma only (numerics.md), so they do not depend on libm,
   compiler or processor.  Errors are bounds found by the test's sweep.  */

#ifndef MINIMIND_ELEMENTARY_H
#define MINIMIND_ELEMENTARY_H

float mm_expf (float x);        /* at most 1 ulp from exp; subnormals included */
float mm_logf (float x);        /* x > 0: at most 1 ulp; 0: -inf; x < 0: NaN */

double mm_exp (double x);       /* relative error at most 2^-50 */
double mm_log (double x);
double mm_pow (double x, double y);     /* x > 0; exp (y log x) in extra precision:
                                           relative error at most 2^-45 */
/* |x| <= 2^30 radians; absolute error at most 2^-50.  */
void mm_sincos (double x, double *s, double *c);

#endif /* MINIMIND_ELEMENTARY_H */

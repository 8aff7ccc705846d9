/* real.h -- the number type of the reference operations, and the orders of summation.
   SPDX-License-Identifier: Apache-2.0

   The operations of MM_REAL_KERNELS, and the products of linear.c, are compiled a second time with
   MM_REF_DOUBLE for the tests of gradients: the same in double, as functions called
   mm_ref64_NAME.  */

#ifndef CPU_REF_REAL_H
#define CPU_REF_REAL_H

#include <math.h>

#include <minimind/elementary.h>

#include "ref.h"

struct mm_mat64                 /* struct mm_mat of doubles */
{
  double *data;
  size_t rows, cols, ld;
};

#ifdef MM_REF_DOUBLE
typedef double real;
# define real_mat mm_mat64
# define REF(name) mm_ref64_##name
# define real_fma fma
# define real_sqrt sqrt
# define real_exp mm_exp
# define real_log mm_log
#else
typedef float real;
# define real_mat mm_mat
# define REF(name) mm_kernel (name)
# define real_fma fmaf
# define real_sqrt sqrtf
# define real_exp mm_expf
# define real_log mm_logf
#endif

#define KERNEL(result, name, args) result mm_ref64_##name args;
MM_REAL_KERNELS (KERNEL, double, struct mm_mat64)
#undef KERNEL

/* y = x w^T (+ residual), dx = dy w, dw = dy^T x: the definition; the kernels are gemm's.  */
void REF (linear) (struct real_mat x, struct real_mat w, struct real_mat residual, struct real_mat y);
void REF (linear_grad_input) (struct real_mat dy, struct real_mat w, struct real_mat dx);
void REF (linear_grad_weight) (struct real_mat dy, struct real_mat x, struct real_mat dw);

enum { REF_LANES = 16, REF_PIECE = 8192 };

static inline real *
real_row (struct real_mat m, size_t i)
{
  return m.data + i * m.ld;
}

/* The end of every lane sum: 16 lanes to one.  */
static inline real
real_lane_tree (real lane[REF_LANES])
{
  for (size_t half = REF_LANES / 2; half > 0; half /= 2)
    for (size_t l = 0; l < half; l++)
      lane[l] += lane[l + half];
  return lane[0];
}

/* Lane sum of a[i] b[i] by fma.  */
static inline real
real_lane_dot (const real *a, const real *b, size_t n)
{
  real lane[REF_LANES] = { 0 };

  for (size_t i = 0; i < n; i++)
    lane[i % REF_LANES] = real_fma (a[i], b[i], lane[i % REF_LANES]);
  return real_lane_tree (lane);
}

/* Chain over i of a[i * a_step] b[i * b_step], from +0, never cut.  */
static inline real
real_chain (const real *a, size_t a_step, const real *b, size_t b_step, size_t n)
{
  real sum = 0;

  for (size_t i = 0; i < n; i++)
    sum = real_fma (a[i * a_step], b[i * b_step], sum);
  return sum;
}

/* The same cut at multiples of 8,192.  */
static inline real
real_long_chain (const real *a, size_t a_step, const real *b, size_t b_step, size_t n)
{
  real sum = real_chain (a, a_step, b, b_step, n < REF_PIECE ? n : REF_PIECE);

  for (size_t from = REF_PIECE; from < n; from += REF_PIECE)
    sum = sum + real_chain (a + from * a_step, a_step, b + from * b_step, b_step,
                            n - from < REF_PIECE ? n - from : REF_PIECE);
  return sum;
}

#endif /* CPU_REF_REAL_H */

/* kernels.h -- the kernels of the CPU backend: single-threaded work on ranges of outputs.
   SPDX-License-Identifier: Apache-2.0

   One line of MM_CPU_KERNELS for each: result, name, arguments.  It makes the member of struct
   mm_cpu_kernels and a prototype for each set of kernels.  ref/OP.c defines the bits and is the
   "generic" set; simd/OP.c is compiled once for every instruction set that configure found.  */

#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels_real.h"

#define MM_CPU_KERNELS(KERNEL) \
  MM_REAL_KERNELS (KERNEL, float, struct mm_mat) \
  /* acc[i] += fixed point of g[i] (numerics.md); true if some g[i] is NaN or out of range: it adds 0.  */ \
  KERNEL (bool, accumulate, (const float *g, size_t n, int64_t *acc)) \
  /* dw [N, K] = chains over the rows of dy^T x, continued from what it holds if GO_ON.  */ \
  KERNEL (void, head_grad_weight, (struct mm_mat dy, struct mm_mat x, struct mm_mat dw, bool go_on)) \
  /* partial[b] = sum of squares of block b of the gradient, MM_GRAD_BLOCK elements each.  */ \
  KERNEL (void, grad_squares, (const int64_t *acc, size_t n, uint64_t n_targets, double *partial)) \
  KERNEL (void, grad_values, (const int64_t *acc, size_t n, uint64_t n_targets, float *g)) \
  KERNEL (void, adamw_step, (const struct mm_adamw *a, int64_t *acc, uint64_t n_targets, size_t n, \
                             float *p, float *m, float *v)) \
  /* Run ROUNDS rounds of independent fmas in registers; returns their FLOPs.  *SINK keeps them alive.  */ \
  KERNEL (double, peak, (size_t rounds, float *sink))

struct mm_cpu_kernels
{
  const char *name;             /* "avx512" */
#define KERNEL(result, name, args) result (*name) args;
  MM_CPU_KERNELS (KERNEL)
#undef KERNEL
};

/* mm_kernel (NAME) is the symbol of kernel NAME in the set being compiled, MM_ISA.  */
#define MM_JOIN_(name, isa) mm_cpu_##name##_##isa
#define MM_JOIN(name, isa) MM_JOIN_ (name, isa)
#define mm_kernel(name) MM_JOIN (name, MM_ISA)

#ifdef MM_ISA
# define KERNEL(result, name, args) result mm_kernel (name) args;
MM_CPU_KERNELS (KERNEL)
# undef KERNEL
#endif

extern const struct mm_cpu_kernels mm_cpu_kernels_generic, mm_cpu_kernels_avx2,
  mm_cpu_kernels_avx512, mm_cpu_kernels_neon;

#endif /* CPU_KERNELS_H */

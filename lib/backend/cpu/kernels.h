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
#include "gemm.h"

#define MM_CPU_KERNELS(KERNEL) \
  MM_REAL_KERNELS (KERNEL, float, struct mm_mat) \
  /* acc[i] += fixed point of g[i] (numerics.md); true if some g[i] is NaN or out of range: it adds 0.  */ \
  KERNEL (bool, accumulate, (const float *g, size_t n, int64_t *acc)) \
  /* partial[b] = sum of squares of block b of the gradient, MM_GRAD_BLOCK elements each.  */ \
  KERNEL (void, grad_squares, (const int64_t *acc, size_t n, uint64_t n_targets, double *partial)) \
  KERNEL (void, grad_values, (const int64_t *acc, size_t n, uint64_t n_targets, float *g)) \
  KERNEL (void, adamw_step, (const struct mm_adamw *a, int64_t *acc, uint64_t n_targets, size_t n, \
                             float *p, float *m, float *v)) \
  /* Run ROUNDS rounds of independent fmas in registers; returns their FLOPs.  *SINK keeps them alive.  */ \
  KERNEL (double, peak, (size_t rounds, float *sink)) \
  /* One thread's part of a product, chains in one piece and B padded.  True if FIXED met a value out of \
     range.  */ \
  KERNEL (bool, gemm, (const struct mm_gemm *g)) \
  /* Panels of MR rows of A, whose column t stands at a + t * a_step: PANELS [rows / MR rounded up], \
     MM_GEMM_A_PANEL (MR) apart, of [k][MR], k <= MM_GEMM_K.  */ \
  KERNEL (void, gemm_copy, (const float *a, size_t a_step, size_t rows, size_t k, float *panels)) \
  /* y [rows, y_ld] = chains over k, from START (NULL: +0; may be y), for at most MR rows and NR columns. \
     Element (i, k) of A at a[i * a_row + k * a_step], (k, j) of B at b[k * b_step + j], readable to NR \
     columns.  For operations that have small products inside.  */ \
  KERNEL (void, gemm_tile, (size_t rows, size_t cols, size_t k, const float *a, size_t a_row, \
                            size_t a_step, const float *b, size_t b_step, const float *start, \
                            size_t start_ld, float *y, size_t y_ld)) \
  /* Panels of NR columns, zeros beyond COLS, from a matrix whose element (k, j) stands at b[k * ld + j], \
     or, transposed, at b[j * ld + k]: PANELS [cols / NR rounded up][k][NR].  */ \
  KERNEL (void, gemm_pack, (const float *b, size_t ld, bool transposed, size_t k, size_t cols, float *panels))

struct mm_cpu_kernels
{
  const char *name;             /* "avx512" */
  size_t mr, nr;                /* rows and columns of a tile of gemm */
  size_t nc;                    /* columns of B, times MM_GEMM_K, that the second cache holds */
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

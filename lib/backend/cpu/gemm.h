/* gemm.h -- products of matrices, for the operations that need them.
   SPDX-License-Identifier: Apache-2.0

   Each output is one chain of fma over k ascending (numerics.md).  The running sum may be stored and
   loaded between blocks of k: that changes no bit, so block sizes are free, and threads and tiles
   split outputs only.

   The rows of A stay where they are: a panel of MR rows by MM_GEMM_K columns sits in the first cache
   while B streams by from the second, and its elements are broadcast one at a time.  B is read in panels
   of NR columns, k by k.  Weights are packed that way once; for a weight's gradient both operands are copied
   to panels on the way.  */

#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_backend;

/* Floats of a copied panel of MR rows of A: what is added takes whole registers that overrun its end and
   keeps panels from meeting in the cache.  */
#define MM_GEMM_A_PANEL(mr) ((mr) * MM_GEMM_K + 16)

enum
{
  MM_GEMM_K = 512,              /* steps of a chain between two spills, for panels that fit the first cache */
  MM_CHAIN_CUT = 8192           /* longer chains are cut here into pieces that are added (numerics.md) */
};

static inline size_t
least (size_t a, size_t b)
{
  return a < b ? a : b;
}

/* How many pieces of at most SIZE make N.  */
static inline size_t
pieces (size_t n, size_t size)
{
  return (n + size - 1) / size;
}

/* Panels of NR columns of a matrix B [k, n]: element (k, j) stands at
   data[j / NR * panel + k * step + j % NR].  PADDED: the last panel can be read to NR columns.  */
struct mm_gemm_panels
{
  const float *data;
  size_t panel, step;           /* elements */
  bool padded;
};

/* A product that is added to columns FROM to FROM + N of another: its chains have K steps, at most MM_CHAIN_CUT, and
   start from +0.  FROM is a multiple of NR, B a weight's panels.  */
struct mm_gemm_more
{
  size_t from, n, k;
  const float *a;               /* element (i, k) at a[i * a_row + k] */
  size_t a_row;
  struct mm_gemm_panels b;
};

/* A product of A [m, k] and B [k, n], or a part of one.  The chain of output (i, j) starts from START or
   from +0; what becomes of its result s:

     s = total + s          if TOTAL is set: the pieces of a cut chain before this one
     s = residual + s       if RESIDUAL is set
     y = s, or, with FIXED, fixed += fixed point of s
     y = y + what MORE says     (not with FIXED)

   Pointers are at element (0, 0); START, TOTAL and RESIDUAL may be Y.  */
struct mm_gemm
{
  size_t m, n, k;
  const float *a;               /* element (i, k) at a[i * a_row + k * a_step]; one of them is 1 */
  size_t a_row, a_step;
  size_t a_panel;               /* from MR rows to the next; mm_cpu_gemm sets it */
  struct mm_gemm_panels b;
  /* What will be read after this, or NULL: NEXT_M rows and NEXT_K steps of A, NEXT_A_STEP apart if A was copied to
     panels; NEXT_N columns of B, in panels like B's.  mm_cpu_gemm sets all of them.  */
  const float *next_a, *next_b;
  size_t next_m, next_k, next_n, next_a_step;
  const float *start, *total, *residual;        /* NULL: absent */
  size_t start_ld, total_ld, residual_ld;
  float *y;
  size_t y_ld;
  int64_t *fixed;               /* [m, fixed_ld], in place of y */
  size_t fixed_ld;
  const struct mm_gemm_more *more;
  size_t n_more;
  size_t row, col;              /* of output (0, 0), as MORE counts */
};

/* Run a product on all threads.  Chains of K > MM_CHAIN_CUT are cut as numerics.md says, which START and
   TOTAL exclude.  *BAD (unless NULL) becomes true when FIXED met a value out of range.  MM_ENOMEM if
   scratch could not grow.

   A product whose rows of A and B come in chunks goes on from START = Y, as long as no piece of
   MM_CHAIN_CUT steps is crossed; a later piece has a matrix of its own, and its last chunk adds it to
   the pieces before by TOTAL.  */
mm_status mm_cpu_gemm (struct mm_backend *be, const struct mm_gemm *g, bool *bad) MM_NODISCARD;

/* The panels of B = W^T for a weight W [n, k] made by mm_weight_set.  */
struct mm_weight;
struct mm_gemm_panels mm_cpu_weight_forward (const struct mm_backend *be, const struct mm_weight *w);

/* The panels of B = W for N weights: those they keep, or others made in scratch that lasts until the next call.
   MM_ENOMEM.  */
mm_status mm_cpu_weights_backward (struct mm_backend *be, size_t n, const struct mm_weight *const w[],
                                   struct mm_gemm_panels b[]) MM_NODISCARD;

/* The panels of a matrix as it lies in memory.  */
struct mm_gemm_panels mm_cpu_gemm_rows (const struct mm_backend *be, const float *data, size_t ld);

#endif /* CPU_GEMM_H */

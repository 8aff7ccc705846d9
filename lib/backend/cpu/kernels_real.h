/* kernels_real.h -- the kernels whose definition is one formula for any real type.
   SPDX-License-Identifier: Apache-2.0

   MM_REAL_KERNELS (KERNEL, real, mat): as MM_CPU_KERNELS.  kernels.h lists them with float and
   struct mm_mat; ref/ compiled for the tests of gradients, with double (ref/real.h).

   Rows and columns are those of the matrices given: drivers hand out parts of the whole.  */

#ifndef CPU_KERNELS_REAL_H
#define CPU_KERNELS_REAL_H

#include <stdbool.h>

#include <minimind/ops.h>

/* What one call of an attention kernel does: all query heads that share KV_HEAD, for the queries
   [q_from, q_to) of a segment and, in the gradient, its keys [k_from, k_to).  */
struct mm_attention_part
{
  struct mm_segment segment;
  size_t kv_head;
  size_t q_from, q_to;
  size_t k_from, k_to;
  const struct mm_attention_part *next; /* what the thread will probably do next, or NULL */
};

#define MM_REAL_KERNELS(KERNEL, real, mat) \
  KERNEL (void, embed, (mat table, const int32_t *ids, mat y)) \
  KERNEL (void, embed_grad, (mat dy, const int32_t *ids, mat dtable)) \
  /* RMSNorm of every WIDTH values of a row; rms [rows * (cols / width)], unless NULL.  */ \
  KERNEL (void, norm, (mat x, size_t width, const real *w, real eps, mat y, real *rms)) \
  KERNEL (void, norm_grad_input, (mat dy, mat x, size_t width, const real *w, const real *rms, \
                                  mat residual, mat dx)) \
  /* dw[from .. to) of the WIDTH weights.  */ \
  KERNEL (void, norm_grad_weight, (mat dy, mat x, size_t width, const real *rms, size_t from, \
                                   size_t to, real *dw)) \
  KERNEL (void, rope, (mat x, size_t hd, const int32_t *positions, const real *cosines, \
                       const real *sines, bool grad)) \
  KERNEL (void, swiglu, (mat gate_up, mat y)) \
  KERNEL (void, swiglu_grad, (mat dy, mat gate_up, mat d_gate_up, mat y)) \
  /* Values of scratch that a call for PART needs.  */ \
  KERNEL (size_t, attention_scratch, (struct mm_heads heads, const struct mm_attention_part *part)) \
  KERNEL (void, attention, (struct mm_heads heads, mat q, mat k, mat v, \
                            const struct mm_attention_part *part, mat o, real *stats, real *scratch)) \
  /* dq of the part's queries; dk and dv of its keys.  */ \
  KERNEL (size_t, attention_grad_scratch, (struct mm_heads heads, \
                                           const struct mm_attention_part *part)) \
  KERNEL (void, attention_grad, (struct mm_heads heads, mat q, mat k, mat v, mat o, \
                                 const real *stats, mat d_o, const struct mm_attention_part *part, \
                                 mat dq, mat dk, mat dv, real *scratch)) \
  /* losses [rows]; GRAD: the gradient takes the place of the logits.  */ \
  KERNEL (void, cross_entropy, (mat logits, const int32_t *targets, real *losses, bool grad))

#endif /* CPU_KERNELS_REAL_H */

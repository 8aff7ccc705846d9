/* cpu.h -- the state of a CPU backend and the entries of its table.
   SPDX-License-Identifier: Apache-2.0

   lib/backend/cpu/OP.c is the driver of an operation: it splits the outputs over the team's
   threads (mm_share) and calls kernels on ranges of them.  The kernels stand in kernels.h, their
   definition in ref/OP.c, their speed in simd/OP.c.  No driver splits a reduction.  */

#ifndef BACKEND_CPU_H
#define BACKEND_CPU_H

#include <minimind/thread.h>

#include "../impl.h"
#include "kernels.h"

/* Scratch memory that grows to the largest use and stays.  Each part has one user at a time, so
   that an operation may call the products while it holds its own.  */
enum mm_cpu_scratch_part
{
  MM_SCRATCH_PRODUCT,           /* gemm.c: packed operands */
  MM_SCRATCH_WEIGHTS,           /* linear.c: weights packed for one product */
  MM_SCRATCH_OP,                /* the operation: shared by its threads */
  MM_SCRATCH_THREADS,           /* the operation: one piece for each thread */
  MM_N_SCRATCH
};

struct mm_cpu
{
  struct mm_team *team;
  const struct mm_cpu_kernels *kernels;
  struct mm_cpu_region *shared; /* where memory of middle size is taken from */
  void *scratch[MM_N_SCRATCH];
  size_t scratch_bytes[MM_N_SCRATCH];
  double peak;                  /* FLOP/s; 0: not measured yet */
};

static inline struct mm_cpu *
mm_cpu_state (const struct mm_backend *be)
{
  return be->state;
}

/* *P = at least COUNT * SIZE bytes of PART, 64-byte aligned, contents undefined, valid until the
   next call for the same part.  MM_ENOMEM.  */
mm_status mm_cpu_scratch (struct mm_backend *be, enum mm_cpu_scratch_part part, size_t count,
                          size_t size, void *p) MM_NODISCARD;

/* Call FN (JOB, from, to) for parts of [0, N), cut at multiples of GRAIN, on the team's threads; on the
   caller's alone where there is one part.  */
typedef void mm_cpu_split_fn (void *job, size_t from, size_t to);
void mm_cpu_split (struct mm_backend *be, size_t n, size_t grain, mm_cpu_split_fn *fn, void *job);

/* The same for rows of COLS values: parts worth a thread.  */
void mm_cpu_split_rows (struct mm_backend *be, size_t rows, size_t cols, mm_cpu_split_fn *fn, void *job);

/* Rows [FROM, TO) of M; absent stays absent.  */
static inline struct mm_mat
mm_mat_rows (struct mm_mat m, size_t from, size_t to)
{
  return (struct mm_mat) { m.data ? m.data + from * m.ld : NULL, to - from, m.cols, m.ld };
}

/* The entries of the table, each in the file of its name (the gradient's beside its operation), the first three in
   memory.c.  */
mm_status mm_cpu_alloc (struct mm_backend *be, const char *what, size_t bytes, void **p);
void mm_cpu_release (struct mm_backend *be, void *p);
mm_status mm_cpu_zero (struct mm_backend *be, void *device, size_t bytes);
mm_status mm_cpu_weight_create (struct mm_backend *be, struct mm_weight *w);
void mm_cpu_weight_free (struct mm_backend *be, struct mm_weight *w);
mm_status mm_cpu_weight_set (struct mm_backend *be, struct mm_weight *w);
mm_status mm_cpu_weight_keep_columns (struct mm_backend *be, struct mm_weight *w);
mm_status mm_cpu_linear (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                         struct mm_mat residual, struct mm_mat y);
mm_status mm_cpu_linear_grad_input (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                                    struct mm_mat residual, struct mm_mat dx);
mm_status mm_cpu_linear_plus (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                              struct mm_mat residual, const struct mm_addend *addends, size_t n, struct mm_mat y);
mm_status mm_cpu_linear_grad_input_plus (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                                         struct mm_mat residual, const struct mm_addend *addends, size_t n,
                                         struct mm_mat dx);
mm_status mm_cpu_linear_grad_weight (struct mm_backend *be, struct mm_mat dy, struct mm_mat x,
                                     int64_t *acc, int *overflow);

/* Whether the product of DY and X is one for the function below, which is linear_grad_weight for few columns of
   either.  */
bool mm_cpu_is_thin (struct mm_mat dy, struct mm_mat x);
mm_status mm_cpu_thin_grad_weight (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, int64_t *acc,
                                   int *overflow);

mm_status mm_cpu_scale (struct mm_backend *be, struct mm_mat x, float s);
mm_status mm_cpu_embed (struct mm_backend *be, struct mm_mat table, const int32_t *ids, struct mm_mat y);
mm_status mm_cpu_embed_grad (struct mm_backend *be, struct mm_mat dy, const int32_t *ids,
                             struct mm_mat dtable);
mm_status mm_cpu_rmsnorm (struct mm_backend *be, struct mm_mat x, const float *w, float eps,
                          struct mm_mat y, float *rms);
mm_status mm_cpu_rmsnorm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, const float *w,
                               const float *rms, struct mm_mat residual, struct mm_mat dx, float *dw);
mm_status mm_cpu_head_norm (struct mm_backend *be, struct mm_mat x, size_t hd, const float *w, float eps,
                            struct mm_mat y, float *rms);
mm_status mm_cpu_head_norm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, size_t hd,
                                 const float *w, const float *rms, struct mm_mat dx, float *dw);
mm_status mm_cpu_rope (struct mm_backend *be, struct mm_mat x, size_t hd, const int32_t *positions,
                       const float *cosines, const float *sines, bool grad);
mm_status mm_cpu_attention (struct mm_backend *be, struct mm_heads heads, struct mm_mat q, struct mm_mat k,
                            struct mm_mat v, const struct mm_segment *segments, size_t n_segments,
                            struct mm_mat o, float *stats);
mm_status mm_cpu_attention_grad (struct mm_backend *be, struct mm_heads heads, struct mm_mat q,
                                 struct mm_mat k, struct mm_mat v, struct mm_mat o, const float *stats,
                                 struct mm_mat d_o, const struct mm_segment *segments, size_t n_segments,
                                 struct mm_mat dq, struct mm_mat dk, struct mm_mat dv);
mm_status mm_cpu_swiglu (struct mm_backend *be, struct mm_mat gate_up, struct mm_mat y);
mm_status mm_cpu_swiglu_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat gate_up,
                              struct mm_mat d_gate_up, struct mm_mat y);
mm_status mm_cpu_head_loss (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                            const int32_t *targets, float *losses, int64_t *loss_sum, int *overflow,
                            struct mm_mat dx, struct mm_mat dw);
mm_status mm_cpu_accumulate (struct mm_backend *be, const float *g, size_t n, int64_t *acc,
                             int *overflow);
mm_status mm_cpu_grad_squares (struct mm_backend *be, const int64_t *acc, size_t first, size_t n,
                               uint64_t n_targets, double *partial);
mm_status mm_cpu_grad_values (struct mm_backend *be, const int64_t *acc, size_t n, uint64_t n_targets,
                              float *g);
mm_status mm_cpu_adamw_step (struct mm_backend *be, const struct mm_adamw *a, int64_t *acc,
                             uint64_t n_targets, size_t n, float *p, float *m, float *v);
double mm_cpu_peak (struct mm_backend *be);
mm_status mm_cpu_limits (struct mm_backend *be, size_t bytes, struct mm_limits *l);

#endif /* BACKEND_CPU_H */

/* impl.h -- what a backend supplies.  Private to lib/backend.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef BACKEND_IMPL_H
#define BACKEND_IMPL_H

#include <minimind/backend.h>
#include <minimind/ops.h>

/* A weight [n, k].  */
struct mm_weight
{
  size_t n, k;
  struct mm_mat values;         /* not the weight's own */
  void *panels;                 /* for y = x w^T; what they hold is the backend's business */
  void *columns;                /* for dx = dy w, if they are kept, or NULL */
};

/* One entry for each function of backend.h and ops.h.  Arguments were checked by backend.c and
   ops.c: an entry holds only the work.  Contracts are those of the public headers.  */
struct mm_backend_ops
{
  const char *name;
  bool shares_memory;           /* device memory is the host's: mm_backend_host */

  mm_status (*open) (struct mm_backend *be, int n_threads);
  void (*close) (struct mm_backend *be);        /* also after an open that failed half-way */
  const char *(*kernels) (const struct mm_backend *be);
  mm_status (*alloc) (struct mm_backend *be, const char *what, size_t bytes, void **p);
  void (*release) (struct mm_backend *be, void *p);
  mm_status (*put) (struct mm_backend *be, void *device, const void *host, size_t bytes);
  mm_status (*get) (struct mm_backend *be, void *host, const void *device, size_t bytes);
  mm_status (*zero) (struct mm_backend *be, void *device, size_t bytes);
  mm_status (*sync) (struct mm_backend *be);
  double (*peak) (struct mm_backend *be);
  mm_status (*limits) (struct mm_backend *be, size_t bytes, struct mm_limits *l);

  /* n and k are set; allocate the panels.  weight_free accepts a half-made one.  weight_set finds the values set.  */
  mm_status (*weight_create) (struct mm_backend *be, struct mm_weight *w);
  void (*weight_free) (struct mm_backend *be, struct mm_weight *w);
  mm_status (*weight_set) (struct mm_backend *be, struct mm_weight *w);
  /* Called once at most for a weight, before or after it was set.  */
  mm_status (*weight_keep_columns) (struct mm_backend *be, struct mm_weight *w);
  mm_status (*linear) (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                       struct mm_mat residual, struct mm_mat y);
  mm_status (*linear_grad_input) (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                                  struct mm_mat residual, struct mm_mat dx);
  /* The same with addends behind them.  */
  mm_status (*linear_plus) (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
                            const struct mm_addend *addends, size_t n, struct mm_mat y);
  mm_status (*linear_grad_input_plus) (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                                       struct mm_mat residual, const struct mm_addend *addends, size_t n,
                                       struct mm_mat dx);
  mm_status (*linear_grad_weight) (struct mm_backend *be, struct mm_mat dy, struct mm_mat x,
                                   int64_t *acc, int *overflow);
  mm_status (*scale) (struct mm_backend *be, struct mm_mat x, float s);
  mm_status (*embed) (struct mm_backend *be, struct mm_mat table, const int32_t *ids, struct mm_mat y);
  mm_status (*embed_grad) (struct mm_backend *be, struct mm_mat dy, const int32_t *ids,
                           struct mm_mat dtable);
  mm_status (*rmsnorm) (struct mm_backend *be, struct mm_mat x, const float *w, float eps,
                        struct mm_mat y, float *rms);
  mm_status (*rmsnorm_grad) (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, const float *w,
                             const float *rms, struct mm_mat residual, struct mm_mat dx, float *dw);
  mm_status (*head_norm) (struct mm_backend *be, struct mm_mat x, size_t hd, const float *w, float eps,
                          struct mm_mat y, float *rms);
  mm_status (*head_norm_grad) (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, size_t hd,
                               const float *w, const float *rms, struct mm_mat dx, float *dw);
  mm_status (*rope) (struct mm_backend *be, struct mm_mat x, size_t hd, const int32_t *positions,
                     const float *cosines, const float *sines, bool grad);
  /* kv_step is never 0.  */
  mm_status (*attention) (struct mm_backend *be, struct mm_heads heads, struct mm_mat q, struct mm_mat k,
                          struct mm_mat v, const struct mm_segment *segments, size_t n_segments,
                          struct mm_mat o, float *stats);
  mm_status (*attention_grad) (struct mm_backend *be, struct mm_heads heads, struct mm_mat q,
                               struct mm_mat k, struct mm_mat v, struct mm_mat o, const float *stats,
                               struct mm_mat d_o, const struct mm_segment *segments, size_t n_segments,
                               struct mm_mat dq, struct mm_mat dk, struct mm_mat dv);
  mm_status (*swiglu) (struct mm_backend *be, struct mm_mat gate_up, struct mm_mat y);
  mm_status (*swiglu_grad) (struct mm_backend *be, struct mm_mat dy, struct mm_mat gate_up,
                            struct mm_mat d_gate_up, struct mm_mat y);
  mm_status (*head_loss) (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                          const int32_t *targets, float *losses, int64_t *loss_sum, int *overflow,
                          struct mm_mat dx, struct mm_mat dw);
  mm_status (*accumulate) (struct mm_backend *be, const float *g, size_t n, int64_t *acc, int *overflow);
  mm_status (*grad_squares) (struct mm_backend *be, const int64_t *acc, size_t first, size_t n,
                             uint64_t n_targets, double *partial);
  mm_status (*grad_values) (struct mm_backend *be, const int64_t *acc, size_t n, uint64_t n_targets,
                            float *g);
  mm_status (*adamw_step) (struct mm_backend *be, const struct mm_adamw *a, int64_t *acc,
                           uint64_t n_targets, size_t n, float *p, float *m, float *v);
};

/* The rows of mm_backend_profile.  */
enum mm_op
{
  MM_OP_WEIGHT_SET, MM_OP_LINEAR, MM_OP_LINEAR_GRAD_INPUT, MM_OP_LINEAR_GRAD_WEIGHT, MM_OP_SCALE,
  MM_OP_EMBED, MM_OP_EMBED_GRAD, MM_OP_RMSNORM, MM_OP_RMSNORM_GRAD, MM_OP_HEAD_NORM,
  MM_OP_HEAD_NORM_GRAD, MM_OP_ROPE, MM_OP_ATTENTION, MM_OP_ATTENTION_GRAD, MM_OP_SWIGLU,
  MM_OP_SWIGLU_GRAD, MM_OP_HEAD_LOSS, MM_OP_ACCUMULATE, MM_OP_GRAD_SQUARES, MM_OP_GRAD_VALUES,
  MM_OP_ADAMW_STEP, MM_N_OPS
};

struct mm_backend
{
  const struct mm_backend_ops *ops;
  int n_threads;
  void *state;                  /* the backend's own: struct mm_cpu */
  struct mm_op_profile profile[MM_N_OPS];
};

extern const struct mm_backend_ops mm_cpu_ops;

#endif /* BACKEND_IMPL_H */

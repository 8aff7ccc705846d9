/* ops.h -- the numerical operations, one function each, on any backend.
   SPDX-License-Identifier: Apache-2.0

   M = tokens of a micro-batch (B*T), H = hidden width, hd = head_dim, F = ffn width,
   V = vocabulary.  Formulas, orders of summation and roundings: docs/numerics.md.
   On the CPU the results are those bits for any number of threads and any kernel set.

   Every operation: MM_OK; MM_ESHAPE if the shapes do not fit, MM_EINVAL for an impossible
   scalar, MM_ENOMEM if scratch memory could not grow (first use of a larger shape only),
   MM_EDEVICE if the launch failed; outputs are then unspecified.  Matrices are borrowed,
   nothing is allocated in a steady step.  Queued on the backend's stream: mm_backend_sync
   before the host reads results.  An output overlaps an input only where it says so.  */

#ifndef MINIMIND_OPS_H
#define MINIMIND_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/backend.h>
#include <minimind/batch.h>
#include <minimind/error.h>

/* Row-major view of device memory that somebody else owns: element (i, j) is
   data[i * ld + j], ld >= cols.  data NULL stands for "absent" where allowed.  */
struct mm_mat
{
  float *data;
  size_t rows, cols, ld;
};

static inline struct mm_mat
mm_mat (float *data, size_t rows, size_t cols)
{
  return (struct mm_mat) { data, rows, cols, cols };
}

/* Columns [FROM, FROM + COLS) of M.  */
static inline struct mm_mat
mm_mat_cols (struct mm_mat m, size_t from, size_t cols)
{
  return (struct mm_mat) { m.data + from, m.rows, cols, m.ld };
}

/* ---- weights prepared for multiplication ---- */

/* A weight [N, K] in the layout that the backend's kernels read.  */
struct mm_weight;

/* Room for a weight of N outputs and K inputs.  */
mm_status mm_weight_create (struct mm_backend *be, size_t n, size_t k, struct mm_weight **w) MM_NODISCARD;
void mm_weight_free (struct mm_backend *be, struct mm_weight *w);       /* accepts NULL */

/* Take the values of VALUES [N, K]; after each update of the parameters.  VALUES stays where it is, unchanged, until
   the next call or the weight's end: gradients of inputs read it.  */
mm_status mm_weight_set (struct mm_backend *be, struct mm_weight *w, struct mm_mat values) MM_NODISCARD;

/* From now on keep what gradients of inputs by this weight read, which is made anew for each of them otherwise: as much
   memory again as the weight has, worth it where products have few rows.  MM_ENOMEM.  */
mm_status mm_weight_keep_columns (struct mm_backend *be, struct mm_weight *w) MM_NODISCARD;

/* y [M, N] = x [M, K] w^T (+ residual [M, N] if its data is not NULL; y may be it).  */
mm_status mm_linear (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                     struct mm_mat residual, struct mm_mat y) MM_NODISCARD;

/* dx [M, K] = dy [M, N] w (+ residual [M, K] if its data is not NULL; dx may be it).  */
mm_status mm_linear_grad_input (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                                struct mm_mat residual, struct mm_mat dx) MM_NODISCARD;

/* A product that is added to the outputs of another: columns FROM and on get u w^T, or u w where that other is the
   gradient of an input.  */
struct mm_addend
{
  struct mm_mat u;              /* [M, R]: few columns */
  const struct mm_weight *w;    /* [outputs, R], or [R, outputs] */
  size_t from;
};

enum { MM_MOST_ADDENDS = 3 };

/* mm_linear and mm_linear_grad_input, and N addends, whose columns are apart, upon them: as mm_linear or
   mm_linear_grad_input of each one's U with its columns of the result as residual would do, with the same bits, but in
   one pass over the outputs.  MM_EINVAL for more than MM_MOST_ADDENDS.  */
mm_status mm_linear_plus (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
                          const struct mm_addend *addends, size_t n, struct mm_mat y) MM_NODISCARD;
mm_status mm_linear_grad_input_plus (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                                     struct mm_mat residual, const struct mm_addend *addends, size_t n,
                                     struct mm_mat dx) MM_NODISCARD;

/* dw [N, K] = dy^T x, rounded to fixed point and added to ACC [N*K] (see mm_accumulate): the
   float32 gradient itself is not kept.  */
mm_status mm_linear_grad_weight (struct mm_backend *be, struct mm_mat dy, struct mm_mat x,
                                 int64_t *acc, int *overflow) MM_NODISCARD;

/* x *= s, in place.  */
mm_status mm_scale (struct mm_backend *be, struct mm_mat x, float s) MM_NODISCARD;

/* ---- embedding ---- */

/* y [M, H] = table [V, H] rows ids[i].  ids on the host, 0 <= id < V (MM_EINVAL).  */
mm_status mm_embed (struct mm_backend *be, struct mm_mat table, const int32_t *ids,
                    struct mm_mat y) MM_NODISCARD;

/* dtable [V, H] += rows of dy [M, H] at ids, rows ascending (each row of dtable is a chain of
   additions).  */
mm_status mm_embed_grad (struct mm_backend *be, struct mm_mat dy, const int32_t *ids,
                         struct mm_mat dtable) MM_NODISCARD;

/* ---- normalisation ---- */

/* y = x / sqrt (mean (x^2) + eps) * w by rows; w has x.cols values; rms [M] keeps 1/sqrt(...), unless
   NULL.  y may be x.  Source: Zhang and Sennrich (2019), eq. 4.  */
mm_status mm_rmsnorm (struct mm_backend *be, struct mm_mat x, const float *w, float eps,
                      struct mm_mat y, float *rms) MM_NODISCARD;

/* dx = (residual if data) + gradient through the norm; dw [cols] is written, not added to.  dx may be
   dy or residual.  */
mm_status mm_rmsnorm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, const float *w,
                           const float *rms, struct mm_mat residual, struct mm_mat dx,
                           float *dw) MM_NODISCARD;

/* RMSNorm of each head's hd values: x, y [M, heads * hd], w [hd], rms [M * heads].  y may be x.
   Source: Qwen3's q_norm and k_norm.  */
mm_status mm_head_norm (struct mm_backend *be, struct mm_mat x, size_t hd, const float *w, float eps,
                        struct mm_mat y, float *rms) MM_NODISCARD;
mm_status mm_head_norm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, size_t hd,
                             const float *w, const float *rms, struct mm_mat dx, float *dw) MM_NODISCARD;

/* ---- positions ---- */

/* Fill cosines and sines [positions, hd/2] on the host; see numerics.md.  */
void mm_rope_table (size_t positions, size_t hd, double theta, float *cosines, float *sines);

/* Rotate each head of x [M, heads * hd] in place by its row's position (rotate-half: pairs j and
   j + hd/2); GRAD: by the opposite angle.  Tables on the device, positions on the host, each below
   TABLE_ROWS (MM_EINVAL).  Source: Su et al. (2021), in HF Llama's layout.  */
mm_status mm_rope (struct mm_backend *be, struct mm_mat x, size_t hd, const int32_t *positions,
                   const float *cosines, const float *sines, size_t table_rows,
                   bool grad) MM_NODISCARD;

/* ---- attention ---- */

struct mm_heads
{
  size_t n_heads, n_kv_heads, head_dim;         /* n_heads a multiple of n_kv_heads */
  size_t kv_step;               /* from a head's keys to those of the next, elements; 0: side by side in a row */
};

/* Causal attention inside segments.  q, o [rows, n_heads * hd]; k, v [key rows, n_kv_heads * hd], or with a kv_step
   [key rows, hd] of the first head, the others' behind it;
   stats [2 * rows * n_heads] (unless NULL) keeps maximum and 1/sum of each row and head for the
   gradient.  Scores of T x T are never stored.  */
mm_status mm_attention (struct mm_backend *be, struct mm_heads heads, struct mm_mat q, struct mm_mat k,
                        struct mm_mat v, const struct mm_segment *segments, size_t n_segments,
                        struct mm_mat o, float *stats) MM_NODISCARD;

/* Gradients; kv_step 0, segments with n_q = n_k.  dq, dk, dv are written.  */
mm_status mm_attention_grad (struct mm_backend *be, struct mm_heads heads, struct mm_mat q,
                             struct mm_mat k, struct mm_mat v, struct mm_mat o, const float *stats,
                             struct mm_mat d_o, const struct mm_segment *segments, size_t n_segments,
                             struct mm_mat dq, struct mm_mat dk, struct mm_mat dv) MM_NODISCARD;

/* ---- feed-forward ---- */

/* y [M, F] = silu (gate) * up, where gate_up [M, 2F] holds gate columns, then up columns.  */
mm_status mm_swiglu (struct mm_backend *be, struct mm_mat gate_up, struct mm_mat y) MM_NODISCARD;

/* d_gate_up [M, 2F] from dy [M, F]; y [M, F] (unless data NULL) gets the forward's output again.
   d_gate_up may be gate_up; y may be dy.  */
mm_status mm_swiglu_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat gate_up,
                          struct mm_mat d_gate_up, struct mm_mat y) MM_NODISCARD;

/* ---- head and loss ---- */

/* Cross-entropy of the next token, in row chunks, so that logits [M, V] are never stored:
     losses [M] (host; unless NULL): each row's loss, 0 where targets[i] < 0
     *loss_sum += fixed-point sum (numerics.md); *overflow set when a loss is non-finite or too big
   With dx.data: dx [M, H] = gradient of the summed loss, and dw [V, H] (float32, written; unless its
   data is NULL) that of the weight.  targets on the host, below V (MM_EINVAL).  */
mm_status mm_head_loss (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w,
                        const int32_t *targets, float *losses, int64_t *loss_sum, int *overflow,
                        struct mm_mat dx, struct mm_mat dw) MM_NODISCARD;

/* Bytes of the logits that mm_head_loss holds at a time on the CPU, of ROWS rows: for who tells beforehand how much
   memory a run takes.  */
size_t mm_head_loss_bytes (size_t rows, size_t vocab);

/* ---- gradients and optimizer ---- */

#define MM_FIXED_BITS 34        /* gradients and losses: steps of 2^-34 */

/* acc[i] += fixed point of g[i]; *OVERFLOW (host) set to 1 when some |g[i]| >= 2^17 or is NaN (that
   element adds 0).  */
mm_status mm_accumulate (struct mm_backend *be, const float *g, size_t n, int64_t *acc,
                         int *overflow) MM_NODISCARD;

enum { MM_GRAD_BLOCK = 4096 };

/* partial[b] (host) = sum of squares of block b of elements [FIRST, FIRST + N) of the gradient
   acc * 2^-34 / n_targets, MM_GRAD_BLOCK elements each; FIRST a multiple of that (MM_EINVAL).  */
mm_status mm_grad_squares (struct mm_backend *be, const int64_t *acc, size_t first, size_t n,
                           uint64_t n_targets, double *partial) MM_NODISCARD;

/* g[i] = float32 of the gradient, before clipping: for tests and inspection.  */
mm_status mm_grad_values (struct mm_backend *be, const int64_t *acc, size_t n, uint64_t n_targets,
                          float *g) MM_NODISCARD;

struct mm_adamw
{
  float beta1, beta2, eps;
  float decay;                  /* 1 - lr * weight_decay, or 1 */
  float step_size;              /* lr / (1 - beta1^t) */
  float inv_sqrt_bc2;           /* 1 / sqrt (1 - beta2^t) */
  float clip;                   /* factor on the gradient */
};

/* One AdamW step on N parameters from the fixed-point gradient; acc is set to zero for the next
   window.  Source: Loshchilov and Hutter (2019), algorithm 2; agrees with torch.optim.AdamW.  */
mm_status mm_adamw_step (struct mm_backend *be, const struct mm_adamw *a, int64_t *acc,
                         uint64_t n_targets, size_t n, float *p, float *m, float *v) MM_NODISCARD;

#endif /* MINIMIND_OPS_H */

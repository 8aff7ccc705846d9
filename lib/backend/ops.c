/* ops.c -- check the arguments of every operation once, then call the backend and keep its time.
   SPDX-License-Identifier: Apache-2.0

   FLOPs and bytes of the profile are what the operation needs: each input read and each output
   written once, recomputation and packing not counted.  */

#include <config.h>

#include <stdlib.h>
#include <time.h>

#include <minimind/memory.h>

#include "impl.h"

/* Leave the calling function with the status of EXPR if it failed.  */
#define TRY(expr) \
  do { mm_status try_st = (expr); if (try_st < 0) return try_st; } while (0)

/* ---- checks ---- */

static mm_status
want_mat (const char *op, const char *name, struct mm_mat m, size_t rows, size_t cols)
{
  if (m.rows != rows || m.cols != cols)
    return mm_fail (MM_ESHAPE, "%s: %s is [%zu, %zu], want [%zu, %zu]", op, name, m.rows, m.cols,
                    rows, cols);
  if (m.ld < m.cols)
    return mm_fail (MM_ESHAPE, "%s: %s has rows of %zu values %zu apart", op, name, m.cols, m.ld);
  if (!m.data && rows && cols)
    return mm_fail (MM_EINVAL, "%s: %s has no data", op, name);
  return MM_OK;
}

/* A matrix whose shape the others are compared with.  */
static mm_status
want_any (const char *op, const char *name, struct mm_mat m)
{
  return want_mat (op, name, m, m.rows, m.cols);
}

/* The same for one that may be absent.  */
static mm_status
want_maybe (const char *op, const char *name, struct mm_mat m, size_t rows, size_t cols)
{
  return m.data ? want_mat (op, name, m, rows, cols) : MM_OK;
}

static mm_status
want_ids (const char *op, const char *name, const int32_t *ids, size_t n, int32_t low, size_t below)
{
  for (size_t i = 0; i < n; i++)
    if (ids[i] < low || (ids[i] >= 0 && (size_t) ids[i] >= below))
      return mm_fail (MM_EINVAL, "%s: %s[%zu] is %d, want %d to %zu", op, name, i, (int) ids[i],
                      (int) low, below - 1);
  return MM_OK;
}

static mm_status
want_eps (const char *op, float eps)
{
  return eps > 0 ? MM_OK : mm_fail (MM_EINVAL, "%s: eps is %g, must be positive", op, (double) eps);
}

/* Rows made of whole heads of HD values.  */
static mm_status
want_heads (const char *op, struct mm_mat x, size_t hd)
{
  if (hd == 0)
    return mm_fail (MM_EINVAL, "%s: a head has no values", op);
  if (x.cols % hd)
    return mm_fail (MM_ESHAPE, "%s: %zu columns are not whole heads of %zu", op, x.cols, hd);
  return MM_OK;
}

static mm_status
want_targets (const char *op, uint64_t n_targets)
{
  return n_targets ? MM_OK : mm_fail (MM_EINVAL, "%s: no target tokens to divide by", op);
}

/* ---- profile ---- */

static double
seconds_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Book what began at START under OP and pass its status on.  */
static mm_status
book (struct mm_backend *be, enum mm_op op, double start, mm_status st, double flops, double bytes)
{
  struct mm_op_profile *p = &be->profile[op];

  p->seconds += seconds_now () - start;
  p->flops += flops;
  p->bytes += bytes;
  p->calls++;
  return st;
}

static double
area (struct mm_mat m)
{
  return m.data ? (double) m.rows * (double) m.cols : 0;
}

/* Bytes of a float32 multiplication of [m, k] by [k, n].  */
static double
product_bytes (double m, double n, double k)
{
  return 4 * (m * n + m * k + n * k);
}

/* ---- weights and products ---- */

mm_status
mm_weight_create (struct mm_backend *be, size_t n, size_t k, struct mm_weight **w)
{
  mm_status st;

  *w = NULL;
  if (n == 0 || k == 0)
    return mm_fail (MM_EINVAL, "weight: [%zu, %zu] is empty", n, k);
  TRY (mm_alloc ("weight", 1, sizeof **w, w));
  (*w)->n = n;
  (*w)->k = k;
  st = be->ops->weight_create (be, *w);
  if (st < 0)
    {
      mm_weight_free (be, *w);
      *w = NULL;
    }
  return st;
}

void
mm_weight_free (struct mm_backend *be, struct mm_weight *w)
{
  if (!w)
    return;
  be->ops->weight_free (be, w);
  free (w);
}

mm_status
mm_weight_set (struct mm_backend *be, struct mm_weight *w, struct mm_mat values)
{
  double start = seconds_now ();

  TRY (want_mat ("weight_set", "values", values, w->n, w->k));
  w->values = values;
  return book (be, MM_OP_WEIGHT_SET, start, be->ops->weight_set (be, w), 0, area (values) * (w->columns ? 12 : 8));
}

mm_status
mm_weight_keep_columns (struct mm_backend *be, struct mm_weight *w)
{
  return w->columns ? MM_OK : be->ops->weight_keep_columns (be, w);
}

/* Products with columns of W read its values themselves.  */
static mm_status
want_values (const char *op, const struct mm_weight *w)
{
  return w->values.data ? MM_OK : mm_fail (MM_EINVAL, "%s: a weight [%zu, %zu] without values", op, w->n, w->k);
}

mm_status
mm_linear (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
           struct mm_mat y)
{
  double start = seconds_now ();

  TRY (want_mat ("linear", "x", x, x.rows, w->k));
  TRY (want_mat ("linear", "y", y, x.rows, w->n));
  TRY (want_maybe ("linear", "residual", residual, x.rows, w->n));
  return book (be, MM_OP_LINEAR, start, be->ops->linear (be, x, w, residual, y),
               2 * area (x) * (double) w->n,
               product_bytes ((double) x.rows, (double) w->n, (double) w->k) + 4 * area (residual));
}

mm_status
mm_linear_grad_input (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                      struct mm_mat residual, struct mm_mat dx)
{
  double start = seconds_now ();

  TRY (want_values ("linear_grad_input", w));
  TRY (want_mat ("linear_grad_input", "dy", dy, dy.rows, w->n));
  TRY (want_mat ("linear_grad_input", "dx", dx, dy.rows, w->k));
  TRY (want_maybe ("linear_grad_input", "residual", residual, dy.rows, w->k));
  return book (be, MM_OP_LINEAR_GRAD_INPUT, start,
               be->ops->linear_grad_input (be, dy, w, residual, dx), 2 * area (dy) * (double) w->k,
               product_bytes ((double) dy.rows, (double) w->n, (double) w->k) + 4 * area (residual));
}

/* The N addends of OP fit outputs [ROWS, COLS]; *FLOPS and *BYTES grow by theirs.  GRAD: u w, not u w^T.  */
static mm_status
want_addends (const char *op, const struct mm_addend *a, size_t n, bool grad, size_t rows, size_t cols, double *flops,
              double *bytes)
{
  if (n > MM_MOST_ADDENDS)
    return mm_fail (MM_EINVAL, "%s: %zu addends, want at most %d", op, n, MM_MOST_ADDENDS);
  for (; n > 0; n--, a++)
    {
      size_t inner = grad ? a->w->n : a->w->k, outputs = grad ? a->w->k : a->w->n;

      if (grad)
        TRY (want_values (op, a->w));
      TRY (want_mat (op, "an addend", a->u, rows, inner));
      if (a->from > cols || outputs > cols - a->from)
        return mm_fail (MM_ESHAPE, "%s: an addend has columns %zu to %zu, want at most %zu", op, a->from,
                        a->from + outputs, cols);
      *flops += 2 * area (a->u) * (double) outputs;
      *bytes += 4 * (area (a->u) + (double) inner * (double) outputs);
    }
  return MM_OK;
}

mm_status
mm_linear_plus (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, struct mm_mat residual,
                const struct mm_addend *addends, size_t n, struct mm_mat y)
{
  double start = seconds_now (), flops = 2 * area (x) * (double) w->n;
  double bytes = product_bytes ((double) x.rows, (double) w->n, (double) w->k) + 4 * area (residual);

  TRY (want_mat ("linear_plus", "x", x, x.rows, w->k));
  TRY (want_mat ("linear_plus", "y", y, x.rows, w->n));
  TRY (want_maybe ("linear_plus", "residual", residual, x.rows, w->n));
  TRY (want_addends ("linear_plus", addends, n, false, x.rows, w->n, &flops, &bytes));
  return book (be, MM_OP_LINEAR, start, be->ops->linear_plus (be, x, w, residual, addends, n, y), flops, bytes);
}

mm_status
mm_linear_grad_input_plus (struct mm_backend *be, struct mm_mat dy, const struct mm_weight *w,
                           struct mm_mat residual, const struct mm_addend *addends, size_t n, struct mm_mat dx)
{
  double start = seconds_now (), flops = 2 * area (dy) * (double) w->k;
  double bytes = product_bytes ((double) dy.rows, (double) w->n, (double) w->k) + 4 * area (residual);

  TRY (want_values ("linear_grad_input_plus", w));
  TRY (want_mat ("linear_grad_input_plus", "dy", dy, dy.rows, w->n));
  TRY (want_mat ("linear_grad_input_plus", "dx", dx, dy.rows, w->k));
  TRY (want_maybe ("linear_grad_input_plus", "residual", residual, dy.rows, w->k));
  TRY (want_addends ("linear_grad_input_plus", addends, n, true, dy.rows, w->k, &flops, &bytes));
  return book (be, MM_OP_LINEAR_GRAD_INPUT, start,
               be->ops->linear_grad_input_plus (be, dy, w, residual, addends, n, dx), flops, bytes);
}

mm_status
mm_linear_grad_weight (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, int64_t *acc,
                       int *overflow)
{
  double start = seconds_now ();

  TRY (want_any ("linear_grad_weight", "dy", dy));
  TRY (want_mat ("linear_grad_weight", "x", x, dy.rows, x.cols));
  return book (be, MM_OP_LINEAR_GRAD_WEIGHT, start,
               be->ops->linear_grad_weight (be, dy, x, acc, overflow),
               2 * area (dy) * (double) x.cols,
               4 * (area (dy) + area (x)) + 16 * (double) dy.cols * (double) x.cols);
}

/* ---- embedding ---- */

mm_status
mm_scale (struct mm_backend *be, struct mm_mat x, float s)
{
  double start = seconds_now ();

  TRY (want_any ("scale", "x", x));
  return book (be, MM_OP_SCALE, start, be->ops->scale (be, x, s), area (x), 8 * area (x));
}

mm_status
mm_embed (struct mm_backend *be, struct mm_mat table, const int32_t *ids, struct mm_mat y)
{
  double start = seconds_now ();

  TRY (want_any ("embed", "table", table));
  TRY (want_mat ("embed", "y", y, y.rows, table.cols));
  TRY (want_ids ("embed", "ids", ids, y.rows, 0, table.rows));
  return book (be, MM_OP_EMBED, start, be->ops->embed (be, table, ids, y), 0, 8 * area (y));
}

mm_status
mm_embed_grad (struct mm_backend *be, struct mm_mat dy, const int32_t *ids, struct mm_mat dtable)
{
  double start = seconds_now ();

  TRY (want_any ("embed_grad", "dtable", dtable));
  TRY (want_mat ("embed_grad", "dy", dy, dy.rows, dtable.cols));
  TRY (want_ids ("embed_grad", "ids", ids, dy.rows, 0, dtable.rows));
  return book (be, MM_OP_EMBED_GRAD, start, be->ops->embed_grad (be, dy, ids, dtable), area (dy),
               12 * area (dy));
}

/* ---- normalisation ---- */

mm_status
mm_rmsnorm (struct mm_backend *be, struct mm_mat x, const float *w, float eps, struct mm_mat y,
            float *rms)
{
  double start = seconds_now ();

  TRY (want_any ("rmsnorm", "x", x));
  TRY (want_mat ("rmsnorm", "y", y, x.rows, x.cols));
  TRY (want_eps ("rmsnorm", eps));
  return book (be, MM_OP_RMSNORM, start, be->ops->rmsnorm (be, x, w, eps, y, rms), 4 * area (x),
               8 * area (x));
}

mm_status
mm_rmsnorm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, const float *w,
                 const float *rms, struct mm_mat residual, struct mm_mat dx, float *dw)
{
  double start = seconds_now ();

  TRY (want_any ("rmsnorm_grad", "x", x));
  TRY (want_mat ("rmsnorm_grad", "dy", dy, x.rows, x.cols));
  TRY (want_mat ("rmsnorm_grad", "dx", dx, x.rows, x.cols));
  TRY (want_maybe ("rmsnorm_grad", "residual", residual, x.rows, x.cols));
  return book (be, MM_OP_RMSNORM_GRAD, start,
               be->ops->rmsnorm_grad (be, dy, x, w, rms, residual, dx, dw), 9 * area (x),
               12 * area (x) + 4 * area (residual));
}

mm_status
mm_head_norm (struct mm_backend *be, struct mm_mat x, size_t hd, const float *w, float eps,
              struct mm_mat y, float *rms)
{
  double start = seconds_now ();

  TRY (want_any ("head_norm", "x", x));
  TRY (want_heads ("head_norm", x, hd));
  TRY (want_mat ("head_norm", "y", y, x.rows, x.cols));
  TRY (want_eps ("head_norm", eps));
  return book (be, MM_OP_HEAD_NORM, start, be->ops->head_norm (be, x, hd, w, eps, y, rms),
               4 * area (x), 8 * area (x));
}

mm_status
mm_head_norm_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat x, size_t hd, const float *w,
                   const float *rms, struct mm_mat dx, float *dw)
{
  double start = seconds_now ();

  TRY (want_any ("head_norm_grad", "x", x));
  TRY (want_heads ("head_norm_grad", x, hd));
  TRY (want_mat ("head_norm_grad", "dy", dy, x.rows, x.cols));
  TRY (want_mat ("head_norm_grad", "dx", dx, x.rows, x.cols));
  return book (be, MM_OP_HEAD_NORM_GRAD, start,
               be->ops->head_norm_grad (be, dy, x, hd, w, rms, dx, dw), 9 * area (x), 12 * area (x));
}

/* ---- positions ---- */

mm_status
mm_rope (struct mm_backend *be, struct mm_mat x, size_t hd, const int32_t *positions,
         const float *cosines, const float *sines, size_t table_rows, bool grad)
{
  double start = seconds_now ();

  TRY (want_any ("rope", "x", x));
  TRY (want_heads ("rope", x, hd));
  if (hd % 2)
    return mm_fail (MM_EINVAL, "rope: heads of %zu values have no pairs", hd);
  TRY (want_ids ("rope", "positions", positions, x.rows, 0, table_rows));
  return book (be, MM_OP_ROPE, start, be->ops->rope (be, x, hd, positions, cosines, sines, grad),
               3 * area (x), 8 * area (x));
}

/* ---- attention ---- */

static mm_status
want_attention (const char *op, struct mm_heads h, struct mm_mat q, struct mm_mat k, struct mm_mat v,
                const struct mm_segment *s, size_t n_segments, bool grad)
{
  if (h.head_dim == 0 || h.n_kv_heads == 0 || h.n_heads == 0 || h.n_heads % h.n_kv_heads)
    return mm_fail (MM_EINVAL, "%s: %zu heads of %zu values cannot share %zu", op, h.n_heads,
                    h.head_dim, h.n_kv_heads);
  if (grad && h.kv_step)
    return mm_fail (MM_EINVAL, "%s: heads of keys %zu values apart", op, h.kv_step);
  TRY (want_mat (op, "q", q, q.rows, h.n_heads * h.head_dim));
  TRY (want_mat (op, "k", k, k.rows, h.kv_step ? h.head_dim : h.n_kv_heads * h.head_dim));
  TRY (want_mat (op, "v", v, k.rows, k.cols));
  for (size_t i = 0; i < n_segments; i++)
    {
      if (s[i].n_q > q.rows || s[i].q0 > q.rows - s[i].n_q)
        return mm_fail (MM_ESHAPE, "%s: segment %zu holds queries %zu to %zu of %zu", op, i, s[i].q0,
                        s[i].q0 + s[i].n_q, q.rows);
      if (s[i].n_k > k.rows || s[i].k0 > k.rows - s[i].n_k)
        return mm_fail (MM_ESHAPE, "%s: segment %zu holds keys %zu to %zu of %zu", op, i, s[i].k0,
                        s[i].k0 + s[i].n_k, k.rows);
      if (s[i].n_k < s[i].n_q || (grad && s[i].n_k != s[i].n_q))
        return mm_fail (MM_ESHAPE, "%s: segment %zu has %zu queries, %zu keys", op, i, s[i].n_q,
                        s[i].n_k);
    }
  return MM_OK;
}

/* H as backends are given it.  */
static struct mm_heads
with_step (struct mm_heads h)
{
  if (h.kv_step == 0)
    h.kv_step = h.head_dim;
  return h;
}

/* Pairs of a query and a key it may see, over all heads, times head_dim.  */
static double
attention_size (struct mm_heads h, const struct mm_segment *s, size_t n_segments)
{
  double pairs = 0;

  for (size_t i = 0; i < n_segments; i++)
    pairs += (double) s[i].n_q * ((double) (s[i].n_k - s[i].n_q) + ((double) s[i].n_q + 1) / 2);
  return pairs * (double) (h.n_heads * h.head_dim);
}

mm_status
mm_attention (struct mm_backend *be, struct mm_heads heads, struct mm_mat q, struct mm_mat k,
              struct mm_mat v, const struct mm_segment *segments, size_t n_segments, struct mm_mat o,
              float *stats)
{
  double start = seconds_now ();

  TRY (want_attention ("attention", heads, q, k, v, segments, n_segments, false));
  TRY (want_mat ("attention", "o", o, q.rows, q.cols));
  return book (be, MM_OP_ATTENTION, start,
               be->ops->attention (be, with_step (heads), q, k, v, segments, n_segments, o, stats),
               4 * attention_size (heads, segments, n_segments),
               4 * (2 * area (q) + 2 * (double) (k.rows * heads.n_kv_heads * heads.head_dim)));
}

mm_status
mm_attention_grad (struct mm_backend *be, struct mm_heads heads, struct mm_mat q, struct mm_mat k,
                   struct mm_mat v, struct mm_mat o, const float *stats, struct mm_mat d_o,
                   const struct mm_segment *segments, size_t n_segments, struct mm_mat dq,
                   struct mm_mat dk, struct mm_mat dv)
{
  double start = seconds_now ();

  TRY (want_attention ("attention_grad", heads, q, k, v, segments, n_segments, true));
  TRY (want_mat ("attention_grad", "o", o, q.rows, q.cols));
  TRY (want_mat ("attention_grad", "do", d_o, q.rows, q.cols));
  TRY (want_mat ("attention_grad", "dq", dq, q.rows, q.cols));
  TRY (want_mat ("attention_grad", "dk", dk, k.rows, k.cols));
  TRY (want_mat ("attention_grad", "dv", dv, v.rows, v.cols));
  return book (be, MM_OP_ATTENTION_GRAD, start,
               be->ops->attention_grad (be, with_step (heads), q, k, v, o, stats, d_o, segments, n_segments, dq, dk,
                                        dv),
               8 * attention_size (heads, segments, n_segments),
               4 * (4 * area (q) + 2 * area (k) + 2 * area (v)));
}

/* ---- feed-forward ---- */

mm_status
mm_swiglu (struct mm_backend *be, struct mm_mat gate_up, struct mm_mat y)
{
  double start = seconds_now ();

  TRY (want_any ("swiglu", "y", y));
  TRY (want_mat ("swiglu", "gate_up", gate_up, y.rows, 2 * y.cols));
  return book (be, MM_OP_SWIGLU, start, be->ops->swiglu (be, gate_up, y), 20 * area (y), 12 * area (y));
}

mm_status
mm_swiglu_grad (struct mm_backend *be, struct mm_mat dy, struct mm_mat gate_up, struct mm_mat d_gate_up,
                struct mm_mat y)
{
  double start = seconds_now ();

  TRY (want_any ("swiglu_grad", "dy", dy));
  TRY (want_mat ("swiglu_grad", "gate_up", gate_up, dy.rows, 2 * dy.cols));
  TRY (want_mat ("swiglu_grad", "d_gate_up", d_gate_up, dy.rows, 2 * dy.cols));
  TRY (want_maybe ("swiglu_grad", "y", y, dy.rows, dy.cols));
  return book (be, MM_OP_SWIGLU_GRAD, start, be->ops->swiglu_grad (be, dy, gate_up, d_gate_up, y),
               26 * area (dy), 20 * area (dy) + 4 * area (y));
}

/* ---- head and loss ---- */

mm_status
mm_head_loss (struct mm_backend *be, struct mm_mat x, const struct mm_weight *w, const int32_t *targets,
              float *losses, int64_t *loss_sum, int *overflow, struct mm_mat dx, struct mm_mat dw)
{
  double start = seconds_now ();
  double products = 1 + (dx.data != NULL) + (dw.data != NULL);

  TRY (want_mat ("head_loss", "x", x, x.rows, w->k));
  TRY (want_ids ("head_loss", "targets", targets, x.rows, INT32_MIN, w->n));
  if (dx.data)
    {
      TRY (want_values ("head_loss", w));
      TRY (want_mat ("head_loss", "dx", dx, x.rows, x.cols));
      TRY (want_maybe ("head_loss", "dw", dw, w->n, w->k));
    }
  return book (be, MM_OP_HEAD_LOSS, start,
               be->ops->head_loss (be, x, w, targets, losses, loss_sum, overflow, dx, dw),
               products * 2 * area (x) * (double) w->n,
               4 * (area (x) + area (dx) + area (dw) + (double) w->n * (double) w->k));
}

/* ---- gradients and optimizer ---- */

mm_status
mm_accumulate (struct mm_backend *be, const float *g, size_t n, int64_t *acc, int *overflow)
{
  double start = seconds_now ();

  return book (be, MM_OP_ACCUMULATE, start, be->ops->accumulate (be, g, n, acc, overflow), (double) n,
               20 * (double) n);
}

mm_status
mm_grad_squares (struct mm_backend *be, const int64_t *acc, size_t first, size_t n, uint64_t n_targets,
                 double *partial)
{
  double start = seconds_now ();

  TRY (want_targets ("grad_squares", n_targets));
  if (first % MM_GRAD_BLOCK)
    return mm_fail (MM_EINVAL, "grad_squares: element %zu is not the first of a block of %d", first,
                    MM_GRAD_BLOCK);
  return book (be, MM_OP_GRAD_SQUARES, start,
               be->ops->grad_squares (be, acc, first, n, n_targets, partial), 3 * (double) n,
               8 * (double) n);
}

mm_status
mm_grad_values (struct mm_backend *be, const int64_t *acc, size_t n, uint64_t n_targets, float *g)
{
  double start = seconds_now ();

  TRY (want_targets ("grad_values", n_targets));
  return book (be, MM_OP_GRAD_VALUES, start, be->ops->grad_values (be, acc, n, n_targets, g),
               (double) n, 12 * (double) n);
}

mm_status
mm_adamw_step (struct mm_backend *be, const struct mm_adamw *a, int64_t *acc, uint64_t n_targets,
               size_t n, float *p, float *m, float *v)
{
  double start = seconds_now ();

  TRY (want_targets ("adamw_step", n_targets));
  TRY (want_eps ("adamw_step", a->eps));
  if (!(a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 && a->beta2 < 1))
    return mm_fail (MM_EINVAL, "adamw_step: betas are %g and %g, want at least 0, below 1",
                    (double) a->beta1, (double) a->beta2);
  return book (be, MM_OP_ADAMW_STEP, start,
               be->ops->adamw_step (be, a, acc, n_targets, n, p, m, v), 15 * (double) n,
               40 * (double) n);
}

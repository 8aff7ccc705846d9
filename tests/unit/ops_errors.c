/* What the operations refuse: shapes that do not fit, scalars and indices that cannot be.  The products'
   refusals are gemm.c's.
   SPDX-License-Identifier: Apache-2.0  */

#include "ops.h"

static float data[4096];
static const struct mm_mat absent;

/* [2, 6] and what does not fit it.  */
#define GOOD mm_mat (data, 2, 6)
#define LONGER mm_mat (data, 3, 6)
#define WIDER mm_mat (data, 2, 7)
#define OVERLAPPING ((struct mm_mat) { data, 2, 6, 5 })
#define NO_DATA mm_mat (NULL, 2, 6)

static void
test_embed (struct mm_backend *be)
{
  const int32_t ids[2] = { 0, 1 }, high[2] = { 0, 2 }, low[2] = { 0, -1 };

  ok (mm_embed (be, GOOD, ids, WIDER) == MM_ESHAPE, "embed: y too wide");
  ok (mm_embed (be, OVERLAPPING, ids, GOOD) == MM_ESHAPE, "embed: rows that overlap");
  ok (mm_embed (be, NO_DATA, ids, GOOD) == MM_EINVAL, "embed: no table");
  ok (mm_embed (be, GOOD, high, GOOD) == MM_EINVAL, "embed: id beyond the vocabulary");
  ok (strstr (mm_error_message (), "ids[1] is 2") != NULL, "the message names it");
  ok (mm_embed (be, GOOD, low, GOOD) == MM_EINVAL, "embed: negative id");
  ok (mm_embed_grad (be, WIDER, ids, GOOD) == MM_ESHAPE, "embed_grad: dy too wide");
  ok (mm_embed_grad (be, GOOD, ids, NO_DATA) == MM_EINVAL, "embed_grad: no table");
  ok (mm_embed_grad (be, GOOD, high, GOOD) == MM_EINVAL, "embed_grad: id beyond the vocabulary");
}

static void
test_norms (struct mm_backend *be)
{
  float *w = data, *rms = data, dw[7];

  ok (mm_rmsnorm (be, GOOD, w, 1e-5f, LONGER, rms) == MM_ESHAPE, "rmsnorm: y too long");
  ok (mm_rmsnorm (be, OVERLAPPING, w, 1e-5f, GOOD, rms) == MM_ESHAPE, "rmsnorm: rows that overlap");
  ok (mm_rmsnorm (be, GOOD, w, 1e-5f, NO_DATA, rms) == MM_EINVAL, "rmsnorm: no y");
  ok (mm_rmsnorm (be, GOOD, w, 0, GOOD, rms) == MM_EINVAL, "rmsnorm: eps 0");
  ok (mm_rmsnorm (be, GOOD, w, NAN, GOOD, rms) == MM_EINVAL, "rmsnorm: eps not a number");
  ok (mm_rmsnorm_grad (be, WIDER, GOOD, w, rms, absent, GOOD, dw) == MM_ESHAPE, "rmsnorm_grad: dy too wide");
  ok (mm_rmsnorm_grad (be, GOOD, GOOD, w, rms, absent, LONGER, dw) == MM_ESHAPE,
      "rmsnorm_grad: dx too long");
  ok (mm_rmsnorm_grad (be, GOOD, GOOD, w, rms, LONGER, GOOD, dw) == MM_ESHAPE,
      "rmsnorm_grad: residual too long");
  ok (mm_head_norm (be, GOOD, 4, w, 1e-5f, GOOD, rms) == MM_ESHAPE, "head_norm: broken heads");
  ok (mm_head_norm (be, GOOD, 0, w, 1e-5f, GOOD, rms) == MM_EINVAL, "head_norm: empty heads");
  ok (mm_head_norm (be, GOOD, 3, w, 1e-5f, WIDER, rms) == MM_ESHAPE, "head_norm: y too wide");
  ok (mm_head_norm (be, GOOD, 3, w, -1, GOOD, rms) == MM_EINVAL, "head_norm: eps negative");
  ok (mm_head_norm_grad (be, GOOD, GOOD, 4, w, rms, GOOD, dw) == MM_ESHAPE, "head_norm_grad: broken heads");
  ok (mm_head_norm_grad (be, LONGER, GOOD, 3, w, rms, GOOD, dw) == MM_ESHAPE,
      "head_norm_grad: dy too long");
  ok (mm_head_norm_grad (be, GOOD, GOOD, 3, w, rms, WIDER, dw) == MM_ESHAPE, "head_norm_grad: dx too wide");
}

static void
test_scale (struct mm_backend *be)
{
  ok (mm_scale (be, NO_DATA, 2) == MM_EINVAL, "scale: no x");
}

static void
test_rope (struct mm_backend *be)
{
  const int32_t positions[2] = { 0, 7 }, high[2] = { 8, 0 }, low[2] = { -1, 0 };

  ok (mm_rope (be, GOOD, 4, positions, data, data, 8, false) == MM_ESHAPE, "rope: broken heads");
  ok (mm_rope (be, GOOD, 3, positions, data, data, 8, false) == MM_EINVAL, "rope: heads without pairs");
  ok (mm_rope (be, GOOD, 0, positions, data, data, 8, false) == MM_EINVAL, "rope: empty heads");
  ok (mm_rope (be, GOOD, 2, high, data, data, 8, false) == MM_EINVAL, "rope: position beyond the table");
  ok (mm_rope (be, GOOD, 2, low, data, data, 8, false) == MM_EINVAL, "rope: negative position");
  ok (mm_rope (be, NO_DATA, 2, positions, data, data, 8, false) == MM_EINVAL, "rope: no x");
}

static void
test_attention (struct mm_backend *be)
{
  const struct mm_heads h = { 4, 2, 3, 0 };
  struct mm_mat q = mm_mat (data, 5, 12), k = mm_mat (data, 5, 6), o = mm_mat (data + 100, 5, 12);
  struct mm_mat dk = mm_mat (data + 200, 5, 6), shorter = mm_mat (data, 4, 6), wide = mm_mat (data, 5, 13);
  struct mm_segment s = { 0, 5, 0, 5 }, bad;
  float *stats = data + 300;

#define FORWARD(heads, q, k, v, segment, o) mm_attention (be, heads, q, k, v, segment, 1, o, stats)
  ok (FORWARD (((struct mm_heads) { 4, 3, 3, 0 }), q, k, k, &s, o) == MM_EINVAL, "attention: 4 heads share 3");
  ok (FORWARD (((struct mm_heads) { 4, 0, 3, 0 }), q, k, k, &s, o) == MM_EINVAL, "attention: no keys' heads");
  ok (FORWARD (((struct mm_heads) { 4, 2, 0, 0 }), q, k, k, &s, o) == MM_EINVAL, "attention: empty heads");
  ok (FORWARD (((struct mm_heads) { 4, 2, 3, 15 }), q, k, k, &s, o) == MM_ESHAPE, "attention: k is not one head");
  ok (FORWARD (h, wide, k, k, &s, o) == MM_ESHAPE, "attention: q too wide");
  ok (FORWARD (h, q, q, k, &s, o) == MM_ESHAPE, "attention: k too wide");
  ok (FORWARD (h, q, k, shorter, &s, o) == MM_ESHAPE, "attention: fewer values than keys");
  ok (FORWARD (h, q, k, k, &s, wide) == MM_ESHAPE, "attention: o too wide");
  bad = (struct mm_segment) { 1, 5, 0, 5 };
  ok (FORWARD (h, q, k, k, &bad, o) == MM_ESHAPE, "attention: queries beyond the rows");
  bad = (struct mm_segment) { SIZE_MAX, 5, 0, 5 };
  ok (FORWARD (h, q, k, k, &bad, o) == MM_ESHAPE, "attention: a first query that wraps");
  bad = (struct mm_segment) { 0, 5, 1, 5 };
  ok (FORWARD (h, q, k, k, &bad, o) == MM_ESHAPE, "attention: keys beyond the rows");
  bad = (struct mm_segment) { 0, 5, 0, 4 };
  ok (FORWARD (h, q, k, k, &bad, o) == MM_ESHAPE, "attention: more queries than keys");

#define BACKWARD(segment, d_o, dq, dk, dv) \
  mm_attention_grad (be, h, q, k, k, o, stats, d_o, segment, 1, dq, dk, dv)
  bad = (struct mm_segment) { 0, 4, 0, 5 };
  ok (BACKWARD (&bad, o, o, dk, dk) == MM_ESHAPE, "attention_grad: keys before the queries");
  ok (mm_attention_grad (be, (struct mm_heads) { 4, 2, 3, 15 }, q, k, k, o, stats, o, &s, 1, o, dk, dk) == MM_EINVAL,
      "attention_grad: heads of keys apart");
  ok (BACKWARD (&s, wide, o, dk, dk) == MM_ESHAPE, "attention_grad: do too wide");
  ok (BACKWARD (&s, o, wide, dk, dk) == MM_ESHAPE, "attention_grad: dq too wide");
  ok (BACKWARD (&s, o, o, shorter, dk) == MM_ESHAPE, "attention_grad: dk too short");
  ok (BACKWARD (&s, o, o, dk, shorter) == MM_ESHAPE, "attention_grad: dv too short");
}

static void
test_swiglu (struct mm_backend *be)
{
  struct mm_mat y = mm_mat (data + 100, 2, 3), wide = mm_mat (data, 2, 4);

  ok (mm_swiglu (be, WIDER, y) == MM_ESHAPE, "swiglu: an odd width");
  ok (mm_swiglu (be, GOOD, wide) == MM_ESHAPE, "swiglu: y too wide");
  ok (mm_swiglu_grad (be, wide, GOOD, GOOD, y) == MM_ESHAPE, "swiglu_grad: dy too wide");
  ok (mm_swiglu_grad (be, y, GOOD, LONGER, y) == MM_ESHAPE, "swiglu_grad: d_gate_up too long");
  ok (mm_swiglu_grad (be, y, GOOD, GOOD, wide) == MM_ESHAPE, "swiglu_grad: y too wide");
}

static void
test_head_loss (struct mm_backend *be)
{
  const int32_t targets[2] = { 4, -1 }, high[2] = { 0, 5 };
  struct mm_weight *w = NULL;
  struct mm_mat dw = mm_mat (data + 100, 5, 6), short_dw = mm_mat (data, 4, 6);
  int64_t sum = 0;
  int overflow = 0;

  ok (mm_weight_create (be, 5, 6, &w) == MM_OK, "a weight for the head");
#define LOSS(x, w, targets, dx, dw) mm_head_loss (be, x, w, targets, NULL, &sum, &overflow, dx, dw)
  ok (LOSS (GOOD, w, targets, GOOD, dw) == MM_EINVAL, "head_loss: gradient of a weight without values");
  ok (mm_weight_set (be, w, mm_mat (data + 200, 5, 6)) == MM_OK, "values");
  ok (LOSS (WIDER, w, targets, absent, absent) == MM_ESHAPE, "head_loss: x too wide");
  ok (LOSS (GOOD, w, high, absent, absent) == MM_EINVAL, "head_loss: target beyond the vocabulary");
  ok (LOSS (GOOD, w, targets, LONGER, dw) == MM_ESHAPE, "head_loss: dx too long");
  ok (LOSS (GOOD, w, targets, GOOD, short_dw) == MM_ESHAPE, "head_loss: dw too short");
  ok (sum == 0 && !overflow, "refusals count no loss");
  mm_weight_free (be, w);
}

static void
test_optimizer (struct mm_backend *be)
{
  static int64_t acc[MM_GRAD_BLOCK];
  const struct mm_adamw good = { 0.9f, 0.95f, 1e-8f, 1, 1, 1, 1 };
  struct mm_adamw bad = good;
  double partial[1];

  ok (mm_grad_squares (be, acc, 0, 1, 0, partial) == MM_EINVAL, "grad_squares: no targets");
  ok (mm_grad_squares (be, acc, 1, 1, 1, partial) == MM_EINVAL, "grad_squares: not the start of a block");
  ok (mm_grad_values (be, acc, 1, 0, data) == MM_EINVAL, "grad_values: no targets");
#define STEP(a, n_targets) mm_adamw_step (be, a, acc, n_targets, 1, data, data + 1, data + 2)
  ok (STEP (&good, 0) == MM_EINVAL, "adamw_step: no targets");
  bad.eps = 0;
  ok (STEP (&bad, 1) == MM_EINVAL, "adamw_step: eps 0");
  bad = good, bad.beta1 = 1;
  ok (STEP (&bad, 1) == MM_EINVAL, "adamw_step: beta1 1");
  bad = good, bad.beta2 = -0.1f;
  ok (STEP (&bad, 1) == MM_EINVAL, "adamw_step: beta2 negative");
  bad = good, bad.beta2 = NAN;
  ok (STEP (&bad, 1) == MM_EINVAL, "adamw_step: beta2 not a number");
}

/* Nothing to do is no error.  */
static void
test_empty (struct mm_backend *be)
{
  struct mm_heads h = { 4, 2, 3, 0 };
  struct mm_mat q = mm_mat (NULL, 0, 12), k = mm_mat (NULL, 0, 6);
  int overflow = 0;

  ok (mm_embed (be, GOOD, NULL, mm_mat (NULL, 0, 6)) == MM_OK, "embed of no rows");
  ok (mm_rmsnorm (be, k, data, 1e-5f, k, NULL) == MM_OK, "rmsnorm of no rows");
  ok (mm_rope (be, q, 2, NULL, data, data, 8, false) == MM_OK, "rope of no rows");
  ok (mm_attention (be, h, q, k, k, NULL, 0, q, NULL) == MM_OK, "attention of no segments");
  ok (mm_attention_grad (be, h, q, k, k, q, data, q, NULL, 0, q, k, k) == MM_OK,
      "attention_grad of no segments");
  ok (mm_swiglu (be, q, k) == MM_OK, "swiglu of no rows");
  ok (mm_accumulate (be, data, 0, NULL, &overflow) == MM_OK && !overflow, "accumulate of nothing");
}

int
main (void)
{
  struct mm_backend *be = test_backend ();

  test_embed (be);
  test_norms (be);
  test_scale (be);
  test_rope (be);
  test_attention (be);
  test_swiglu (be);
  test_head_loss (be);
  test_optimizer (be);
  test_empty (be);
  mm_backend_close (be);
  return tap_done ();
}

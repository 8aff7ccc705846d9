/* Gradients against central differences: the reference operations compiled in double, each at odd
   sizes.  That the float kernels are the reference's bits is the business of the other tests.
   SPDX-License-Identifier: Apache-2.0  */

#include "ops.h"

/* The products in double: tests/unit/libref64.a.  */
void mm_ref64_linear (struct mm_mat64 x, struct mm_mat64 w, struct mm_mat64 residual, struct mm_mat64 y);
void mm_ref64_linear_grad_input (struct mm_mat64 dy, struct mm_mat64 w, struct mm_mat64 dx);
void mm_ref64_linear_grad_weight (struct mm_mat64 dy, struct mm_mat64 x, struct mm_mat64 dw);

/* All matrices live until the end.  */
static void *kept[100];
static size_t n_kept;

static struct mm_mat64
random_mat (size_t rows, size_t cols, double size)
{
  struct mm_mat64 m = { test_alloc (rows * cols, sizeof (double)), rows, cols, cols };

  kept[n_kept++] = m.data;
  for (size_t i = 0; i < rows * cols; i++)
    m.data[i] = size * test_uniform ();
  return m;
}

/* A scalar function of its inputs: the sum of the outputs times fixed numbers.  */
typedef double scalar_fn (void *of);

static double
weighted_sum (struct mm_mat64 y, struct mm_mat64 dy)
{
  double sum = 0;

  for (size_t i = 0; i < y.rows * y.cols; i++)
    sum += y.data[i] * dy.data[i];
  return sum;
}

/* Whether GRAD [n] is the slope of FN (OF) in X [n], relative to the largest slope.  The step of 1e-4 leaves
   an error of 1e-8 from the third derivative and 1e-11 from rounding.  */
static bool
is_slope (scalar_fn *fn, void *of, double *x, const double *grad, size_t n)
{
  const double step = 1e-4;
  double worst = 0, size = 0;

  for (size_t i = 0; i < n; i++)
    {
      double at = x[i], up, down, error;

      x[i] = at + step;
      up = fn (of);
      x[i] = at - step;
      down = fn (of);
      x[i] = at;
      error = fabs ((up - down) / (2 * step) - grad[i]);
      worst = error <= worst ? worst : error;
      size = fmax (size, fabs (grad[i]));
    }
  if (!(size > 0 && worst <= 1e-6 * size))
    printf ("# error %g of %g\n", worst, size);
  return size > 0 && worst <= 1e-6 * size;
}

static bool
mat_is_slope (scalar_fn *fn, void *of, struct mm_mat64 x, struct mm_mat64 grad)
{
  return is_slope (fn, of, x.data, grad.data, x.rows * x.cols);
}

/* ---- linear ---- */

struct linear
{
  struct mm_mat64 x, w, residual, y, dy;
};

static double
linear_sum (void *of)
{
  struct linear *l = of;

  mm_ref64_linear (l->x, l->w, l->residual, l->y);
  return weighted_sum (l->y, l->dy);
}

static void
test_linear (void)
{
  enum { M = 5, N = 7, K = 9 };
  struct linear l = { random_mat (M, K, 1), random_mat (N, K, 1), random_mat (M, N, 1),
                      random_mat (M, N, 1), random_mat (M, N, 1) };
  struct mm_mat64 dx = random_mat (M, K, 1), dw = random_mat (N, K, 1);

  mm_ref64_linear_grad_input (l.dy, l.w, dx);
  mm_ref64_linear_grad_weight (l.dy, l.x, dw);
  ok (mat_is_slope (linear_sum, &l, l.x, dx), "linear: input");
  ok (mat_is_slope (linear_sum, &l, l.w, dw), "linear: weight");
  ok (mat_is_slope (linear_sum, &l, l.residual, l.dy), "linear: residual");
}

/* ---- embedding ---- */

struct embed
{
  struct mm_mat64 table, y, dy;
  int32_t ids[6];
};

static double
embed_sum (void *of)
{
  struct embed *e = of;

  mm_ref64_embed (e->table, e->ids, e->y);
  return weighted_sum (e->y, e->dy);
}

static void
test_embed (void)
{
  struct embed e = { random_mat (5, 3, 1), random_mat (6, 3, 1), random_mat (6, 3, 1),
                     { 4, 0, 4, 2, 4, 0 } };
  struct mm_mat64 dtable = random_mat (5, 3, 0);

  mm_ref64_embed_grad (e.dy, e.ids, dtable);
  ok (mat_is_slope (embed_sum, &e, e.table, dtable), "embed: table");
}

/* ---- norms ---- */

struct norm
{
  size_t width;
  struct mm_mat64 x, y, dy;
  double *w, *rms;
};

static double
norm_sum (void *of)
{
  struct norm *n = of;

  mm_ref64_norm (n->x, n->width, n->w, 1e-3, n->y, n->rms);
  return weighted_sum (n->y, n->dy);
}

static void
test_norm (size_t groups, size_t width, const char *input, const char *weight)
{
  enum { ROWS = 4 };
  size_t cols = groups * width;
  struct norm n = { width, random_mat (ROWS, cols, 1), random_mat (ROWS, cols, 1),
                    random_mat (ROWS, cols, 1), random_mat (1, width, 1).data,
                    random_mat (ROWS, groups, 1).data };
  struct mm_mat64 dx = random_mat (ROWS, cols, 1), residual = random_mat (ROWS, cols, 1), none = { 0 };
  double *dw = random_mat (1, width, 1).data;
  bool added = true;

  norm_sum (&n);
  mm_ref64_norm_grad_input (n.dy, n.x, width, n.w, n.rms, none, dx);
  mm_ref64_norm_grad_weight (n.dy, n.x, width, n.rms, 0, width, dw);
  ok (mat_is_slope (norm_sum, &n, n.x, dx), input);
  ok (is_slope (norm_sum, &n, n.w, dw, width), weight);

  norm_sum (&n);
  mm_ref64_norm_grad_input (n.dy, n.x, width, n.w, n.rms, residual, n.y);
  for (size_t i = 0; i < ROWS * cols; i++)
    added &= n.y.data[i] == residual.data[i] + dx.data[i];
  ok (added, "norm: the residual's gradient is added");
}

/* ---- positions ---- */

struct rope
{
  struct mm_mat64 x, y, dy, cosines, sines;
  int32_t positions[3];
};

static double
rope_sum (void *of)
{
  struct rope *r = of;

  memcpy (r->y.data, r->x.data, r->x.rows * r->x.cols * sizeof (double));
  mm_ref64_rope (r->y, 10, r->positions, r->cosines.data, r->sines.data, false);
  return weighted_sum (r->y, r->dy);
}

static void
test_rope (void)
{
  struct rope r = { random_mat (3, 20, 1), random_mat (3, 20, 1), random_mat (3, 20, 1),
                    random_mat (8, 5, 1), random_mat (8, 5, 1), { 7, 0, 3 } };
  struct mm_mat64 dx = random_mat (3, 20, 1);

  for (size_t i = 0; i < 8 * 5; i++)
    r.sines.data[i] = sqrt (1 - r.cosines.data[i] * r.cosines.data[i]);
  memcpy (dx.data, r.dy.data, 3 * 20 * sizeof (double));
  mm_ref64_rope (dx, 10, r.positions, r.cosines.data, r.sines.data, true);
  ok (mat_is_slope (rope_sum, &r, r.x, dx), "rope: input");
}

/* ---- feed-forward ---- */

struct swiglu
{
  struct mm_mat64 gate_up, y, dy;
};

static double
swiglu_sum (void *of)
{
  struct swiglu *s = of;

  mm_ref64_swiglu (s->gate_up, s->y);
  return weighted_sum (s->y, s->dy);
}

static void
test_swiglu (void)
{
  struct swiglu s = { random_mat (3, 2 * 7, 4), random_mat (3, 7, 1), random_mat (3, 7, 1) };
  struct mm_mat64 d = random_mat (3, 2 * 7, 1), none = { 0 };

  mm_ref64_swiglu_grad (s.dy, s.gate_up, d, none);
  ok (mat_is_slope (swiglu_sum, &s, s.gate_up, d), "swiglu: gate and up");
}

/* ---- attention ---- */

struct attention
{
  struct mm_heads heads;
  struct mm_segment segments[2];
  struct mm_mat64 q, k, v, o, d_o;
  double *stats;
};

static struct mm_attention_part
attention_part (const struct attention *a, size_t segment, size_t kv)
{
  struct mm_segment s = a->segments[segment];

  return (struct mm_attention_part) { .segment = s, .kv_head = kv, .q_to = s.n_q, .k_to = s.n_k };
}

static double
attention_sum (void *of)
{
  struct attention *a = of;
  double scratch[16];

  for (size_t s = 0; s < 2; s++)
    for (size_t kv = 0; kv < a->heads.n_kv_heads; kv++)
      {
        struct mm_attention_part part = attention_part (a, s, kv);

        mm_ref64_attention (a->heads, a->q, a->k, a->v, &part, a->o, a->stats, scratch);
      }
  return weighted_sum (a->o, a->d_o);
}

static void
test_attention (void)
{
  enum { ROWS = 12, HD = 3, HEADS = 4, KV = 2 };
  struct attention a = { { HEADS, KV, HD, HD }, { { 0, 5, 0, 5 }, { 5, 7, 5, 7 } },
                         random_mat (ROWS, HEADS * HD, 2), random_mat (ROWS, KV * HD, 2),
                         random_mat (ROWS, KV * HD, 2), random_mat (ROWS, HEADS * HD, 1),
                         random_mat (ROWS, HEADS * HD, 1), random_mat (2 * ROWS, HEADS, 1).data };
  struct mm_mat64 dq = random_mat (ROWS, HEADS * HD, 1);
  struct mm_mat64 dk = random_mat (ROWS, KV * HD, 1), dv = random_mat (ROWS, KV * HD, 1);

  attention_sum (&a);
  for (size_t s = 0; s < 2; s++)
    for (size_t kv = 0; kv < KV; kv++)
      {
        struct mm_attention_part part = attention_part (&a, s, kv);

        mm_ref64_attention_grad (a.heads, a.q, a.k, a.v, a.o, a.stats, a.d_o, &part, dq, dk, dv, NULL);
      }
  ok (mat_is_slope (attention_sum, &a, a.q, dq), "attention: queries");
  ok (mat_is_slope (attention_sum, &a, a.k, dk), "attention: keys");
  ok (mat_is_slope (attention_sum, &a, a.v, dv), "attention: values");
}

/* ---- loss ---- */

struct loss
{
  struct mm_mat64 logits, work;
  int32_t targets[3];
};

static double
loss_sum (void *of)
{
  struct loss *l = of;
  double losses[3];

  memcpy (l->work.data, l->logits.data, 3 * 19 * sizeof (double));
  mm_ref64_cross_entropy (l->work, l->targets, losses, false);
  return losses[0] + losses[1] + losses[2];
}

static void
test_cross_entropy (void)
{
  struct loss l = { random_mat (3, 19, 4), random_mat (3, 19, 1), { 18, -1, 0 } };
  double losses[3];

  struct mm_mat64 d = random_mat (3, 19, 1);

  memcpy (d.data, l.logits.data, 3 * 19 * sizeof (double));
  mm_ref64_cross_entropy (d, l.targets, losses, true);
  ok (mat_is_slope (loss_sum, &l, l.logits, d), "cross-entropy: logits");
  ok (losses[1] == 0 && d.data[19] == 0 && d.data[2 * 19 - 1] == 0, "a row without a target counts nothing");
}

int
main (void)
{
  test_seed (1);
  test_linear ();
  test_embed ();
  test_norm (1, 11, "rmsnorm: input", "rmsnorm: weight");
  test_norm (3, 5, "head norm: input", "head norm: weight");
  test_rope ();
  test_swiglu ();
  test_attention ();
  test_cross_entropy ();
  while (n_kept > 0)
    free (kept[--n_kept]);
  return tap_done ();
}

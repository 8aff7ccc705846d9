/* optimizer.h: AdamW against double arithmetic, norm, clip, decay, skipped updates; accumulation over
   micro-batches.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/ops.h>
#include <minimind/optimizer.h>
#include <minimind/random.h>

#include "../tap.h"

enum { VOCAB = 320, SEQ_LEN = 13, ROWS = 6 };

static struct mm_backend *be;
static struct mm_model *model;
static size_t n;                /* parameters */

/* A fresh model and optimizer.  */
static struct mm_optimizer
begin (double weight_decay, double grad_clip)
{
  struct mm_optimizer o = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = weight_decay,
                            .grad_clip = grad_clip };

  if (mm_model_init (model, 1) < 0 || mm_optimizer_create (model, &o) < 0)
    exit (1);
  return o;
}

static void *
room (size_t size)
{
  void *p;

  if (mm_alloc ("test", n, size, &p) < 0)
    exit (1);
  return p;
}

/* Gradient of update T into O, and its double into G: what fixed point holds, divided by N_TARGETS.  */
static void
make_gradient (struct mm_optimizer *o, uint32_t t, uint64_t n_targets, double *g)
{
  float *raw = room (sizeof *raw);
  int64_t *fixed = room (sizeof *fixed);
  int overflow = 0;

  mm_normal (7, MM_RANDOM_TEST, t, 0, n, 0.5, raw);
  if (mm_accumulate (be, raw, n, o->grad, &overflow) < 0 || overflow
      || mm_backend_get (be, fixed, o->grad, n * sizeof *fixed) < 0)
    exit (1);
  for (size_t i = 0; i < n; i++)
    g[i] = ldexp ((double) fixed[i], -MM_FIXED_BITS) / (double) n_targets;
  free (raw);
  free (fixed);
}

/* True for parameters that decay: those of matrices.  */
static bool
decays (size_t i)
{
  for (size_t k = 0; k < mm_model_n_params (model); k++)
    {
      const struct mm_param *p = mm_model_param (model, k);

      if (p->offset <= i && i < p->offset + p->size)
        return p->n_dims == 2;
    }
  return false;
}

struct reference
{
  double *p, *m, *v;
  uint64_t t;
};

/* Algorithm 2 of the paper, in double.  */
static void
reference_step (struct reference *r, const struct mm_optimizer *o, double rate, const double *g, double norm)
{
  double clip = o->grad_clip > 0 && norm > o->grad_clip ? o->grad_clip / norm : 1;

  r->t++;
  for (size_t i = 0; i < n; i++)
    {
      double x = g[i] * clip, t = (double) r->t;

      r->m[i] = o->beta1 * r->m[i] + (1 - o->beta1) * x;
      r->v[i] = o->beta2 * r->v[i] + (1 - o->beta2) * x * x;
      if (decays (i))
        r->p[i] -= rate * o->weight_decay * r->p[i];
      r->p[i] -= rate * (r->m[i] / (1 - pow (o->beta1, t)))
                 / (sqrt (r->v[i] / (1 - pow (o->beta2, t))) + o->eps);
    }
}

/* The largest difference, as a multiple of SCALE + |b|.  */
static double
largest_difference (const float *a, const double *b, double scale)
{
  double worst = 0;

  for (size_t i = 0; i < n; i++)
    worst = fmax (worst, fabs ((double) a[i] - b[i]) / (scale + fabs (b[i])));
  return worst;
}

static void
test_against_double (double grad_clip, const char *name)
{
  struct mm_optimizer o = begin (0.1, grad_clip);
  struct reference r = { room (sizeof (double)), room (sizeof (double)), room (sizeof (double)), 0 };
  float *values = mm_model_values (model);
  double *g = room (sizeof *g), worst_norm = 0;
  char text[120];

  for (size_t i = 0; i < n; i++)
    r.p[i] = (double) values[i];
  for (uint32_t t = 0; t < 5; t++)
    {
      double norm, sum = 0, rate = 1e-3 * (t + 1);

      make_gradient (&o, t, 96, g);
      for (size_t i = 0; i < n; i++)
        sum += g[i] * g[i];
      if (mm_optimizer_step (model, &o, rate, 96, &norm) < 0)
        exit (1);
      worst_norm = fmax (worst_norm, fabs (norm - sqrt (sum)) / sqrt (sum));
      reference_step (&r, &o, rate, g, norm);
    }
  snprintf (text, sizeof text, "%s: five updates follow the paper", name);
  /* The way made is up to 15e-3 long; each update has a few roundings of float32.  */
  ok (largest_difference (values, r.p, 15e-3) < 8 * 0x1p-24 && o.updates == 5, text);
  snprintf (text, sizeof text, "%s: moments", name);
  ok (largest_difference (o.m, r.m, 1e-3) < 8 * 0x1p-24 && largest_difference (o.v, r.v, 1e-6) < 16 * 0x1p-24,
      text);
  snprintf (text, sizeof text, "%s: norm before clipping", name);
  ok (worst_norm < 1e-6, text);
  mm_optimizer_free (model, &o);
  free (r.p);
  free (r.m);
  free (r.v);
  free (g);
}

/* Without a gradient only the decay moves parameters: matrices shrink, norms stay.  */
static void
test_decay (void)
{
  struct mm_optimizer o = begin (0.1, 1);
  float *values = mm_model_values (model), *before = room (sizeof *before);
  bool right = true;
  double norm;

  memcpy (before, values, n * sizeof *before);
  ok (mm_optimizer_step (model, &o, 0.5, 10, &norm) == MM_OK && norm == 0, "an update with no gradient");
  for (size_t i = 0; i < n; i++)
    right = right && values[i] == (decays (i) ? before[i] * (float) (1 - 0.5 * (double) 0.1f) : before[i]);
  ok (right, "decay falls on matrices only, embedding included");
  mm_optimizer_free (model, &o);
  free (before);
}

static bool
all_zero (const int64_t *x)
{
  for (size_t i = 0; i < n; i++)
    if (x[i] != 0)
      return false;
  return true;
}

static void
test_skip (void)
{
  struct mm_optimizer o = begin (0.1, 1);
  float *before = room (sizeof *before);
  double *g = room (sizeof *g), norm = 0;

  memcpy (before, mm_model_values (model), n * sizeof *before);
  make_gradient (&o, 0, 1, g);
  ok (mm_optimizer_step (model, &o, 1e-3, 0, &norm) == MM_OK && isnan (norm) && o.updates == 0,
      "no targets: no update");
  ok (memcmp (before, mm_model_values (model), n * sizeof *before) == 0 && all_zero (o.grad),
      "parameters stay, the gradient is gone");
  make_gradient (&o, 0, 1, g);
  ok (mm_optimizer_skip (model, &o) == MM_OK && all_zero (o.grad) && o.updates == 0, "skip");
  make_gradient (&o, 0, 1, g);
  ok (mm_optimizer_step (model, &o, 1e-3, 1, &norm) == MM_OK && all_zero (o.grad) && o.updates == 1,
      "an update leaves a zero gradient");
  mm_optimizer_free (model, &o);
  free (before);
  free (g);
}

/* ---- accumulation ---- */

/* Row ROW: two documents, some tokens that are no targets.  */
static void
set_row (struct mm_batch *b, size_t at, uint32_t row)
{
  uint32_t ids[SEQ_LEN + 1];
  uint8_t starts[SEQ_LEN + 1], mask[SEQ_LEN + 1];

  for (uint32_t i = 0; i <= SEQ_LEN; i++)
    {
      ids[i] = (row * 71 + i * i * 5) % VOCAB;
      starts[i] = i == 0 || i == 3 + row;
      mask[i] = (row + i) % 4 != 0;
    }
  mm_batch_set_row (b, at, ids, starts, mask);
}

/* Loss and gradient of all rows, MICRO at a time, from the last micro-batch to the first if BACKWARDS.  */
static struct mm_loss
accumulate (size_t micro, bool backwards, int64_t *grad)
{
  struct mm_loss loss = { 0 };
  struct mm_pass *pass;
  struct mm_batch b;
  size_t n_micro = (ROWS + micro - 1) / micro;

  if (mm_pass_create (model, micro, SEQ_LEN, true, &pass) < 0 || mm_batch_alloc (micro, SEQ_LEN, &b) < 0)
    exit (1);
  memset (grad, 0, n * sizeof *grad);
  for (size_t k = 0; k < n_micro; k++)
    {
      size_t first = (backwards ? n_micro - 1 - k : k) * micro, count = ROWS - first < micro ? ROWS - first : micro;

      for (size_t i = 0; i < count; i++)
        set_row (&b, i, (uint32_t) (first + i));
      b.rows = count;
      if (mm_model_gradient (pass, &b, grad, &loss, NULL) < 0)
        exit (1);
    }
  mm_batch_free (&b);
  mm_pass_free (pass);
  return loss;
}

static void
test_accumulation (void)
{
  int64_t *whole = room (sizeof *whole), *part = room (sizeof *part);
  struct mm_loss one = accumulate (ROWS, false, whole), other;
  static const size_t sizes[] = { 1, 2, 3, 4, 5 };
  double largest = 0;

  for (size_t i = 0; i < n; i++)
    largest = fmax (largest, fabs ((double) whole[i]));
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    {
      double worst = 0;
      char name[80];

      other = accumulate (sizes[k], false, part);
      snprintf (name, sizeof name, "micro-batches of %zu: the loss of the whole, to the bit", sizes[k]);
      ok (other.sum == one.sum && other.n_targets == one.n_targets && !other.overflow, name);
      for (size_t i = 0; i < n; i++)
        worst = fmax (worst, fabs ((double) part[i] - (double) whole[i]));
      snprintf (name, sizeof name, "micro-batches of %zu: its gradient, but for roundings", sizes[k]);
      /* Sums of some eighty float32 products break in other places: a few 2^-24 of the largest.  */
      ok (worst <= 2e-6 * largest, name);
    }
  accumulate (2, false, whole);
  accumulate (2, true, part);
  ok (memcmp (whole, part, n * sizeof *whole) == 0, "the order of micro-batches does not show in any bit");
  free (whole);
  free (part);
}

int
main (void)
{
  struct mm_model_config config;

  if (mm_backend_open ("cpu", 2, &be) < 0 || mm_config_preset ("nano", VOCAB, &config) < 0
      || mm_model_create (be, &config, &model) < 0)
    return 1;
  n = mm_model_size (model);
  test_against_double (0, "no clip");
  test_against_double (0.05, "clipped");
  test_decay ();
  test_skip ();
  if (mm_model_init (model, 1) < 0)
    return 1;
  test_accumulation ();
  mm_model_free (model);
  mm_backend_close (be);
  return tap_done ();
}

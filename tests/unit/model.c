/* model.c -- passes over micro-batches: what they compute, what their bits depend on, errors.
   SPDX-License-Identifier: Apache-2.0

   That logits and gradients are right is tests/interop/model.c's subject.  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/ops.h>

#include "small_model.h"
#include "../tap.h"

enum { ROWS = 3, LENGTH = 29, EVERY = 11 };

/* All that comes out of a micro-batch.  */
struct result
{
  struct mm_loss loss;
  float *losses, *logits;       /* [n], [n, V] */
  int64_t *grad;                /* NULL unless asked for */
  size_t n, vocab, size;
};

static void *
room (size_t bytes)
{
  void *p = calloc (1, bytes);

  if (!p)
    exit (99);
  return p;
}

/* Run B through P; WITH_GRAD: through backward too.  */
static struct result
compute (struct mm_model *m, struct mm_pass *p, const struct mm_batch *b, bool with_grad)
{
  struct mm_backend *be = mm_model_backend (m);
  struct result r = { .n = b->rows * b->seq_len, .vocab = mm_model_config (m)->vocab_size,
                      .size = mm_model_size (m) };
  struct mm_loss loss = { 0 };
  void *grad;

  r.losses = room (r.n * sizeof (float));
  r.logits = room (r.n * r.vocab * sizeof (float));
  must (mm_model_evaluate (p, b, &r.loss, r.losses));
  must (mm_model_logits (p, b, r.logits));
  if (!with_grad)
    return r;
  r.grad = room (r.size * sizeof (int64_t));
  must (mm_backend_alloc (be, "gradient", r.size * sizeof (int64_t), &grad));
  must (mm_model_gradient (p, b, grad, &loss, NULL));
  must (mm_backend_get (be, r.grad, grad, r.size * sizeof (int64_t)));
  mm_backend_release (be, grad);
  ok (loss.sum == r.loss.sum && loss.n_targets == r.loss.n_targets && !loss.overflow
        && !r.loss.overflow,
      "training and evaluation see the same loss");
  return r;
}

static void
free_result (struct result *r)
{
  free (r->losses);
  free (r->logits);
  free (r->grad);
}

static bool
same_result (const struct result *a, const struct result *b)
{
  return a->n == b->n && a->loss.sum == b->loss.sum && a->loss.n_targets == b->loss.n_targets
         && !memcmp (a->losses, b->losses, a->n * sizeof (float))
         && !memcmp (a->logits, b->logits, a->n * a->vocab * sizeof (float))
         && (!a->grad || !b->grad || !memcmp (a->grad, b->grad, a->size * sizeof (int64_t)));
}

/* Open a backend with KERNELS (NULL: the best), build the small model on it, run one micro-batch.
   False where the processor or the build lacks the kernels.  */
static bool
run_with (const struct mm_model_config *c, const char *kernels, int threads, struct result *r)
{
  struct mm_batch b = small_batch (ROWS, LENGTH, 0, c->vocab_size, EVERY);
  struct mm_backend *be;
  struct mm_model *m;
  struct mm_pass *p;
  bool there;

  if (kernels)
    setenv ("MM_CPU", kernels, 1);
  there = mm_backend_open ("cpu", threads, &be) == MM_OK;
  if (there)
    {
      m = small_model (be, c);
      must (mm_pass_create (m, ROWS, LENGTH, true, &p));
      *r = compute (m, p, &b, true);
      mm_pass_free (p);
      mm_model_free (m);
      mm_backend_close (be);
    }
  mm_batch_free (&b);
  return there;
}

static void
test_same_bits (const struct mm_model_config *c)
{
  static const int threads[] = { 2, 3, 7 };
  static const char *const kernels[] = { "generic", "avx2", "avx512", "neon" };
  const char *chosen = getenv ("MM_CPU");
  char *before = chosen ? strdup (chosen) : NULL;
  struct result one, other;

  if (!run_with (c, NULL, 1, &one))
    exit (99);
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
    {
      ok (run_with (c, NULL, threads[i], &other) && same_result (&one, &other),
          "bits of any number of threads");
      free_result (&other);
    }
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (run_with (c, kernels[i], 2, &other))
      {
        ok (same_result (&one, &other), kernels[i]);
        free_result (&other);
      }
    else
      printf ("# no %s kernels here\n", kernels[i]);
  if (before)
    setenv ("MM_CPU", before, 1);
  else
    unsetenv ("MM_CPU");
  free (before);
  free_result (&one);
}

/* The loss by definition, from the logits, in double.  */
static void
test_loss (struct mm_model *m, struct mm_pass *p)
{
  size_t vocab = mm_model_config (m)->vocab_size, n_targets = 0;
  struct mm_batch b = small_batch (ROWS, LENGTH, 0, (uint32_t) vocab, EVERY);
  struct result r = compute (m, p, &b, false);
  int64_t sum = 0;
  double error = 0;

  for (size_t i = 0; i < r.n; i++)
    {
      double z = 0, want = 0;

      for (size_t v = 0; v < vocab; v++)
        z += exp (r.logits[i * vocab + v]);
      if (b.targets[i] >= 0)
        want = log (z) - r.logits[i * vocab + (size_t) b.targets[i]];
      n_targets += b.targets[i] >= 0;
      sum += llrint (ldexp (r.losses[i], MM_FIXED_BITS));
      error = fmax (error, fabs (want - r.losses[i]));
    }
  ok (error < 1e-5, "losses follow from the logits");
  ok (sum == r.loss.sum && n_targets == r.loss.n_targets, "their sum in fixed point");
  free_result (&r);
  mm_batch_free (&b);
}

/* Sequences don't see each other, and a pass may have room to spare.  */
static void
test_composition (struct mm_model *m, struct mm_pass *p)
{
  size_t vocab = mm_model_config (m)->vocab_size;
  struct mm_batch b = small_batch (ROWS, LENGTH, 0, (uint32_t) vocab, EVERY);
  struct result all = compute (m, p, &b, true);
  int64_t sum = 0, *grad = room (all.size * sizeof *grad);
  double error = 0, largest = 0;
  bool same = true;

  for (size_t i = 0; i < ROWS; i++)
    {
      struct mm_batch one = small_batch (1, LENGTH, i, (uint32_t) vocab, EVERY);
      struct result r = compute (m, p, &one, true);

      same &= !memcmp (r.losses, all.losses + i * LENGTH, LENGTH * sizeof (float));
      same &= !memcmp (r.logits, all.logits + i * LENGTH * vocab, LENGTH * vocab * sizeof (float));
      sum += r.loss.sum;
      for (size_t k = 0; k < r.size; k++)
        grad[k] += r.grad[k];
      free_result (&r);
      mm_batch_free (&one);
    }
  ok (same, "losses and logits of a sequence by itself: the same bits");
  ok (sum == all.loss.sum, "sums of the loss add exactly");
  for (size_t k = 0; k < all.size; k++)
    {
      error = fmax (error, fabs ((double) (grad[k] - all.grad[k])));
      largest = fmax (largest, fabs ((double) all.grad[k]));
    }
  ok (error < 1e-5 * largest, "and the gradients up to rounding");
  free (grad);
  free_result (&all);
  mm_batch_free (&b);
}

/* The same sequence in a pass made for it and in a larger one.  */
static void
test_spare_room (struct mm_model *m, struct mm_pass *large)
{
  uint32_t vocab = mm_model_config (m)->vocab_size;
  struct mm_batch b = small_batch (1, LENGTH - 6, 0, vocab, EVERY);
  struct mm_pass *exact, *evaluation;
  struct result r, s, t;

  must (mm_pass_create (m, 1, LENGTH - 6, true, &exact));
  must (mm_pass_create (m, 1, LENGTH - 6, false, &evaluation));
  r = compute (m, exact, &b, true);
  s = compute (m, large, &b, true);
  t = compute (m, evaluation, &b, false);
  ok (same_result (&r, &s), "a pass with room to spare gives the same bits");
  ok (same_result (&r, &t), "and so does one for evaluation only");
  free_result (&r);
  free_result (&s);
  free_result (&t);
  mm_pass_free (exact);
  mm_pass_free (evaluation);
  mm_batch_free (&b);
}

/* The second document of a row, by itself: positions and attention start afresh.  */
static void
test_documents (struct mm_model *m, struct mm_pass *p)
{
  uint32_t vocab = mm_model_config (m)->vocab_size, ids[EVERY + 1];
  struct mm_batch row = small_batch (1, LENGTH, 5, vocab, EVERY), alone;
  struct result r = compute (m, p, &row, false), s;

  for (size_t t = 0; t <= EVERY; t++)
    ids[t] = small_id (5, EVERY + t, vocab);
  must (mm_batch_alloc (1, EVERY, &alone));
  mm_batch_set_row (&alone, 0, ids, NULL, NULL);
  alone.rows = 1;
  s = compute (m, p, &alone, false);
  ok (!memcmp (r.logits + EVERY * r.vocab, s.logits, EVERY * r.vocab * sizeof (float)),
      "a document does not see what stands before it");
  free_result (&r);
  free_result (&s);
  mm_batch_free (&row);
  mm_batch_free (&alone);
}

/* How far gradients were said to be final, and what they were then.  */
struct finals
{
  const int64_t *grad, *want;
  size_t from, size, calls;
  bool right;
};

static mm_status
note_final (void *arg, size_t from)
{
  struct finals *f = arg;

  f->right &= from < f->from && memcmp (f->grad + from, f->want + from, (f->size - from) * sizeof *f->want) == 0;
  f->from = from;
  f->calls++;
  return f->calls == 100 ? MM_EIO : MM_OK;
}

static void
test_final (struct mm_pass *p, const struct mm_batch *b, int64_t *grad, const int64_t *want, size_t size)
{
  struct finals f = { grad, want, size, size, 0, true };
  struct mm_loss loss = { 0 };

  memset (grad, 0, size * sizeof *grad);
  mm_pass_on_final (p, note_final, &f);
  must (mm_model_gradient (p, b, grad, &loss, NULL));
  ok (f.right && f.calls >= 2, "what is said to be final is, before the rest");
  f.calls = 99;
  ok (mm_model_gradient (p, b, grad, &loss, NULL) == MM_EIO, "who is told may end the pass");
  mm_pass_on_final (p, NULL, NULL);
}

static void
test_gradient (struct mm_model *m, struct mm_pass *p)
{
  struct mm_backend *be = mm_model_backend (m);
  uint32_t vocab = mm_model_config (m)->vocab_size;
  struct mm_batch b = small_batch (1, LENGTH, 0, vocab, EVERY);
  size_t size = mm_model_size (m), h = mm_model_config (m)->hidden_size;
  int64_t *once = room (size * sizeof *once), *twice = room (size * sizeof *twice);
  struct mm_loss loss = { 0 };
  double seconds[2] = { 0, 0 };
  bool doubled = true, unused_zero = true;
  void *grad;

  must (mm_backend_alloc (be, "gradient", size * sizeof *once, &grad));
  must (mm_model_gradient (p, &b, grad, &loss, NULL));
  must (mm_backend_get (be, once, grad, size * sizeof *once));
  must (mm_model_gradient (p, &b, grad, &loss, seconds));
  must (mm_backend_get (be, twice, grad, size * sizeof *once));
  for (size_t i = 0; i < size; i++)
    doubled &= twice[i] == 2 * once[i];
  ok (doubled && loss.n_targets == 2 * b.n_targets, "gradients and losses are added to");
  ok (seconds[0] > 0 && seconds[1] > 0, "the time of forward and backward");
  for (uint32_t v = 0; v < vocab && !mm_model_config (m)->tied; v++)
    {
      bool used = false, zero = true;

      for (size_t i = 0; i < LENGTH; i++)
        used |= b.ids[i] == (int32_t) v;
      for (size_t k = 0; k < h; k++)
        zero &= once[v * h + k] == 0;
      unused_zero &= used || zero;
    }
  test_final (p, &b, grad, once, size);
  ok (unused_zero, "an untied embedding has a gradient only where it was read");
  mm_backend_release (be, grad);
  free (once);
  free (twice);
  mm_batch_free (&b);
}

/* Infinite weights, finite memory.  */
static void
test_overflow (struct mm_backend *be, const struct mm_model_config *c)
{
  struct mm_model *m = small_model (be, c);
  struct mm_batch b = small_batch (1, LENGTH, 0, c->vocab_size, 0);
  struct mm_loss loss = { 0 };
  float inf = INFINITY;
  struct mm_pass *p;
  void *grad;

  must (mm_pass_create (m, 1, LENGTH, true, &p));
  must (mm_backend_alloc (be, "gradient", mm_model_size (m) * sizeof (int64_t), &grad));
  must (mm_backend_put (be, mm_model_values (m) + mm_model_param (m, 1)->offset, &inf, sizeof inf));
  ok (mm_model_gradient (p, &b, grad, &loss, NULL) == MM_OK && loss.overflow, "overflow is told");
  loss.overflow = 0;
  ok (mm_model_evaluate (p, &b, &loss, NULL) == MM_OK && loss.overflow, "by evaluation too");
  mm_backend_release (be, grad);
  mm_pass_free (p);
  mm_model_free (m);
  mm_batch_free (&b);
}

static void
test_errors (struct mm_backend *be, const struct mm_model_config *c)
{
  struct mm_model *m = small_model (be, c);
  struct mm_batch b = small_batch (2, LENGTH, 0, c->vocab_size, 0);
  struct mm_loss loss = { 0 };
  struct mm_pass *p;
  int64_t unused;
  float *logits = room (2 * LENGTH * c->vocab_size * sizeof (float));

  ok (mm_pass_create (m, 0, 5, false, &p) == MM_EINVAL && !p, "a pass over no rows");
  ok (mm_pass_create (m, 5, 0, false, &p) == MM_EINVAL && !p, "a pass over rows of nothing");
  ok (mm_pass_create (m, SIZE_MAX / 2, 5, false, &p) == MM_EINVAL && !p,
      "a product that overflows");
  mm_pass_free (NULL);
  must (mm_pass_create (m, 1, LENGTH, false, &p));
  ok (mm_model_evaluate (p, &b, &loss, NULL) == MM_ESHAPE, "more rows than the pass has room for");
  b.rows = 1;
  b.n_segments = 1;
  b.seq_len++;
  ok (mm_model_evaluate (p, &b, &loss, NULL) == MM_ESHAPE
        && mm_model_logits (p, &b, logits) == MM_ESHAPE,
      "longer rows");
  b.seq_len--;
  ok (mm_model_gradient (p, &b, &unused, &loss, NULL) == MM_EINVAL,
      "backward in a pass for evaluation");
  b.ids[3] = (int32_t) c->vocab_size;
  ok (mm_model_evaluate (p, &b, &loss, NULL) == MM_EINVAL, "a token beyond the vocabulary");
  b.ids[3] = 0;
  b.targets[3] = (int32_t) c->vocab_size;
  ok (mm_model_evaluate (p, &b, &loss, NULL) == MM_EINVAL, "a target beyond the vocabulary");
  ok (loss.sum == 0 && loss.n_targets == 0, "failures add nothing");
  b.rows = 0;
  ok (mm_model_evaluate (p, &b, &loss, NULL) == MM_OK && loss.n_targets == 0
      && mm_model_logits (p, &b, logits) == MM_OK, "an empty micro-batch is nothing to do");
  mm_pass_free (p);
  mm_model_free (m);
  mm_batch_free (&b);
  free (logits);
}

static void
test_bytes (void)
{
  struct mm_model_config c;
  size_t training, evaluation;

  must (mm_config_preset ("minimind2-small", 6400, &c));
  training = mm_pass_bytes (&c, 4, 512, true, 0);
  evaluation = mm_pass_bytes (&c, 4, 512, false, 0);
  printf ("# minimind2-small, 4 x 512: %zu bytes for training, %zu for evaluation\n", training,
          evaluation);
  ok (training > 335e6 && training < 380e6, "activations of minimind2-small");
  ok (evaluation < 60e6, "evaluation keeps one layer");
  ok (mm_pass_bytes (&c, 8, 512, true, 0) > 1.8 * (double) training, "they grow with the rows");
  ok (mm_pass_bytes (&c, SIZE_MAX / 4, 2, true, 0) > SIZE_MAX / 2, "more than there can be");
}

int
main (void)
{
  struct mm_backend *be;

  must (mm_backend_open ("cpu", 2, &be));
  for (size_t i = 0; i < 2; i++)
    {
      struct mm_model *m = small_model (be, &small_configs[i]);
      struct mm_pass *p;

      must (mm_pass_create (m, ROWS, LENGTH, true, &p));
      test_loss (m, p);
      test_composition (m, p);
      test_spare_room (m, p);
      test_documents (m, p);
      test_gradient (m, p);
      test_overflow (be, &small_configs[i]);
      test_errors (be, &small_configs[i]);
      test_same_bits (&small_configs[i]);
      mm_pass_free (p);
      mm_model_free (m);
    }
  test_bytes ();
  mm_backend_close (be);
  return tap_done ();
}

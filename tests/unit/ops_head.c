/* Head and loss: every kernel set gives the bits of the reference's products and cross-entropy however
   the rows are cut into chunks; values by plain double arithmetic; losses that do not fit.
   SPDX-License-Identifier: Apache-2.0  */

#include "ops.h"

struct problem
{
  size_t rows, vocab, width;
  struct mm_mat x, w;
  int32_t *targets;
  struct mm_mat dx, dw;         /* by the reference */
  float *losses;
};

static struct problem
make_problem (size_t rows, size_t vocab, size_t width, double size)
{
  struct problem p = { rows, vocab, width, test_mat (rows, width, width + 1, size),
                       test_mat (vocab, width, width + 2, 1), test_alloc (rows, sizeof (int32_t)),
                       test_mat (rows, width, width + 3, 1), test_mat (vocab, width, width + 4, 1),
                       test_alloc (rows, sizeof (float)) };

  for (size_t i = 0; i < rows; i++)
    p.targets[i] = i % 5 == 3 ? -1 : (int32_t) (i * 31 % vocab);
  return p;
}

static void
free_problem (struct problem *p)
{
  free (p->x.data), free (p->w.data), free (p->dx.data), free (p->dw.data), free (p->targets);
  free (p->losses);
}

/* Fill in what the reference gives.  */
static void
reference (struct problem *p)
{
  struct mm_mat logits = test_mat (p->rows, p->vocab, p->vocab, 0), none = { 0 };

  mm_cpu_linear_generic (p->x, p->w, none, logits);
  mm_cpu_cross_entropy_generic (logits, p->targets, p->losses, true);
  mm_cpu_linear_grad_input_generic (logits, p->w, p->dx);
  mm_cpu_linear_grad_weight_generic (logits, p->x, p->dw);
  free (logits.data);
}

static struct mm_weight *
make_weight (struct mm_backend *be, const struct problem *p)
{
  struct mm_weight *w;

  if (mm_weight_create (be, p->vocab, p->width, &w) < 0 || mm_weight_set (be, w, p->w) < 0)
    {
      printf ("Bail out! %s\n", mm_error_message ());
      exit (99);
    }
  return w;
}

static int64_t
fixed_sum (const float *losses, size_t n)
{
  int64_t sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += llrint (ldexp ((double) losses[i], MM_FIXED_BITS));
  return sum;
}

static bool
check_problem (struct mm_backend *be, const struct problem *p)
{
  struct mm_weight *w = make_weight (be, p);
  struct mm_mat dx = test_copy (p->dx), dw = test_copy (p->dw), none = { 0 };
  float *losses = test_alloc (p->rows, sizeof *losses);
  int64_t sum = 5, again = 0, want = fixed_sum (p->losses, p->rows);
  int overflow = 0;
  bool good;

  for (size_t i = 0; i < p->rows; i++)
    dx.data[i * dx.ld] = NAN;
  for (size_t i = 0; i < p->vocab; i++)
    dw.data[i * dw.ld] = NAN;
  good = mm_head_loss (be, p->x, w, p->targets, losses, &sum, &overflow, dx, dw) == MM_OK;
  good &= test_same_values (losses, p->losses, p->rows, sizeof *losses) && sum == 5 + want;
  good &= test_same (dx, p->dx) && test_same (dw, p->dw) && !overflow;

  /* The loss alone: as eval has it, with and without each row's.  */
  memset (losses, 0, p->rows * sizeof *losses);
  good &= mm_head_loss (be, p->x, w, p->targets, losses, &again, &overflow, none, none) == MM_OK;
  good &= test_same_values (losses, p->losses, p->rows, sizeof *losses) && again == want;
  good &= mm_head_loss (be, p->x, w, p->targets, NULL, &again, &overflow, none, none) == MM_OK;
  good &= again == 2 * want && !overflow;

  free (dx.data), free (dw.data), free (losses);
  mm_weight_free (be, w);
  return good;
}

/* Odd shapes; a vocabulary so large that chunks have 32 rows; more rows than a chain has steps before it
   is cut.  */
static const size_t shapes[][3] = {
  { 1, 1, 1 }, { 37, 33, 17 }, { 3, 130, 64 }, { 33, 33000, 2 }, { 8192 + 1500, 5, 3 }
};

static struct problem problems[N_ELEMENTS (shapes)];

static bool
check_head (struct mm_backend *be)
{
  bool good = true;

  for (size_t i = 0; i < N_ELEMENTS (shapes); i++)
    good &= check_problem (be, &problems[i]);
  return good;
}

static bool
check_empty (struct mm_backend *be)
{
  struct problem p = make_problem (0, 4, 3, 1);
  struct mm_weight *w = make_weight (be, &p);
  int64_t sum = 0;
  int overflow = 0;
  bool good = mm_head_loss (be, p.x, w, p.targets, p.losses, &sum, &overflow, p.dx, p.dw) == MM_OK;

  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 3; j++)
      good &= p.dw.data[i * p.dw.ld + j] == 0;
  good &= sum == 0 && !overflow && test_between (p.dw);
  mm_weight_free (be, w);
  free_problem (&p);
  return good;
}

/* Losses that are not finite or too big set the flag and add nothing.  */
static bool
check_overflow (struct mm_backend *be)
{
  static const float bad[] = { NAN, INFINITY, 1e6f, 1e30f };
  struct mm_mat none = { 0 };
  bool good = true;

  test_seed (3);
  for (size_t b = 0; b < N_ELEMENTS (bad); b++)
    {
      struct problem p = make_problem (4, 6, 3, 1);
      struct mm_weight *w;
      int64_t sum = 0;
      int overflow = 0;

      for (size_t i = 0; i < 6; i++)
        p.w.data[i * p.w.ld] = (float) i;
      p.targets[1] = 0;
      p.x.data[p.x.ld] = bad[b];
      w = make_weight (be, &p);
      good &= mm_head_loss (be, p.x, w, p.targets, p.losses, &sum, &overflow, none, none) == MM_OK;
      good &= overflow == 1 && !(fabsf (p.losses[1]) < 0x1p14f);
      p.losses[1] = 0;
      good &= sum == fixed_sum (p.losses, 4);
      mm_weight_free (be, w);
      free_problem (&p);
    }
  return good;
}

/* Loss of row I and dx's row by plain double arithmetic.  */
static double
row_values (const struct problem *p, size_t i, double *dx)
{
  double *logits = test_alloc (p->vocab, sizeof *logits), total = 0, loss = 0;

  for (size_t c = 0; c < p->width; c++)
    dx[c] = 0;
  for (size_t v = 0; v < p->vocab; v++)
    {
      for (size_t c = 0; c < p->width; c++)
        logits[v] += (double) p->x.data[i * p->x.ld + c] * p->w.data[v * p->w.ld + c];
      total += exp (logits[v]);
    }
  for (size_t v = 0; p->targets[i] >= 0 && v < p->vocab; v++)
    for (size_t c = 0; c < p->width; c++)
      dx[c] += (exp (logits[v]) / total - (v == (size_t) p->targets[i])) * p->w.data[v * p->w.ld + c];
  if (p->targets[i] >= 0)
    loss = log (total) - logits[p->targets[i]];
  free (logits);
  return loss;
}

static void
test_values (void)
{
  struct mm_backend *be = test_backend ();
  struct problem p;
  struct mm_weight *w;
  struct mm_mat64 want;
  int64_t sum = 0;
  int overflow = 0;
  double worst = 0;

  test_seed (4);
  p = make_problem (9, 50, 20, 2);
  w = make_weight (be, &p);
  want = test_mat64 (p.dx);
  ok (mm_head_loss (be, p.x, w, p.targets, p.losses, &sum, &overflow, p.dx, p.dw) == MM_OK,
      "head_loss runs");
  for (size_t i = 0; i < p.rows; i++)
    worst = fmax (worst, fabs (p.losses[i] - row_values (&p, i, want.data + i * p.width)));
  /* Logits of magnitude 10 in float32.  */
  ok (worst < 1e-5, "losses are right by double arithmetic");
  ok (test_error (p.dx, want) < 1e-5, "the gradient is right by double arithmetic");
  ok (p.losses[3] == 0 && p.dx.data[3 * p.dx.ld] == 0, "a row without a target counts nothing");
  free (want.data);
  mm_weight_free (be, w);
  free_problem (&p);
  mm_backend_close (be);
}

int
main (void)
{
  test_seed (1);
  for (size_t i = 0; i < N_ELEMENTS (shapes); i++)
    {
      problems[i] = make_problem (shapes[i][0], shapes[i][1], shapes[i][2], 3);
      reference (&problems[i]);
    }
  test_everywhere ("head_loss", check_head);
  test_everywhere ("head_loss of no rows", check_empty);
  test_everywhere ("head_loss notices what does not fit", check_overflow);
  test_values ();
  for (size_t i = 0; i < N_ELEMENTS (shapes); i++)
    free_problem (&problems[i]);
  return tap_done ();
}

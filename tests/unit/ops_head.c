/* Head and loss: every kernel set gives the bits of the reference's products and cross-entropy however
   the rows are cut into chunks; values by plain double arithmetic; losses that do not fit.
   SPDX-License-Identifier: Apache-2.0  */

#include "ops.h"

struct problem
{
  size_t rows, vocab, width;
  struct mm_mat x, w, dx, dw;
  int32_t *targets;
  float *losses;
  struct mm_weight *weight;
};

static struct problem
make_problem (struct mm_backend *be, size_t rows, size_t vocab, size_t width, double size)
{
  struct problem p = { rows, vocab, width, test_mat (rows, width, width + 1, size),
                       test_mat (vocab, width, width + 2, 1), test_mat (rows, width, width + 3, 1),
                       test_mat (vocab, width, width + 4, 1), test_alloc (rows, sizeof (int32_t)),
                       test_alloc (rows, sizeof (float)), NULL };

  for (size_t i = 0; i < rows; i++)
    p.targets[i] = i % 5 == 3 ? -1 : (int32_t) (i * 31 % vocab);
  if (mm_weight_create (be, vocab, width, true, &p.weight) < 0
      || mm_weight_set (be, p.weight, p.w) < 0)
    {
      printf ("Bail out! %s\n", mm_error_message ());
      exit (99);
    }
  return p;
}

static void
free_problem (struct mm_backend *be, struct problem *p)
{
  free (p->x.data), free (p->w.data), free (p->dx.data), free (p->dw.data), free (p->targets);
  free (p->losses);
  mm_weight_free (be, p->weight);
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
check_problem (struct mm_backend *be, size_t rows, size_t vocab, size_t width)
{
  struct problem p = make_problem (be, rows, vocab, width, 3);
  struct mm_mat logits = test_mat (rows, vocab, vocab, 0), none = { 0 };
  struct mm_mat dx = test_copy (p.dx), dw = test_copy (p.dw);
  float *losses = test_alloc (rows, sizeof *losses);
  int64_t sum = 5, again = 0;
  int overflow = 0;
  bool good = mm_head_loss (be, p.x, p.weight, p.targets, p.losses, &sum, &overflow, p.dx, p.dw) == MM_OK;

  mm_cpu_linear_generic (p.x, p.w, none, logits);
  mm_cpu_cross_entropy_generic (logits, p.targets, losses, true);
  mm_cpu_linear_grad_input_generic (logits, p.w, dx);
  mm_cpu_linear_grad_weight_generic (logits, p.x, dw);
  good &= test_same_values (p.losses, losses, rows, sizeof *losses) && sum == 5 + fixed_sum (losses, rows);
  good &= test_same (p.dx, dx) && test_same (p.dw, dw) && !overflow;

  /* The loss alone: as eval has it, with and without each row's.  */
  memset (p.losses, 0, rows * sizeof *losses);
  good &= mm_head_loss (be, p.x, p.weight, p.targets, p.losses, &again, &overflow, none, none) == MM_OK;
  good &= test_same_values (p.losses, losses, rows, sizeof *losses) && again == sum - 5;
  good &= mm_head_loss (be, p.x, p.weight, p.targets, NULL, &again, &overflow, none, none) == MM_OK;
  good &= again == 2 * (sum - 5) && !overflow;

  free (logits.data), free (dx.data), free (dw.data), free (losses);
  free_problem (be, &p);
  return good;
}

static bool
check_head (struct mm_backend *be)
{
  test_seed (1);
  return check_problem (be, 1, 1, 1) && check_problem (be, 37, 33, 17) && check_problem (be, 3, 130, 64)
         && check_problem (be, 66, 33000, 2);   /* chunks of 32 rows */
}

/* More rows than a chain has steps before it is cut.  */
static bool
check_long (struct mm_backend *be)
{
  test_seed (2);
  return check_problem (be, 8192 + 1500, 5, 3);
}

static bool
check_empty (struct mm_backend *be)
{
  struct problem p = make_problem (be, 0, 4, 3, 1);
  int64_t sum = 0;
  int overflow = 0;
  bool good = mm_head_loss (be, p.x, p.weight, p.targets, p.losses, &sum, &overflow, p.dx, p.dw) == MM_OK;

  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 3; j++)
      good &= p.dw.data[i * p.dw.ld + j] == 0;
  good &= sum == 0 && !overflow && test_between (p.dw);
  free_problem (be, &p);
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
      struct problem p = make_problem (be, 4, 6, 3, 1);
      int64_t sum = 0;
      int overflow = 0;

      for (size_t i = 0; i < 6; i++)
        p.w.data[i * p.w.ld] = (float) i;
      p.targets[1] = 0;
      p.x.data[p.x.ld] = bad[b];
      good &= mm_weight_set (be, p.weight, p.w) == MM_OK;
      good &= mm_head_loss (be, p.x, p.weight, p.targets, p.losses, &sum, &overflow, none, none) == MM_OK;
      good &= overflow == 1 && !(fabsf (p.losses[1]) < 0x1p14f);
      p.losses[1] = 0;
      good &= sum == fixed_sum (p.losses, 4);
      free_problem (be, &p);
    }
  return good;
}

static void
test_values (void)
{
  enum { ROWS = 9, VOCAB = 50, WIDTH = 20 };
  struct mm_backend *be = test_backend ();
  struct problem p;
  int64_t sum = 0;
  int overflow = 0;
  double worst = 0;
  struct mm_mat64 want;

  test_seed (4);
  p = make_problem (be, ROWS, VOCAB, WIDTH, 2);
  want = test_mat64 (p.dx);
  ok (mm_head_loss (be, p.x, p.weight, p.targets, p.losses, &sum, &overflow, p.dx, p.dw) == MM_OK,
      "head_loss runs");
  for (size_t i = 0; i < ROWS; i++)
    {
      double logits[VOCAB], total = 0;

      for (size_t v = 0; v < VOCAB; v++)
        {
          logits[v] = 0;
          for (size_t c = 0; c < WIDTH; c++)
            logits[v] += (double) p.x.data[i * p.x.ld + c] * p.w.data[v * p.w.ld + c];
          total += exp (logits[v]);
        }
      if (p.targets[i] >= 0)
        worst = fmax (worst, fabs (p.losses[i] - (log (total) - logits[p.targets[i]])));
      for (size_t c = 0; c < WIDTH; c++)
        {
          want.data[i * WIDTH + c] = 0;
          for (size_t v = 0; p.targets[i] >= 0 && v < VOCAB; v++)
            want.data[i * WIDTH + c] += (exp (logits[v]) / total - (v == (size_t) p.targets[i]))
                                        * p.w.data[v * p.w.ld + c];
        }
    }
  /* Logits of magnitude 10 in float32.  */
  ok (worst < 1e-5, "losses are right by double arithmetic");
  ok (test_error (p.dx, want) < 1e-5, "the gradient is right by double arithmetic");
  ok (p.losses[3] == 0 && p.dx.data[3 * p.dx.ld] == 0, "a row without a target counts nothing");
  free (want.data);
  free_problem (be, &p);
  mm_backend_close (be);
}

int
main (void)
{
  test_everywhere ("head_loss", check_head);
  test_everywhere ("head_loss over many rows", check_long);
  test_everywhere ("head_loss of no rows", check_empty);
  test_everywhere ("head_loss notices what does not fit", check_overflow);
  test_values ();
  return tap_done ();
}

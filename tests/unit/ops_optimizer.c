/* From gradients in fixed point to AdamW: every kernel set gives the bits of the reference, and those
   are right by plain double arithmetic; what does not fit is noticed.
   SPDX-License-Identifier: Apache-2.0  */

#include "ops.h"

enum { N = 3 * MM_GRAD_BLOCK + 123 };

static const size_t sizes[] = { 0, 1, 15, 16, 17, 100, MM_GRAD_BLOCK, N };

/* ---- fixed point ---- */

/* Gradients of all magnitudes that fit, halves of a step included.  */
static float
some_gradient (size_t i)
{
  switch (i % 5)
    {
    case 0:
      return (float) test_uniform ();
    case 1:
      return (float) ldexp (test_uniform (), -20);
    case 2:
      return ((float) (i % 16) + 0.5f) * 0x1p-34f * (i % 2 ? -1 : 1);
    case 3:
      return (float) (131071.99 * test_uniform ());
    default:
      return (float) ldexp (test_uniform (), -60);
    }
}

static bool
check_accumulate (struct mm_backend *be)
{
  float *g = test_alloc (N, sizeof *g);
  int64_t *got = test_alloc (N, sizeof *got), *want = test_alloc (N, sizeof *want);
  bool good = true;

  test_seed (1);
  for (size_t i = 0; i < N; i++)
    g[i] = some_gradient (i);
  for (size_t s = 0; s < N_ELEMENTS (sizes); s++)
    for (int round = 0; round < 2; round++)
      {
        int overflow = 0;

        good &= mm_accumulate (be, g, sizes[s], got, &overflow) == MM_OK && !overflow;
        for (size_t i = 0; i < sizes[s]; i++)
          want[i] += llrint (ldexp ((double) g[i], MM_FIXED_BITS));
        good &= test_same_values (got, want, N, sizeof *got);
      }
  free (g), free (got), free (want);
  return good;
}

/* One value out of range, wherever it stands, sets the flag and adds nothing.  */
static bool
check_overflow (struct mm_backend *be)
{
  static const float bad[] = { 0x1p17f, -0x1p17f, 1e30f, -INFINITY, INFINITY, NAN, -NAN };
  static const size_t places[] = { 0, 15, 16, MM_GRAD_BLOCK, N - 1 };
  float *g = test_alloc (N, sizeof *g), largest = 0x1.fffffep16f;
  int64_t *acc = test_alloc (N, sizeof *acc);
  bool good = true;
  int overflow = 0;

  for (size_t p = 0; p < N_ELEMENTS (places); p++)
    for (size_t b = 0; b < N_ELEMENTS (bad); b++)
      {
        overflow = 0;
        g[places[p]] = bad[b];
        good &= mm_accumulate (be, g, N, acc, &overflow) == MM_OK && overflow == 1;
        g[places[p]] = 0;
        good &= acc[places[p]] == 0;
      }
  overflow = 7;
  g[3] = largest, g[N - 1] = -largest;
  good &= mm_accumulate (be, g, N, acc, &overflow) == MM_OK && overflow == 7;
  good &= acc[3] == INT64_C (0xffffff) << 27 && acc[N - 1] == -acc[3];
  free (g), free (acc);
  return good;
}

/* Sums of all magnitudes up to what 4,096 micro-batches make.  */
static int64_t
some_sum (size_t i)
{
  int64_t q = (int64_t) ldexp (test_uniform (), (int) (i % 63) + 1);

  return i % 7 ? q : INT64_C (1) << 62;
}

static bool
check_grad_values (struct mm_backend *be)
{
  static const uint64_t targets[] = { 1, 3, 8191, UINT64_C (16777217) };
  int64_t *acc = test_alloc (N, sizeof *acc);
  float *got = test_alloc (N, sizeof *got), *want = test_alloc (N, sizeof *want);
  bool good = true;

  test_seed (2);
  for (size_t i = 0; i < N; i++)
    acc[i] = some_sum (i);
  /* Halfway between two float32, and next to it: rounded once, not twice.  */
  acc[0] = (INT64_C (1) << 60) + (INT64_C (1) << 36);
  acc[1] = acc[0] + 1;
  acc[2] = acc[0] - 1;
  acc[3] = -acc[1];
  for (size_t s = 0; s < N_ELEMENTS (sizes); s++)
    for (size_t t = 0; t < N_ELEMENTS (targets); t++)
      {
        good &= mm_grad_values (be, acc, sizes[s], targets[t], got) == MM_OK;
        for (size_t i = 0; i < sizes[s]; i++)
          want[i] = (float) acc[i] * 0x1p-34f / (float) targets[t];
        good &= test_same_values (got, want, N, sizeof *got);
      }
  free (acc), free (got), free (want);
  return good;
}

static bool
check_grad_squares (struct mm_backend *be)
{
  int64_t *acc = test_alloc (N, sizeof *acc);
  double got[5] = { 0 }, want[5] = { 0 };
  bool good = true;

  test_seed (3);
  for (size_t i = 0; i < N; i++)
    acc[i] = some_sum (i);
  for (size_t s = 0; s < N_ELEMENTS (sizes); s++)
    {
      good &= mm_grad_squares (be, acc, 0, sizes[s], 37, got) == MM_OK;
      mm_cpu_grad_squares_generic (acc, sizes[s], 37, want);
      good &= test_same_values (got, want, 5, sizeof *got);
    }
  /* A rank's part begins at any block.  */
  good &= mm_grad_squares (be, acc, MM_GRAD_BLOCK, N - MM_GRAD_BLOCK, 37, got) == MM_OK;
  good &= test_same_values (got, want + 1, 3, sizeof *got);
  free (acc);
  return good;
}

static void
test_grad_squares_values (void)
{
  struct mm_backend *be = test_backend ();
  int64_t *acc = test_alloc (N, sizeof *acc);
  double got[4], worst = 0;

  test_seed (4);
  for (size_t i = 0; i < N; i++)
    acc[i] = llrint (ldexp (test_uniform (), 34));
  ok (mm_grad_squares (be, acc, 0, N, 10, got) == MM_OK, "grad_squares runs");
  for (size_t b = 0; b < 4; b++)
    {
      double want = 0;

      for (size_t i = b * MM_GRAD_BLOCK; i < N && i < (b + 1) * MM_GRAD_BLOCK; i++)
        want += pow (ldexp ((double) acc[i], -34) / 10, 2);
      worst = fmax (worst, fabs (got[b] / want - 1));
    }
  /* Each gradient was rounded to float32 twice.  */
  ok (worst < 1e-6, "grad_squares is right by double arithmetic");
  free (acc);
  mm_backend_close (be);
}

/* ---- AdamW ---- */

static const struct mm_adamw settings = { 0.9f, 0.95f, 1e-8f, 1 - 5e-5f, 5e-4f / 0.1f, 4.472136f, 0.7f };

struct parameters
{
  int64_t *acc;
  float *p, *m, *v;
};

static struct parameters
make_parameters (void)
{
  struct parameters s = { test_alloc (N, sizeof *s.acc), test_mat (1, N, N, 1).data,
                          test_mat (1, N, N, 1e-3).data, test_mat (1, N, N, 1e-3).data };

  for (size_t i = 0; i < N; i++)
    {
      s.acc[i] = llrint (ldexp (test_uniform (), 44 - (int) (i % 40)));
      s.v[i] = i % 11 ? fabsf (s.v[i]) : 0;
    }
  return s;
}

static void
free_parameters (struct parameters *s)
{
  free (s->acc), free (s->p), free (s->m), free (s->v);
}

static bool
check_adamw (struct mm_backend *be)
{
  bool good = true;

  for (size_t s = 0; s < N_ELEMENTS (sizes); s++)
    {
      struct parameters got, want;

      test_seed (5);
      got = make_parameters ();
      test_seed (5);
      want = make_parameters ();
      good &= mm_adamw_step (be, &settings, got.acc, 1000, sizes[s], got.p, got.m, got.v) == MM_OK;
      mm_cpu_adamw_step_generic (&settings, want.acc, 1000, sizes[s], want.p, want.m, want.v);
      good &= test_same_values (got.p, want.p, N, sizeof *got.p);
      good &= test_same_values (got.m, want.m, N, sizeof *got.m);
      good &= test_same_values (got.v, want.v, N, sizeof *got.v);
      good &= test_same_values (got.acc, want.acc, N, sizeof *got.acc);
      for (size_t i = 0; i < sizes[s]; i++)
        good &= got.acc[i] == 0;
      free_parameters (&got);
      free_parameters (&want);
    }
  return good;
}

static void
test_adamw_values (void)
{
  struct mm_backend *be = test_backend ();
  const struct mm_adamw *a = &settings;
  struct parameters s, old;
  double worst = 0;

  test_seed (6);
  s = make_parameters ();
  test_seed (6);
  old = make_parameters ();
  ok (mm_adamw_step (be, a, s.acc, 1000, N, s.p, s.m, s.v) == MM_OK, "adamw_step runs");
  for (size_t i = 0; i < N; i++)
    {
      double g = ldexp ((double) old.acc[i], -34) / 1000 * a->clip;
      double m = a->beta1 * (double) old.m[i] + (1 - (double) a->beta1) * g;
      double v = a->beta2 * (double) old.v[i] + (1 - (double) a->beta2) * g * g;
      double p = old.p[i] * (double) a->decay
                 - a->step_size * (m / (sqrt (v) * (double) a->inv_sqrt_bc2 + (double) a->eps));

      worst = fmax (worst, fabs (s.m[i] - m) / fmax (1e-3, fabs (m)));
      worst = fmax (worst, fabs (s.v[i] - v) / fmax (1e-3, fabs (v)));
      worst = fmax (worst, fabs (s.p[i] - p) / fmax (1, fabs (p)));
    }
  /* 1 - beta in float32 is off by 1e-7 of 1, so by 1e-6 of 0.05.  */
  ok (worst < 5e-6, "adamw_step is right by double arithmetic");
  free_parameters (&s);
  free_parameters (&old);
  mm_backend_close (be);
}

int
main (void)
{
  test_everywhere ("accumulate", check_accumulate);
  test_everywhere ("accumulate notices what does not fit", check_overflow);
  test_everywhere ("grad_values", check_grad_values);
  test_everywhere ("grad_squares", check_grad_squares);
  test_everywhere ("adamw_step", check_adamw);
  test_grad_squares_values ();
  test_adamw_values ();
  return tap_done ();
}

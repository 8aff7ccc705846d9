/* gemm.c -- products of matrices: every kernel set and number of threads gives the bits of one scalar
   chain of fma; documented errors.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/ops.h>

#include "../tap.h"

enum { CUT = 8192 };            /* longer chains are cut here: numerics.md */

static const int thread_counts[] = { 1, 2, 3, 7 };

/* M rows, N outputs, K inputs; the last ones cross the cut in each of the three products.  */
static const struct shape
{
  size_t m, n, k;
} shapes[] = {
  { 1, 1, 1 }, { 1, 2, 3 }, { 2, 3, 5 }, { 5, 1, 17 }, { 3, 33, 15 }, { 15, 31, 33 }, { 17, 17, 2 },
  { 31, 15, 100 }, { 33, 100, 31 }, { 100, 5, 513 }, { 14, 32, 64 }, { 6, 16, 512 }, { 28, 64, 513 },
  { 2, 513, 100 }, { 1, 100, 1030 }, { 13, 513, 33 }, { 100, 33, 1 }, { 2, 3, 8193 }, { 5, 17, 16500 },
  { 3, 8200, 2 }, { 8197, 3, 5 }, { 16390, 2, 3 }, { 130, 300, 8 }, { 200, 24, 165 }, { 65, 133, 32 }, { 64, 7, 40 },
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* ---- the definition ---- */

static float
value (size_t i)
{
  uint32_t x = (uint32_t) i * 2654435761u + 12345u;

  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return ((float) (x >> 8) - 8388608.0f) / 4194304.0f;
}

/* Element (i, j) of a matrix at p[i * row + j * col].  */
struct view
{
  const float *p;
  size_t row, col;
};

static float
chain (struct view a, struct view b, size_t i, size_t j, size_t k)
{
  float total = 0;

  for (size_t from = 0; from < k; from += CUT)
    {
      float s = 0;

      for (size_t t = from; t < k && t < from + CUT; t++)
        s = fmaf (a.p[i * a.row + t * a.col], b.p[t * b.row + j * b.col], s);
      total = from == 0 ? s : total + s;
    }
  return total;
}

static int64_t
fixed (float g)
{
  return (int64_t) rint ((double) g * 0x1p34);
}

/* ---- matrices with a margin that must stay as it is ---- */

/* Rows LD apart, the last one not a value longer than COLS, so that a sanitizer sees a step beyond.  */
static struct mm_mat
make (size_t rows, size_t cols, size_t margin, size_t seed)
{
  struct mm_mat m = { NULL, rows, cols, cols + margin };
  size_t size = (rows - 1) * m.ld + cols;

  m.data = malloc (size * sizeof *m.data);
  if (!m.data)
    abort ();
  for (size_t i = 0; i < size; i++)
    m.data[i] = value (i + seed);
  return m;
}

/* Like make (..., SEED), with the values WANT [rows, cols].  */
static int
holds (struct mm_mat m, size_t seed, const float *want)
{
  int good = 1;

  for (size_t i = 0; i < m.rows; i++)
    for (size_t j = 0; j < m.ld && i * m.ld + j < (m.rows - 1) * m.ld + m.cols; j++)
      {
        float w = j < m.cols ? want[i * m.cols + j] : value (i * m.ld + j + seed);

        good &= memcmp (&m.data[i * m.ld + j], &w, sizeof w) == 0;
      }
  return good;
}

struct expected
{
  float *y, *y_residual, *dx, *dx_residual;
  int64_t *dw;
};

static void *
room (size_t n, size_t size)
{
  void *p = calloc (n, size);

  if (!p)
    abort ();
  return p;
}

static struct expected
expect (struct shape s)
{
  struct mm_mat x = make (s.m, s.k, 3, 1), w = make (s.n, s.k, 1, 2), dy = make (s.m, s.n, 5, 3);
  struct mm_mat r = make (s.m, s.n, 2, 4), dr = make (s.m, s.k, 1, 7);
  struct expected e = { room (s.m * s.n, sizeof (float)), room (s.m * s.n, sizeof (float)),
                        room (s.m * s.k, sizeof (float)), room (s.m * s.k, sizeof (float)),
                        room (s.n * s.k, sizeof (int64_t)) };

  for (size_t i = 0; i < s.m; i++)
    for (size_t j = 0; j < s.n; j++)
      {
        e.y[i * s.n + j] = chain ((struct view) { x.data, x.ld, 1 }, (struct view) { w.data, 1, w.ld }, i, j, s.k);
        e.y_residual[i * s.n + j] = r.data[i * r.ld + j] + e.y[i * s.n + j];
      }
  for (size_t i = 0; i < s.m; i++)
    for (size_t j = 0; j < s.k; j++)
      {
        e.dx[i * s.k + j] = chain ((struct view) { dy.data, dy.ld, 1 }, (struct view) { w.data, w.ld, 1 }, i, j, s.n);
        e.dx_residual[i * s.k + j] = dr.data[i * dr.ld + j] + e.dx[i * s.k + j];
      }
  for (size_t i = 0; i < s.n; i++)
    for (size_t j = 0; j < s.k; j++)
      e.dw[i * s.k + j] = (int64_t) (i * s.k + j)
                          + fixed (chain ((struct view) { dy.data, 1, dy.ld }, (struct view) { x.data, x.ld, 1 },
                                          i, j, s.m));
  free (x.data);
  free (w.data);
  free (dy.data);
  free (r.data);
  free (dr.data);
  return e;
}

/* ---- one shape on one backend ---- */

enum { LINEAR = 1, RESIDUAL = 2, IN_PLACE = 4, GRAD_INPUT = 8, GRAD_WEIGHT = 16, GRAD_RESIDUAL = 32, GRAD_KEPT = 64 };

/* The products whose bits are wrong.  */
static int
wrong_products (struct mm_backend *be, struct shape s, const struct expected *e)
{
  struct mm_mat x = make (s.m, s.k, 3, 1), w = make (s.n, s.k, 1, 2), dy = make (s.m, s.n, 5, 3);
  struct mm_mat r = make (s.m, s.n, 2, 4), y = make (s.m, s.n, 7, 5), dx = make (s.m, s.k, 4, 6);
  struct mm_mat dr = make (s.m, s.k, 1, 7), other = make (s.n, s.k, 1, 8);
  struct mm_mat none = { 0 };
  struct mm_weight *weight;
  int64_t *acc = room (s.n * s.k, sizeof *acc);
  int wrong = 0, overflow = 0;

  for (size_t i = 0; i < s.n * s.k; i++)
    acc[i] = (int64_t) i;
  if (mm_weight_create (be, s.n, s.k, &weight) < 0 || mm_weight_set (be, weight, w) < 0)
    abort ();
  if (mm_linear (be, x, weight, none, y) < 0 || !holds (y, 5, e->y))
    wrong |= LINEAR;
  if (mm_linear (be, x, weight, r, y) < 0 || !holds (y, 5, e->y_residual))
    wrong |= RESIDUAL;
  if (mm_linear (be, x, weight, r, r) < 0 || !holds (r, 4, e->y_residual))
    wrong |= IN_PLACE;
  if (mm_linear_grad_input (be, dy, weight, none, dx) < 0 || !holds (dx, 6, e->dx))
    wrong |= GRAD_INPUT;
  if (mm_linear_grad_input (be, dy, weight, dr, dr) < 0 || !holds (dr, 7, e->dx_residual))
    wrong |= GRAD_RESIDUAL;
  if (mm_weight_keep_columns (be, weight) < 0 || mm_linear_grad_input (be, dy, weight, none, dx) < 0
      || !holds (dx, 6, e->dx))
    wrong |= GRAD_KEPT;
  if (mm_weight_set (be, weight, other) < 0 || mm_weight_set (be, weight, w) < 0
      || mm_linear_grad_input (be, dy, weight, none, dx) < 0 || !holds (dx, 6, e->dx))
    wrong |= GRAD_KEPT;
  if (mm_linear_grad_weight (be, dy, x, acc, &overflow) < 0 || overflow
      || memcmp (acc, e->dw, s.n * s.k * sizeof *acc) != 0)
    wrong |= GRAD_WEIGHT;
  mm_weight_free (be, weight);
  free (acc);
  free (x.data);
  free (w.data);
  free (dy.data);
  free (r.data);
  free (y.data);
  free (dx.data);
  free (dr.data);
  free (other.data);
  return wrong;
}

static void
test_bits (const char *kernels, const struct expected *expected)
{
  for (size_t t = 0; t < sizeof thread_counts / sizeof *thread_counts; t++)
    {
      struct mm_backend *be;
      int wrong = 0;
      char name[64];

      if (mm_backend_open ("cpu", thread_counts[t], &be) < 0)
        abort ();
      for (size_t i = 0; i < N_SHAPES; i++)
        {
          int w = wrong_products (be, shapes[i], &expected[i]);

          if (w)
            printf ("# m %zu, n %zu, k %zu: products %#x differ\n", shapes[i].m, shapes[i].n, shapes[i].k,
                    (unsigned) w);
          wrong |= w;
        }
      snprintf (name, sizeof name, "%s, %d threads: the bits of one chain", kernels, thread_counts[t]);
      ok (wrong == 0, name);
      mm_backend_close (be);
    }
}

/* Gradients that are not finite or too big are reported and add nothing; their neighbours count.  */
static void
test_overflow (const char *kernels)
{
  static const float bad[] = { 0x1p17f, -0x1p17f, INFINITY, NAN };
  struct mm_backend *be;
  int good = 1, overflow = 0;
  char name[64];

  if (mm_backend_open ("cpu", 2, &be) < 0)
    abort ();
  for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
    for (size_t n = 1; n <= 40; n += 13)
      {
        float dy = 1, *x = room (n, sizeof *x);
        int64_t *acc = room (n, sizeof *acc);

        for (size_t i = 0; i < n; i++)
          x[i] = i == n / 2 ? bad[b] : 0x1.fffffep16f;
        overflow = 0;
        good &= mm_linear_grad_weight (be, mm_mat (&dy, 1, 1), mm_mat (x, 1, n), acc, &overflow) == MM_OK;
        good &= overflow == 1;
        for (size_t i = 0; i < n; i++)
          good &= acc[i] == (i == n / 2 ? 0 : fixed (0x1.fffffep16f));
        x[n / 2] = -0x1.fffffep16f;
        overflow = 0;
        good &= mm_linear_grad_weight (be, mm_mat (&dy, 1, 1), mm_mat (x, 1, n), acc, &overflow) == MM_OK;
        good &= overflow == 0 && acc[n / 2] == -fixed (0x1.fffffep16f);
        free (x);
        free (acc);
      }
  snprintf (name, sizeof name, "%s: out of range sets overflow and adds nothing", kernels);
  ok (good, name);
  mm_backend_close (be);
}

static void
test_errors (void)
{
  float data[64] = { 0 };
  int64_t acc[64];
  int overflow = 0;
  struct mm_backend *be;
  struct mm_weight *w, *none;
  struct mm_mat absent = { 0 }, x = mm_mat (data, 2, 3), y = mm_mat (data, 2, 4), narrow = { data, 2, 3, 2 };

  if (mm_backend_open ("cpu", 1, &be) < 0 || mm_weight_create (be, 4, 3, &w) < 0)
    abort ();
  ok (mm_weight_create (be, 0, 3, &none) == MM_EINVAL && !none, "a weight without outputs");
  ok (mm_weight_create (be, 3, 0, &none) == MM_EINVAL && !none, "a weight without inputs");
  ok (mm_weight_create (be, SIZE_MAX / 8, 64, &none) == MM_ENOMEM && !none, "a weight beyond size_t");
  ok (mm_weight_create (be, (size_t) 1 << 28, (size_t) 1 << 28, &none) == MM_ENOMEM && !none,
      "a weight beyond memory");
  mm_weight_free (be, NULL);
  ok (mm_weight_set (be, w, mm_mat (data, 3, 4)) == MM_ESHAPE, "values of another shape");
  ok (mm_linear (be, mm_mat (data, 2, 4), w, absent, y) == MM_ESHAPE, "linear: x too wide");
  ok (mm_linear (be, x, w, absent, mm_mat (data, 3, 4)) == MM_ESHAPE, "linear: y too long");
  ok (mm_linear (be, x, w, mm_mat (data, 2, 3), y) == MM_ESHAPE, "linear: residual too narrow");
  ok (mm_linear (be, narrow, w, absent, y) == MM_ESHAPE, "linear: rows that overlap");
  ok (mm_linear (be, mm_mat (NULL, 2, 3), w, absent, y) == MM_EINVAL, "linear: x absent");
  ok (mm_linear_grad_input (be, y, w, absent, x) == MM_EINVAL, "grad_input: a weight without values");
  ok (mm_weight_set (be, w, mm_mat (data, 4, 3)) == MM_OK, "values");
  ok (mm_linear_grad_input (be, x, w, absent, x) == MM_ESHAPE, "grad_input: dy too narrow");
  ok (mm_linear_grad_input (be, y, w, absent, y) == MM_ESHAPE, "grad_input: dx too wide");
  ok (mm_linear_grad_input (be, y, w, y, x) == MM_ESHAPE, "grad_input: residual too wide");
  ok (mm_linear_grad_weight (be, y, mm_mat (data, 3, 3), acc, &overflow) == MM_ESHAPE,
      "grad_weight: another number of rows");
  ok (mm_linear (be, mm_mat (NULL, 0, 3), w, absent, mm_mat (NULL, 0, 4)) == MM_OK, "linear of no rows");
  mm_weight_free (be, w);
  mm_backend_close (be);
}

int
main (void)
{
  static const char *const sets[] = { "generic", "avx2", "avx512", "neon" };
  struct expected expected[N_SHAPES];

  for (size_t i = 0; i < N_SHAPES; i++)
    expected[i] = expect (shapes[i]);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    {
      struct mm_backend *be;

      setenv ("MM_CPU", sets[i], 1);
      if (mm_backend_open ("cpu", 1, &be) < 0)
        {
          printf ("# %s\n", mm_error_message ());
          continue;
        }
      ok (strcmp (mm_backend_kernels (be), sets[i]) == 0, sets[i]);
      mm_backend_close (be);
      test_bits (sets[i], expected);
      test_overflow (sets[i]);
    }
  unsetenv ("MM_CPU");
  test_errors ();
  for (size_t i = 0; i < N_SHAPES; i++)
    {
      free (expected[i].y);
      free (expected[i].y_residual);
      free (expected[i].dx);
      free (expected[i].dx_residual);
      free (expected[i].dw);
    }
  return tap_done ();
}

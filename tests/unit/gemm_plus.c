/* gemm_plus.c -- products with addends: the bits of one product after the other, on all kernels and threads; errors.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>

#include <minimind/random.h>

#include "ops.h"
#include "small_model.h"

/* Where columns of an addend are, and its inner width.  */
struct part
{
  size_t from, cols, rank;
};

/* Outputs of N columns, with addends that begin at panels of columns, or anywhere.  */
static const struct plan
{
  size_t n, n_parts;
  struct part parts[MM_MOST_ADDENDS];
} plans[] = {
  { 224, 3, { { 0, 64, 8 }, { 64, 96, 3 }, { 160, 64, 17 } } },
  { 224, 1, { { 32, 100, 33 } } },
  { 100, 3, { { 0, 20, 5 }, { 20, 50, 8 }, { 70, 30, 2 } } },
  { 65, 1, { { 0, 65, 24 } } },
  { 7, 1, { { 3, 2, 1 } } },
};

static const size_t rows[] = { 1, 33 }, inner[] = { 17, 530, 8200 };

static struct mm_mat
random_mat (size_t m, size_t n, uint32_t seed)
{
  struct mm_mat x = mm_mat (test_alloc (m * n, sizeof (float)), m, n);

  mm_normal (seed, MM_RANDOM_TEST, 0, 0, m * n, 1, x.data);
  return x;
}

struct random_weight
{
  struct mm_mat values;
  struct mm_weight *w;
};

/* A weight of N outputs and K inputs.  */
static struct random_weight
random_weight (struct mm_backend *be, size_t n, size_t k, uint32_t seed)
{
  struct random_weight r = { random_mat (n, k, seed), NULL };

  must (mm_weight_create (be, n, k, &r.w));
  must (mm_weight_set (be, r.w, r.values));
  return r;
}

static void
free_weight (struct mm_backend *be, struct random_weight r)
{
  mm_weight_free (be, r.w);
  free (r.values.data);
}

/* The products of P with M rows and K steps, forward or GRAD, with a residual or without, are those of single
   calls.  */
static bool
same_bits (struct mm_backend *be, const struct plan *p, size_t m, size_t k, bool grad, bool with)
{
  struct mm_mat x = random_mat (m, k, 1), r = random_mat (m, p->n, 2), one = random_mat (m, p->n, 3);
  struct mm_mat all = random_mat (m, p->n, 3), none = { 0 };
  struct random_weight w = random_weight (be, grad ? k : p->n, grad ? p->n : k, 4), parts[MM_MOST_ADDENDS];
  struct mm_addend addends[MM_MOST_ADDENDS];
  bool same;

  must ((grad ? mm_linear_grad_input : mm_linear) (be, x, w.w, with ? r : none, one));
  for (uint32_t i = 0; i < p->n_parts; i++)
    {
      const struct part *q = &p->parts[i];
      struct mm_mat part = mm_mat_cols (one, q->from, q->cols);

      parts[i] = random_weight (be, grad ? q->rank : q->cols, grad ? q->cols : q->rank, 9 + i);
      addends[i] = (struct mm_addend) { random_mat (m, q->rank, 5 + i), parts[i].w, q->from };
      must ((grad ? mm_linear_grad_input : mm_linear) (be, addends[i].u, addends[i].w, part, part));
    }
  must ((grad ? mm_linear_grad_input_plus : mm_linear_plus) (be, x, w.w, with ? r : none, addends, p->n_parts, all));
  same = memcmp (one.data, all.data, m * p->n * sizeof (float)) == 0;
  for (size_t i = 0; i < p->n_parts; i++)
    {
      free (addends[i].u.data);
      free_weight (be, parts[i]);
    }
  free_weight (be, w);
  free (x.data), free (r.data), free (one.data), free (all.data);
  return same;
}

static bool
check_bits (struct mm_backend *be)
{
  bool same = true;

  for (size_t p = 0; p < N_ELEMENTS (plans); p++)
    for (size_t i = 0; i < N_ELEMENTS (rows); i++)
      for (size_t k = 0; k < N_ELEMENTS (inner); k++)
        for (int way = 0; way < 4 && (inner[k] < 8192 || (rows[i] == 1 && plans[p].n == 65)); way++)
          same = same && same_bits (be, &plans[p], rows[i], inner[k], way & 1, way & 2);
  return same;
}

static void
test_errors (void)
{
  struct mm_backend *be = test_backend ();
  struct mm_mat x = random_mat (2, 3, 1), y = random_mat (2, 8, 2), none = { 0 };
  struct random_weight w = random_weight (be, 8, 3, 3), small = random_weight (be, 4, 2, 4);
  struct mm_weight *empty;
  struct mm_addend a[MM_MOST_ADDENDS + 1] = { { random_mat (2, 2, 6), small.w, 4 } };

  ok (mm_linear_plus (be, x, w.w, none, a, 1, y) == MM_OK, "an addend on the last columns");
  ok (mm_linear_plus (be, x, w.w, none, NULL, 0, y) == MM_OK, "none");
  a[0].from = 5;
  ok (mm_linear_plus (be, x, w.w, none, a, 1, y) == MM_ESHAPE, "one beyond them");
  a[0].from = SIZE_MAX;
  ok (mm_linear_plus (be, x, w.w, none, a, 1, y) == MM_ESHAPE, "one far beyond them");
  a[0].from = 0;
  ok (mm_linear_plus (be, x, w.w, none, a, MM_MOST_ADDENDS + 1, y) == MM_EINVAL, "too many");
  a[0].u.cols = 1;
  ok (mm_linear_plus (be, x, w.w, none, a, 1, y) == MM_ESHAPE, "one of another inner width");
  ok (mm_linear_plus (be, y, w.w, none, a, 0, y) == MM_ESHAPE, "an input of another width");
  a[0].u.cols = 2;
  must (mm_weight_create (be, 2, 3, &empty));
  a[0].from = 0;
  a[0].w = empty;
  ok (mm_linear_grad_input_plus (be, y, w.w, none, a, 1, x) == MM_EINVAL, "a weight without values behind a gradient");
  ok (mm_linear_grad_input_plus (be, x, empty, none, NULL, 0, x) == MM_EINVAL, "a gradient by such a weight");
  ok (mm_linear_grad_input_plus (be, x, w.w, none, a, 0, x) == MM_ESHAPE, "a gradient of another width");
  free_weight (be, w);
  free_weight (be, small);
  mm_weight_free (be, empty);
  free (a[0].u.data), free (x.data), free (y.data);
  mm_backend_close (be);
}

int
main (void)
{
  test_everywhere ("addends have the bits of one product after the other", check_bits);
  test_errors ();
  return tap_done ();
}

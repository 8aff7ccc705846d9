/* Operations on rows: embedding, norms, positions, SwiGLU.  Every kernel set gives the bits of the
   reference, and those are right by plain double arithmetic.
   SPDX-License-Identifier: Apache-2.0  */

#include "ops.h"

enum { ROWS = 37 };

static const size_t widths[] = { 1, 6, 15, 16, 17, 33, 64, 130 };

/* ---- embedding ---- */

static bool
check_embed (struct mm_backend *be)
{
  enum { VOCAB = 11 };
  int32_t ids[ROWS];
  bool good = true;

  test_seed (1);
  for (size_t w = 0; w < N_ELEMENTS (widths); w++)
    {
      size_t cols = widths[w];
      struct mm_mat table = test_mat (VOCAB, cols, cols + 3, 1), y = test_mat (ROWS, cols, cols + 1, 1);
      struct mm_mat got = test_copy (table), want = test_copy (table);

      for (size_t i = 0; i < ROWS; i++)
        ids[i] = (int32_t) (i * i % VOCAB);
      good &= mm_embed (be, table, ids, y) == MM_OK;
      for (size_t i = 0; i < ROWS; i++)
        good &= memcmp (y.data + i * y.ld, table.data + (size_t) ids[i] * table.ld,
                        cols * sizeof (float)) == 0;
      good &= test_between (y);
      good &= mm_embed_grad (be, y, ids, got) == MM_OK;
      mm_cpu_embed_grad_generic (y, ids, want);
      good &= test_same (got, want);
      free (table.data), free (y.data), free (got.data), free (want.data);
    }
  return good;
}

/* ---- norms ---- */

/* Norms of GROUPS x WIDTH values a row.  Whole rows go through the functions for rows.  */
struct norm_case
{
  size_t groups, width;
  struct mm_mat x, dy, y, residual;
  float *w, *rms;
};

static struct norm_case
norm_case (size_t groups, size_t width)
{
  size_t cols = groups * width;
  struct norm_case c = { groups, width, test_mat (ROWS, cols, cols + 5, 3), test_mat (ROWS, cols, cols, 1),
                         test_mat (ROWS, cols, cols + 2, 1), test_mat (ROWS, cols, cols + 1, 1),
                         test_mat (1, width, width, 2).data,
                         test_alloc (ROWS * groups, sizeof (float)) };

  return c;
}

static void
free_norm_case (struct norm_case *c)
{
  free (c->x.data), free (c->dy.data), free (c->y.data), free (c->residual.data), free (c->w);
  free (c->rms);
}

static mm_status
run_norm (struct mm_backend *be, struct norm_case *c, struct mm_mat y, float *rms)
{
  return c->groups == 1 ? mm_rmsnorm (be, c->x, c->w, 1e-5f, y, rms)
                        : mm_head_norm (be, c->x, c->width, c->w, 1e-5f, y, rms);
}

static bool
check_norm_case (struct mm_backend *be, struct norm_case *c)
{
  struct mm_mat want = test_copy (c->y), dx = test_copy (c->y), none = { 0 };
  struct mm_mat residual = c->groups == 1 ? c->residual : none;
  float *rms = test_alloc (ROWS * c->groups, sizeof *rms);
  float *dw = test_alloc (c->width, sizeof *dw), *want_dw = test_alloc (c->width, sizeof *dw);
  bool good = run_norm (be, c, c->y, c->rms) == MM_OK;

  mm_cpu_norm_generic (c->x, c->width, c->w, 1e-5f, want, rms);
  good &= test_same (c->y, want) && test_same_values (rms, c->rms, ROWS * c->groups, sizeof *rms);

  if (c->groups == 1)
    good &= mm_rmsnorm_grad (be, c->dy, c->x, c->w, rms, residual, dx, dw) == MM_OK;
  else
    good &= mm_head_norm_grad (be, c->dy, c->x, c->width, c->w, rms, dx, dw) == MM_OK;
  mm_cpu_norm_grad_input_generic (c->dy, c->x, c->width, c->w, rms, residual, want);
  mm_cpu_norm_grad_weight_generic (c->dy, c->x, c->width, rms, 0, c->width, want_dw);
  good &= test_same (dx, want) && test_same_values (dw, want_dw, c->width, sizeof *dw);

  /* dx in the place of dy, then of the residual.  */
  for (int place = 0; place < (c->groups == 1 ? 2 : 1); place++)
    {
      struct mm_mat dy = test_copy (c->dy), r = residual.data ? test_copy (residual) : none;
      struct mm_mat out = place == 0 ? dy : r;

      if (c->groups == 1)
        good &= mm_rmsnorm_grad (be, dy, c->x, c->w, rms, r, out, dw) == MM_OK;
      else
        good &= mm_head_norm_grad (be, dy, c->x, c->width, c->w, rms, out, dw) == MM_OK;
      good &= test_same (out, want) && test_same_values (dw, want_dw, c->width, sizeof *dw);
      free (dy.data), free (r.data);
    }

  /* In place, without keeping the statistics.  */
  mm_cpu_norm_generic (c->x, c->width, c->w, 1e-5f, want, NULL);
  good &= run_norm (be, c, c->x, NULL) == MM_OK && test_same (c->x, want);
  free (want.data), free (dx.data), free (rms), free (dw), free (want_dw);
  return good;
}

static bool
check_norm (struct mm_backend *be)
{
  bool good = true;

  test_seed (2);
  for (size_t w = 0; w < N_ELEMENTS (widths); w++)
    for (size_t groups = 1; groups <= 3; groups += 2)
      {
        struct norm_case c = norm_case (groups, widths[w]);

        good &= check_norm_case (be, &c);
        free_norm_case (&c);
      }
  return good;
}

/* The chain of a weight's gradient is cut at 8,192 terms: rows times heads.  */
static bool
check_long_norm (struct mm_backend *be)
{
  enum { LONG = 4100, HEADS = 5, HD = 3 };
  struct mm_mat x, dy, dx;
  float *w, *rms = test_alloc (LONG * HEADS, sizeof *rms), got[HD], want[HD];
  bool good;

  test_seed (3);
  x = test_mat (LONG, HEADS * HD, HEADS * HD, 1);
  dy = test_mat (LONG, HEADS * HD, HEADS * HD, 1);
  dx = test_mat (LONG, HEADS * HD, HEADS * HD, 1);
  w = test_mat (1, HD, HD, 1).data;
  good = mm_head_norm (be, x, HD, w, 1e-6f, dx, rms) == MM_OK
         && mm_head_norm_grad (be, dy, x, HD, w, rms, dx, got) == MM_OK;
  for (size_t j = 0; j < HD; j++)
    {
      float piece = 0, sum = 0;

      for (size_t at = 0; at < LONG * HEADS; at++)
        {
          size_t element = at / HEADS * x.ld + at % HEADS * HD + j;

          piece = fmaf (dy.data[element], x.data[element] * rms[at], piece);
          if ((at + 1) % 8192 == 0 || at + 1 == LONG * HEADS)
            {
              sum = at < 8192 ? piece : sum + piece;
              piece = 0;
            }
        }
      want[j] = sum;
    }
  good &= test_same_values (got, want, HD, sizeof *got);
  free (x.data), free (dy.data), free (dx.data), free (w), free (rms);
  return good;
}

static void
test_norm_values (void)
{
  struct mm_backend *be = test_backend ();
  struct norm_case c = norm_case (3, 33);
  struct mm_mat64 want = test_mat64 (c.x);

  for (size_t i = 0; i < ROWS * c.groups; i++)
    {
      double *x = want.data + i * c.width, squares = 0;

      for (size_t j = 0; j < c.width; j++)
        squares += x[j] * x[j];
      for (size_t j = 0; j < c.width; j++)
        x[j] = x[j] / sqrt (squares / (double) c.width + 1e-5) * c.w[j];
    }
  /* A sum of 33 squares and four more roundings.  */
  ok (run_norm (be, &c, c.y, c.rms) == MM_OK && test_error (c.y, want) < 1e-6,
      "norms are right by double arithmetic");
  free_norm_case (&c);
  free (want.data);
  mm_backend_close (be);
}

/* ---- a factor ---- */

static bool
check_scale (struct mm_backend *be)
{
  struct mm_mat x = test_mat (ROWS, 37, 41, 3), want = test_copy (x);
  bool good = mm_scale (be, x, 1.7f) == MM_OK && test_between (x);

  for (size_t i = 0; i < want.rows; i++)
    for (size_t j = 0; j < want.cols; j++)
      want.data[i * want.ld + j] *= 1.7f;
  good &= test_same (x, want);
  free (x.data), free (want.data);
  return good;
}

/* ---- positions ---- */

enum { POSITIONS = 19 };

static const size_t head_dims[] = { 2, 6, 10, 16, 34, 64, 96 };

static bool
check_rope (struct mm_backend *be)
{
  int32_t positions[ROWS];
  bool good = true;

  test_seed (4);
  for (size_t i = 0; i < ROWS; i++)
    positions[i] = (int32_t) (i * 7 % POSITIONS);
  for (size_t d = 0; d < N_ELEMENTS (head_dims); d++)
    for (int grad = 0; grad < 2; grad++)
      {
        size_t hd = head_dims[d], cols = 3 * hd, table = POSITIONS * hd / 2;
        struct mm_mat x = test_mat (ROWS, cols, cols + 4, 2), want = test_copy (x);
        float *cosines = test_alloc (table, sizeof *cosines), *sines = test_alloc (table, sizeof *sines);

        mm_rope_table (POSITIONS, hd, 1e6, cosines, sines);
        good &= mm_rope (be, x, hd, positions, cosines, sines, POSITIONS, grad) == MM_OK;
        mm_cpu_rope_generic (want, hd, positions, cosines, sines, grad);
        good &= test_same (x, want);
        free (x.data), free (want.data), free (cosines), free (sines);
      }
  return good;
}

static void
test_rope_values (void)
{
  enum { HD = 10, MANY = 2000 };
  struct mm_backend *be = test_backend ();
  struct mm_mat x = test_mat (MANY, HD, HD, 1), back = test_copy (x);
  struct mm_mat64 want = test_mat64 (x);
  float *cosines = test_alloc (MANY * HD / 2, sizeof *cosines);
  float *sines = test_alloc (MANY * HD / 2, sizeof *sines);
  int32_t positions[MANY];
  double moved;

  for (int i = 0; i < MANY; i++)
    {
      double *row = want.data + i * HD;

      positions[i] = i;
      for (int j = 0; j < HD / 2; j++)
        {
          double angle = i / pow (10000, 2.0 * j / HD), a = row[j], b = row[j + HD / 2];

          row[j] = a * cos (angle) - b * sin (angle);
          row[j + HD / 2] = b * cos (angle) + a * sin (angle);
        }
    }
  mm_rope_table (MANY, HD, 10000, cosines, sines);
  ok (mm_rope (be, back, HD, positions, cosines, sines, MANY, false) == MM_OK, "rope runs");
  /* An angle of 2,000 in float32 is off by up to 6e-5 * 2.  */
  ok (test_error (back, want) < 2e-4, "rope is right by double arithmetic");
  ok (mm_rope (be, back, HD, positions, cosines, sines, MANY, true) == MM_OK, "rope runs backwards");
  for (size_t i = 0; i < MANY * HD; i++)
    want.data[i] = x.data[i];
  moved = test_error (back, want);
  ok (moved < 1e-6, "the opposite angle undoes rope");
  free (x.data), free (back.data), free (want.data), free (cosines), free (sines);
  mm_backend_close (be);
}

/* ---- feed-forward ---- */

static bool
check_swiglu (struct mm_backend *be)
{
  bool good = true;

  test_seed (5);
  for (size_t w = 0; w < N_ELEMENTS (widths); w++)
    {
      size_t f = widths[w];
      struct mm_mat gate_up = test_mat (ROWS, 2 * f, 2 * f + 3, 100), dy = test_mat (ROWS, f, f + 1, 1);
      struct mm_mat y = test_mat (ROWS, f, f + 2, 1), want = test_copy (y), none = { 0 };
      struct mm_mat d = test_copy (gate_up), want_d = test_copy (gate_up), again = test_copy (y);

      good &= mm_swiglu (be, gate_up, y) == MM_OK;
      mm_cpu_swiglu_generic (gate_up, want);
      good &= test_same (y, want);

      mm_cpu_swiglu_grad_generic (dy, gate_up, want_d, again);
      good &= test_same (again, want);
      good &= mm_swiglu_grad (be, dy, gate_up, d, none) == MM_OK && test_same (d, want_d);
      /* Both in place.  */
      good &= mm_swiglu_grad (be, dy, gate_up, gate_up, dy) == MM_OK;
      good &= test_same (gate_up, want_d) && test_same (dy, want);
      free (gate_up.data), free (dy.data), free (y.data), free (want.data);
      free (d.data), free (want_d.data), free (again.data);
    }
  return good;
}

static void
test_swiglu_values (void)
{
  enum { F = 50 };
  struct mm_backend *be = test_backend ();
  struct mm_mat gate_up = test_mat (ROWS, 2 * F, 2 * F, 8), y = test_mat (ROWS, F, F, 1);
  struct mm_mat64 want = test_mat64 (y);

  gate_up.data[0] = -200, gate_up.data[1] = 200;        /* exp overflows and underflows */
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < F; j++)
      {
        double g = gate_up.data[i * 2 * F + j];

        want.data[i * F + j] = g / (1 + exp (-g)) * gate_up.data[i * 2 * F + F + j];
      }
  ok (mm_swiglu (be, gate_up, y) == MM_OK && test_error (y, want) < 1e-6,
      "swiglu is right by double arithmetic");
  free (gate_up.data), free (y.data), free (want.data);
  mm_backend_close (be);
}

int
main (void)
{
  test_everywhere ("embed and its gradient", check_embed);
  test_everywhere ("norms and their gradients", check_norm);
  test_everywhere ("a norm's weight over many rows", check_long_norm);
  test_everywhere ("scale", check_scale);
  test_everywhere ("rope", check_rope);
  test_everywhere ("swiglu and its gradient", check_swiglu);
  test_norm_values ();
  test_rope_values ();
  test_swiglu_values ();
  return tap_done ();
}

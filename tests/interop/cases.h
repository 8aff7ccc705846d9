/* cases.h -- what programs that compare with golden values of model.py share: its formulas, cases, golden tensors.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef INTEROP_CASES_H
#define INTEROP_CASES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/lora.h>
#include <minimind/model.h>
#include <minimind/ops.h>

#include "../unit/scratch.h"
#include "../tap.h"

enum { SAMPLES = 32, ADAPTER = 1 << 20 };       /* as in model.py */

/* Stop on a failure that has nothing to do with what is compared.  */
static inline void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "model: %s\n", mm_error_message ());
      exit (99);
    }
}

static inline void *
room (size_t count, size_t size)
{
  void *p = calloc (count, size);

  if (!p)
    exit (99);
  return p;
}

/* ---- formulas, as in model.py ---- */

static inline uint64_t
mix (uint64_t n)
{
  n *= 0x9E3779B97F4A7C15u;
  n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9u;
  n = (n ^ n >> 27) * 0x94D049BB133111EBu;
  return n ^ n >> 31;
}

/* Fill P; its first element is number FIRST of the formula.  */
static inline void
fill (struct mm_model *m, struct mm_params all, size_t first)
{
  float *x = room (all.size, sizeof *x);

  for (size_t i = 0; i < all.count; i++)
    {
      const struct mm_param *p = &all.param[i];
      double scale = exp2 (-floor (log2 ((double) p->cols) / 2));

      for (size_t k = p->offset; k < p->offset + p->size; k++)
        {
          double u = (double) (mix (first + k + 1) >> 40) / (1 << 23) - 1;

          x[k] = (float) (p->n_dims == 1 ? 1 + u / 4 : u * scale);
        }
    }
  must (mm_backend_put (mm_model_backend (m), all.values, x, all.size * sizeof *x));
  must (mm_model_refresh (m));
  free (x);
}

/* An adapter as the golden text LORA says: rank, alpha, targets.  */
static inline void
add_adapter (struct mm_model *m, const char *lora)
{
  unsigned rank, targets;
  double alpha;
  int at;

  if (sscanf (lora, "%u %lf %n", &rank, &alpha, &at) != 2)
    exit (99);
  must (mm_lora_targets (lora + at, &targets));
  must (mm_lora_create (m, rank, alpha, targets, 1));
  fill (m, mm_model_trained (m), ADAPTER);
}

/* Row ROW of the endless data of a case into sequence AT of B.  */
static inline void
set_row (struct mm_batch *b, size_t at, uint32_t vocab, uint64_t row)
{
  size_t length = b->seq_len;
  uint32_t *ids = room (length + 1, sizeof *ids);
  uint8_t *start = room (length + 1, 1), *mask = room (length + 1, 1);

  for (uint64_t t = 0; t <= length; t++)
    {
      uint64_t n = 3 * t + 1000000 * (row + 1);
      bool fresh;

      start[t] = t == 0 || mix (n + 1) % 24 == 0;
      fresh = start[t] || mix (n) % 8 == 0;
      ids[t] = (uint32_t) (fresh ? mix (n + 2) % vocab : (5 * ids[t - 1] + 3) % vocab);
      mask[t] = t > 0 && mix (ids[t] + t - 1) % 11 != 0;
    }
  mm_batch_set_row (b, at, ids, start, mask);
  b->rows = at + 1;
  free (ids);
  free (start);
  free (mask);
}

/* ---- cases ---- */

struct test_case
{
  char name[64];
  struct mm_model *model;
  struct mm_pass *pass;
  size_t rows, length, n_targets;
  size_t first;                 /* number of the formula at which what is trained begins */
};

static inline bool
has_golden (const struct mm_safetensors *golden, const char *name, const char *key)
{
  char full[256];

  snprintf (full, sizeof full, "%s.%s", name, key);
  return mm_safetensors_find (golden, full) != NULL;
}

/* Tensor "NAME.KEY" (KEY NULL: "NAME") of the golden file.  */
static inline const struct mm_tensor *
find_golden (const struct mm_safetensors *golden, const char *name, const char *key)
{
  char full[256];
  const struct mm_tensor *t;

  snprintf (full, sizeof full, "%s%s%s", name, key ? "." : "", key ? key : "");
  t = mm_safetensors_find (golden, full);
  if (!t)
    {
      fprintf (stderr, "model: the golden file has no %s\n", full);
      exit (99);
    }
  return t;
}

/* A text of the golden file; the caller frees.  */
static inline char *
golden_text (const struct mm_safetensors *golden, const char *name, const char *key)
{
  const struct mm_tensor *t = find_golden (golden, name, key);
  char *text = room (t->size + 1, 1);

  must (mm_safetensors_read (golden, t, 0, text, t->size));
  return text;
}

/* Numbers of the golden file; the caller frees.  */
static inline float *
golden_tensor (const struct mm_safetensors *golden, const char *name, const char *key,
               size_t *count)
{
  const struct mm_tensor *t = find_golden (golden, name, key);
  float *x;

  *count = 1;
  for (int i = 0; i < t->n_dims; i++)
    *count *= t->shape[i];
  x = room (*count, sizeof *x);
  must (mm_safetensors_read_f32 (golden, t, x));
  return x;
}

/* The case NAME with its configuration as transformers wrote it, and the formula's weights.  */
static inline void
open_case (struct mm_backend *be, const struct mm_safetensors *golden, const char *name,
           struct test_case *c)
{
  char *config = golden_text (golden, name, "config"), *shape = golden_text (golden, name, "shape");
  struct mm_model_config mc;

  *c = (struct test_case) { .first = 0 };
  snprintf (c->name, sizeof c->name, "%s", name);
  if (sscanf (shape, "%zu %zu %zu", &c->rows, &c->length, &c->n_targets) != 3)
    exit (99);
  scratch_put ("config.json", config, strlen (config));
  free (config);
  free (shape);
  must (mm_config_read ("config.json", &mc));
  must (mm_model_create (be, &mc, &c->model));
  fill (c->model, mm_model_trained (c->model), 0);
  if (has_golden (golden, name, "lora"))
    {
      char *lora = golden_text (golden, name, "lora");

      add_adapter (c->model, lora);
      c->first = ADAPTER;
      free (lora);
    }
  must (mm_pass_create (c->model, c->rows, c->length, true, &c->pass));
}

static inline void
close_case (struct test_case *c)
{
  mm_pass_free (c->pass);
  mm_model_free (c->model);
}

static inline uint32_t
vocab_of (const struct test_case *c)
{
  return mm_model_config (c->model)->vocab_size;
}

static inline void
make_batch (const struct test_case *c, uint64_t first, struct mm_batch *b)
{
  must (mm_batch_alloc (c->rows, c->length, b));
  for (size_t i = 0; i < c->rows; i++)
    set_row (b, i, vocab_of (c), first + i);
}

/* ---- comparisons ---- */

/* ok: ERROR is at most LIMIT; says how far it is.  */
static inline void
ok_error (const char *name, const char *what, double error, double limit)
{
  char text[512];

  snprintf (text, sizeof text, "%s: %s: within %g (%.1e)", name, what, limit, error);
  ok (error <= limit, text);
}

static inline double
larger (double a, double b)
{
  return a > b || isnan (a) ? a : b;
}

/* How far the gradient of P in GRAD, a flat buffer, is from the golden one, over its maximum.  Golden: largest
   magnitude, root of the sum of squares, and elements chosen by formula.  */
static inline double
gradient_error (const struct mm_safetensors *golden, const struct test_case *c, const float *grad,
                const struct mm_param *p)
{
  const float *g = grad + p->offset;
  char key[128];
  size_t n;
  double max = 0, squares = 0, error;

  snprintf (key, sizeof key, "grad.%s", p->name);
  float *want = golden_tensor (golden, c->name, key, &n);

  for (size_t k = 0; k < p->size; k++)
    {
      max = larger (fabs (g[k]), max);
      squares += (double) g[k] * g[k];
    }
  error = n == 2 + SAMPLES ? fabs (max - want[0]) : NAN;
  error = larger (fabs (sqrt (squares) - want[1]) / sqrt ((double) p->size), error);
  for (size_t k = 0; k < SAMPLES && n == 2 + SAMPLES; k++)
    error = larger (fabs (g[mix (k + 99) % p->size] - want[2 + k]), error);
  error /= want[0];
  free (want);
  return error;
}

#endif /* INTEROP_CASES_H */

/* model.c -- the model against transformers, PEFT and PyTorch, by the golden values of model.py.
   SPDX-License-Identifier: Apache-2.0

   With --dump=FILE it writes all logits, gradients and losses instead, for model.py --check.  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/lora.h>
#include <minimind/model.h>
#include <minimind/ops.h>
#include <minimind/optimizer.h>

#include "../unit/scratch.h"
#include "../tap.h"

enum { COLUMNS = 12, SAMPLES = 32, STEPS = 100, ADAPTER = 1 << 20 };   /* as in model.py */

/* Stop on a failure that has nothing to do with what is compared.  */
static void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "model: %s\n", mm_error_message ());
      exit (99);
    }
}

static void *
room (size_t count, size_t size)
{
  void *p = calloc (count, size);

  if (!p)
    exit (99);
  return p;
}

/* ---- formulas, as in model.py ---- */

static uint64_t
mix (uint64_t n)
{
  n *= 0x9E3779B97F4A7C15u;
  n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9u;
  n = (n ^ n >> 27) * 0x94D049BB133111EBu;
  return n ^ n >> 31;
}

/* Fill P; its first element is number FIRST of the formula.  */
static void
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
static void
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
static void
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

static bool
has_golden (const struct mm_safetensors *golden, const char *name, const char *key)
{
  char full[256];

  snprintf (full, sizeof full, "%s.%s", name, key);
  return mm_safetensors_find (golden, full) != NULL;
}

/* Tensor "NAME.KEY" (KEY NULL: "NAME") of the golden file.  */
static const struct mm_tensor *
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
static char *
golden_text (const struct mm_safetensors *golden, const char *name, const char *key)
{
  const struct mm_tensor *t = find_golden (golden, name, key);
  char *text = room (t->size + 1, 1);

  must (mm_safetensors_read (golden, t, 0, text, t->size));
  return text;
}

/* Numbers of the golden file; the caller frees.  */
static float *
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
static void
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
  must (mm_model_create (be, &mc, true, &c->model));
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

static void
close_case (struct test_case *c)
{
  mm_pass_free (c->pass);
  mm_model_free (c->model);
}

static uint32_t
vocab_of (const struct test_case *c)
{
  return mm_model_config (c->model)->vocab_size;
}

static void
make_batch (const struct test_case *c, uint64_t first, struct mm_batch *b)
{
  must (mm_batch_alloc (c->rows, c->length, b));
  for (size_t i = 0; i < c->rows; i++)
    set_row (b, i, vocab_of (c), first + i);
}

/* Everything that is compared.  */
struct values
{
  size_t n;                     /* tokens */
  float *logits, *losses;       /* [n, V], [n] */
  float *grad;                  /* of the summed loss, flat */
  struct mm_loss loss;
};

static void
compute (struct test_case *c, struct values *v)
{
  struct mm_backend *be = mm_model_backend (c->model);
  struct mm_loss again = { 0 };
  size_t size = mm_model_trained (c->model).size;
  struct mm_batch b;
  void *acc, *g;

  make_batch (c, 0, &b);
  v->n = c->rows * c->length;
  v->logits = room (v->n, vocab_of (c) * sizeof (float));
  v->losses = room (v->n, sizeof (float));
  v->grad = room (size, sizeof (float));
  v->loss = again;
  must (mm_backend_alloc (be, "gradient", size * sizeof (int64_t), &acc));
  must (mm_backend_alloc (be, "gradient", size * sizeof (float), &g));
  must (mm_model_logits (c->pass, &b, v->logits));
  must (mm_model_evaluate (c->pass, &b, &v->loss, v->losses));
  must (mm_model_gradient (c->pass, &b, acc, &again, NULL));
  must (mm_grad_values (be, acc, size, 1, g));
  must (mm_backend_sync (be));
  must (mm_backend_get (be, v->grad, g, size * sizeof (float)));
  ok (again.sum == v->loss.sum && !again.overflow, c->name);
  mm_backend_release (be, acc);
  mm_backend_release (be, g);
  mm_batch_free (&b);
}

static void
free_values (struct values *v)
{
  free (v->logits);
  free (v->losses);
  free (v->grad);
}

/* ---- comparisons ---- */

/* ok: ERROR is at most LIMIT; says how far it is.  */
static void
ok_error (const char *name, const char *what, double error, double limit)
{
  char text[512];

  snprintf (text, sizeof text, "%s: %s: within %g (%.1e)", name, what, limit, error);
  ok (error <= limit, text);
}

static double
larger (double a, double b)
{
  return a > b || isnan (a) ? a : b;
}

static void
compare_logits (const struct mm_safetensors *golden, const struct test_case *c,
                const struct values *v)
{
  size_t n, vocab = vocab_of (c);
  float *want = golden_tensor (golden, c->name, "logits", &n);
  double error = n == v->n * COLUMNS ? 0 : NAN;

  for (size_t i = 0; i < v->n * COLUMNS && n == v->n * COLUMNS; i++)
    error = larger (fabs (v->logits[i / COLUMNS * vocab + mix (i + 77) % vocab] - want[i]), error);
  ok_error (c->name, "logits", error, 1e-4);
  free (want);
}

static void
compare_losses (const struct mm_safetensors *golden, const struct test_case *c,
                const struct values *v)
{
  size_t n;
  float *want = golden_tensor (golden, c->name, "losses", &n);
  double error = n == v->n ? 0 : NAN, sum = 0;

  for (size_t i = 0; i < v->n && n == v->n; i++)
    {
      error = larger (fabs (v->losses[i] - want[i]), error);
      sum += v->losses[i];
    }
  ok_error (c->name, "loss of each token", error, 1e-4);
  ok_error (c->name, "sum of the losses", fabs (ldexp ((double) v->loss.sum, -MM_FIXED_BITS) - sum),
            1e-3);
  ok (v->loss.n_targets == c->n_targets, "number of targets");
  free (want);
}

/* Golden: largest magnitude, root of the sum of squares, and elements chosen by formula.  */
static void
compare_gradients (const struct mm_safetensors *golden, const struct test_case *c,
                   const struct values *v)
{
  struct mm_params trained = mm_model_trained (c->model);

  for (size_t i = 0; i < trained.count; i++)
    {
      const struct mm_param *p = &trained.param[i];
      const float *g = v->grad + p->offset;
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
      ok_error (c->name, key, error / want[0], 1e-4);
      free (want);
    }
}

/* Mean loss before each of STEPS updates.  */
static void
train (const struct mm_safetensors *golden, struct test_case *c, double *history)
{
  struct mm_optimizer o = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8 };
  char *run = golden_text (golden, c->name, "run");
  double rate, norm;
  struct mm_batch b;

  if (sscanf (run, "%lf %lf %lf", &rate, &o.weight_decay, &o.grad_clip) != 3)
    exit (99);
  free (run);
  fill (c->model, mm_model_trained (c->model), c->first);
  must (mm_optimizer_create (c->model, &o));
  for (uint64_t step = 0; step < STEPS; step++)
    {
      struct mm_loss loss = { 0 };

      make_batch (c, step * c->rows, &b);
      must (mm_model_gradient (c->pass, &b, o.grad, &loss, NULL));
      history[step] = ldexp ((double) loss.sum, -MM_FIXED_BITS) / (double) loss.n_targets;
      must (mm_optimizer_step (c->model, &o, rate, loss.n_targets, &norm));
      mm_batch_free (&b);
    }
  mm_optimizer_free (c->model, &o);
}

static void
compare_run (const struct mm_safetensors *golden, struct test_case *c)
{
  double history[STEPS], error = 0;
  size_t n;
  float *want = golden_tensor (golden, c->name, "history", &n);

  train (golden, c, history);
  for (size_t i = 0; i < STEPS && n == STEPS; i++)
    error = larger (fabs (history[i] - want[i]), error);
  ok_error (c->name, "loss of 100 AdamW steps", n == STEPS ? error : NAN, 1e-3);
  free (want);
}

/* Whether the case is trained, too.  */
static bool
is_run (const struct mm_safetensors *golden, const char *name)
{
  char *runs = golden_text (golden, "runs", NULL);
  bool found = false;

  for (char *save, *run = strtok_r (runs, " ", &save); run; run = strtok_r (NULL, " ", &save))
    found |= !strcmp (run, name);
  free (runs);
  return found;
}

static void
compare_case (const struct mm_safetensors *golden, struct test_case *c)
{
  struct values v;

  compute (c, &v);
  compare_logits (golden, c, &v);
  compare_losses (golden, c, &v);
  compare_gradients (golden, c, &v);
  if (is_run (golden, c->name))
    compare_run (golden, c);
  free_values (&v);
}

/* ---- the dump ---- */

static void
dump_tensor (struct mm_safetensors_writer *w, bool write, const char *name, const char *key,
             enum mm_dtype dtype, const uint64_t shape[2], const void *data)
{
  char full[256];

  snprintf (full, sizeof full, "%s.%s", name, key);
  if (write)
    must (mm_safetensors_write (w, full, data, shape[0] * shape[1] * (mm_dtype_bits (dtype) / 8)));
  else
    must (mm_safetensors_declare (w, full, dtype, 2, shape));
}

/* All of a case, declared first and then written.  */
static void
dump_case (const struct mm_safetensors *golden, struct mm_safetensors_writer *w, bool write,
           struct test_case *c)
{
  struct mm_params trained = mm_model_trained (c->model);
  struct values v;
  double history[STEPS];

  compute (c, &v);
  dump_tensor (w, write, c->name, "logits", MM_F32, (uint64_t[]) { v.n, vocab_of (c) }, v.logits);
  for (size_t i = 0; i < trained.count; i++)
    {
      const struct mm_param *p = &trained.param[i];
      char key[128];

      snprintf (key, sizeof key, "grad.%s", p->name);
      dump_tensor (w, write, c->name, key, MM_F32, (uint64_t[]) { p->rows, p->cols },
                   v.grad + p->offset);
    }
  if (is_run (golden, c->name))
    {
      if (write)
        train (golden, c, history);
      dump_tensor (w, write, c->name, "history", MM_F64, (uint64_t[]) { 1, STEPS }, history);
    }
  free_values (&v);
}

/* ---- all cases ---- */

int
main (int argc, char **argv)
{
  const char *srcdir = getenv ("srcdir");
  char path[4096], *dump = NULL;
  struct mm_safetensors_writer *w = NULL;
  struct mm_safetensors *golden;
  struct mm_backend *be;

  if (argc > 1 && !strncmp (argv[1], "--dump=", 7))
    dump = argv[1] + 7;
  snprintf (path, sizeof path, "%s/tests/interop/model.safetensors", srcdir ? srcdir : ".");
  must (mm_safetensors_open (path, &golden));
  if (dump)
    must (mm_safetensors_create (dump, true, true, &w));
  scratch_enter ();
  must (mm_backend_open ("cpu", 2, &be));
  for (int write = 0; write <= (dump != NULL); write++)
    {
      char *names = golden_text (golden, "cases", NULL);

      for (char *save, *name = strtok_r (names, " ", &save); name;
           name = strtok_r (NULL, " ", &save))
        {
          struct test_case c;

          open_case (be, golden, name, &c);
          if (dump)
            dump_case (golden, w, write, &c);
          else
            compare_case (golden, &c);
          close_case (&c);
        }
      free (names);
    }
  if (dump)
    must (mm_safetensors_commit (w, NULL));
  mm_backend_close (be);
  mm_safetensors_close (golden);
  return tap_done ();
}

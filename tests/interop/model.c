/* model.c -- the model against transformers, PEFT and PyTorch, by the golden values of model.py.
   SPDX-License-Identifier: Apache-2.0

   With --dump=FILE it writes all logits, gradients and losses instead, for model.py --check.  */

#include <config.h>

#include <minimind/optimizer.h>

#include "cases.h"

enum { COLUMNS = 12, STEPS = 100 };     /* as in model.py */

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

static void
compare_gradients (const struct mm_safetensors *golden, const struct test_case *c,
                   const struct values *v)
{
  struct mm_params trained = mm_model_trained (c->model);

  for (size_t i = 0; i < trained.count; i++)
    ok_error (c->name, trained.param[i].name, gradient_error (golden, c, v->grad, &trained.param[i]), 1e-4);
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

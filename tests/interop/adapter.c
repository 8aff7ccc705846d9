/* adapter.c -- PEFT's adapter folders, read, applied and merged, against PEFT (make-adapter-goldens.py).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <minimind/lora.h>
#include <minimind/memory.h>

#include "../unit/scratch.h"
#include "../unit/small_model.h"
#include "../tap.h"

enum { LENGTH = 32 };

static char *
path_of (const char *folder, const char *name)
{
  static char path[4096];
  const char *srcdir = getenv ("srcdir");

  snprintf (path, sizeof path, "%s/tests/interop/adapter/%s%s%s", srcdir ? srcdir : ".", folder,
            *name ? "/" : "", name);
  return path;
}

/* The tensor NAME of a golden file.  */
static float *
golden (const char *folder, const char *file, const char *name, size_t *n)
{
  struct mm_safetensors *f;
  const struct mm_tensor *t;
  float *x;

  must (mm_safetensors_open (path_of (folder, file), &f));
  t = mm_safetensors_find (f, name);
  if (!t)
    exit (99);
  *n = 1;
  for (int i = 0; i < t->n_dims; i++)
    *n *= t->shape[i];
  x = malloc (*n * sizeof *x);
  if (!x)
    exit (99);
  must (mm_safetensors_read_f32 (f, t, x));
  mm_safetensors_close (f);
  return x;
}

static void
ok_error (const char *name, const char *what, double error, double limit)
{
  char text[200];

  snprintf (text, sizeof text, "%s: %s: within %g (%.1e)", name, what, limit, error);
  ok (error <= limit, text);
}

/* The ids 0, 1, 2 ... as one row.  */
static struct mm_batch
counting (void)
{
  struct mm_batch b;
  uint32_t ids[LENGTH + 1];
  uint8_t starts[LENGTH + 1] = { 1 };

  for (uint32_t i = 0; i <= LENGTH; i++)
    ids[i] = i % LENGTH;
  must (mm_batch_alloc (1, LENGTH, &b));
  mm_batch_set_row (&b, 0, ids, starts, starts);
  b.rows = 1;
  return b;
}

static void
compare_logits (const char *name, struct mm_model *m)
{
  struct mm_batch b = counting ();
  size_t n;
  float *want = golden (name, "logits.safetensors", "logits", &n), *logits = malloc (n * sizeof *logits);
  double error = 0;
  struct mm_pass *p;

  must (mm_pass_create (m, 1, LENGTH, false, &p));
  must (mm_model_logits (p, &b, logits));
  for (size_t i = 0; i < n; i++)
    error = fmax (error, fabs ((double) logits[i] - (double) want[i]));
  ok_error (name, "logits with the adapter", error, 1e-4);
  mm_pass_free (p);
  mm_batch_free (&b);
  free (want);
  free (logits);
}

/* Base + delta of every matrix against PEFT's merge_and_unload.  */
static void
compare_merged (const char *name, struct mm_model *m, const struct mm_adapter *a)
{
  double worst = 0;
  size_t merged = 0;

  for (size_t i = 0; i < mm_model_n_params (m); i++)
    {
      const struct mm_param *p = mm_model_param (m, i);
      size_t n;
      float *want = golden (name, "merged.safetensors", p->name, &n);
      double *w = calloc (p->size, sizeof *w), error = n == p->size ? 0 : NAN, largest = 0;
      bool has = false;
      unsigned layer;

      if (!w)
        exit (99);
      for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS && !has; t++)
        if (sscanf (p->name, "model.layers.%u.", &layer) == 1 && strstr (p->name, mm_lora_target_name (t)))
          mm_adapter_delta (a, layer, t, 1, w, &has);
      merged += has;
      for (size_t k = 0; k < p->size; k++)
        {
          float sum = (float) ((double) mm_model_values (m)[p->offset + k] + w[k]);

          error = fmax (error, fabs ((double) sum - (double) want[k]));
          largest = fmax (largest, fabs ((double) want[k]));
        }
      worst = fmax (worst, error / largest);
      free (want);
      free (w);
    }
  ok (merged > 0, "matrices are merged");
  ok_error (name, "merged weights, of their largest", worst, 1e-6);
}

/* How many floats A is from B.  */
static double
ulps (float a, float b)
{
  return fabs ((double) a - (double) b) / (double) (nextafterf (fabsf (b), INFINITY) - fabsf (b));
}

/* W + s B A of module T in LAYER, P's, by its definition in long double and rounded once; as the merge makes it, in
   WORST the distance at the most.  M has the adapter A of the folder NAME.  */
static void
compare_rounding (const char *name, struct mm_model *m, const struct mm_adapter *a, const struct mm_param *p,
                  unsigned layer, enum mm_lora_target t, double *worst)
{
  struct mm_lora_module module = mm_lora_module (m, layer, t);
  const float *w = mm_model_values (m) + p->offset;
  char tensor[256];
  size_t n_a, n_b;
  float *down, *up;
  double *delta = calloc (p->size, sizeof *delta);
  bool has = false;

  if (module.rank == 0 || !delta)
    {
      free (delta);
      return;
    }
  snprintf (tensor, sizeof tensor, "base_model.model.%.*s.lora_A.weight", (int) (strlen (p->name) - strlen (".weight")),
            p->name);
  down = golden (name, "adapter_model.safetensors", tensor, &n_a);
  *strstr (tensor, "lora_A") = '\0';
  strcat (tensor, "lora_B.weight");
  up = golden (name, "adapter_model.safetensors", tensor, &n_b);
  mm_adapter_delta (a, layer, t, 1, delta, &has);
  if (!has || n_a != module.rank * p->cols || n_b != p->rows * module.rank)
    *worst = NAN;
  for (size_t i = 0; i < p->size && !isnan (*worst); i++)
    {
      long double sum = 0;

      for (size_t r = 0; r < module.rank; r++)
        sum += (long double) up[i / p->cols * module.rank + r] * (long double) down[r * p->cols + i % p->cols];
      *worst = fmax (*worst, ulps ((float) ((double) w[i] + delta[i]), (float) (w[i] + module.scale * sum)));
    }
  free (down);
  free (up);
  free (delta);
}

static void
compare_roundings (const char *name, struct mm_model *m, const struct mm_adapter *a)
{
  double worst = 0;

  for (size_t i = 0; i < mm_model_n_params (m); i++)
    {
      const struct mm_param *p = mm_model_param (m, i);
      unsigned layer;

      for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS; t++)
        if (sscanf (p->name, "model.layers.%u.", &layer) == 1 && strstr (p->name, mm_lora_target_name (t)))
          compare_rounding (name, m, a, p, layer, t, &worst);
    }
  ok_error (name, "merged weights, in units of the last place of the sum rounded once", worst, 1);
}

/* What we write is read back as it was.  */
static void
write_and_read (const char *name, struct mm_model *m)
{
  struct mm_params p = mm_model_trained (m);
  struct mm_adapter *again;
  struct mm_model *other;
  char sha256[MM_SHA256_TEXT];
  bool same = true;

  must (mm_model_sha256 (m, sha256));
  if (mkdir (name, 0777) < 0)
    exit (99);
  must (mm_adapter_write (m, p.values, sha256, name));
  must (mm_adapter_open (name, mm_model_config (m), &again));
  must (mm_model_open (mm_model_backend (m), path_of ("base", ""), &other));
  must (mm_adapter_attach (again, other));
  for (uint32_t l = 0; l < 2; l++)
    for (enum mm_lora_target t = 0; t < MM_LORA_TARGETS; t++)
      same = same && mm_lora_module (m, l, t).rank == mm_lora_module (other, l, t).rank
             && mm_lora_module (m, l, t).scale == mm_lora_module (other, l, t).scale;
  same = same && mm_model_trained (other).size == p.size
         && memcmp (mm_model_trained (other).values, p.values, p.size * sizeof *p.values) == 0;
  ok (same, "an adapter that was written is read back as it was");
  ok (mm_adapter_check_base (again, name, sha256) == MM_OK && mm_adapter_base_sha256 (again), "it knows its base");
  ok (mm_adapter_verify (name) == MM_OK, "it is sound");
  memset (mm_model_trained (other).values, 0, p.size * sizeof *p.values);
  ok (mm_adapter_put (again, other) == MM_OK
      && memcmp (mm_model_trained (other).values, p.values, p.size * sizeof *p.values) == 0,
      "its values are put into an adapter of its kind");
  sha256[5] ^= 1;
  ok (mm_adapter_check_base (again, name, sha256) == MM_ECONFLICT, "and that another one is not");
  mm_model_free (other);
  must (mm_model_open (mm_model_backend (m), path_of ("base", ""), &other));
  ok (mm_adapter_put (again, other) == MM_EINVAL, "a model without an adapter has no place for them");
  must (mm_lora_create (other, 1, 3, 1u << MM_LORA_DOWN, 1));
  ok (mm_adapter_put (again, other) == MM_ESHAPE && strstr (mm_error_message (), "layer 0: "),
      "nor has an adapter of another kind");
  mm_adapter_close (again);
  mm_model_free (other);
}

static void
compare (struct mm_backend *be, const char *name)
{
  struct mm_model *m;
  struct mm_adapter *a;

  must (mm_model_open (be, path_of ("base", ""), &m));
  must (mm_adapter_open (path_of (name, ""), mm_model_config (m), &a));
  ok (mm_adapter_check_base (a, name, "x") == MM_OK && !mm_adapter_base_sha256 (a),
      "PEFT does not say which base it was");
  compare_merged (name, m, a);
  must (mm_adapter_attach (a, m));
  compare_roundings (name, m, a);
  compare_logits (name, m);
  write_and_read (name, m);
  mm_adapter_close (a);
  mm_model_free (m);
}

int
main (void)
{
  static char srcdir[4096];
  struct mm_backend *be;

  /* The tests write where they are; the goldens stay where they were.  */
  if (!realpath (getenv ("srcdir") ? getenv ("srcdir") : ".", srcdir))
    exit (99);
  setenv ("srcdir", srcdir, 1);
  scratch_enter ();
  must (mm_backend_open ("cpu", 1, &be));
  compare (be, "plain");
  compare (be, "patterns");
  compare (be, "rslora");
  mm_backend_close (be);
  return tap_done ();
}

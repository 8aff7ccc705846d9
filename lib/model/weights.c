/* weights.c -- parameters from and to safetensors, strictly.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

static const char embedding_name[] = "model.embed_tokens.weight";
static const char head_name[] = "lm_head.weight";

static const struct mm_tensor *
find_tensor (const struct mm_weight_files *f, const char *name, const struct mm_safetensors **file)
{
  *file = NULL;
  for (size_t i = 0; i < f->count; i++)
    {
      const struct mm_tensor *t = mm_safetensors_find (f->file[i], name);

      if (t)
        {
          *file = f->file[i];
          return t;
        }
    }
  return NULL;
}

/* The tensor that holds P: a tied model may come with the embedding under either name.  */
static const struct mm_tensor *
find_param (const struct mm_model *m, const struct mm_weight_files *f, const struct mm_param *p,
            const struct mm_safetensors **file)
{
  const struct mm_tensor *t = find_tensor (f, p->name, file);

  return !t && m->config.tied && p->offset == 0 ? find_tensor (f, head_name, file) : t;
}

/* ---- do the names and shapes fit? ---- */

/* Names, as many as fit: the first ones tell enough.  */
struct list
{
  char text[500];
  size_t used, shown, count;
};

static void
list_add (struct list *l, const char *item)
{
  size_t room = sizeof l->text - l->used;

  if (l->shown == l->count && strlen (item) + 3 < room)
    {
      l->used += (size_t) snprintf (l->text + l->used, room, "%s%s", l->count ? ", " : "", item);
      l->shown++;
    }
  l->count++;
}

/* "; WHAT: a, b and 7 more" behind TEXT; nothing for an empty list.  */
static void
list_print (const struct list *l, const char *what, char *text, size_t size)
{
  size_t used = strlen (text);

  if (!l->count)
    return;
  used += (size_t) snprintf (text + used, size - used, "%s%s: %s", used ? "; " : "", what, l->text);
  if (l->count > l->shown && used < size)
    snprintf (text + used, size - used, " and %zu more", l->count - l->shown);
}

static bool
shape_fits (const struct mm_tensor *t, const struct mm_param *p)
{
  if (t->n_dims != p->n_dims)
    return false;
  return p->n_dims == 1 ? t->shape[0] == p->cols : t->shape[0] == p->rows && t->shape[1] == p->cols;
}

static void
format_shape (const struct mm_tensor *t, char text[200])
{
  size_t used = (size_t) sprintf (text, "[");

  for (int i = 0; i < t->n_dims; i++)
    used += (size_t) sprintf (text + used, "%s%" PRIu64, i ? "," : "", t->shape[i]);
  strcpy (text + used, "]");
}

/* "NAME: want [a,b], found [c]" into L when they differ.  */
static void
check_shape (const struct mm_tensor *t, const struct mm_param *p, struct list *l)
{
  char found[200], item[400];

  if (shape_fits (t, p))
    return;
  format_shape (t, found);
  if (p->n_dims == 1)
    snprintf (item, sizeof item, "%.100s: want [%zu], found %s", t->name, p->cols, found);
  else
    snprintf (item, sizeof item, "%.100s: want [%zu,%zu], found %s", t->name, p->rows, p->cols,
              found);
  list_add (l, item);
}

static int
compare_names (const void *a, const void *b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Whether T of a file is no parameter but harmless: old Llama files keep RoPE's frequencies.  */
static bool
is_ignored (const char *name)
{
  static const char suffix[] = ".rotary_emb.inv_freq";
  size_t n = strlen (name);

  return n >= sizeof suffix - 1 && !strcmp (name + n - (sizeof suffix - 1), suffix);
}

/* Tensors of the files that the model does not have, into L.  */
static mm_status
list_extra (const struct mm_model *m, const struct mm_weight_files *f, struct list *l)
{
  const char **names;
  mm_status st = mm_alloc ("parameter names", m->n_params, sizeof *names, &names);

  if (st < 0)
    return st;
  for (size_t i = 0; i < m->n_params; i++)
    names[i] = m->params[i].name;
  qsort (names, m->n_params, sizeof *names, compare_names);
  for (size_t k = 0; k < f->count; k++)
    for (size_t i = 0; i < mm_safetensors_count (f->file[k]); i++)
      {
        const char *name = mm_safetensors_at (f->file[k], i)->name;

        if (!bsearch (&name, names, m->n_params, sizeof *names, compare_names) && !is_ignored (name)
            && !(m->config.tied && !strcmp (name, head_name)))
          list_add (l, name);
      }
  free (names);
  return MM_OK;
}

mm_status
mm_model_check_files (const struct mm_model *m, const struct mm_weight_files *f)
{
  struct list missing = { .used = 0 }, extra = { .used = 0 }, shapes = { .used = 0 };
  const struct mm_safetensors *file;
  char text[1800] = "";

  for (size_t i = 0; i < m->n_params; i++)
    {
      const struct mm_tensor *t = find_param (m, f, &m->params[i], &file);

      if (t)
        check_shape (t, &m->params[i], &shapes);
      else
        list_add (&missing, m->params[i].name);
    }
  if (m->config.tied && find_tensor (f, embedding_name, &file) && find_tensor (f, head_name, &file))
    check_shape (find_tensor (f, head_name, &file), &m->params[0], &shapes);

  mm_status st = list_extra (m, f, &extra);

  if (st < 0 || !(missing.count + extra.count + shapes.count))
    return st;
  list_print (&missing, "missing", text, sizeof text);
  list_print (&extra, "not of this model", text, sizeof text);
  list_print (&shapes, "of another shape", text, sizeof text);
  return mm_fail (missing.count + extra.count ? MM_EFORMAT : MM_ESHAPE, "%s: %s", f->name, text);
}

/* ---- reading ---- */

/* Read T into X (host), and on to the device unless DEVICE is NULL.  */
static mm_status
read_tensor (const struct mm_model *m, const struct mm_safetensors *file, const struct mm_tensor *t,
             float *x, float *device, size_t size)
{
  mm_status st = mm_safetensors_read_f32 (file, t, x);

  return st < 0 || !device ? st : mm_backend_put (m->be, device, x, size * sizeof *x);
}

/* A tied model's file may repeat the embedding as lm_head: it must say the same.  */
static mm_status
check_tied (const struct mm_model *m, const struct mm_weight_files *f)
{
  const struct mm_safetensors *file[2];
  const struct mm_tensor *t[2] = { find_tensor (f, embedding_name, &file[0]),
                                   find_tensor (f, head_name, &file[1]) };
  size_t size = m->params[0].size;
  float *x;
  mm_status st;

  if (!m->config.tied || !t[0] || !t[1])
    return MM_OK;
  st = mm_alloc ("embedding and head", size, 2 * sizeof *x, &x);
  for (int i = 0; i < 2 && st == MM_OK; i++)
    st = read_tensor (m, file[i], t[i], x + i * size, NULL, size);
  if (st == MM_OK && memcmp (x, x + size, size * sizeof *x))
    st = mm_fail (MM_EFORMAT, "%s: %s differs from %s, but tie_word_embeddings is true", f->name,
                  head_name, embedding_name);
  free (x);
  return st;
}

mm_status
mm_model_read_files (struct mm_model *m, const struct mm_weight_files *f)
{
  size_t largest = 0;
  float *x = NULL;
  mm_status st = mm_model_check_files (m, f);

  if (st == MM_OK)
    st = check_tied (m, f);
  for (size_t i = 0; i < m->n_params; i++)
    if (m->params[i].size > largest)
      largest = m->params[i].size;
  if (st == MM_OK)
    st = mm_alloc ("a tensor", largest, sizeof *x, &x);
  for (size_t i = 0; st == MM_OK && i < m->n_params; i++)
    {
      const struct mm_param *p = &m->params[i];
      const struct mm_safetensors *file;
      const struct mm_tensor *t = find_param (m, f, p, &file);

      st = read_tensor (m, file, t, x, m->values + p->offset, p->size);
    }
  free (x);
  return st < 0 ? st : mm_model_refresh (m);
}

mm_status
mm_model_read (struct mm_model *m, const struct mm_safetensors *file)
{
  struct mm_weight_files f = { mm_safetensors_path (file), &file, 1 };

  return mm_model_read_files (m, &f);
}

/* ---- identity ---- */

mm_status
mm_model_sha256 (struct mm_model *m, char text[MM_SHA256_TEXT])
{
  enum { PIECE = 1 << 18 };
  struct mm_sha256 *hash;
  float *x;
  mm_status st = mm_alloc ("model's hash", PIECE, sizeof *x, &x);

  if (st == MM_OK)
    st = mm_sha256_open (&hash);
  if (st < 0)
    {
      free (x);
      return st;
    }
  for (size_t at = 0; st == MM_OK && at < m->size; at += PIECE)
    {
      size_t n = m->size - at < PIECE ? m->size - at : PIECE;

      st = mm_backend_get (m->be, x, m->values + at, n * sizeof *x);
      mm_sha256_add (hash, x, n * sizeof *x);
    }
  mm_sha256_close (hash, text);
  free (x);
  return st;
}

/* ---- writing ---- */

/* PREFIX and the name of P; false when they do not fit.  */
static bool
prefixed_name (const char *prefix, const struct mm_param *p, char name[256])
{
  return snprintf (name, 256, "%s%s", prefix, p->name) < 256;
}

mm_status
mm_model_declare (const struct mm_model *m, const char *prefix, struct mm_safetensors_writer *w)
{
  mm_status st = MM_OK;

  struct mm_params trained = mm_model_trained (m);

  for (size_t i = 0; st == MM_OK && i < trained.count; i++)
    {
      const struct mm_param *p = &trained.param[i];
      const uint64_t shape[2] = { p->n_dims == 2 ? p->rows : p->cols, p->cols };
      char name[256];

      if (!prefixed_name (prefix, p, name))
        return mm_fail (MM_EINVAL, "%s: the prefix of a tensor's name is too long", prefix);
      st = mm_safetensors_declare (w, name, MM_F32, p->n_dims, shape);
    }
  return st;
}

mm_status
mm_model_write (const struct mm_model *m, const char *prefix, const float *values,
                struct mm_safetensors_writer *w)
{
  mm_status st = MM_OK;

  struct mm_params trained = mm_model_trained (m);

  for (size_t i = 0; st == MM_OK && i < trained.count; i++)
    {
      const struct mm_param *p = &trained.param[i];
      char name[256];

      if (!prefixed_name (prefix, p, name))
        return mm_fail (MM_EINVAL, "%s: the prefix of a tensor's name is too long", prefix);
      st = mm_safetensors_write (w, name, values + p->offset, p->size * sizeof *values);
    }
  return st;
}

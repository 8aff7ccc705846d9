/* diff.c -- collect the tensors of both sides, walk the two sorted lists.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/memory.h>
#include <minimind/safetensors.h>

#include "describe.h"
#include "diff.h"

enum { PIECE = 4096 };          /* elements compared at a time */

struct item
{
  char *key;                    /* what it is called on both sides */
  const struct mm_safetensors *file;
  const struct mm_tensor *tensor;
};

struct side
{
  char *path;
  enum kind kind;
  struct mm_safetensors **files;
  size_t n_files;
  struct item *items;           /* by key */
  size_t n_items, capacity;
  char **others;                /* names of the folder's other files */
  size_t n_others;
};

/* ---- sides ---- */

static void
side_close (struct side *s)
{
  for (size_t i = 0; i < s->n_items; i++)
    free (s->items[i].key);
  for (size_t i = 0; i < s->n_files; i++)
    mm_safetensors_close (s->files[i]);
  names_free (s->others, s->n_others);
  free (s->items);
  free (s->files);
  free (s->path);
}

/* Open PATH as S's next file and list its tensors, PREFIX and a slash before their names unless it is NULL.  */
static mm_status
add_file (struct side *s, const char *path, const char *prefix)
{
  struct mm_safetensors *f;
  mm_status st = mm_safetensors_open (path, &f);

  if (st < 0)
    return st;
  s->files[s->n_files++] = f;
  for (size_t i = 0; st == MM_OK && i < mm_safetensors_count (f); i++)
    {
      const struct mm_tensor *t = mm_safetensors_at (f, i);
      struct item item = { NULL, f, t };

      st = mm_grow ("list of tensors", &s->items, &s->capacity, s->n_items + 1, sizeof *s->items);
      if (st == MM_OK && asprintf (&item.key, "%s%s%s", prefix ? prefix : "", prefix ? "/" : "", t->name) < 0)
        st = mm_fail (MM_ENOMEM, "%s: no memory", path);
      if (st == MM_OK)
        s->items[s->n_items++] = item;
    }
  return st;
}

static mm_status
add_folder (struct side *s)
{
  char **names;
  size_t n;
  mm_status st = names_list (s->path, "", ".safetensors", false, &names, &n);

  if (st == MM_OK)
    st = mm_alloc ("list of files", n, sizeof *s->files, &s->files);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      char *path = mm_path_join (s->path, names[i]);

      st = path ? add_file (s, path, s->kind == KIND_DATASET ? names[i] : NULL)
                : mm_fail (MM_ENOMEM, "%s: no memory", s->path);
      free (path);
    }
  names_free (names, n);
  return st < 0 ? st : names_list (s->path, "", "", false, &s->others, &s->n_others);
}

static int
compare_items (const void *a, const void *b)
{
  return strcmp (((const struct item *) a)->key, ((const struct item *) b)->key);
}

static mm_status
side_open (const char *path, struct side *s)
{
  mm_status st = kind_detect (path, &s->kind);

  if (st == MM_OK && s->kind == KIND_RUN)
    {
      st = mm_checkpoint_folder (path, &s->path);
      if (st == MM_OK)
        st = kind_detect (s->path, &s->kind);
    }
  else if (st == MM_OK && !(s->path = strdup (path)))
    st = mm_fail (MM_ENOMEM, "%s: no memory", path);
  if (st < 0 || s->kind == KIND_TOKENIZER)
    return st;
  if (kind_is_folder (s->kind))
    st = add_folder (s);
  else
    {
      st = mm_alloc ("list of files", 1, sizeof *s->files, &s->files);
      if (st == MM_OK)
        st = add_file (s, s->path, NULL);
    }
  if (s->n_items)
    qsort (s->items, s->n_items, sizeof *s->items, compare_items);
  return st;
}

/* ---- tensors ---- */

static bool
same_shape (const struct mm_tensor *a, const struct mm_tensor *b)
{
  if (a->n_dims != b->n_dims)
    return false;
  for (int i = 0; i < a->n_dims; i++)
    if (a->shape[i] != b->shape[i])
      return false;
  return true;
}

struct difference
{
  uint64_t differing;           /* elements (bytes, where there are no elements of whole bytes) */
  double largest;
  bool numbers;                 /* LARGEST means something */
};

static void
compare_piece (enum mm_dtype dtype, const char *a, const char *b, size_t n, size_t width, struct difference *d)
{
  double x[PIECE], y[PIECE];

  d->numbers = mm_dtype_values (dtype, a, n, x) && mm_dtype_values (dtype, b, n, y);
  for (size_t i = 0; i < n; i++)
    {
      if (memcmp (a + i * width, b + i * width, width) == 0)
        continue;
      d->differing++;
      if (d->numbers && isnan (x[i] - y[i]))
        d->largest = HUGE_VAL;
      else if (d->numbers && fabs (x[i] - y[i]) > d->largest)
        d->largest = fabs (x[i] - y[i]);
    }
}

/* Compare two tensors of one dtype and shape.  */
static mm_status
compare_values (const struct item *a, const struct item *b, struct difference *d)
{
  static char x[PIECE * 8], y[PIECE * 8];
  size_t bits = mm_dtype_bits (a->tensor->dtype), width = bits % 8 ? 1 : bits / 8;
  mm_status st = MM_OK;

  *d = (struct difference) { .largest = 0 };
  for (uint64_t at = 0; st == MM_OK && at < a->tensor->size;)
    {
      uint64_t left = a->tensor->size - at;
      size_t n = left < PIECE * width ? (size_t) left : PIECE * width;

      st = mm_safetensors_read (a->file, a->tensor, at, x, n);
      if (st == MM_OK)
        st = mm_safetensors_read (b->file, b->tensor, at, y, n);
      if (st == MM_OK)
        compare_piece (a->tensor->dtype, x, y, n / width, width, d);
      at += n;
    }
  return st;
}

static json_t *
shape_array (const struct mm_tensor *t)
{
  json_t *shape = json_array ();

  for (int i = 0; i < t->n_dims; i++)
    json_array_append_new (shape, json_integer ((json_int_t) t->shape[i]));
  return shape;
}

/* Compare A and B and append to LIST what differs.  */
static mm_status
compare_tensors (const struct item *a, const struct item *b, json_t *list)
{
  const struct mm_tensor *x = a->tensor, *y = b->tensor;
  struct difference d;
  mm_status st;

  if (x->dtype != y->dtype || !same_shape (x, y))
    {
      json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:o, s:o}", "name", a->key, "dtype_a",
                                              mm_dtype_name (x->dtype), "dtype_b", mm_dtype_name (y->dtype),
                                              "shape_a", shape_array (x), "shape_b", shape_array (y)));
      return MM_OK;
    }
  st = compare_values (a, b, &d);
  if (st == MM_OK && d.differing)
    json_array_append_new (list, json_pack ("{s:s, s:I, s:I, s:o}", "name", a->key, "elements",
                                            (json_int_t) tensor_elements (x), "differing",
                                            (json_int_t) d.differing, "max_abs_diff",
                                            d.numbers && isfinite (d.largest) ? json_real (d.largest)
                                                                              : json_null ()));
  return st;
}

/* Walk both sorted lists.  */
static mm_status
compare_items_of (const struct side *a, const struct side *b, json_t *result)
{
  json_t *tensors = json_array (), *only_a = json_array (), *only_b = json_array ();
  size_t i = 0, k = 0;
  json_int_t compared = 0;
  mm_status st = MM_OK;

  while (st == MM_OK && (i < a->n_items || k < b->n_items))
    {
      int order = i == a->n_items ? 1 : k == b->n_items ? -1 : compare_items (&a->items[i], &b->items[k]);

      if (order < 0)
        json_array_append_new (only_a, json_string (a->items[i++].key));
      else if (order > 0)
        json_array_append_new (only_b, json_string (b->items[k++].key));
      else
        {
          st = compare_tensors (&a->items[i++], &b->items[k++], tensors);
          compared++;
        }
    }
  json_object_set_new (result, "compared", json_integer (compared));
  json_object_set_new (result, "tensors", tensors);
  json_object_set_new (result, "only_a", only_a);
  json_object_set_new (result, "only_b", only_b);
  return st;
}

/* ---- other files ---- */

/* MANIFEST repeats what its files say, and tensors have been compared.  */
static bool
is_other (const char *name)
{
  size_t n = strlen (name);

  return strcmp (name, "MANIFEST") != 0 && !(n > 12 && strcmp (name + n - 12, ".safetensors") == 0);
}

static mm_status
compare_bytes (const char *a, const char *b, bool *same)
{
  char x[MM_SHA256_TEXT], y[MM_SHA256_TEXT];
  mm_status st = mm_sha256_file (a, x);

  if (st == MM_OK)
    st = mm_sha256_file (b, y);
  *same = st == MM_OK && strcmp (x, y) == 0;
  return st;
}

/* File NAME of both folders.  */
static mm_status
compare_named (const struct side *a, const struct side *b, const char *name, json_t *list)
{
  char *x = mm_path_join (a->path, name), *y = mm_path_join (b->path, name);
  bool same = false;
  mm_status st = x && y ? compare_bytes (x, y, &same) : mm_fail (MM_ENOMEM, "%s: no memory", name);

  if (st == MM_OK && !same)
    json_array_append_new (list, json_string (name));
  free (x);
  free (y);
  return st;
}

static mm_status
compare_others (const struct side *a, const struct side *b, json_t *list)
{
  size_t i = 0, k = 0;
  mm_status st = MM_OK;

  while (st == MM_OK && (i < a->n_others || k < b->n_others))
    {
      int order = i == a->n_others ? 1 : k == b->n_others ? -1 : strcmp (a->others[i], b->others[k]);
      const char *name = order <= 0 ? a->others[i] : b->others[k];

      i += order <= 0;
      k += order >= 0;
      if (!is_other (name))
        continue;
      if (order != 0)
        json_array_append_new (list, json_string (name));
      else
        st = compare_named (a, b, name, list);
    }
  return st;
}

/* ---- all ---- */

static mm_status
compare_sides (const struct side *a, const struct side *b, json_t *result)
{
  json_t *files = json_array ();
  bool same = true;
  mm_status st;

  if ((a->kind == KIND_TOKENIZER) != (b->kind == KIND_TOKENIZER))
    st = mm_fail (MM_EFORMAT, "%s is a %s, %s a %s: they cannot be compared", a->path, kind_names[a->kind],
                  b->path, kind_names[b->kind]);
  else if (a->kind == KIND_TOKENIZER)
    {
      st = compare_bytes (a->path, b->path, &same);
      if (st == MM_OK && !same)
        json_array_append_new (files, json_string ("tokenizer.json"));
    }
  else
    st = compare_items_of (a, b, result);
  /* A file beside a folder is compared by its tensors alone.  */
  if (st == MM_OK && kind_is_folder (a->kind) && kind_is_folder (b->kind))
    st = compare_others (a, b, files);
  json_object_set_new (result, "files", files);
  return st;
}

mm_status
diff (const char *path_a, const char *path_b, json_t **result)
{
  static const char *const lists[] = { "tensors", "only_a", "only_b", "files" };
  struct side a = { .path = NULL }, b = { .path = NULL };
  bool same = true;
  mm_status st = side_open (path_a, &a);

  *result = json_object ();
  if (st == MM_OK)
    st = side_open (path_b, &b);
  if (st == MM_OK)
    st = compare_sides (&a, &b, *result);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    same &= json_array_size (json_object_get (*result, lists[i])) == 0;
  json_object_set_new (*result, "same", json_boolean (same));
  side_close (&a);
  side_close (&b);
  if (st < 0)
    {
      json_decref (*result);
      *result = NULL;
    }
  return st;
}

/* safetensors_read.c -- the header, validated completely, then tensors by pread.
   SPDX-License-Identifier: Apache-2.0

   The rules are those of the reference reader (safetensors/src/tensor.rs).  Two are stricter, as the
   format's README has them: the first byte is '{', and no key occurs twice.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/safetensors.h>

#include "fd.h"
#include "safetensors_header.h"

_Static_assert (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are used as they lie in the file");

struct mm_safetensors
{
  char *path;
  int fd;
  uint64_t size;                /* bytes of the file */
  json_t *header;               /* owns the names and the metadata */
  size_t count;
  struct mm_tensor *tensors;    /* by offset */
  struct mm_tensor **by_name;
};

/* ---- the header ---- */

/* Read the 8 bytes of length and the text behind them; *START is where data begins.  */
static mm_status
read_header (struct mm_safetensors *f, char **text, size_t *length, uint64_t *start)
{
  unsigned char raw[8];
  uint64_t n = 0;
  mm_status st;

  *text = NULL;
  if (f->size < sizeof raw)
    return mm_fail (MM_EFORMAT, "%s: has %llu bytes, too few for a safetensors file", f->path,
                    (unsigned long long) f->size);
  st = mm_fd_read_at (f->fd, f->path, 0, raw, sizeof raw);
  if (st < 0)
    return st;
  for (int i = 7; i >= 0; i--)
    n = n << 8 | raw[i];
  if (n > MM_MAX_HEADER)
    return mm_fail (MM_EFORMAT, "%s: not a safetensors file (its first 8 bytes would be a header's size of %llu,"
                    " want at most %llu)", f->path, (unsigned long long) n,
                    (unsigned long long) MM_MAX_HEADER);
  if (n > f->size - sizeof raw)
    return mm_fail (MM_EFORMAT, "%s: truncated: claims a header of %llu bytes, the file has %llu",
                    f->path, (unsigned long long) n, (unsigned long long) f->size);
  *text = malloc ((size_t) n + 1);
  if (!*text)
    return mm_fail (MM_ENOMEM, "%s: no memory for its header", f->path);
  *length = (size_t) n;
  *start = n + sizeof raw;
  st = mm_fd_read_at (f->fd, f->path, sizeof raw, *text, (size_t) n);
  if (st == MM_OK && (n == 0 || **text != '{'))
    st = mm_fail (MM_EFORMAT, "%s: no safetensors file: its header does not begin with '{'", f->path);
  return st;
}

/* An element of an array of unsigned integers.  */
static mm_status
unsigned_at (const struct mm_safetensors *f, const char *name, const char *what, const json_t *array,
             size_t i, uint64_t *value)
{
  const json_t *v = json_array_get (array, i);

  if (!json_is_integer (v) || json_integer_value (v) < 0)
    return mm_fail (MM_EFORMAT, "%s: %s: %s[%zu] is no unsigned integer", f->path, name, what, i);
  *value = (uint64_t) json_integer_value (v);
  return MM_OK;
}

static mm_status
parse_shape (const struct mm_safetensors *f, const json_t *shape, struct mm_tensor *t)
{
  if (!json_is_array (shape))
    return mm_fail (MM_EFORMAT, "%s: %s: want an array for shape", f->path, t->name);
  if (json_array_size (shape) > MM_MAX_DIMS)
    return mm_fail (MM_EUNSUP, "%s: %s: has %zu dimensions, want at most %d", f->path, t->name,
                    json_array_size (shape), (int) MM_MAX_DIMS);
  t->n_dims = (int) json_array_size (shape);
  for (int i = 0; i < t->n_dims; i++)
    {
      mm_status st = unsigned_at (f, t->name, "shape", shape, (size_t) i, &t->shape[i]);

      if (st < 0)
        return st;
    }
  return MM_OK;
}

/* Fill T (but its place in the file, for now relative to the data) from ENTRY.  */
static mm_status
parse_tensor (const struct mm_safetensors *f, const json_t *entry, struct mm_tensor *t)
{
  const char *dtype = json_string_value (json_object_get (entry, "dtype"));
  const json_t *range = json_object_get (entry, "data_offsets");
  uint64_t end, bytes;
  mm_status st;

  if (!json_is_object (entry))
    return mm_fail (MM_EFORMAT, "%s: %s: want an object", f->path, t->name);
  if (!dtype)
    return mm_fail (MM_EFORMAT, "%s: %s: want a string for dtype", f->path, t->name);
  if (!mm_dtype_find (dtype, &t->dtype))
    return mm_fail (MM_EFORMAT, "%s: %s: unknown dtype %s", f->path, t->name, dtype);
  st = parse_shape (f, json_object_get (entry, "shape"), t);
  if (st < 0)
    return st;
  if (!json_is_array (range) || json_array_size (range) != 2)
    return mm_fail (MM_EFORMAT, "%s: %s: want two data_offsets", f->path, t->name);
  st = unsigned_at (f, t->name, "data_offsets", range, 0, &t->offset);
  if (st == MM_OK)
    st = unsigned_at (f, t->name, "data_offsets", range, 1, &end);
  if (st < 0)
    return st;
  if (end < t->offset)
    return mm_fail (MM_EFORMAT, "%s: %s: data_offsets end before they begin", f->path, t->name);
  t->size = end - t->offset;
  if (!mm_tensor_bytes (t->dtype, t->n_dims, t->shape, &bytes))
    return mm_fail (MM_EFORMAT, "%s: %s: the size of its shape is no whole number of bytes below 2^64",
                    f->path, t->name);
  if (bytes != t->size)
    return mm_fail (MM_EFORMAT, "%s: %s: has %llu bytes, want %llu for its shape and dtype", f->path,
                    t->name, (unsigned long long) t->size, (unsigned long long) bytes);
  return MM_OK;
}

static mm_status
check_metadata (const struct mm_safetensors *f, json_t *meta)
{
  if (!json_is_object (meta))
    return mm_fail (MM_EFORMAT, "%s: %s: want an object", f->path, MM_METADATA);
  for (void *i = json_object_iter (meta); i; i = json_object_iter_next (meta, i))
    if (!json_is_string (json_object_iter_value (i)))
      return mm_fail (MM_EFORMAT, "%s: %s: %s: want a string", f->path, MM_METADATA,
                      json_object_iter_key (i));
  return MM_OK;
}

static mm_status
parse_entries (struct mm_safetensors *f)
{
  f->tensors = calloc (json_object_size (f->header) + 1, sizeof *f->tensors);
  f->by_name = calloc (json_object_size (f->header) + 1, sizeof *f->by_name);
  if (!f->tensors || !f->by_name)
    return mm_fail (MM_ENOMEM, "%s: no memory for its header", f->path);
  for (void *i = json_object_iter (f->header); i; i = json_object_iter_next (f->header, i))
    {
      const char *key = json_object_iter_key (i);
      json_t *value = json_object_iter_value (i);
      mm_status st;

      if (strcmp (key, MM_METADATA) == 0)
        st = check_metadata (f, value);
      else
        {
          f->tensors[f->count].name = key;
          st = parse_tensor (f, value, &f->tensors[f->count++]);
        }
      if (st < 0)
        return st;
    }
  return MM_OK;
}

/* By place; of tensors at one place the empty ones come first.  */
static int
compare_place (const void *a, const void *b)
{
  const struct mm_tensor *x = a, *y = b;

  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return strcmp (x->name, y->name);
}

static int
compare_name (const void *a, const void *b)
{
  const struct mm_tensor *const *x = a, *const *y = b;

  return strcmp ((*x)->name, (*y)->name);
}

/* Tensors fill the data from its START to the file's end without gap or overlap.  */
static mm_status
check_places (struct mm_safetensors *f, uint64_t start)
{
  uint64_t at = 0, length = f->size - start;

  qsort (f->tensors, f->count, sizeof *f->tensors, compare_place);
  for (size_t i = 0; i < f->count; i++)
    {
      struct mm_tensor *t = &f->tensors[i];

      if (t->offset != at)
        return mm_fail (MM_EFORMAT, "%s: %s: begins at byte %llu of the data, want %llu: %s", f->path,
                        t->name, (unsigned long long) t->offset, (unsigned long long) at,
                        t->offset < at ? "tensors overlap" : "there is a hole");
      if (t->size > length - at)
        return mm_fail (MM_EFORMAT, "%s: truncated: %s ends at byte %llu of the data, the file has %llu",
                        f->path, t->name, (unsigned long long) (at + t->size),
                        (unsigned long long) length);
      at += t->size;
      t->offset += start;
      f->by_name[i] = t;
    }
  if (at != length)
    return mm_fail (MM_EFORMAT, "%s: %llu bytes follow the last tensor, want none", f->path,
                    (unsigned long long) (length - at));
  qsort (f->by_name, f->count, sizeof *f->by_name, compare_name);
  return MM_OK;
}

static mm_status
load_header (struct mm_safetensors *f)
{
  char *text;
  size_t length = 0;
  uint64_t start = 0;
  mm_status st = read_header (f, &text, &length, &start);

  if (st == MM_OK)
    st = mm_json_parse (f->path, text, length, &f->header);
  free (text);
  if (st == MM_OK)
    st = parse_entries (f);
  return st < 0 ? st : check_places (f, start);
}

mm_status
mm_safetensors_open (const char *path, struct mm_safetensors **file)
{
  struct mm_safetensors *f = calloc (1, sizeof *f);
  mm_status st;

  *file = NULL;
  if (!f || !(f->path = strdup (path)))
    {
      free (f);
      return mm_fail (MM_ENOMEM, "%s: no memory", path);
    }
  st = mm_fd_open_regular (path, &f->fd, &f->size);
  if (st == MM_OK)
    st = load_header (f);
  if (st < 0)
    {
      mm_safetensors_close (f);
      return st;
    }
  *file = f;
  return MM_OK;
}

void
mm_safetensors_close (struct mm_safetensors *f)
{
  if (!f)
    return;
  if (f->fd >= 0)
    close (f->fd);
  json_decref (f->header);
  free (f->tensors);
  free (f->by_name);
  free (f->path);
  free (f);
}

/* ---- looking ---- */

const char *
mm_safetensors_path (const struct mm_safetensors *f)
{
  return f->path;
}

uint64_t
mm_safetensors_size (const struct mm_safetensors *f)
{
  return f->size;
}

size_t
mm_safetensors_count (const struct mm_safetensors *f)
{
  return f->count;
}

const struct mm_tensor *
mm_safetensors_at (const struct mm_safetensors *f, size_t i)
{
  return &f->tensors[i];
}

const struct mm_tensor *
mm_safetensors_find (const struct mm_safetensors *f, const char *name)
{
  struct mm_tensor key = { .name = name }, *pointer = &key;
  struct mm_tensor **found = bsearch (&pointer, f->by_name, f->count, sizeof *f->by_name, compare_name);

  return found ? *found : NULL;
}

mm_status
mm_safetensors_want (const struct mm_safetensors *f, const char *name, enum mm_dtype dtype, int n_dims,
                     const struct mm_tensor **tensor)
{
  const struct mm_tensor *t = mm_safetensors_find (f, name);

  *tensor = t;
  if (!t)
    return mm_fail (MM_EFORMAT, "%s: has no tensor %s", f->path, name);
  if (t->dtype != dtype || t->n_dims != n_dims)
    return mm_fail (MM_EFORMAT, "%s: %s: has dtype %s and %s, want %s and %d", f->path, name,
                    mm_dtype_name (t->dtype), MM_COUNT ((uint64_t) t->n_dims, "dimension"), mm_dtype_name (dtype),
                    n_dims);
  return MM_OK;
}

const char *
mm_safetensors_meta (const struct mm_safetensors *f, const char *key)
{
  return json_string_value (json_object_get (json_object_get (f->header, MM_METADATA), key));
}

bool
mm_safetensors_meta_at (const struct mm_safetensors *f, size_t i, const char **key, const char **value)
{
  json_t *meta = json_object_get (f->header, MM_METADATA);
  void *at = json_object_iter (meta);

  while (at && i-- > 0)
    at = json_object_iter_next (meta, at);
  if (!at)
    return false;
  *key = json_object_iter_key (at);
  *value = json_string_value (json_object_iter_value (at));
  return true;
}

/* ---- reading ---- */

mm_status
mm_safetensors_read (const struct mm_safetensors *f, const struct mm_tensor *t, uint64_t offset,
                     void *data, size_t size)
{
  if (offset > t->size || size > t->size - offset)
    return mm_fail (MM_EINVAL, "%s: %s: %zu bytes from byte %llu on, it has %llu", f->path, t->name,
                    size, (unsigned long long) offset, (unsigned long long) t->size);
  return mm_fd_read_at (f->fd, f->path, t->offset + offset, data, size);
}

mm_status
mm_safetensors_read_f32 (const struct mm_safetensors *f, const struct mm_tensor *t, float *data)
{
  enum { PIECE = 2048 };
  double values[PIECE];
  char raw[PIECE * sizeof (double)];
  size_t width = mm_dtype_bits (t->dtype) / 8;

  if (t->dtype == MM_F32)
    return mm_safetensors_read (f, t, 0, data, (size_t) t->size);
  if (t->dtype != MM_F16 && t->dtype != MM_BF16 && t->dtype != MM_F64)
    return mm_fail (MM_EUNSUP, "%s: %s: has dtype %s, want F32, F16, BF16 or F64", f->path, t->name,
                    mm_dtype_name (t->dtype));
  for (uint64_t at = 0; at < t->size;)
    {
      size_t n = t->size - at < PIECE * width ? (size_t) (t->size - at) : PIECE * width;
      mm_status st = mm_safetensors_read (f, t, at, raw, n);

      if (st < 0)
        return st;
      mm_dtype_values (t->dtype, raw, n / width, values);
      for (size_t i = 0; i < n / width; i++)
        *data++ = (float) values[i];
      at += n;
    }
  return MM_OK;
}

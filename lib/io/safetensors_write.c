/* safetensors_write.c -- tensors in any interleaving into one file of a fixed layout.
   SPDX-License-Identifier: Apache-2.0

   Where all sizes are known from the start, tensors go straight to their places, and the header into the
   room before them at commit.  If a tensor grows, the place of others depends on its final size: then each
   tensor is spooled in an unnamed file and they are put in a row at commit; but one may go to where it will stand if
   those before it become as large as expected, and is moved at commit if they do not.  Even that is cheap: pages that
   are in the cache are moved in half the time that it takes to fill new ones.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/memory.h>
#include <minimind/safetensors.h>

#include "fd.h"
#include "hash_along.h"
#include "safetensors_header.h"

enum
{
  ALIGNMENT = 4096,             /* of the data's start */
  BUFFER_SIZE = 1 << 16,        /* small writes are gathered */
  COPY_SIZE = 1 << 18,          /* stays in a core's cache */
  AHEAD = 8 << 20               /* bytes of a tensor after which the disk may begin with them */
};

struct part
{
  struct mm_tensor t;           /* offset: from the data's start; size: as declared or grown */
  char *name;
  bool growing;
  uint64_t row_bytes;           /* of a growing tensor */
  uint64_t written;             /* bytes, those in the buffer not counted */
  uint64_t on_way;              /* of them, those that the disk was told to begin with */
  int spool;                    /* -1: none yet, or straight into the file */
  char *buffer;                 /* BUFFER_SIZE bytes, or NULL */
  size_t used;
};

struct mm_safetensors_writer
{
  char *path;
  struct mm_output *out;
  json_t *meta;
  struct part *parts;
  size_t count, capacity;
  struct part *last;            /* that was written to */
  bool begun;                   /* nothing can be declared any more */
  bool growing;
  char *direct;                 /* the growing tensor that is not spooled, or NULL */
  uint64_t expected;            /* bytes of growing tensors before it, MM_GROWING if no one knows */
  uint64_t place;               /* of it in the file, once it has a byte */
  uint64_t start;               /* of the data in the file, once begun without growing tensors */
  bool hash_along;
  struct mm_hash_along *hash;   /* under way, or NULL */
  char *header;                 /* as it was hashed; START bytes */
};

/* ---- beginning ---- */

mm_status
mm_safetensors_create (const char *path, bool publish, bool force, struct mm_safetensors_writer **result)
{
  struct mm_safetensors_writer *w = calloc (1, sizeof *w);
  mm_status st;

  *result = NULL;
  if (!w || !(w->path = strdup (path)) || !(w->meta = json_object ()))
    {
      mm_safetensors_abort (w);
      return mm_fail (MM_ENOMEM, "%s: no memory", path);
    }
  st = publish ? mm_output_open (path, force, &w->out) : mm_output_open_plain (path, &w->out);
  if (st == MM_OK)
    st = mm_safetensors_add_meta (w, "format", "pt");
  if (st < 0)
    mm_safetensors_abort (w);
  else
    *result = w;
  return st;
}

mm_status
mm_safetensors_add_meta (struct mm_safetensors_writer *w, const char *key, const char *value)
{
  if (json_object_set_new (w->meta, key, json_string (value)) < 0)
    return mm_fail (MM_EINVAL, "%s: metadata %s: no valid UTF-8", w->path, key);
  return MM_OK;
}

void
mm_safetensors_hash_along (struct mm_safetensors_writer *w)
{
  w->hash_along = true;
}

static struct part *
find_part (struct mm_safetensors_writer *w, const char *name)
{
  if (w->last && strcmp (w->last->name, name) == 0)
    return w->last;
  for (size_t i = 0; i < w->count; i++)
    if (strcmp (w->parts[i].name, name) == 0)
      return &w->parts[i];
  return NULL;
}

/* The sizes of P from its shape.  */
static mm_status
measure (const struct mm_safetensors_writer *w, struct part *p)
{
  uint64_t *size = p->growing ? &p->row_bytes : &p->t.size;

  if (p->growing)
    p->t.shape[0] = 1;
  if (!mm_tensor_bytes (p->t.dtype, p->t.n_dims, p->t.shape, size) || *size > INT64_MAX)
    return mm_fail (MM_EINVAL, "%s: %s: its size is no whole number of bytes below 2^63", w->path, p->name);
  if (p->growing && p->row_bytes == 0)
    return mm_fail (MM_EINVAL, "%s: %s: a growing tensor's rows are empty", w->path, p->name);
  return MM_OK;
}

mm_status
mm_safetensors_declare (struct mm_safetensors_writer *w, const char *name, enum mm_dtype dtype,
                        int n_dims, const uint64_t *shape)
{
  struct part *p;
  mm_status st;

  if (w->begun)
    return mm_fail (MM_EINVAL, "%s: %s: declared after the first write", w->path, name);
  if (n_dims < 0 || n_dims > MM_MAX_DIMS)
    return mm_fail (MM_EINVAL, "%s: %s: %d dimensions, want 0 to %d", w->path, name, n_dims,
                    (int) MM_MAX_DIMS);
  if (strcmp (name, MM_METADATA) == 0 || find_part (w, name))
    return mm_fail (MM_EINVAL, "%s: %s: name is taken", w->path, name);
  st = mm_grow (w->path, &w->parts, &w->capacity, w->count + 1, sizeof *w->parts);
  if (st < 0)
    return st;
  p = &w->parts[w->count];
  memset (p, 0, sizeof *p);
  p->t.dtype = dtype;
  p->t.n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    p->t.shape[i] = shape[i];
  p->growing = n_dims > 0 && shape[0] == MM_GROWING;
  p->spool = -1;
  p->name = strdup (name);
  if (!p->name)
    return mm_fail (MM_ENOMEM, "%s: no memory", w->path);
  st = measure (w, p);
  if (st < 0)
    {
      free (p->name);
      return st;
    }
  w->last = NULL;               /* the array may have moved */
  w->growing |= p->growing;
  w->count++;
  return MM_OK;
}

mm_status
mm_safetensors_direct (struct mm_safetensors_writer *w, const char *name, uint64_t expected)
{
  const struct part *p = find_part (w, name);

  if (!p || !p->growing || p->written > 0 || w->direct)
    return mm_fail (MM_EINVAL, "%s: %s: no growing tensor that is to be written", w->path, name);
  /* A stream cannot be written but in order.  */
  if (mm_output_is_stream (w->out))
    return MM_OK;
  w->expected = expected;
  w->direct = strdup (name);
  return w->direct ? MM_OK : mm_fail (MM_ENOMEM, "%s: no memory", w->path);
}

static bool
is_direct (const struct mm_safetensors_writer *w, const struct part *p)
{
  return w->direct && strcmp (p->name, w->direct) == 0;
}

/* ---- the header ---- */

static int
compare_layout (const void *a, const void *b)
{
  const struct part *x = a, *y = b;

  if (x->t.dtype != y->t.dtype)
    return x->t.dtype > y->t.dtype ? -1 : 1;
  return strcmp (x->name, y->name);
}

static int
compare_strings (const void *a, const void *b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The metadata with its keys sorted: equal contents give equal bytes.  */
static json_t *
sorted_metadata (json_t *meta)
{
  size_t n = 0;
  const char **keys = calloc (json_object_size (meta) + 1, sizeof *keys);
  json_t *sorted = json_object ();

  if (keys)
    {
      for (void *i = json_object_iter (meta); i; i = json_object_iter_next (meta, i))
        keys[n++] = json_object_iter_key (i);
      qsort (keys, n, sizeof *keys, compare_strings);
      for (size_t i = 0; i < n; i++)
        json_object_set (sorted, keys[i], json_object_get (meta, keys[i]));
    }
  free (keys);
  return sorted;
}

static json_t *
describe (const struct mm_tensor *t)
{
  json_t *shape = json_array ();

  for (int i = 0; i < t->n_dims; i++)
    json_array_append_new (shape, json_integer ((json_int_t) t->shape[i]));
  return json_pack ("{s:s, s:o, s:[I, I]}", "dtype", mm_dtype_name (t->dtype), "shape", shape,
                    "data_offsets", (json_int_t) t->offset, (json_int_t) (t->offset + t->size));
}

/* Give each part its offset and render the header: *TEXT is the whole room before the data, *SIZE bytes
   of length, JSON and blanks.  */
static mm_status
render_header (struct mm_safetensors_writer *w, char **text, size_t *size)
{
  json_t *header = json_object ();
  uint64_t at = 0;
  char *json;
  size_t length;
  mm_status st;

  *text = NULL;
  json_object_set_new (header, MM_METADATA, sorted_metadata (w->meta));
  for (size_t i = 0; i < w->count; i++)
    {
      struct mm_tensor *t = &w->parts[i].t;

      t->offset = at;
      if (__builtin_add_overflow (at, t->size, &at) || at > INT64_MAX
          || json_object_set_new (header, w->parts[i].name, describe (t)) < 0)
        {
          json_decref (header);
          return mm_fail (MM_EINVAL, "%s: %s: no name in UTF-8, or too large", w->path, w->parts[i].name);
        }
    }
  st = mm_json_text (header, false, &json);
  json_decref (header);
  if (st < 0)
    return st;
  length = strlen (json);
  *size = (8 + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (*size - 8 > MM_MAX_HEADER)
    st = mm_fail (MM_EINVAL, "%s: a header of %zu bytes, want at most %llu", w->path, length,
                  (unsigned long long) MM_MAX_HEADER);
  else if (!(*text = malloc (*size)))
    st = mm_fail (MM_ENOMEM, "%s: no memory for its header", w->path);
  else
    {
      memset (*text, ' ', *size);
      memcpy (*text + 8, json, length);
      for (int i = 0; i < 8; i++)
        (*text)[i] = (char) ((uint64_t) (*size - 8) >> 8 * i);
    }
  free (json);
  return st;
}

/* ---- writing ---- */

/* An unnamed file in the folder of PATH.  */
static mm_status
open_spool (const char *path, int *fd)
{
  size_t base;
  char *folder = mm_path_folder (path, &base), *name = NULL;

  if (!folder)
    return mm_fail (MM_ENOMEM, "%s: no memory", path);
  *fd = open (folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  /* Not every file system has such files: then a name that is taken away at once.  */
  if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)
      && (name = mm_temporary_name (path)))
    {
      *fd = open (name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
      if (*fd >= 0)
        unlink (name);
    }
  free (folder);
  free (name);
  return *fd < 0 ? mm_fail (MM_EIO, "%s: no room beside it: %s", path, strerror (errno)) : MM_OK;
}

/* A full disk is better known before an hour's work than after it.  Where the file system cannot
   reserve room, writing will tell.  */
static mm_status
reserve (struct mm_safetensors_writer *w)
{
  const struct mm_tensor *t = w->count ? &w->parts[w->count - 1].t : NULL;
  uint64_t end = w->start + (t ? t->offset + t->size : 0);

  if (fallocate (mm_output_fd (w->out), 0, 0, (off_t) end) < 0
      && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    return mm_fail (MM_EIO, "%s: no room for %llu bytes: %s", w->path, (unsigned long long) end,
                    strerror (errno));
  return MM_OK;
}

/* The header is in its place before the data, so that a hash can follow.  Where there is no thread for it,
   commit reads the file again.  */
static mm_status
begin_hash (struct mm_safetensors_writer *w, char *header)
{
  mm_status st = mm_output_write_at (w->out, 0, header, w->start);

  w->header = header;
  if (st == MM_OK && mm_hash_along_start (mm_output_fd (w->out), w->path, &w->hash) == MM_OK)
    mm_hash_along_to (w->hash, w->start);
  return st;
}

/* Let the hash follow to the first byte that is missing.  */
static void
follow (struct mm_safetensors_writer *w)
{
  uint64_t end = w->start;

  for (size_t i = 0; i < w->count; i++)
    {
      end += w->parts[i].written;
      if (w->parts[i].written < w->parts[i].t.size)
        break;
    }
  mm_hash_along_to (w->hash, end);
}

/* Fix the layout, before the first write.  */
static mm_status
begin (struct mm_safetensors_writer *w)
{
  char *header;
  size_t size;
  mm_status st = MM_OK;

  if (w->begun)
    return MM_OK;
  w->begun = true;
  w->last = NULL;
  if (w->count)
    qsort (w->parts, w->count, sizeof *w->parts, compare_layout);
  if (!w->growing)
    {
      st = render_header (w, &header, &size);
      w->start = size;
      if (st == MM_OK)
        st = reserve (w);
      if (st == MM_OK && w->hash_along)
        return begin_hash (w, header);
      free (header);
      return st;
    }
  return st;
}

/* Where P, which is written straight into the file, will stand if what grows before it is as large as expected.  */
static mm_status
expect_place (struct mm_safetensors_writer *w, struct part *p)
{
  uint64_t before = w->expected == MM_GROWING ? 0 : w->expected;
  char *header;
  size_t size;
  mm_status st;

  for (struct part *q = w->parts; q < p; q++)
    before += q->growing ? 0 : q->t.size;
  st = render_header (w, &header, &size);
  free (header);
  w->place = size + before;
  return st;
}

/* Before the first byte of P where a tensor grows.  */
static mm_status
begin_part (struct mm_safetensors_writer *w, struct part *p)
{
  if (!w->growing || p->written > 0)
    return MM_OK;
  return is_direct (w, p) ? expect_place (w, p) : open_spool (w->path, &p->spool);
}

/* Of what is written of the file up to END let the disk begin with what is behind *ON_WAY, if that is enough, while
   the rest is made, so that little is left for the sync at the end.  Only a hint.  */
static void
begin_writeback (struct mm_safetensors_writer *w, uint64_t *on_way, uint64_t end)
{
  if (end - *on_way < AHEAD)
    return;
#ifdef SYNC_FILE_RANGE_WRITE
  (void) sync_file_range (mm_output_fd (w->out), (off_t) *on_way, (off_t) (end - *on_way), SYNC_FILE_RANGE_WRITE);
#else
  (void) w;
#endif
  *on_way = end;
}

/* Write behind what P has so far, past its buffer.  */
static mm_status
append (struct mm_safetensors_writer *w, struct part *p, const void *data, size_t size)
{
  mm_status st = begin_part (w, p);
  uint64_t start = w->growing ? w->place : w->start + p->t.offset, on_way = start + p->on_way;

  if (st < 0)
    return st;
  if (p->spool >= 0)
    st = mm_fd_write_at (p->spool, w->path, p->written, data, size);
  else
    st = mm_output_write_at (w->out, start + p->written, data, size);
  if (st < 0)
    return st;
  p->written += size;
  if (w->hash)
    follow (w);
  if (w->hash || (p->spool < 0 && w->direct && w->expected != MM_GROWING))
    begin_writeback (w, &on_way, start + p->written);
  p->on_way = on_way - start;
  return MM_OK;
}

static mm_status
flush (struct mm_safetensors_writer *w, struct part *p)
{
  size_t size = p->used;

  p->used = 0;
  return size ? append (w, p, p->buffer, size) : MM_OK;
}

mm_status
mm_safetensors_write (struct mm_safetensors_writer *w, const char *name, const void *data, size_t size)
{
  mm_status st = begin (w);
  struct part *p = st < 0 ? NULL : find_part (w, name);
  uint64_t have;

  if (st < 0)
    return st;
  if (!p)
    return mm_fail (MM_EINVAL, "%s: %s: not declared", w->path, name);
  w->last = p;
  have = p->written + p->used;
  if (size > (p->growing ? INT64_MAX - have : p->t.size - have))
    return mm_fail (MM_EINVAL, "%s: %s: more than its %llu bytes", w->path, name,
                    (unsigned long long) p->t.size);
  if (size == 0)
    return MM_OK;
  if (size > BUFFER_SIZE - p->used)
    st = flush (w, p);
  if (st < 0)
    return st;
  if (size >= BUFFER_SIZE)
    return append (w, p, data, size);
  if (!p->buffer && !(p->buffer = malloc (BUFFER_SIZE)))
    return mm_fail (MM_ENOMEM, "%s: no memory", w->path);
  memcpy (p->buffer + p->used, data, size);
  p->used += size;
  return MM_OK;
}

/* ---- completing ---- */

/* Flush everything and see that it is complete; growing tensors get their size.  */
static mm_status
complete (struct mm_safetensors_writer *w)
{
  for (size_t i = 0; i < w->count; i++)
    {
      struct part *p = &w->parts[i];
      mm_status st = flush (w, p);

      if (st < 0)
        return st;
      free (p->buffer);
      p->buffer = NULL;
      if (p->growing)
        {
          p->t.shape[0] = p->written / p->row_bytes;
          p->t.size = p->t.shape[0] * p->row_bytes;
        }
      if (p->written != p->t.size)
        return mm_fail (MM_EINVAL, "%s: %s: %llu bytes written, want %llu", w->path, p->name,
                        (unsigned long long) p->written,
                        (unsigned long long) (p->growing ? p->t.size + p->row_bytes : p->t.size));
    }
  return MM_OK;
}

/* Copy P from its spool, which is freed, to its place, or behind all that was written.  */
static mm_status
copy_spool (struct mm_safetensors_writer *w, struct part *p, bool to_place, char *copy, struct mm_sha256 *h)
{
  uint64_t place = w->start + p->t.offset, on_way = place;
  mm_status st = MM_OK;

  for (uint64_t at = 0; st == MM_OK && at < p->written;)
    {
      size_t n = p->written - at < COPY_SIZE ? (size_t) (p->written - at) : COPY_SIZE;

      st = mm_fd_read_at (p->spool, w->path, at, copy, n);
      if (st == MM_OK)
        st = to_place ? mm_output_write_at (w->out, place + at, copy, n) : mm_output_write (w->out, copy, n);
      if (st == MM_OK && h)
        mm_sha256_add (h, copy, n);
      at += n;
      begin_writeback (w, &on_way, place + at);
    }
  if (p->spool >= 0)
    close (p->spool);
  p->spool = -1;
  return st;
}

/* The header, then the spools in a row.  */
static mm_status
assemble (struct mm_safetensors_writer *w, const char *header, size_t size, char *copy, struct mm_sha256 *h)
{
  mm_status st = mm_output_write (w->out, header, size);

  if (h)
    mm_sha256_add (h, header, size);
  w->start = size;
  for (size_t i = 0; st == MM_OK && i < w->count; i++)
    st = copy_spool (w, &w->parts[i], false, copy, h);
  return st;
}

/* Move SIZE bytes of the file from FROM to TO, where they may overlap.  */
static mm_status
move (struct mm_safetensors_writer *w, uint64_t from, uint64_t to, uint64_t size, char *copy)
{
  mm_status st = MM_OK;

  for (uint64_t done = 0; st == MM_OK && from != to && done < size;)
    {
      size_t n = size - done < COPY_SIZE ? (size_t) (size - done) : COPY_SIZE;
      uint64_t at = to > from ? size - done - n : done;

      st = mm_fd_read_at (mm_output_fd (w->out), w->path, from + at, copy, n);
      if (st == MM_OK)
        st = mm_output_write_at (w->out, to + at, copy, n);
      done += n;
    }
  return st;
}

/* Put what was spooled, and what was not, into its place in the file, behind a header of SIZE bytes.  */
static mm_status
settle (struct mm_safetensors_writer *w, size_t size, char *copy)
{
  const struct mm_tensor *last = &w->parts[w->count - 1].t;
  mm_status st = MM_OK;

  w->start = size;
  for (size_t i = 0; st == MM_OK && i < w->count; i++)
    if (is_direct (w, &w->parts[i]) && w->parts[i].written > 0)
      st = move (w, w->place, size + w->parts[i].t.offset, w->parts[i].written, copy);
  for (size_t i = 0; st == MM_OK && i < w->count; i++)
    if (w->parts[i].spool >= 0)
      st = copy_spool (w, &w->parts[i], true, copy, NULL);
  if (st == MM_OK && ftruncate (mm_output_fd (w->out), (off_t) (size + last->offset + last->size)) < 0)
    st = mm_fail_errno_output (w->path);
  return st;
}

/* The data is in its place: put the header before it.  Metadata added since the first write may need
   more room.  */
static mm_status
fill_in (struct mm_safetensors_writer *w, const char *header, size_t size, char *copy, struct mm_sha256 *h)
{
  const struct mm_tensor *last = w->count ? &w->parts[w->count - 1].t : NULL;
  uint64_t total = last ? last->offset + last->size : 0;
  mm_status st = move (w, w->start, size, total, copy);

  if (st == MM_OK)
    st = mm_output_write_at (w->out, 0, header, size);
  for (uint64_t at = 0, end = size + total; h && st == MM_OK && at < end;)
    {
      size_t n = end - at < COPY_SIZE ? (size_t) (end - at) : COPY_SIZE;

      st = mm_fd_read_at (mm_output_fd (w->out), w->path, at, copy, n);
      if (st == MM_OK)
        mm_sha256_add (h, copy, n);
      at += n;
    }
  return st;
}

/* The hash that followed holds if the header is still what it saw.  */
static void
keep_hash (struct mm_safetensors_writer *w, const char *header, size_t size)
{
  if (w->hash && (size != w->start || memcmp (header, w->header, size) != 0))
    {
      mm_hash_along_abort (w->hash);
      w->hash = NULL;
    }
}

mm_status
mm_safetensors_commit (struct mm_safetensors_writer *w, char *sha256)
{
  char *header = NULL, *copy = malloc (COPY_SIZE), text[MM_SHA256_TEXT];
  struct mm_sha256 *h = NULL;
  size_t size;
  mm_status st = copy ? begin (w) : mm_fail (MM_ENOMEM, "%s: no memory", w->path);

  if (st == MM_OK)
    st = complete (w);
  if (st == MM_OK)
    st = render_header (w, &header, &size);
  if (st == MM_OK)
    keep_hash (w, header, size);
  if (st == MM_OK && sha256 && !w->hash)
    st = mm_sha256_open (&h);
  if (st == MM_OK && w->direct)
    st = settle (w, size, copy);
  if (st == MM_OK)
    st = (w->growing && !w->direct ? assemble : fill_in) (w, header, size, copy, h);
  if (st == MM_OK)
    {
      st = mm_output_commit (w->out);
      w->out = NULL;
    }
  if (h)
    mm_sha256_close (h, st == MM_OK ? sha256 : text);
  if (st == MM_OK && w->hash)
    {
      /* It went on while the disk was waited for.  */
      st = mm_hash_along_finish (w->hash, sha256 ? sha256 : text);
      w->hash = NULL;
    }
  free (header);
  free (copy);
  mm_safetensors_abort (w);
  return st;
}

void
mm_safetensors_abort (struct mm_safetensors_writer *w)
{
  if (!w)
    return;
  for (size_t i = 0; i < w->count; i++)
    {
      if (w->parts[i].spool >= 0)
        close (w->parts[i].spool);
      free (w->parts[i].buffer);
      free (w->parts[i].name);
    }
  mm_hash_along_abort (w->hash);
  mm_output_abort (w->out);
  json_decref (w->meta);
  free (w->header);
  free (w->direct);
  free (w->parts);
  free (w->path);
  free (w);
}

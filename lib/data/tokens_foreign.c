/* tokens_foreign.c -- shards of other trainers, opened: NumPy's .npy, llm.c's and nanoGPT's .bin.
   SPDX-License-Identifier: Apache-2.0

   All are one array of ids behind a header, or behind nothing.  What is read through windows is in
   tokens_read.c.  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "ids.h"
#include "tokens_file.h"

enum
{
  LLMC_HEADER = 1024,           /* bytes */
  LLMC_GPT2 = 20240520, LLMC_GPT2_VERSION = 1,
  LLMC_LLAMA3 = 20240801, LLMC_LLAMA3_VERSION = 7,
  LLMC_EVAL = 20240522, LLMC_MODEL = 20240326,
  NPY_LIMIT = 1 << 16           /* bytes of a header that we are willing to hold */
};

static const char npy_magic[] = "\x93NUMPY";

static bool
ends_with (const char *text, const char *end)
{
  size_t n = strlen (text), m = strlen (end);

  return n >= m && strcmp (text + n - m, end) == 0;
}

mm_status
tokens_kind_of (const char *path, enum tokens_kind *kind)
{
  uint8_t head[8] = { 0 };
  uint64_t size, magic;
  int fd;
  mm_status st = mm_fd_open_regular (path, &fd, &size);

  if (st < 0)
    return st;
  st = mm_fd_read_at (fd, path, 0, head, size < sizeof head ? (size_t) size : sizeof head);
  close (fd);
  magic = ids_word (head, 4);
  if (memcmp (head, npy_magic, 6) == 0)
    *kind = TOKENS_NPY;
  else if (magic == LLMC_GPT2 || magic == LLMC_LLAMA3 || magic == LLMC_EVAL || magic == LLMC_MODEL)
    *kind = TOKENS_LLMC;
  else
    *kind = ends_with (path, ".bin") ? TOKENS_RAW : TOKENS_OURS;
  return st;
}

/* ---- headers: each sets dtype, count and where the ids begin ---- */

static mm_status
read_llmc (struct mm_tokens *f, uint64_t size)
{
  uint8_t head[12];
  uint64_t magic, version;
  mm_status st;

  if (size < LLMC_HEADER)
    return mm_fail (MM_EFORMAT, "%s: llm.c's header has %d bytes, this file %" PRIu64, f->path, LLMC_HEADER, size);
  st = mm_fd_read_at (f->ids.fd, f->path, 0, head, sizeof head);
  if (st < 0)
    return st;
  magic = ids_word (head, 4);
  version = ids_word (head + 4, 4);
  if (magic == LLMC_EVAL || magic == LLMC_MODEL)
    return mm_fail (MM_EFORMAT, "%s: is llm.c's file of %s, want one of tokens", f->path,
                    magic == LLMC_EVAL ? "multiple choices" : "a model");
  if (version != (magic == LLMC_GPT2 ? LLMC_GPT2_VERSION : LLMC_LLAMA3_VERSION))
    return mm_fail (MM_EFORMAT, "%s: llm.c's header with magic %" PRIu64 " has version %" PRIu64 ", want %d",
                    f->path, magic, version, magic == LLMC_GPT2 ? LLMC_GPT2_VERSION : LLMC_LLAMA3_VERSION);
  f->dtype = magic == LLMC_GPT2 ? MM_U16 : MM_U32;
  f->count = ids_word (head + 8, 4);
  f->ids.base = LLMC_HEADER;
  return MM_OK;
}

static mm_status
read_raw (struct mm_tokens *f, uint64_t size)
{
  if (size % 2 != 0)
    return mm_fail (MM_EFORMAT, "%s: has %s, no whole number of 16-bit ids", f->path, MM_COUNT (size, "byte"));
  f->dtype = MM_U16;
  f->count = size / 2;
  return MM_OK;
}

/* What follows KEY and a colon in the dictionary TEXT, or NULL.  */
static const char *
npy_value (const char *text, const char *key)
{
  const char *at = strstr (text, key);

  if (!at)
    return NULL;
  at += strlen (key);
  at += strspn (at, " ");
  return *at == ':' ? at + 1 + strspn (at + 1, " ") : NULL;
}

/* The header's dictionary: NumPy writes a literal of Python with these three keys.  */
static mm_status
parse_npy (struct mm_tokens *f, const char *text)
{
  static const struct { const char *name; enum mm_dtype dtype; } types[]
    = { { "'<u2'", MM_U16 }, { "'<u4'", MM_U32 }, { "'<i4'", MM_I32 }, { "'<i8'", MM_I64 } };
  const char *descr = npy_value (text, "'descr'"), *order = npy_value (text, "'fortran_order'");
  const char *shape = npy_value (text, "'shape'"), *type = NULL;
  char *end;

  if (!descr || !order || !shape)
    return mm_fail (MM_EFORMAT, "%s: NumPy's header lacks descr, fortran_order or shape", f->path);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strncmp (descr, types[i].name, 5) == 0)
      {
        type = types[i].name;
        f->dtype = types[i].dtype;
      }
  if (!type)
    return mm_fail (MM_EFORMAT, "%s: elements of type %.*s, want '<u2', '<u4', '<i4' or '<i8'", f->path,
                    (int) strcspn (descr, ",}"), descr);
  if (strncmp (order, "False", 5) != 0)
    return mm_fail (MM_EFORMAT, "%s: an array in Fortran's order, want C's", f->path);
  if (*shape != '(' || shape[1] < '0' || shape[1] > '9')
    return mm_fail (MM_EFORMAT, "%s: an array of shape %.*s, want one dimension", f->path,
                    (int) strcspn (shape, "}\n") < 40 ? (int) strcspn (shape, "}\n") : 40, shape);
  f->count = strtoull (shape + 1, &end, 10);
  end += strspn (end, " ");
  if (*end != ',' || end[1 + strspn (end + 1, " ")] != ')')
    return mm_fail (MM_EFORMAT, "%s: an array of more than one dimension, want one", f->path);
  return MM_OK;
}

static mm_status
read_npy (struct mm_tokens *f, uint64_t size)
{
  uint8_t head[12];
  size_t prefix, length;
  char *text;
  mm_status st;

  if (size < sizeof head)
    return mm_fail (MM_EFORMAT, "%s: ends inside NumPy's header", f->path);
  st = mm_fd_read_at (f->ids.fd, f->path, 0, head, sizeof head);
  if (st < 0)
    return st;
  if (head[6] < 1 || head[6] > 3 || head[7] != 0)
    return mm_fail (MM_EFORMAT, "%s: version %d.%d of NumPy's format, want 1.0 to 3.0", f->path, head[6], head[7]);
  prefix = head[6] == 1 ? 10 : 12;
  length = (size_t) ids_word (head + 8, head[6] == 1 ? 2 : 4);
  if (length > NPY_LIMIT || length > size - prefix)
    return mm_fail (MM_EFORMAT, "%s: NumPy's header would have %zu bytes, the file has %" PRIu64, f->path, length,
                    size);
  st = mm_alloc (f->path, length + 1, 1, &text);
  if (st >= 0)
    st = mm_fd_read_at (f->ids.fd, f->path, prefix, text, length);
  if (st >= 0)
    st = parse_npy (f, text);
  free (text);
  f->ids.base = prefix + length;
  return st;
}

/* ---- documents ---- */

static bool
write_offset (FILE *to, uint64_t offset)
{
  uint8_t bytes[8];

  for (int b = 0; b < 8; b++)
    bytes[b] = (uint8_t) (offset >> 8 * b);
  return fwrite (bytes, 1, sizeof bytes, to) == sizeof bytes;
}

/* Write where documents begin, and the end, to TO: behind each EOS a new one begins.  */
static mm_status
write_offsets (struct mm_tokens *f, int64_t eos, FILE *to)
{
  size_t width = tokens_width (f), most = f->ids.capacity / width, n;
  uint64_t begun = 0;
  bool good = write_offset (to, 0);

  for (uint64_t at = 0; good && at < f->count; at += n)
    {
      mm_status st;

      n = f->count - at < most ? (size_t) (f->count - at) : most;
      st = mm_fd_read_at (f->ids.fd, f->path, f->ids.base + at * width, f->ids.data, n * width);
      if (st < 0)
        return st;
      for (size_t i = 0; good && i < n; i++)
        if (ids_any (f->ids.data, i, f->dtype) == eos)
          {
            begun = at + i + 1;
            f->documents++;
            good = write_offset (to, begun);
          }
    }
  if (good && begun < f->count)
    {
      f->documents++;
      good = write_offset (to, f->count);
    }
  return good && fflush (to) == 0 ? MM_OK : mm_fail (MM_EIO, "%s: the temporary file of its documents cannot be "
                                                     "written", f->path);
}

static mm_status
split_documents (struct mm_tokens *f)
{
  int32_t eos = mm_tokenizer_eos (f->tokenizer);
  FILE *spool;
  mm_status st;

  if (eos == MM_NO_TOKEN)
    return mm_fail (MM_EUSAGE, "%s: documents cannot end at eos: the tokenizer has none", f->path);
  spool = tmpfile ();
  if (!spool)
    return mm_fail (MM_EIO, "%s: no temporary file for its documents", f->path);
  st = write_offsets (f, eos, spool);
  if (st >= 0)
    {
      f->offsets.fd = dup (fileno (spool));
      f->offsets.total = 8 * (f->documents + 1);
      if (f->offsets.fd < 0)
        st = mm_fail_errno (f->path);
    }
  fclose (spool);
  return st;
}

mm_status
tokens_open_foreign (struct mm_tokens *f, enum tokens_kind kind, bool split_at_eos)
{
  uint64_t size, want;
  mm_status st = mm_fd_open_regular (f->path, &f->ids.fd, &size);

  if (st < 0)
    return st;
  st = kind == TOKENS_RAW ? read_raw (f, size) : kind == TOKENS_LLMC ? read_llmc (f, size) : read_npy (f, size);
  if (st < 0)
    return st;
  if (__builtin_mul_overflow (f->count, tokens_width (f), &f->ids.total)
      || __builtin_add_overflow (f->ids.base, f->ids.total, &want) || want != size)
    return mm_fail (MM_EFORMAT, "%s: the header tells of %" PRIu64 " ids of %zu bytes, but the file has %" PRIu64
                    " bytes", f->path, f->count, tokens_width (f), size);
  if (split_at_eos)
    return split_documents (f);
  f->one_document = true;
  f->documents = f->count > 0;
  return MM_OK;
}

/* tokens_read.c -- token files, the reading half: checked when opened, streamed after that.
   SPDX-License-Identifier: Apache-2.0

   Everything is read through windows of fixed size, whatever the file's: offsets and masks as
   bytes, ids as bytes too.  A range that ascends costs one read a window.  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/safetensors.h>
#include <minimind/tokens.h>

#include "ids.h"

enum { WINDOW = 65536 };        /* bytes, a multiple of every element's width */
enum { TEXT_LIMIT = 256 << 20 };        /* bytes of a tokenizer that we are willing to hold */

/* A stretch of a tensor in memory.  */
struct window
{
  const struct mm_tensor *tensor;
  uint64_t from;                /* byte of the tensor at data[0] */
  size_t size;                  /* bytes filled */
  uint8_t data[WINDOW];
};

struct mm_tokens
{
  struct mm_safetensors *file;
  struct mm_tokenizer *tokenizer;
  uint32_t vocab_size;
  uint64_t documents, count;
  bool has_mask;
  struct window offsets, ids, mask;
};

/* Point *P at byte AT of W's tensor, with *AVAILABLE bytes behind it, at least one element.  */
static mm_status
window_at (const struct mm_tokens *f, struct window *w, uint64_t at, const uint8_t **p,
           size_t *available)
{
  if (at < w->from || at - w->from >= w->size)
    {
      uint64_t from = at - at % WINDOW, left = w->tensor->size - from;
      size_t size = left < WINDOW ? (size_t) left : WINDOW;
      mm_status st = mm_safetensors_read (f->file, w->tensor, from, w->data, size);

      w->from = from;
      w->size = st < 0 ? 0 : size;
      if (st < 0)
        return st;
    }
  *p = w->data + (at - w->from);
  *available = w->size - (size_t) (at - w->from);
  return MM_OK;
}

static mm_status
offset_at (struct mm_tokens *f, uint64_t i, int64_t *offset)
{
  const uint8_t *p;
  size_t available;
  uint64_t value = 0;
  mm_status st = window_at (f, &f->offsets, 8 * i, &p, &available);

  if (st < 0)
    return st;
  for (int b = 0; b < 8; b++)
    value |= (uint64_t) p[b] << 8 * b;
  *offset = (int64_t) value;
  return MM_OK;
}

/* ---- opening ---- */

static mm_status
want_meta (const struct mm_tokens *f, const char *key, const char *want)
{
  const char *path = mm_safetensors_path (f->file);
  const char *value = mm_safetensors_meta (f->file, key);

  if (!value)
    return mm_fail (MM_EFORMAT, "%s: metadata: %s is missing, want %s", path, key, want);
  if (strcmp (value, want) != 0)
    return mm_fail (MM_EFORMAT, "%s: metadata: %s is %.80s, want %s", path, key, value, want);
  return MM_OK;
}

static mm_status
want_meta_integer (const struct mm_tokens *f, const char *key, uint64_t want)
{
  char text[24];

  snprintf (text, sizeof text, "%" PRIu64, want);
  return want_meta (f, key, text);
}

/* Tensor NAME as bytes with a NUL behind; *TEXT NULL when it is absent and not REQUIRED.  */
static mm_status
read_text (const struct mm_tokens *f, const char *name, bool required, char **text, size_t *size)
{
  const struct mm_tensor *tensor;
  mm_status st;

  *text = NULL;
  *size = 0;
  if (!required && !mm_safetensors_find (f->file, name))
    return MM_OK;
  st = mm_safetensors_want (f->file, name, MM_U8, 1, &tensor);
  if (st < 0)
    return st;
  if (tensor->size > TEXT_LIMIT)
    return mm_fail (MM_EFORMAT, "%s: %s has %" PRIu64 " bytes, at most %d are taken",
                    mm_safetensors_path (f->file), name, tensor->size, TEXT_LIMIT);
  *size = (size_t) tensor->size;
  st = mm_alloc (name, *size + 1, 1, text);
  return st < 0 ? st : mm_safetensors_read (f->file, tensor, 0, *text, *size);
}

static mm_status
read_tokenizer (struct mm_tokens *f)
{
  char *json, *config = NULL;
  size_t json_size, config_size = 0;
  mm_status st = read_text (f, "tokenizer_json", true, &json, &json_size);

  if (st >= 0)
    st = read_text (f, "tokenizer_config_json", false, &config, &config_size);
  if (st >= 0)
    {
      st = mm_tokenizer_parse ("tokenizer_json", json, json_size, config, config_size, &f->tokenizer);
      if (st < 0)
        st = mm_fail_prefix (st, "%s", mm_safetensors_path (f->file));
    }
  free (json);
  free (config);
  if (st < 0)
    return st;
  f->vocab_size = mm_tokenizer_vocab_size (f->tokenizer);
  st = want_meta (f, "tokenizer_sha256", mm_tokenizer_sha256 (f->tokenizer));
  return st < 0 ? st : want_meta_integer (f, "vocab_size", f->vocab_size);
}

static mm_status
find_tensors (struct mm_tokens *f)
{
  const char *path = mm_safetensors_path (f->file);
  const struct mm_tensor *tokens = mm_safetensors_find (f->file, "tokens");
  mm_status st;

  st = mm_safetensors_want (f->file, "doc_offsets", MM_I64, 1, &f->offsets.tensor);
  if (st >= 0)
    st = mm_safetensors_want (f->file, "tokens",
                              tokens && tokens->dtype == MM_U32 ? MM_U32 : MM_U16, 1,
                              &f->ids.tensor);
  if (st < 0)
    return st;
  if (f->offsets.tensor->shape[0] == 0)
    return mm_fail (MM_EFORMAT, "%s: doc_offsets is empty, want one more than documents", path);
  f->documents = f->offsets.tensor->shape[0] - 1;
  f->count = f->ids.tensor->shape[0];

  f->has_mask = mm_safetensors_find (f->file, "loss_mask") != NULL;
  if (f->has_mask)
    {
      st = mm_safetensors_want (f->file, "loss_mask", MM_U8, 1, &f->mask.tensor);
      if (st < 0)
        return st;
      if (f->mask.tensor->shape[0] != f->count)
        return mm_fail (MM_EFORMAT, "%s: loss_mask has %" PRIu64 " elements, want one for each of "
                        "%" PRIu64 " tokens", path, f->mask.tensor->shape[0], f->count);
    }
  return MM_OK;
}

static mm_status
check_ends (struct mm_tokens *f)
{
  int64_t first, last;
  mm_status st = offset_at (f, 0, &first);

  if (st >= 0)
    st = offset_at (f, f->documents, &last);
  if (st < 0)
    return st;
  if (first != 0 || last < 0 || (uint64_t) last != f->count)
    return mm_fail (MM_EFORMAT, "%s: doc_offsets run from %" PRId64 " to %" PRId64
                    ", want 0 to %" PRIu64, mm_safetensors_path (f->file), first, last, f->count);
  return MM_OK;
}

mm_status
mm_tokens_open (const char *path, struct mm_tokens **out)
{
  struct mm_tokens *f;
  mm_status st;

  *out = NULL;
  st = mm_alloc ("token file", 1, sizeof *f, &f);
  if (st < 0)
    return st;
  st = mm_safetensors_open (path, &f->file);
  if (st >= 0)
    st = want_meta (f, "kind", "minimind-tokens");
  if (st >= 0)
    st = find_tensors (f);
  if (st >= 0)
    st = want_meta_integer (f, "documents", f->documents);
  if (st >= 0)
    st = want_meta_integer (f, "tokens", f->count);
  if (st >= 0)
    st = check_ends (f);
  if (st >= 0)
    st = read_tokenizer (f);
  if (st < 0)
    {
      mm_tokens_close (f);
      return st;
    }
  *out = f;
  return MM_OK;
}

void
mm_tokens_close (struct mm_tokens *f)
{
  if (!f)
    return;
  mm_tokenizer_free (f->tokenizer);
  mm_safetensors_close (f->file);
  free (f);
}

/* ---- reading ---- */

const char *
mm_tokens_path (const struct mm_tokens *f)
{
  return mm_safetensors_path (f->file);
}

uint64_t
mm_tokens_documents (const struct mm_tokens *f)
{
  return f->documents;
}

uint64_t
mm_tokens_count (const struct mm_tokens *f)
{
  return f->count;
}

bool
mm_tokens_has_mask (const struct mm_tokens *f)
{
  return f->has_mask;
}

const struct mm_tokenizer *
mm_tokens_tokenizer (const struct mm_tokens *f)
{
  return f->tokenizer;
}

mm_status
mm_tokens_document (struct mm_tokens *f, uint64_t doc, uint64_t *first, uint64_t *length)
{
  int64_t from, to;
  mm_status st;

  if (doc >= f->documents)
    return mm_fail (MM_EINVAL, "%s: document %" PRIu64 " asked for, there are %" PRIu64,
                    mm_tokens_path (f), doc, f->documents);
  st = offset_at (f, doc, &from);
  if (st >= 0)
    st = offset_at (f, doc + 1, &to);
  if (st < 0)
    return st;
  if (from < 0 || to < from || (uint64_t) to > f->count)
    return mm_fail (MM_EFORMAT, "%s: document %" PRIu64 " goes from token %" PRId64 " to %" PRId64
                    " of %" PRIu64, mm_tokens_path (f), doc, from, to, f->count);
  *first = (uint64_t) from;
  *length = (uint64_t) (to - from);
  return MM_OK;
}

static mm_status
read_ids (struct mm_tokens *f, uint64_t first, size_t count, uint32_t *ids)
{
  enum mm_dtype dtype = f->ids.tensor->dtype;
  size_t width = ids_width (dtype);

  while (count > 0)
    {
      const uint8_t *p;
      size_t n, bad;
      mm_status st = window_at (f, &f->ids, first * width, &p, &n);

      if (st < 0)
        return st;
      n = n / width < count ? n / width : count;
      ids_load (p, n, dtype, ids);
      bad = ids_beyond (ids, n, f->vocab_size);
      if (bad < n)
        return mm_fail (MM_EFORMAT, "%s: token %" PRIu64 " is %" PRIu32 ", the vocabulary has %"
                        PRIu32 " ids", mm_tokens_path (f), first + bad, ids[bad], f->vocab_size);
      first += n;
      ids += n;
      count -= n;
    }
  return MM_OK;
}

static mm_status
read_mask (struct mm_tokens *f, uint64_t first, size_t count, uint8_t *mask)
{
  while (count > 0)
    {
      const uint8_t *p;
      size_t n;
      mm_status st = window_at (f, &f->mask, first, &p, &n);

      if (st < 0)
        return st;
      n = n < count ? n : count;
      for (size_t i = 0; i < n; i++)
        if (p[i] > 1)
          return mm_fail (MM_EFORMAT, "%s: loss_mask of token %" PRIu64 " is %d, want 0 or 1",
                          mm_tokens_path (f), first + i, p[i]);
      memcpy (mask, p, n);
      first += n;
      mask += n;
      count -= n;
    }
  return MM_OK;
}

mm_status
mm_tokens_read (struct mm_tokens *f, uint64_t first, size_t count, uint32_t *ids, uint8_t *mask)
{
  mm_status st;

  if (first > f->count || count > f->count - first)
    return mm_fail (MM_EINVAL, "%s: tokens %" PRIu64 " + %zu asked for, there are %" PRIu64,
                    mm_tokens_path (f), first, count, f->count);
  st = read_ids (f, first, count, ids);
  if (st < 0 || !mask)
    return st;
  if (!f->has_mask)
    {
      memset (mask, 1, count);
      return MM_OK;
    }
  return read_mask (f, first, count, mask);
}

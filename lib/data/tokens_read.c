/* tokens_read.c -- token files, the reading half: checked when opened, streamed after that.  Those of
   others are opened in tokens_foreign.c.
   SPDX-License-Identifier: Apache-2.0

   Everything is read through windows of fixed size, whatever the file's: offsets and masks as
   bytes, ids as bytes too.  A range that ascends costs one read a window.  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/memory.h>

#include "ids.h"
#include "tokens_file.h"

enum { TEXT_LIMIT = 256 << 20 };        /* bytes of a tokenizer that we are willing to hold */

/* ---- windows ---- */

static mm_status
read_bytes (const struct mm_tokens *f, const struct window *w, uint64_t from, void *data, size_t size)
{
  if (w->tensor)
    return mm_safetensors_read (f->file, w->tensor, from, data, size);
  return mm_fd_read_at (w->fd, f->path, w->base + from, data, size);
}

/* Point *P at byte AT of W's array, with *AVAILABLE bytes behind it, at least one element.  */
static mm_status
window_at (const struct mm_tokens *f, struct window *w, uint64_t at, const uint8_t **p,
           size_t *available)
{
  if (at < w->from || at - w->from >= w->size)
    {
      uint64_t from = at - at % w->capacity, left = w->total - from;
      size_t size = left < w->capacity ? (size_t) left : w->capacity;
      mm_status st = read_bytes (f, w, from, w->data, size);

      w->from = from;
      w->size = st < 0 ? 0 : size;
      if (st < 0)
        return st;
    }
  *p = w->data + (at - w->from);
  *available = w->size - (size_t) (at - w->from);
  return MM_OK;
}

/* Element I of an array of I64.  */
static mm_status
integer_at (struct mm_tokens *f, struct window *w, uint64_t i, int64_t *value)
{
  const uint8_t *p;
  size_t available;
  mm_status st = window_at (f, w, 8 * i, &p, &available);

  if (st >= 0)
    *value = (int64_t) ids_word (p, 8);
  return st;
}

/* ---- opening ---- */

static mm_status
want_meta (const struct mm_tokens *f, const char *key, const char *want)
{
  const char *path = f->path, *value = mm_safetensors_meta (f->file, key);

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
                    f->path, name, tensor->size, TEXT_LIMIT);
  *size = (size_t) tensor->size;
  st = mm_alloc (name, *size + 1, 1, text);
  return st < 0 ? st : mm_safetensors_read (f->file, tensor, 0, *text, *size);
}

/* Are these the files of T?  */
static bool
same_tokenizer (const struct mm_tokenizer *t, const char *json, size_t json_size, const char *config,
                size_t config_size)
{
  const char *json_t, *config_t;
  size_t json_t_size, config_t_size;

  mm_tokenizer_files (t, &json_t, &json_t_size, &config_t, &config_t_size);
  return json_size == json_t_size && memcmp (json, json_t, json_size) == 0
         && config_size == config_t_size
         && (config_size == 0 || memcmp (config, config_t, config_size) == 0);
}

/* KNOWN (may be NULL) is used where it is the same: to parse one takes longer than all the rest.  */
static mm_status
read_tokenizer (struct mm_tokens *f, const struct mm_tokenizer *known)
{
  char *json, *config = NULL;
  size_t json_size, config_size = 0;
  mm_status st = read_text (f, "tokenizer_json", true, &json, &json_size);

  if (st >= 0)
    st = read_text (f, "tokenizer_config_json", false, &config, &config_size);
  if (st >= 0 && known && same_tokenizer (known, json, json_size, config, config_size))
    f->tokenizer = known;
  else if (st >= 0)
    {
      st = mm_tokenizer_parse ("tokenizer_json", json, json_size, config, config_size, &f->own);
      if (st < 0)
        st = mm_fail_prefix (st, "%s", f->path);
      f->tokenizer = f->own;
    }
  free (json);
  free (config);
  if (st < 0)
    return st;
  f->vocab_size = mm_tokenizer_vocab_size (f->tokenizer);
  st = want_meta (f, "tokenizer_sha256", mm_tokenizer_sha256 (f->tokenizer));
  return st < 0 ? st : want_meta_integer (f, "vocab_size", f->vocab_size);
}

/* Let W read TENSOR.  */
static void
window_on (struct window *w, const struct mm_tensor *tensor)
{
  w->tensor = tensor;
  w->total = tensor->size;
}

static mm_status
find_mask (struct mm_tokens *f)
{
  const struct mm_tensor *mask, *turns;
  mm_status st = MM_OK;

  f->has_mask = mm_safetensors_find (f->file, "loss_mask") != NULL;
  if (f->has_mask)
    {
      st = mm_safetensors_want (f->file, "loss_mask", MM_U8, 1, &mask);
      if (st >= 0 && mask->shape[0] != f->count)
        st = mm_fail (MM_EFORMAT, "%s: loss_mask has %" PRIu64 " elements, want one for each of "
                      "%" PRIu64 " tokens", f->path, mask->shape[0], f->count);
      if (st >= 0)
        window_on (&f->mask, mask);
    }
  if (st >= 0 && mm_safetensors_find (f->file, "turn_offsets"))
    {
      st = mm_safetensors_want (f->file, "turn_offsets", MM_I64, 1, &turns);
      if (st >= 0)
        window_on (&f->turns, turns);
    }
  return st;
}

static mm_status
find_tensors (struct mm_tokens *f)
{
  const struct mm_tensor *tokens = mm_safetensors_find (f->file, "tokens"), *offsets;
  mm_status st;

  f->dtype = tokens && tokens->dtype == MM_U32 ? MM_U32 : MM_U16;
  st = mm_safetensors_want (f->file, "doc_offsets", MM_I64, 1, &offsets);
  if (st >= 0)
    st = mm_safetensors_want (f->file, "tokens", f->dtype, 1, &tokens);
  if (st < 0)
    return st;
  if (offsets->shape[0] == 0)
    return mm_fail (MM_EFORMAT, "%s: doc_offsets is empty, want one more than documents", f->path);
  window_on (&f->offsets, offsets);
  window_on (&f->ids, tokens);
  f->documents = offsets->shape[0] - 1;
  f->count = tokens->shape[0];
  return find_mask (f);
}

static mm_status
check_ends (struct mm_tokens *f)
{
  int64_t first, last;
  mm_status st = integer_at (f, &f->offsets, 0, &first);

  if (st >= 0)
    st = integer_at (f, &f->offsets, f->documents, &last);
  if (st < 0)
    return st;
  if (first != 0 || last < 0 || (uint64_t) last != f->count)
    return mm_fail (MM_EFORMAT, "%s: doc_offsets run from %" PRId64 " to %" PRId64
                    ", want 0 to %" PRIu64, f->path, first, last, f->count);
  return MM_OK;
}

mm_status
tokens_new (const char *path, struct mm_tokens **out)
{
  struct mm_tokens *f;
  mm_status st = mm_alloc ("token file", 1, sizeof *f + strlen (path) + 1, &f);
  struct window *sides[3];

  *out = f;
  if (st < 0)
    return st;
  strcpy (f->path, path);
  f->ids = (struct window) { .fd = -1, .capacity = IDS_WINDOW, .data = f->ids_data };
  sides[0] = &f->offsets;
  sides[1] = &f->mask;
  sides[2] = &f->turns;
  for (int i = 0; i < 3; i++)
    *sides[i] = (struct window) { .fd = -1, .capacity = SIDE_WINDOW, .data = f->side_data[i] };
  return MM_OK;
}

static mm_status
open_ours (struct mm_tokens *f, const struct mm_tokenizer *known)
{
  mm_status st = mm_safetensors_open (f->path, &f->file);

  if (st == MM_EFORMAT)
    st = mm_fail_prefix (st, "%s: want a token file made by minimind-tokenize", f->path);
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
  return st < 0 ? st : read_tokenizer (f, known);
}

static mm_status
finish_open (struct mm_tokens *f, mm_status st, struct mm_tokens **out)
{
  *out = st < 0 ? NULL : f;
  if (st < 0)
    mm_tokens_close (f);
  return st;
}

mm_status
mm_tokens_open (const char *path, struct mm_tokens **out)
{
  struct mm_tokens *f;
  mm_status st = tokens_new (path, &f);

  return finish_open (f, st < 0 ? st : open_ours (f, NULL), out);
}

mm_status
mm_tokens_open_any (const char *path, const struct mm_tokenizer *t, bool split_at_eos,
                    struct mm_tokens **out)
{
  struct mm_tokens *f;
  enum tokens_kind kind = TOKENS_OURS;
  mm_status st = tokens_new (path, &f);

  if (st >= 0)
    st = tokens_kind_of (path, &kind);
  if (st >= 0 && kind == TOKENS_OURS)
    st = open_ours (f, t);
  else if (st >= 0 && !t)
    st = mm_fail (MM_EUSAGE, "%s: is no token file, so its tokenizer is told by --tokenizer=FILE", path);
  else if (st >= 0)
    {
      f->tokenizer = t;
      f->vocab_size = mm_tokenizer_vocab_size (t);
      st = tokens_open_foreign (f, kind, split_at_eos);
    }
  return finish_open (f, st, out);
}

void
mm_tokens_close (struct mm_tokens *f)
{
  if (!f)
    return;
  mm_tokenizer_free (f->own);
  mm_safetensors_close (f->file);
  if (f->ids.fd >= 0)
    close (f->ids.fd);
  if (f->offsets.fd >= 0)
    close (f->offsets.fd);
  free (f);
}

/* ---- reading ---- */

const char *
mm_tokens_path (const struct mm_tokens *f)
{
  return f->path;
}

bool
mm_tokens_is_ours (const struct mm_tokens *f)
{
  return f->file != NULL;
}

size_t
mm_tokens_width (const struct mm_tokens *f)
{
  return ids_width (ids_dtype (f->vocab_size));
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

const char *
mm_tokens_chat_template (const struct mm_tokens *f)
{
  return f->file ? mm_safetensors_meta (f->file, "chat_template") : NULL;
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
  *first = 0;
  *length = f->count;
  if (f->one_document)
    return MM_OK;
  st = integer_at (f, &f->offsets, doc, &from);
  if (st >= 0)
    st = integer_at (f, &f->offsets, doc + 1, &to);
  if (st < 0)
    return st;
  if (from < 0 || to < from || (uint64_t) to > f->count)
    return mm_fail (MM_EFORMAT, "%s: document %" PRIu64 " goes from token %" PRId64 " to %" PRId64
                    " of %" PRIu64, mm_tokens_path (f), doc, from, to, f->count);
  *first = (uint64_t) from;
  *length = (uint64_t) (to - from);
  return MM_OK;
}

uint64_t
mm_tokens_turns (const struct mm_tokens *f)
{
  return f->turns.total / 8;
}

mm_status
mm_tokens_turn (struct mm_tokens *f, uint64_t i, uint64_t *turn)
{
  int64_t value;
  mm_status st;

  if (i >= mm_tokens_turns (f))
    return mm_fail (MM_EINVAL, "%s: turn %" PRIu64 " asked for, there are %" PRIu64, f->path, i, mm_tokens_turns (f));
  st = integer_at (f, &f->turns, i, &value);
  if (st < 0)
    return st;
  if (value < 0 || (uint64_t) value > f->count)
    return mm_fail (MM_EFORMAT, "%s: turn %" PRIu64 " begins at token %" PRId64 " of %" PRIu64,
                    f->path, i, value, f->count);
  *turn = (uint64_t) value;
  return MM_OK;
}

/* The last turn that begins in (FROM, LIMIT], by bisection.  */
mm_status
mm_tokens_turn_before (struct mm_tokens *f, uint64_t from, uint64_t limit, uint64_t *turn)
{
  uint64_t low = 0, high = mm_tokens_turns (f), value = 0;

  *turn = from;
  while (low < high)
    {
      uint64_t middle = low + (high - low) / 2;
      mm_status st = mm_tokens_turn (f, middle, &value);

      if (st < 0)
        return st;
      if (value <= limit)
        {
          *turn = value > *turn ? value : *turn;
          low = middle + 1;
        }
      else
        high = middle;
    }
  return MM_OK;
}

static mm_status
fail_id (const struct mm_tokens *f, uint64_t token, int64_t id)
{
  return mm_fail (MM_EFORMAT, "%s: token %" PRIu64 " is %" PRId64 ", the vocabulary has %" PRIu32
                  " ids", f->path, token, id, f->vocab_size);
}

/* N ids at P, as in the file, which are those from FIRST on, to OUT, packed.  MM_EFORMAT for one beyond the
   vocabulary.  */
static mm_status
pass_on (const struct mm_tokens *f, uint64_t first, const uint8_t *p, size_t n, uint8_t *out)
{
  enum mm_dtype dtype = ids_dtype (f->vocab_size);

  if (f->dtype == dtype)
    {
      size_t bad = ids_packed_beyond (p, n, dtype, f->vocab_size);

      memcpy (out, p, n * ids_width (dtype));
      return bad < n ? fail_id (f, first + bad, ids_any (p, bad, dtype)) : MM_OK;
    }
  for (size_t i = 0; i < n; i++)
    {
      int64_t id = ids_any (p, i, f->dtype);
      uint32_t stored = (uint32_t) id;

      if (id < 0 || id >= f->vocab_size)
        return fail_id (f, first + i, id);
      ids_store (&stored, 1, dtype, out + i * ids_width (dtype));
    }
  return MM_OK;
}

static mm_status
read_ids (struct mm_tokens *f, uint64_t first, size_t count, uint8_t *ids)
{
  enum mm_dtype dtype = ids_dtype (f->vocab_size);
  size_t width = tokens_width (f);

  while (count > 0)
    {
      const uint8_t *p;
      size_t n;
      mm_status st = window_at (f, &f->ids, first * width, &p, &n);

      if (st < 0)
        return st;
      n = n / width < count ? n / width : count;
      st = pass_on (f, first, p, n, ids);
      if (st < 0)
        return st;
      first += n;
      ids += n * ids_width (dtype);
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

static mm_status
check_range (const struct mm_tokens *f, uint64_t first, size_t count)
{
  if (first > f->count || count > f->count - first)
    return mm_fail (MM_EINVAL, "%s: tokens %" PRIu64 " + %zu asked for, there are %" PRIu64,
                    mm_tokens_path (f), first, count, f->count);
  return MM_OK;
}

/* Ids of another type are converted through a window of the caller's own.  */
static mm_status
read_shared_foreign (const struct mm_tokens *f, uint64_t first, size_t count, uint8_t *ids)
{
  enum mm_dtype dtype = ids_dtype (f->vocab_size);
  uint8_t some[1 << 13];
  size_t width = tokens_width (f);

  while (count > 0)
    {
      size_t n = sizeof some / width < count ? sizeof some / width : count;
      mm_status st = read_bytes (f, &f->ids, first * width, some, n * width);

      if (st < 0)
        return st;
      st = pass_on (f, first, some, n, ids);
      if (st < 0)
        return st;
      first += n;
      ids += n * ids_width (dtype);
      count -= n;
    }
  return MM_OK;
}

mm_status
mm_tokens_read_shared (const struct mm_tokens *f, uint64_t first, size_t count, void *ids)
{
  size_t width = ids_width (f->dtype), bad;
  mm_status st = check_range (f, first, count);

  if (st < 0 || count == 0)
    return st;
  if (f->dtype != ids_dtype (f->vocab_size))
    return read_shared_foreign (f, first, count, ids);
  st = read_bytes (f, &f->ids, first * width, ids, count * width);
  if (st < 0)
    return st;
  bad = ids_packed_beyond (ids, count, f->dtype, f->vocab_size);
  return bad < count ? fail_id (f, first + bad, ids_any (ids, bad, f->dtype)) : MM_OK;
}

mm_status
mm_tokens_read_packed (struct mm_tokens *f, uint64_t first, size_t count, void *ids, uint8_t *mask)
{
  mm_status st = check_range (f, first, count);

  if (st < 0)
    return st;
  st = ids ? read_ids (f, first, count, ids) : MM_OK;
  if (st < 0 || !mask)
    return st;
  if (!f->has_mask)
    {
      memset (mask, 1, count);
      return MM_OK;
    }
  return read_mask (f, first, count, mask);
}

mm_status
mm_tokens_read (struct mm_tokens *f, uint64_t first, size_t count, uint32_t *ids, uint8_t *mask)
{
  enum mm_dtype dtype = ids_dtype (f->vocab_size);
  uint8_t *packed = ids_tail (ids, count, dtype);
  mm_status st = mm_tokens_read_packed (f, first, count, packed, mask);

  if (st >= 0)
    ids_load (packed, count, dtype, ids);
  return st;
}

/* tokens_write.c -- token files, the writing half: documents in, one safetensors file out.
   SPDX-License-Identifier: Apache-2.0

   Ids and offsets pass through two small buffers into growing tensors, so that memory does not
   depend on the corpus.  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/safetensors.h>
#include <minimind/tokens.h>

#include "ids.h"

enum { IDS_BUFFER = 32768, OFFSETS_BUFFER = 4096 };     /* elements */

struct mm_tokens_writer
{
  struct mm_safetensors_writer *file;
  uint32_t vocab_size;
  enum mm_dtype dtype;
  uint64_t documents, tokens;
  uint64_t ended;               /* tokens of documents that were ended */

  size_t n_ids, n_offsets;      /* in the buffers */
  uint8_t ids[4 * IDS_BUFFER];
  uint8_t offsets[8 * OFFSETS_BUFFER];
  char path[];                  /* for messages */
};

static mm_status
flush_ids (struct mm_tokens_writer *w)
{
  size_t size = w->n_ids * ids_width (w->dtype);

  w->n_ids = 0;
  return mm_safetensors_write (w->file, "tokens", w->ids, size);
}

static mm_status
flush_offsets (struct mm_tokens_writer *w)
{
  size_t size = w->n_offsets * 8;

  w->n_offsets = 0;
  return mm_safetensors_write (w->file, "doc_offsets", w->offsets, size);
}

/* Offsets are the document's end, and before the first one a zero.  */
static mm_status
add_offset (struct mm_tokens_writer *w)
{
  uint8_t *out = w->offsets + 8 * w->n_offsets;

  for (int b = 0; b < 8; b++)
    out[b] = (uint8_t) (w->tokens >> 8 * b);
  return ++w->n_offsets == OFFSETS_BUFFER ? flush_offsets (w) : MM_OK;
}

/* Tensor NAME of bytes, for a text that travels with the tokens.  */
static mm_status
declare_text (struct mm_tokens_writer *w, const char *name, const char *text, size_t size)
{
  uint64_t shape = size;

  return text ? mm_safetensors_declare (w->file, name, MM_U8, 1, &shape) : MM_OK;
}

static mm_status
write_text (struct mm_tokens_writer *w, const char *name, const char *text, size_t size)
{
  return text ? mm_safetensors_write (w->file, name, text, size) : MM_OK;
}

static mm_status
add_meta_integer (struct mm_tokens_writer *w, const char *key, int64_t value)
{
  char text[24];

  snprintf (text, sizeof text, "%" PRId64, value);
  return mm_safetensors_add_meta (w->file, key, text);
}

static mm_status
begin (struct mm_tokens_writer *w, const struct mm_tokenizer *t)
{
  const uint64_t growing = MM_GROWING;
  const char *json, *config;
  size_t json_size, config_size;
  mm_status st;

  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  st = mm_safetensors_declare (w->file, "doc_offsets", MM_I64, 1, &growing);
  if (st >= 0)
    st = mm_safetensors_declare (w->file, "tokens", w->dtype, 1, &growing);
  if (st >= 0)
    st = declare_text (w, "tokenizer_json", json, json_size);
  if (st >= 0)
    st = declare_text (w, "tokenizer_config_json", config, config_size);
  if (st >= 0)
    st = write_text (w, "tokenizer_json", json, json_size);
  if (st >= 0)
    st = write_text (w, "tokenizer_config_json", config, config_size);

  if (st >= 0)
    st = mm_safetensors_add_meta (w->file, "kind", "minimind-tokens");
  if (st >= 0)
    st = mm_safetensors_add_meta (w->file, "tokenizer_sha256", mm_tokenizer_sha256 (t));
  if (st >= 0)
    st = add_meta_integer (w, "vocab_size", w->vocab_size);
  if (st >= 0)
    st = add_meta_integer (w, "bos_id", mm_tokenizer_bos (t));
  if (st >= 0)
    st = add_meta_integer (w, "eos_id", mm_tokenizer_eos (t));
  if (st >= 0)
    st = add_meta_integer (w, "pad_id", mm_tokenizer_pad (t));
  return st < 0 ? st : add_offset (w);
}

mm_status
mm_tokens_create (const char *path, bool force, const struct mm_tokenizer *t,
                  struct mm_tokens_writer **out)
{
  struct mm_tokens_writer *w;
  mm_status st;

  *out = NULL;
  st = mm_alloc ("token file", 1, sizeof *w + strlen (path) + 1, &w);
  if (st < 0)
    return st;
  strcpy (w->path, path);
  w->vocab_size = mm_tokenizer_vocab_size (t);
  w->dtype = ids_dtype (w->vocab_size);
  st = mm_safetensors_create (path, true, force, &w->file);
  if (st >= 0)
    st = begin (w, t);
  if (st < 0)
    {
      mm_tokens_abort (w);
      return st;
    }
  *out = w;
  return MM_OK;
}

mm_status
mm_tokens_add (struct mm_tokens_writer *w, const uint32_t *ids, size_t count)
{
  size_t bad = ids_beyond (ids, count, w->vocab_size);

  if (bad < count)
    return mm_fail (MM_EINVAL, "%s: token %" PRIu64 " would be %" PRIu32
                    ", the vocabulary has %" PRIu32 " ids",
                    w->path, w->tokens + bad, ids[bad], w->vocab_size);
  while (count > 0)
    {
      size_t n = IDS_BUFFER - w->n_ids < count ? IDS_BUFFER - w->n_ids : count;

      ids_store (ids, n, w->dtype, w->ids + w->n_ids * ids_width (w->dtype));
      w->n_ids += n;
      w->tokens += n;
      ids += n;
      count -= n;
      if (w->n_ids == IDS_BUFFER)
        {
          mm_status st = flush_ids (w);
          if (st < 0)
            return st;
        }
    }
  return MM_OK;
}

mm_status
mm_tokens_end_document (struct mm_tokens_writer *w)
{
  w->documents++;
  w->ended = w->tokens;
  return add_offset (w);
}

mm_status
mm_tokens_commit (struct mm_tokens_writer *w)
{
  mm_status st = MM_OK;

  if (w->ended != w->tokens)
    st = mm_fail (MM_EINVAL, "%s: document %" PRIu64 " was not ended", w->path, w->documents);
  if (st >= 0)
    st = flush_ids (w);
  if (st >= 0)
    st = flush_offsets (w);
  if (st >= 0)
    st = add_meta_integer (w, "documents", (int64_t) w->documents);
  if (st >= 0)
    st = add_meta_integer (w, "tokens", (int64_t) w->tokens);
  if (st < 0)
    {
      mm_tokens_abort (w);
      return st;
    }
  st = mm_safetensors_commit (w->file, NULL);
  free (w);
  return st;
}

void
mm_tokens_abort (struct mm_tokens_writer *w)
{
  if (!w)
    return;
  mm_safetensors_abort (w->file);
  free (w);
}

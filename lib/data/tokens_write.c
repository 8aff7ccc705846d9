/* tokens_write.c -- token files, the writing half: documents in, one safetensors file out.
   SPDX-License-Identifier: Apache-2.0

   Ids, masks and offsets pass through small buffers into growing tensors, so that memory does not
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

enum { IDS_BUFFER = 32768, OFFSETS_BUFFER = 4096, PACKED = 2048 };     /* elements */

struct offsets
{
  const char *name;             /* the tensor's */
  size_t n;                     /* in the buffer */
  uint8_t bytes[8 * OFFSETS_BUFFER];
};

struct mm_tokens_writer
{
  struct mm_safetensors_writer *file;
  uint32_t vocab_size;
  enum mm_dtype dtype;
  bool chat;                    /* there are masks and turns */
  bool direct;                  /* ids have a place in the file */
  uint64_t documents, tokens, turns, targets;
  uint64_t ended;               /* tokens of documents that were ended */
  uint64_t expected;            /* documents, or UINT64_MAX */

  size_t n_ids;                 /* in the buffers of ids and masks */
  uint8_t ids[4 * IDS_BUFFER], mask[IDS_BUFFER];
  struct offsets doc_offsets, turn_offsets;
  char path[];                  /* for messages */
};

/* Ids are the most of a file, so they do not take the way through a spool.  */
static mm_status
begin_ids (struct mm_tokens_writer *w)
{
  bool known = !w->chat && w->expected < MM_GROWING / 8 - 1;

  w->direct = true;
  return mm_safetensors_direct (w->file, "tokens", known ? 8 * (w->expected + 1) : MM_GROWING);
}

static mm_status
flush_ids (struct mm_tokens_writer *w)
{
  size_t n = w->n_ids;
  mm_status st;

  w->n_ids = 0;
  st = w->direct ? MM_OK : begin_ids (w);
  if (st < 0)
    return st;
  st = mm_safetensors_write (w->file, "tokens", w->ids, n * ids_width (w->dtype));
  return st < 0 || !w->chat ? st : mm_safetensors_write (w->file, "loss_mask", w->mask, n);
}

static mm_status
flush_offsets (struct mm_tokens_writer *w, struct offsets *o)
{
  size_t size = 8 * o->n;

  o->n = 0;
  return mm_safetensors_write (w->file, o->name, o->bytes, size);
}

static mm_status
add_offset (struct mm_tokens_writer *w, struct offsets *o, uint64_t offset)
{
  uint8_t *out = o->bytes + 8 * o->n;

  for (int b = 0; b < 8; b++)
    out[b] = (uint8_t) (offset >> 8 * b);
  return ++o->n == OFFSETS_BUFFER ? flush_offsets (w, o) : MM_OK;
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

size_t
mm_ids_width (uint32_t vocab_size)
{
  return ids_width (ids_dtype (vocab_size));
}

void
mm_ids_pack (const uint32_t *ids, size_t count, size_t width, void *packed)
{
  ids_store (ids, count, width == 2 ? MM_U16 : MM_U32, packed);
}

void
mm_ids_unpack (const void *packed, size_t count, size_t width, uint32_t *ids)
{
  ids_load (packed, count, width == 2 ? MM_U16 : MM_U32, ids);
}

static mm_status
add_meta_integer (struct mm_tokens_writer *w, const char *key, int64_t value)
{
  char text[24];

  snprintf (text, sizeof text, "%" PRId64, value);
  return mm_safetensors_add_meta (w->file, key, text);
}

static mm_status
declare (struct mm_tokens_writer *w)
{
  const uint64_t growing = MM_GROWING;
  mm_status st = mm_safetensors_declare (w->file, "doc_offsets", MM_I64, 1, &growing);

  if (st >= 0 && w->chat)
    st = mm_safetensors_declare (w->file, "turn_offsets", MM_I64, 1, &growing);
  if (st >= 0)
    st = mm_safetensors_declare (w->file, "tokens", w->dtype, 1, &growing);
  if (st >= 0 && w->chat)
    st = mm_safetensors_declare (w->file, "loss_mask", MM_U8, 1, &growing);
  return st;
}

static mm_status
begin (struct mm_tokens_writer *w, const struct mm_tokenizer *t)
{
  const char *json, *config;
  size_t json_size, config_size;
  mm_status st;

  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  st = declare (w);
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
  return st < 0 ? st : add_offset (w, &w->doc_offsets, 0);
}

mm_status
mm_tokens_create (const char *path, bool force, const struct mm_tokenizer *t,
                  struct mm_tokens_writer **out)
{
  return mm_tokens_create_chat (path, force, t, NULL, out);
}

mm_status
mm_tokens_create_chat (const char *path, bool force, const struct mm_tokenizer *t,
                       const struct mm_tokens_chat *chat, struct mm_tokens_writer **out)
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
  w->chat = chat != NULL;
  w->expected = UINT64_MAX;
  w->doc_offsets.name = "doc_offsets";
  w->turn_offsets.name = "turn_offsets";
  st = mm_safetensors_create (path, true, force, &w->file);
  if (st >= 0)
    st = begin (w, t);
  if (st >= 0 && chat)
    st = mm_safetensors_add_meta (w->file, "chat_template", chat->template);
  if (st >= 0 && chat)
    st = mm_safetensors_add_meta (w->file, "chat_labels", chat->minimind ? "minimind" : "bytes");
  if (st < 0)
    {
      mm_tokens_abort (w);
      return st;
    }
  *out = w;
  return MM_OK;
}

void
mm_tokens_expect (struct mm_tokens_writer *w, uint64_t documents)
{
  w->expected = documents;
}

/* Append COUNT ids of the vocabulary, packed.  MASK NULL: all are targets.  */
static mm_status
append (struct mm_tokens_writer *w, const uint8_t *ids, const uint8_t *mask, size_t count)
{
  size_t width = ids_width (w->dtype);

  for (size_t done = 0, n; done < count; done += n)
    {
      n = IDS_BUFFER - w->n_ids < count - done ? IDS_BUFFER - w->n_ids : count - done;
      memcpy (w->ids + w->n_ids * width, ids + done * width, n * width);
      if (mask)
        memcpy (w->mask + w->n_ids, mask + done, n);
      w->n_ids += n;
      w->tokens += n;
      if (w->n_ids == IDS_BUFFER)
        {
          mm_status st = flush_ids (w);
          if (st < 0)
            return st;
        }
    }
  return MM_OK;
}

/* ID would be the token BEHIND tokens behind what was written.  */
static mm_status
fail_id (const struct mm_tokens_writer *w, size_t behind, uint32_t id)
{
  return mm_fail (MM_EINVAL, "%s: token %" PRIu64 " would be %" PRIu32 ", the vocabulary has %" PRIu32 " ids",
                  w->path, w->tokens + behind, id, w->vocab_size);
}

static mm_status
add_ids (struct mm_tokens_writer *w, const uint32_t *ids, const uint8_t *mask, size_t count)
{
  size_t bad = ids_beyond (ids, count, w->vocab_size);
  uint8_t block[4 * PACKED];
  mm_status st = bad < count ? fail_id (w, bad, ids[bad]) : MM_OK;

  for (size_t done = 0, n; st >= 0 && done < count; done += n)
    {
      n = count - done < PACKED ? count - done : PACKED;
      ids_store (ids + done, n, w->dtype, block);
      st = append (w, block, mask ? mask + done : NULL, n);
    }
  return st;
}

mm_status
mm_tokens_add (struct mm_tokens_writer *w, const uint32_t *ids, size_t count)
{
  if (w->chat)
    return mm_fail (MM_EINVAL, "%s: a text among conversations", w->path);
  return add_ids (w, ids, NULL, count);
}

mm_status
mm_tokens_add_packed (struct mm_tokens_writer *w, const void *ids, size_t count)
{
  size_t bad = ids_packed_beyond (ids, count, w->dtype, w->vocab_size);

  if (w->chat)
    return mm_fail (MM_EINVAL, "%s: a text among conversations", w->path);
  if (bad < count)
    return fail_id (w, bad, (uint32_t) ids_any (ids, bad, w->dtype));
  return append (w, ids, NULL, count);
}

mm_status
mm_tokens_end_document (struct mm_tokens_writer *w)
{
  w->documents++;
  w->ended = w->tokens;
  return add_offset (w, &w->doc_offsets, w->tokens);
}

mm_status
mm_tokens_add_conversation (struct mm_tokens_writer *w, const uint32_t *ids, const uint8_t *mask, size_t count,
                            const size_t *turn_ends, size_t n_turns)
{
  mm_status st = MM_OK;

  if (!w->chat)
    return mm_fail (MM_EINVAL, "%s: a conversation among texts", w->path);
  for (size_t i = 0; st >= 0 && i < n_turns; i++)
    st = add_offset (w, &w->turn_offsets, w->tokens + (i > 0 ? turn_ends[i - 1] : 0));
  for (size_t i = 0; i < count; i++)
    w->targets += mask[i];
  w->turns += n_turns;
  if (st >= 0)
    st = add_ids (w, ids, mask, count);
  return st < 0 ? st : mm_tokens_end_document (w);
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
    st = flush_offsets (w, &w->doc_offsets);
  if (st >= 0 && w->chat)
    st = flush_offsets (w, &w->turn_offsets);
  if (st >= 0)
    st = add_meta_integer (w, "documents", (int64_t) w->documents);
  if (st >= 0)
    st = add_meta_integer (w, "tokens", (int64_t) w->tokens);
  if (st >= 0 && w->chat)
    st = add_meta_integer (w, "turns", (int64_t) w->turns);
  if (st >= 0 && w->chat)
    st = add_meta_integer (w, "targets", (int64_t) w->targets);
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

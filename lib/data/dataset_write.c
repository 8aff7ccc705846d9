/* dataset_write.c -- dataset folders, the writing half: rows into parts, then dataset.json.
   SPDX-License-Identifier: Apache-2.0

   How many parts a split has is known at the end, so parts are written under a provisional name
   and renamed by commit: the folder itself is not published yet.

   Rows are gathered in one of two buffers of their split while those of the other are written by a thread behind.  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/memory.h>
#include <minimind/safetensors.h>

#include "behind.h"
#include "layout.h"
#include "ids.h"

enum { BUFFERED_TOKENS = 1 << 18 };       /* rows are handed on in groups of about this size */

struct part
{
  uint64_t rows;
  char sha256[MM_SHA256_TEXT];
};

/* Rows on their way to a file.  */
struct gathered
{
  const struct mm_dataset_writer *writer;
  struct mm_safetensors_writer *file;
  size_t tokens;
  uint8_t *ids, *starts, *mask;
};

struct split
{
  struct mm_safetensors_writer *file;   /* the part under way, or NULL */
  uint64_t part_rows;           /* of it, the buffered ones included */
  size_t buffered;              /* rows in the buffer that is filled */
  struct gathered buffers[2];
  int filled;                   /* which of the two */

  uint64_t rows;                /* of the split so far */
  struct part parts[MM_DATASET_MAX_PARTS];
  size_t n_parts;               /* finished */
};

struct mm_dataset_writer
{
  const struct mm_tokenizer *tokenizer;
  struct mm_dataset_options options;
  size_t row_tokens;            /* T + 1 */
  enum mm_dtype dtype;
  size_t buffer_rows;
  struct behind *behind;        /* NULL where no thread can be had */
  struct split splits[N_SPLITS];
  char dir[];
};

/* ---- parts ---- */

/* Path of part PART of SPLIT, by its provisional name while PARTS is 0; free() it.  */
static mm_status
part_path (const struct mm_dataset_writer *w, enum mm_split split, size_t part, size_t parts,
           char **path)
{
  char name[PART_NAME];

  if (parts > 0)
    part_name (name, split, part, parts);
  else
    snprintf (name, sizeof name, "%s-%05zu", split_name (split), part);
  *path = mm_path_join (w->dir, name);
  return *path ? MM_OK : mm_fail (MM_ENOMEM, "%s: no memory for the name of a part", w->dir);
}

static bool
rows_known (const struct mm_dataset_writer *w)
{
  return w->options.rows[MM_TRAIN] > 0 || w->options.rows[MM_VALIDATION] > 0;
}

/* Rows of the part that begins, if that is known.  */
static uint64_t
rows_of_part (const struct mm_dataset_writer *w, enum mm_split split)
{
  uint64_t left = w->options.rows[split] - w->splits[split].rows, most = w->options.shard_rows;

  if (!rows_known (w))
    return MM_GROWING;
  return most > 0 && most < left ? most : left;
}

static mm_status
declare_part (const struct mm_dataset_writer *w, enum mm_split split,
              struct mm_safetensors_writer *file)
{
  const uint64_t shape[] = { rows_of_part (w, split), w->row_tokens };
  char seq_len[16];
  mm_status st;

  if (shape[0] != MM_GROWING)
    mm_safetensors_hash_along (file);

  snprintf (seq_len, sizeof seq_len, "%" PRIu32, w->options.seq_len);
  st = mm_safetensors_declare (file, "input_ids", w->dtype, 2, shape);
  if (st >= 0)
    st = mm_safetensors_declare (file, "doc_starts", MM_U8, 2, shape);
  if (st >= 0 && w->options.with_mask)
    st = mm_safetensors_declare (file, "loss_mask", MM_U8, 2, shape);
  if (st >= 0)
    st = mm_safetensors_add_meta (file, "kind", DATASET_PART_KIND);
  if (st >= 0)
    st = mm_safetensors_add_meta (file, "split", split_name (split));
  if (st >= 0)
    st = mm_safetensors_add_meta (file, "seq_len", seq_len);
  if (st >= 0)
    st = mm_safetensors_add_meta (file, "tokenizer_sha256", mm_tokenizer_sha256 (w->tokenizer));
  return st;
}

static mm_status
begin_part (struct mm_dataset_writer *w, enum mm_split split)
{
  struct split *s = &w->splits[split];
  char *path;
  mm_status st;

  if (rows_known (w) && s->rows == w->options.rows[split])
    return mm_fail (MM_EINVAL, "%s: more than %" PRIu64 " rows", split_name (split), s->rows);
  if (s->n_parts == MM_DATASET_MAX_PARTS)
    return mm_fail (MM_EUSAGE, "%s: more than %d parts of %" PRIu64 " rows; take more rows a part",
                    split_name (split), MM_DATASET_MAX_PARTS, w->options.shard_rows);
  st = part_path (w, split, s->n_parts, 0, &path);
  if (st < 0)
    return st;
  st = mm_safetensors_create (path, false, true, &s->file);
  free (path);
  return st < 0 ? st : declare_part (w, split, s->file);
}

static mm_status
write_gathered (void *arg)
{
  const struct gathered *g = arg;
  mm_status st = mm_safetensors_write (g->file, "input_ids", g->ids, g->tokens * ids_width (g->writer->dtype));

  if (st >= 0)
    st = mm_safetensors_write (g->file, "doc_starts", g->starts, g->tokens);
  if (st >= 0 && g->writer->options.with_mask)
    st = mm_safetensors_write (g->file, "loss_mask", g->mask, g->tokens);
  return st;
}

/* Have the rows in the buffer written, and go on with the other.  */
static mm_status
flush_rows (const struct mm_dataset_writer *w, struct split *s)
{
  struct gathered *g = &s->buffers[s->filled];
  mm_status st = behind_wait (w->behind);

  g->writer = w;
  g->file = s->file;
  g->tokens = s->buffered * w->row_tokens;
  s->filled = !s->filled;
  s->buffered = 0;
  return st < 0 ? st : behind_do (w->behind, write_gathered, g);
}

static mm_status
end_part (const struct mm_dataset_writer *w, struct split *s)
{
  struct part *part = &s->parts[s->n_parts];
  mm_status st = flush_rows (w, s);

  if (st >= 0)
    st = behind_wait (w->behind);
  if (st < 0)
    return st;
  st = mm_safetensors_commit (s->file, part->sha256);
  s->file = NULL;
  part->rows = s->part_rows;
  s->part_rows = 0;
  s->n_parts++;
  return st;
}

/* ---- rows ---- */

static mm_status
allocate_buffers (struct mm_dataset_writer *w)
{
  mm_status st = MM_OK;

  w->buffer_rows = BUFFERED_TOKENS / w->row_tokens + 1;
  for (int i = 0; st >= 0 && i < 2 * N_SPLITS; i++)
    {
      struct gathered *g = &w->splits[i / 2].buffers[i % 2];
      size_t tokens = w->buffer_rows * w->row_tokens;

      st = mm_alloc ("dataset", tokens, ids_width (w->dtype), &g->ids);
      if (st >= 0)
        st = mm_alloc ("dataset", tokens, 1, &g->starts);
      if (st >= 0 && w->options.with_mask)
        st = mm_alloc ("dataset", tokens, 1, &g->mask);
    }
  return st;
}

mm_status
mm_dataset_create (const char *dir, const struct mm_tokenizer *t,
                   const struct mm_dataset_options *o, struct mm_dataset_writer **out)
{
  struct mm_dataset_writer *w;
  mm_status st;

  *out = NULL;
  if (o->seq_len < 1 || o->seq_len > MM_DATASET_MAX_SEQ_LEN)
    return mm_fail (MM_EINVAL, "%s: rows of %" PRIu32 " tokens, want 1 to %d", dir, o->seq_len,
                    MM_DATASET_MAX_SEQ_LEN);
  st = mm_alloc ("dataset", 1, sizeof *w + strlen (dir) + 1, &w);
  if (st < 0)
    return st;
  strcpy (w->dir, dir);
  w->tokenizer = t;
  w->options = *o;
  w->row_tokens = (size_t) o->seq_len + 1;
  w->dtype = ids_dtype (mm_tokenizer_vocab_size (t));
  st = allocate_buffers (w);
  if (st < 0)
    {
      mm_dataset_abort (w);
      return st;
    }
  /* Without a thread rows are written as they fill a buffer.  */
  if (behind_open (&w->behind) < 0)
    w->behind = NULL;
  *out = w;
  return MM_OK;
}

/* Room for one more row: *AT is its first token in the buffers.  */
static mm_status
begin_row (struct mm_dataset_writer *w, enum mm_split split, size_t *at)
{
  struct split *s = &w->splits[split];

  *at = s->buffered * w->row_tokens;
  return s->file ? MM_OK : begin_part (w, split);
}

/* The row's ids are in the buffer.  */
static mm_status
end_row (struct mm_dataset_writer *w, enum mm_split split, size_t at, const uint8_t *doc_starts,
         const uint8_t *mask)
{
  struct split *s = &w->splits[split];
  const struct gathered *g = &s->buffers[s->filled];
  bool complete;

  memcpy (g->starts + at, doc_starts, w->row_tokens);
  if (w->options.with_mask)
    memcpy (g->mask + at, mask, w->row_tokens);
  s->buffered++;
  s->rows++;
  s->part_rows++;
  complete = s->part_rows == w->options.shard_rows || (rows_known (w) && s->rows == w->options.rows[split]);
  if (complete)
    return end_part (w, s);
  return s->buffered == w->buffer_rows ? flush_rows (w, s) : MM_OK;
}

mm_status
mm_dataset_add_packed (struct mm_dataset_writer *w, enum mm_split split, const void *ids,
                       const uint8_t *doc_starts, const uint8_t *mask)
{
  struct split *s = &w->splits[split];
  size_t at, width = ids_width (w->dtype);
  mm_status st = begin_row (w, split, &at);

  if (st < 0)
    return st;
  memcpy (s->buffers[s->filled].ids + at * width, ids, w->row_tokens * width);
  return end_row (w, split, at, doc_starts, mask);
}

mm_status
mm_dataset_add (struct mm_dataset_writer *w, enum mm_split split, const uint32_t *ids,
                const uint8_t *doc_starts, const uint8_t *mask)
{
  struct split *s = &w->splits[split];
  size_t n = w->row_tokens, at;
  uint32_t vocab_size = mm_tokenizer_vocab_size (w->tokenizer);
  size_t bad = ids_beyond (ids, n, vocab_size);
  mm_status st;

  if (bad < n)
    return mm_fail (MM_EINVAL, "%s row %" PRIu64 ": id %" PRIu32 ", the vocabulary has %" PRIu32
                    " ids", split_name (split), s->rows, ids[bad], vocab_size);
  st = begin_row (w, split, &at);
  if (st < 0)
    return st;
  ids_store (ids, n, w->dtype, s->buffers[s->filled].ids + at * ids_width (w->dtype));
  return end_row (w, split, at, doc_starts, mask);
}

/* ---- the end ---- */

/* Give the parts of SPLIT the names that tell their number.  */
static mm_status
rename_parts (const struct mm_dataset_writer *w, enum mm_split split)
{
  size_t n = w->splits[split].n_parts;
  mm_status st = MM_OK;

  for (size_t i = 0; st >= 0 && i < n; i++)
    {
      char *from = NULL, *to = NULL;

      st = part_path (w, split, i, 0, &from);
      if (st >= 0)
        st = part_path (w, split, i, n, &to);
      if (st >= 0 && rename (from, to) != 0)
        st = mm_fail_errno_output (to);
      free (from);
      free (to);
    }
  return st;
}

static mm_status
write_named (const struct mm_dataset_writer *w, const char *name, const char *text, size_t size)
{
  char *path = mm_path_join (w->dir, name);
  mm_status st = path ? mm_write_file (path, text, size)
                      : mm_fail (MM_ENOMEM, "%s: no memory for a name", w->dir);

  free (path);
  return st;
}

/* Write the tokenizer's files; *DESCRIPTION is what dataset.json says of them.  */
static mm_status
write_tokenizer (const struct mm_dataset_writer *w, json_t **description)
{
  const char *json, *config;
  size_t json_size, config_size;
  char config_sha256[MM_SHA256_TEXT];
  mm_status st;

  *description = NULL;
  mm_tokenizer_files (w->tokenizer, &json, &json_size, &config, &config_size);
  st = write_named (w, "tokenizer.json", json, json_size);
  if (st >= 0 && config)
    st = write_named (w, "tokenizer_config.json", config, config_size);
  if (st >= 0 && config)
    st = mm_sha256_bytes (config, config_size, config_sha256);
  if (st < 0)
    return st;
  *description = json_pack ("{s:I, s:s, s:s?}",
                            "vocab_size", (json_int_t) mm_tokenizer_vocab_size (w->tokenizer),
                            "sha256", mm_tokenizer_sha256 (w->tokenizer),
                            "config_sha256", config ? config_sha256 : NULL);
  return MM_OK;
}

static json_t *
describe_split (const struct split *s)
{
  json_t *parts = json_array ();

  for (size_t i = 0; i < s->n_parts; i++)
    json_array_append_new (parts, json_pack ("{s:I, s:s}",
                                             "rows", (json_int_t) s->parts[i].rows,
                                             "sha256", s->parts[i].sha256));
  return json_pack ("{s:I, s:o}", "rows", (json_int_t) s->rows, "parts", parts);
}

static mm_status
write_description (const struct mm_dataset_writer *w, json_t *tokenizer, json_t *report)
{
  char *text = NULL;
  mm_status st;
  json_t *root = json_pack ("{s:s, s:i, s:I, s:O, s:o, s:o, s:O*}",
                            "kind", DATASET_KIND, "version", DATASET_VERSION,
                            "seq_len", (json_int_t) w->options.seq_len,
                            "tokenizer", tokenizer,
                            "train", describe_split (&w->splits[MM_TRAIN]),
                            "validation", describe_split (&w->splits[MM_VALIDATION]),
                            "report", report);

  st = root ? mm_json_text (root, true, &text)
            : mm_fail (MM_ENOMEM, "%s: no memory for dataset.json", w->dir);
  if (st >= 0)
    st = write_named (w, "dataset.json", text, strlen (text));
  free (text);
  json_decref (root);
  return st;
}

mm_status
mm_dataset_commit (struct mm_dataset_writer *w, const char *report)
{
  json_t *tokenizer = NULL, *report_object = NULL;
  mm_status st = MM_OK;

  if (report)
    st = mm_json_parse ("report", report, strlen (report), &report_object);
  for (int i = 0; st >= 0 && i < N_SPLITS; i++)
    if (rows_known (w) && w->splits[i].rows != w->options.rows[i])
      st = mm_fail (MM_EINVAL, "%s: %" PRIu64 " rows, want %" PRIu64, split_name ((enum mm_split) i),
                    w->splits[i].rows, w->options.rows[i]);
    else if (w->splits[i].file)
      st = end_part (w, &w->splits[i]);
  for (int i = 0; st >= 0 && i < N_SPLITS; i++)
    st = rename_parts (w, (enum mm_split) i);
  if (st >= 0)
    st = write_tokenizer (w, &tokenizer);
  if (st >= 0)
    st = write_description (w, tokenizer, report_object);
  json_decref (tokenizer);
  json_decref (report_object);
  mm_dataset_abort (w);
  return st;
}

void
mm_dataset_abort (struct mm_dataset_writer *w)
{
  if (!w)
    return;
  behind_close (w->behind);
  for (int i = 0; i < 2 * N_SPLITS; i++)
    {
      struct gathered *g = &w->splits[i / 2].buffers[i % 2];

      free (g->ids);
      free (g->starts);
      free (g->mask);
    }
  for (int i = 0; i < N_SPLITS; i++)
    mm_safetensors_abort (w->splits[i].file);
  free (w);
}

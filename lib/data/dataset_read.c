/* dataset_read.c -- dataset folders, the reading half: checked when opened, rows by number.
   SPDX-License-Identifier: Apache-2.0

   Nothing is mapped or kept but the headers of the parts: a row is read when it is asked for.  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/safetensors.h>

#include "ids.h"
#include "layout.h"

enum { DESCRIPTION_LIMIT = 16 << 20 };  /* bytes of dataset.json */

struct part
{
  struct mm_safetensors *file;
  const struct mm_tensor *ids, *starts, *mask;  /* mask may be NULL */
  uint64_t first;               /* row of the split */
};

struct split
{
  uint64_t rows;
  struct part *parts;
  size_t n_parts;
};

struct mm_dataset
{
  struct mm_tokenizer *tokenizer;
  uint32_t vocab_size, seq_len;
  struct split splits[N_SPLITS];
  char sha256[MM_SHA256_TEXT];
  char path[];
};

/* ---- opening ---- */

static mm_status
want_meta (const struct mm_safetensors *file, const char *key, const char *want)
{
  const char *found = mm_safetensors_meta (file, key);

  if (!found || strcmp (found, want) != 0)
    return mm_fail (MM_EFORMAT, "%s: metadata: %s is %.80s, want %s", mm_safetensors_path (file),
                    key, found ? found : "missing", want);
  return MM_OK;
}

/* Find tensor NAME of DTYPE, shaped [ROWS, T + 1].  */
static mm_status
want_rows (const struct mm_dataset *d, const struct part *part, const char *name,
           enum mm_dtype dtype, uint64_t rows, const struct mm_tensor **tensor)
{
  mm_status st = mm_safetensors_want (part->file, name, dtype, 2, tensor);

  if (st >= 0 && ((*tensor)->shape[0] != rows || (*tensor)->shape[1] != (uint64_t) d->seq_len + 1))
    st = mm_fail (MM_EFORMAT, "%s: %s is [%" PRIu64 ", %" PRIu64 "], dataset.json wants [%" PRIu64
                  ", %" PRIu64 "]", mm_safetensors_path (part->file), name, (*tensor)->shape[0],
                  (*tensor)->shape[1], rows, (uint64_t) d->seq_len + 1);
  return st;
}

static mm_status
check_part (const struct mm_dataset *d, enum mm_split split, struct part *part, uint64_t rows)
{
  const struct mm_tensor *ids = mm_safetensors_find (part->file, "input_ids");
  mm_status st = want_meta (part->file, "kind", DATASET_PART_KIND);

  if (st >= 0)
    st = want_meta (part->file, "split", split_name (split));
  if (st >= 0)
    st = want_meta (part->file, "tokenizer_sha256", mm_tokenizer_sha256 (d->tokenizer));
  if (st >= 0)
    st = want_rows (d, part, "input_ids", ids && ids->dtype == MM_U32 ? MM_U32 : MM_U16, rows,
                    &part->ids);
  if (st >= 0)
    st = want_rows (d, part, "doc_starts", MM_U8, rows, &part->starts);
  if (st >= 0 && mm_safetensors_find (part->file, "loss_mask"))
    st = want_rows (d, part, "loss_mask", MM_U8, rows, &part->mask);
  return st;
}

static mm_status
verify_part (const char *path, const char *want)
{
  char found[MM_SHA256_TEXT];
  mm_status st = mm_sha256_file (path, found);

  if (st >= 0 && strcmp (found, want) != 0)
    st = mm_fail (MM_EFORMAT, "%s: SHA-256 is %s, dataset.json has %s", path, found, want);
  return st;
}

/* Part I of SPLIT as ENTRY of dataset.json, called NAME in messages, describes it.  */
static mm_status
open_part (struct mm_dataset *d, enum mm_split split, size_t i, const char *name,
           const json_t *entry, bool verify)
{
  struct split *s = &d->splits[split];
  char file[PART_NAME];
  const char *sha256;
  int64_t rows;
  char *path;
  mm_status st = mm_json_integer (name, entry, "rows", true, 1, INT64_MAX, &rows);

  if (st >= 0)
    st = mm_json_string (name, entry, "sha256", true, &sha256);
  if (st < 0)
    return st;
  part_name (file, split, i, s->n_parts);
  path = mm_path_join (d->path, file);
  if (!path)
    return mm_fail (MM_ENOMEM, "%s: no memory for the name of a part", d->path);
  st = mm_safetensors_open (path, &s->parts[i].file);
  if (st >= 0)
    st = check_part (d, split, &s->parts[i], (uint64_t) rows);
  if (st >= 0 && verify)
    st = verify_part (path, sha256);
  free (path);

  /* The parts exist with these rows, so the sum can't wrap.  */
  s->parts[i].first = s->rows;
  s->rows += (uint64_t) rows;
  return st;
}

static mm_status
open_split (struct mm_dataset *d, enum mm_split split, const char *name, const json_t *root,
            bool verify)
{
  struct split *s = &d->splits[split];
  const json_t *object = json_object_get (root, split_name (split));
  const json_t *parts = json_object_get (object, "parts");
  size_t n = json_array_size (parts);
  int64_t rows;
  mm_status st;

  if (!json_is_array (parts) || n > MM_DATASET_MAX_PARTS)
    return mm_fail (MM_EFORMAT, "%s: %s: want a list of at most %d parts", name,
                    split_name (split), MM_DATASET_MAX_PARTS);
  st = mm_json_integer (name, object, "rows", true, 0, INT64_MAX, &rows);
  if (st >= 0)
    st = mm_alloc ("dataset", n, sizeof *s->parts, &s->parts);
  s->n_parts = st >= 0 ? n : 0;
  for (size_t i = 0; st >= 0 && i < n; i++)
    st = open_part (d, split, i, name, json_array_get (parts, i), verify);
  if (st >= 0 && s->rows != (uint64_t) rows)
    st = mm_fail (MM_EFORMAT, "%s: %s: %s, the parts have %" PRIu64, name, split_name (split),
                  MM_COUNT ((uint64_t) rows, "row"), s->rows);
  return st;
}

/* Compare a hash with field KEY of OBJECT.  */
static mm_status
want_hash (const char *name, const json_t *object, const char *key, const char *file,
           const char *found)
{
  const char *want;
  mm_status st = mm_json_string (name, object, key, true, &want);

  if (st >= 0 && strcmp (want, found) != 0)
    st = mm_fail (MM_EFORMAT, "%s: %s: %s has SHA-256 %s, want %s", name, key, file, found, want);
  return st;
}

static mm_status
open_tokenizer (struct mm_dataset *d, const char *name, const json_t *root)
{
  const json_t *object = json_object_get (root, "tokenizer");
  const char *json, *config, *no_config = NULL;
  size_t json_size, config_size;
  char sha256[MM_SHA256_TEXT];
  mm_status st;

  if (!json_is_object (object))
    return mm_fail (MM_EFORMAT, "%s: tokenizer: want an object", name);
  st = mm_tokenizer_load (d->path, &d->tokenizer);
  if (st < 0)
    return st;
  d->vocab_size = mm_tokenizer_vocab_size (d->tokenizer);
  st = want_hash (name, object, "sha256", "tokenizer.json", mm_tokenizer_sha256 (d->tokenizer));
  if (st < 0)
    return st;

  mm_tokenizer_files (d->tokenizer, &json, &json_size, &config, &config_size);
  if (config)
    {
      st = mm_sha256_bytes (config, config_size, sha256);
      return st < 0 ? st : want_hash (name, object, "config_sha256", "tokenizer_config.json", sha256);
    }
  st = mm_json_string (name, object, "config_sha256", false, &no_config);
  if (st >= 0 && no_config)
    st = mm_fail (MM_EFORMAT, "%s: tokenizer_config.json is missing", d->path);
  return st;
}

static mm_status
check_kind (const char *name, const json_t *root, uint32_t *seq_len)
{
  const char *kind;
  int64_t version, value;
  mm_status st = mm_json_string (name, root, "kind", true, &kind);

  if (st >= 0 && strcmp (kind, DATASET_KIND) != 0)
    return mm_fail (MM_EFORMAT, "%s: kind is %.80s, want %s", name, kind, DATASET_KIND);
  if (st >= 0)
    st = mm_json_integer (name, root, "version", true, 1, INT32_MAX, &version);
  if (st >= 0 && version != DATASET_VERSION)
    return mm_fail (MM_EUNSUP, "%s: format version %" PRId64 ", this build reads %d", name, version,
                    DATASET_VERSION);
  if (st >= 0)
    st = mm_json_integer (name, root, "seq_len", true, 1, MM_DATASET_MAX_SEQ_LEN, &value);
  if (st >= 0)
    *seq_len = (uint32_t) value;
  return st;
}

/* Open all that the description NAME, TEXT, says there is.  */
static mm_status
open_all (struct mm_dataset *d, const char *name, const char *text, size_t size, bool verify)
{
  json_t *root = NULL;
  mm_status st = mm_sha256_bytes (text, size, d->sha256);

  if (st >= 0)
    st = mm_json_parse (name, text, size, &root);
  if (st >= 0)
    st = check_kind (name, root, &d->seq_len);
  if (st >= 0)
    st = open_tokenizer (d, name, root);
  for (int i = 0; st >= 0 && i < N_SPLITS; i++)
    st = open_split (d, (enum mm_split) i, name, root, verify);
  json_decref (root);
  return st;
}

mm_status
mm_dataset_open (const char *dir, bool verify, struct mm_dataset **out)
{
  struct mm_dataset *d;
  char *name, *text = NULL;
  size_t size;
  mm_status st;

  *out = NULL;
  st = mm_alloc ("dataset", 1, sizeof *d + strlen (dir) + 1, &d);
  if (st < 0)
    return st;
  strcpy (d->path, dir);
  name = mm_path_join (dir, "dataset.json");
  st = name ? mm_read_file (name, DESCRIPTION_LIMIT, &text, &size)
            : mm_fail (MM_ENOMEM, "%s: no memory for a name", dir);
  if (st == MM_ENOENT)
    st = mm_fail_prefix (st, "%s: want a dataset folder made by minimind-pack", dir);
  if (st >= 0)
    st = open_all (d, name, text, size, verify);
  free (text);
  free (name);
  if (st < 0)
    {
      mm_dataset_close (d);
      return st;
    }
  *out = d;
  return MM_OK;
}

void
mm_dataset_close (struct mm_dataset *d)
{
  if (!d)
    return;
  for (int i = 0; i < N_SPLITS; i++)
    {
      for (size_t p = 0; p < d->splits[i].n_parts; p++)
        mm_safetensors_close (d->splits[i].parts[p].file);
      free (d->splits[i].parts);
    }
  mm_tokenizer_free (d->tokenizer);
  free (d);
}

/* ---- reading ---- */

const char *
mm_dataset_path (const struct mm_dataset *d)
{
  return d->path;
}

uint32_t
mm_dataset_seq_len (const struct mm_dataset *d)
{
  return d->seq_len;
}

uint64_t
mm_dataset_rows (const struct mm_dataset *d, enum mm_split split)
{
  return d->splits[split].rows;
}

const struct mm_tokenizer *
mm_dataset_tokenizer (const struct mm_dataset *d)
{
  return d->tokenizer;
}

const char *
mm_dataset_sha256 (const struct mm_dataset *d)
{
  return d->sha256;
}

/* The part that holds ROW of S: the last one that begins at or before it.  */
static const struct part *
find_part (const struct split *s, uint64_t row)
{
  size_t low = 0, high = s->n_parts;

  while (high - low > 1)
    {
      size_t middle = low + (high - low) / 2;

      if (s->parts[middle].first <= row)
        low = middle;
      else
        high = middle;
    }
  return &s->parts[low];
}

/* Read row ROW of PART's flags, which are 0 or 1.  */
static mm_status
read_flags (const struct part *part, const struct mm_tensor *tensor, uint64_t row, size_t n,
            uint8_t *flags)
{
  mm_status st = mm_safetensors_read (part->file, tensor, row * n, flags, n);

  for (size_t i = 0; st >= 0 && i < n; i++)
    if (flags[i] > 1)
      st = mm_fail (MM_EFORMAT, "%s: %s of row %" PRIu64 ", position %zu, is %d, want 0 or 1",
                    mm_safetensors_path (part->file), tensor->name, row, i, flags[i]);
  return st;
}

static mm_status
read_ids (const struct mm_dataset *d, const struct part *part, uint64_t row, size_t n,
          uint32_t *ids)
{
  enum mm_dtype dtype = part->ids->dtype;
  size_t size = n * ids_width (dtype), bad;
  uint8_t *packed = ids_tail (ids, n, dtype);
  mm_status st = mm_safetensors_read (part->file, part->ids, row * size, packed, size);

  if (st < 0)
    return st;
  ids_load (packed, n, dtype, ids);
  bad = ids_beyond (ids, n, d->vocab_size);
  if (bad < n)
    return mm_fail (MM_EFORMAT, "%s: row %" PRIu64 ", position %zu: id %" PRIu32
                    ", the vocabulary has %" PRIu32 " ids", mm_safetensors_path (part->file), row,
                    bad, ids[bad], d->vocab_size);
  return MM_OK;
}

mm_status
mm_dataset_read (const struct mm_dataset *d, enum mm_split split, uint64_t row, uint32_t *ids,
                 uint8_t *doc_starts, uint8_t *mask)
{
  const struct split *s = &d->splits[split];
  size_t n = (size_t) d->seq_len + 1;
  const struct part *part;
  mm_status st;

  if (row >= s->rows)
    return mm_fail (MM_EINVAL, "%s: row %" PRIu64 " of %s asked for, there are %" PRIu64, d->path,
                    row, split_name (split), s->rows);
  part = find_part (s, row);
  row -= part->first;

  st = read_ids (d, part, row, n, ids);
  if (st >= 0)
    st = read_flags (part, part->starts, row, n, doc_starts);
  if (st >= 0 && doc_starts[0] != 1)
    st = mm_fail (MM_EFORMAT, "%s: doc_starts of row %" PRIu64 " begins with 0, want 1",
                  mm_safetensors_path (part->file), row);
  if (st >= 0 && part->mask)
    st = read_flags (part, part->mask, row, n, mask);
  else if (st >= 0)
    memset (mask, 1, n);
  return st;
}

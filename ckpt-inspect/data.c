/* data.c -- token files, datasets and their parts, with samples decoded.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/dataset.h>
#include <minimind/files.h>
#include <minimind/json.h>
#include <minimind/memory.h>
#include <minimind/tokens.h>

#include "describe.h"
#include "pieces.h"

enum
{
  DEFAULT_SAMPLES = 3,
  SAMPLE_TOKENS = 256,          /* of a document or row that are shown */
  JSON_LIMIT = 64 << 20
};

/* How many of N are to be shown.  */
static uint64_t
sample_count (const struct inspect_config *c, uint64_t n)
{
  uint64_t want = c->samples < 0 ? DEFAULT_SAMPLES : (uint64_t) c->samples;

  return want < n ? want : n;
}

/* Append {KEY: NUMBER, "tokens": LENGTH, "text": ...} of the first SHOWN tokens to SAMPLES.  */
static mm_status
add_sample (json_t *samples, const char *key, uint64_t number, uint64_t length, const struct mm_tokenizer *t,
            const uint32_t *ids, const uint8_t *starts, const uint8_t *mask, size_t shown)
{
  char *text = pieces_decode (t, ids, starts, mask, shown);
  json_t *sample = text ? json_pack ("{s:I, s:I, s:s}", key, (json_int_t) number, "tokens", (json_int_t) length,
                                     "text", text) : NULL;

  free (text);
  if (!sample)
    return mm_fail (MM_ENOMEM, "no memory for a sample");
  if (shown < length)
    json_object_set_new (sample, "shown", json_integer ((json_int_t) shown));
  json_array_append_new (samples, sample);
  return MM_OK;
}

/* ---- token files ---- */

static mm_status
sample_document (struct mm_tokens *f, uint64_t doc, json_t *samples)
{
  uint32_t ids[SAMPLE_TOKENS];
  uint8_t mask[SAMPLE_TOKENS];
  uint64_t first, length;
  mm_status st = mm_tokens_document (f, doc, &first, &length);
  size_t n = st == MM_OK && length < SAMPLE_TOKENS ? (size_t) length : SAMPLE_TOKENS;

  if (st == MM_OK)
    st = mm_tokens_read (f, first, n, ids, mask);
  if (st < 0)
    return st;
  return add_sample (samples, "document", doc, length, mm_tokens_tokenizer (f), ids, NULL,
                     mm_tokens_has_mask (f) ? mask : NULL, n);
}

mm_status
describe_tokens (const char *path, const struct inspect_config *c, json_t *d)
{
  struct mm_tokens *f;
  json_t *samples = json_array ();
  mm_status st = mm_tokens_open (path, &f);
  uint64_t n = st == MM_OK ? sample_count (c, mm_tokens_documents (f)) : 0;

  for (uint64_t i = 0; st == MM_OK && i < n; i++)
    st = sample_document (f, i, samples);
  if (st == MM_OK)
    {
      json_object_set_new (d, "documents", json_integer ((json_int_t) mm_tokens_documents (f)));
      json_object_set_new (d, "tokens", json_integer ((json_int_t) mm_tokens_count (f)));
      st = describe_safetensors (path, c, d);
    }
  if (n > 0)
    json_object_set (d, "samples", samples);
  json_decref (samples);
  mm_tokens_close (f);
  return st;
}

/* ---- datasets ---- */

struct row
{
  uint32_t *ids;
  uint8_t *starts, *mask;
  size_t n;                     /* tokens */
};

static mm_status
row_alloc (struct row *r, size_t n)
{
  char *memory;
  mm_status st = mm_alloc ("a row", n, sizeof *r->ids + 2, &memory);

  r->n = n;
  r->ids = (uint32_t *) (void *) memory;
  r->starts = (uint8_t *) memory + n * sizeof *r->ids;
  r->mask = r->starts + n;
  return st;
}

/* Sample rows of SPLIT under their name.  */
static mm_status
sample_split (const struct mm_dataset *data, enum mm_split split, const char *key, const struct inspect_config *c,
              struct row *r, json_t *samples)
{
  uint64_t n = sample_count (c, mm_dataset_rows (data, split));
  mm_status st = MM_OK;

  for (uint64_t i = 0; st == MM_OK && i < n; i++)
    {
      st = mm_dataset_read (data, split, i, r->ids, r->starts, r->mask);
      if (st == MM_OK)
        st = add_sample (samples, key, i, r->n, mm_dataset_tokenizer (data), r->ids, r->starts, r->mask,
                         r->n < SAMPLE_TOKENS ? r->n : SAMPLE_TOKENS);
    }
  return st;
}

static mm_status
add_description (const char *dir, json_t *d)
{
  char *path = mm_path_join (dir, "dataset.json");
  json_t *value = NULL;
  mm_status st = path ? mm_json_read (path, JSON_LIMIT, &value) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  if (st == MM_OK)
    json_object_set_new (d, "dataset", value);
  free (path);
  return st;
}

mm_status
describe_dataset (const char *path, const struct inspect_config *c, json_t *d)
{
  struct mm_dataset *data;
  struct row r = { .ids = NULL };
  json_t *samples = json_array ();
  mm_status st = mm_dataset_open (path, false, &data);

  if (st == MM_OK)
    st = row_alloc (&r, (size_t) mm_dataset_seq_len (data) + 1);
  if (st == MM_OK)
    st = sample_split (data, MM_TRAIN, "train row", c, &r, samples);
  if (st == MM_OK)
    st = sample_split (data, MM_VALIDATION, "validation row", c, &r, samples);
  if (st == MM_OK)
    {
      json_object_set_new (d, "sha256", json_string (mm_dataset_sha256 (data)));
      json_object_set_new (d, "seq_len", json_integer (mm_dataset_seq_len (data)));
      json_object_set_new (d, "train_rows", json_integer ((json_int_t) mm_dataset_rows (data, MM_TRAIN)));
      json_object_set_new (d, "validation_rows",
                           json_integer ((json_int_t) mm_dataset_rows (data, MM_VALIDATION)));
      st = add_description (path, d);
    }
  json_object_set_new (d, "samples", samples);
  free (r.ids);
  mm_dataset_close (data);
  return st;
}

/* ---- one part ---- */

/* The tokenizer beside the part; NULL if there is none or it cannot be read.  */
static struct mm_tokenizer *
tokenizer_beside (const char *path)
{
  const char *slash = strrchr (path, '/');
  char *dir = slash ? strndup (path, (size_t) (slash - path) + 1) : strdup (".");
  struct mm_tokenizer *t = NULL;

  if (dir && mm_tokenizer_load (dir, &t) < 0)
    t = NULL;
  free (dir);
  return t;
}

/* The first N flags of row ROW of the tensor NAME, *THERE false where the part has none that fits IDS.  */
static mm_status
read_flags (const struct mm_safetensors *file, const char *name, const struct mm_tensor *ids, uint64_t row,
            uint8_t *flags, size_t n, bool *there)
{
  const struct mm_tensor *t = mm_safetensors_find (file, name);

  *there = t && t->dtype == MM_U8 && t->n_dims == 2 && t->shape[0] == ids->shape[0]
           && t->shape[1] == ids->shape[1];
  return *there ? mm_safetensors_read (file, t, row * t->shape[1], flags, n) : MM_OK;
}

static mm_status
sample_row (const struct mm_safetensors *file, const struct mm_tensor *ids_tensor, const struct mm_tokenizer *t,
            uint64_t row, json_t *samples)
{
  uint32_t ids[SAMPLE_TOKENS];
  double values[SAMPLE_TOKENS];
  char raw[SAMPLE_TOKENS * sizeof (uint32_t)];
  uint8_t starts[SAMPLE_TOKENS], mask[SAMPLE_TOKENS];
  bool has_starts, has_mask;
  size_t width = mm_dtype_bits (ids_tensor->dtype) / 8;
  size_t n = ids_tensor->shape[1] < SAMPLE_TOKENS ? (size_t) ids_tensor->shape[1] : SAMPLE_TOKENS;
  mm_status st = mm_safetensors_read (file, ids_tensor, row * ids_tensor->shape[1] * width, raw, n * width);

  if (st == MM_OK)
    st = read_flags (file, "doc_starts", ids_tensor, row, starts, n, &has_starts);
  if (st == MM_OK)
    st = read_flags (file, "loss_mask", ids_tensor, row, mask, n, &has_mask);
  if (st < 0)
    return st;
  mm_dtype_values (ids_tensor->dtype, raw, n, values);
  for (size_t i = 0; i < n; i++)
    ids[i] = (uint32_t) values[i];
  return add_sample (samples, "row", row, ids_tensor->shape[1], t, ids, has_starts ? starts : NULL,
                     has_mask ? mask : NULL, n);
}

static mm_status
sample_rows (const char *path, const struct mm_tokenizer *t, const struct inspect_config *c, json_t *samples)
{
  struct mm_safetensors *file;
  mm_status st = mm_safetensors_open (path, &file);
  const struct mm_tensor *ids = st == MM_OK ? mm_safetensors_find (file, "input_ids") : NULL;

  if (st == MM_OK && (!ids || ids->n_dims != 2 || (ids->dtype != MM_U16 && ids->dtype != MM_U32)))
    st = mm_fail (MM_EFORMAT, "%s: input_ids: want U16 or U32 with 2 dimensions", path);
  for (uint64_t i = 0; st == MM_OK && i < sample_count (c, ids->shape[0]); i++)
    st = sample_row (file, ids, t, i, samples);
  mm_safetensors_close (file);
  return st;
}

mm_status
describe_rows (const char *path, const struct inspect_config *c, json_t *d)
{
  struct mm_tokenizer *t = tokenizer_beside (path);
  json_t *samples = json_array ();
  mm_status st = describe_safetensors (path, c, d);

  if (st == MM_OK && t)
    st = sample_rows (path, t, c, samples);
  if (json_array_size (samples) > 0)
    json_object_set (d, "samples", samples);
  json_decref (samples);
  mm_tokenizer_free (t);
  return st;
}

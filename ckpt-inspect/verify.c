/* verify.c -- by reading everything as the other tools would.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/backend.h>
#include <minimind/checkpoint.h>
#include <minimind/dataset.h>
#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/lora.h>
#include <minimind/memory.h>
#include <minimind/model.h>
#include <minimind/tokenizer.h>
#include <minimind/tokens.h>

#include "verify.h"

enum { JSON_LIMIT = 64 << 20, PIECE = 1 << 16 };

/* ---- models ---- */

/* The tokenizer of folder DIR, if it has one, fits a vocabulary of SIZE.  */
static mm_status
verify_vocabulary (const char *dir, uint32_t size)
{
  char *path = mm_path_join (dir, "tokenizer.json");
  struct mm_tokenizer *t = NULL;
  bool there;
  mm_status st = path ? mm_path_exists (path, &there) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  if (st == MM_OK && there)
    {
      st = mm_tokenizer_load (path, &t);
      if (st == MM_OK && mm_tokenizer_vocab_size (t) > size)
        st = mm_fail (MM_EFORMAT, "%s: has %" PRIu32 " tokens, the model's vocabulary %" PRIu32, path,
                      mm_tokenizer_vocab_size (t), size);
    }
  mm_tokenizer_free (t);
  free (path);
  return st;
}

static mm_status
verify_model (const char *dir)
{
  struct mm_backend *be;
  struct mm_model *m = NULL;
  mm_status st = mm_backend_open ("cpu", 1, &be);

  if (st == MM_OK)
    st = mm_model_open (be, dir, &m);
  if (st == MM_OK)
    st = verify_vocabulary (dir, mm_model_config (m)->vocab_size);
  mm_model_free (m);
  mm_backend_close (be);
  return st;
}

/* What a resumed run would read beside the model.  */
static mm_status
verify_training_state (const char *dir, struct mm_model *m)
{
  struct mm_checkpoint c = { .state = NULL };
  size_t n = mm_model_size (m);
  float *moments;
  mm_status st = mm_alloc ("moments", n, 2 * sizeof *moments, &moments);

  if (st == MM_OK)
    st = mm_checkpoint_load (dir, m, moments, moments + n, &c);
  json_decref (c.state);
  free (moments);
  return st;
}

/* The files are those of the MANIFEST, which a step folder has.  */
static mm_status
verify_manifest (const char *dir)
{
  mm_status st = mm_checkpoint_verify (dir);

  return st == MM_ENOENT ? mm_fail_prefix (MM_EFORMAT, "%s: is no complete checkpoint", dir) : st;
}

/* What can be said without the base.  */
static mm_status
verify_adapter (const char *dir)
{
  mm_status st = mm_adapter_verify (dir);

  return st < 0 ? st : verify_vocabulary (dir, UINT32_MAX);
}

static mm_status
verify_adapter_checkpoint (const char *dir)
{
  mm_status st = verify_manifest (dir);

  return st < 0 ? st : verify_adapter (dir);
}

static mm_status
verify_checkpoint (const char *dir)
{
  struct mm_model_config config;
  struct mm_backend *be = NULL;
  struct mm_model *m = NULL;
  char *path = mm_path_join (dir, "config.json");
  mm_status st = path ? verify_manifest (dir) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  if (st == MM_OK)
    st = mm_config_read (path, &config);
  if (st == MM_OK)
    st = verify_vocabulary (dir, config.vocab_size);
  if (st == MM_OK)
    st = mm_backend_open ("cpu", 1, &be);
  if (st == MM_OK)
    st = mm_model_create (be, &config, &m);
  if (st == MM_OK)
    st = verify_training_state (dir, m);
  mm_model_free (m);
  mm_backend_close (be);
  free (path);
  return st;
}

/* Whatever it holds, it is to be a checkpoint.  */
static mm_status
verify_step (const char *dir)
{
  enum kind kind;
  mm_status st = kind_detect (dir, &kind);

  return st == MM_OK && kind == KIND_ADAPTER_CHECKPOINT ? verify_adapter_checkpoint (dir) : verify_checkpoint (dir);
}

static mm_status
verify_run (const char *path)
{
  char **names;
  size_t n;
  mm_status st = names_list (path, "step-", "", true, &names, &n);

  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      char *dir = mm_path_join (path, names[i]);

      st = dir ? verify_step (dir) : mm_fail (MM_ENOMEM, "%s: no memory", path);
      free (dir);
    }
  names_free (names, n);
  return st;
}

/* ---- data ---- */

static mm_status
verify_split (const struct mm_dataset *d, enum mm_split split, uint32_t *ids, uint8_t *starts, uint8_t *mask)
{
  mm_status st = MM_OK;

  for (uint64_t row = 0; st == MM_OK && row < mm_dataset_rows (d, split); row++)
    st = mm_dataset_read (d, split, row, ids, starts, mask);
  return st;
}

static mm_status
verify_dataset (const char *dir)
{
  struct mm_dataset *d;
  uint32_t *ids = NULL;
  uint8_t *flags = NULL;
  mm_status st = mm_dataset_open (dir, true, &d);
  size_t n = st == MM_OK ? (size_t) mm_dataset_seq_len (d) + 1 : 0;

  if (st == MM_OK)
    st = mm_alloc ("a row", n, sizeof *ids, &ids);
  if (st == MM_OK)
    st = mm_alloc ("a row", n, 2, &flags);
  if (st == MM_OK)
    st = verify_split (d, MM_TRAIN, ids, flags, flags + n);
  if (st == MM_OK)
    st = verify_split (d, MM_VALIDATION, ids, flags, flags + n);
  free (ids);
  free (flags);
  mm_dataset_close (d);
  return st;
}

/* Turns begin one behind the other.  */
static mm_status
verify_turns (struct mm_tokens *f)
{
  uint64_t before = 0, turn;
  mm_status st = MM_OK;

  for (uint64_t i = 0; st == MM_OK && i < mm_tokens_turns (f); i++)
    {
      st = mm_tokens_turn (f, i, &turn);
      if (st == MM_OK && i > 0 && turn <= before)
        st = mm_fail (MM_EFORMAT, "%s: turn %" PRIu64 " begins at token %" PRIu64 ", the one before at %" PRIu64,
                      mm_tokens_path (f), i, turn, before);
      before = turn;
    }
  return st;
}

static mm_status
verify_tokens (const char *path)
{
  struct mm_tokens *f;
  uint32_t *ids = NULL;
  uint8_t *mask = NULL;
  uint64_t first, length;
  mm_status st = mm_tokens_open (path, &f);

  if (st == MM_OK)
    st = mm_alloc ("tokens", PIECE, sizeof *ids, &ids);
  if (st == MM_OK)
    st = mm_alloc ("tokens", PIECE, 1, &mask);
  for (uint64_t doc = 0; st == MM_OK && doc < mm_tokens_documents (f); doc++)
    st = mm_tokens_document (f, doc, &first, &length);
  for (uint64_t at = 0; st == MM_OK && at < mm_tokens_count (f); at += PIECE)
    {
      uint64_t left = mm_tokens_count (f) - at;

      st = mm_tokens_read (f, at, left < PIECE ? (size_t) left : PIECE, ids, mask);
    }
  if (st == MM_OK)
    st = verify_turns (f);
  free (ids);
  free (mask);
  mm_tokens_close (f);
  return st;
}

/* The hash that dataset.json beside PATH gives for the part NAME ("train-00002-of-00005.safetensors"), or NULL.  */
static const char *
listed_hash (const json_t *dataset, const char *name)
{
  const char *dash = strchr (name, '-');
  json_t *split, *part;
  char key[32];

  if (!dash || (size_t) (dash - name) >= sizeof key)
    return NULL;
  snprintf (key, sizeof key, "%.*s", (int) (dash - name), name);
  split = json_object_get (dataset, key);
  part = json_array_get (json_object_get (split, "parts"), strtoul (dash + 1, NULL, 10));
  return json_string_value (json_object_get (part, "sha256"));
}

/* A part by itself: its dataset knows its hash.  */
static mm_status
verify_rows (const char *path)
{
  const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path, *want;
  char *dir = slash ? strndup (path, (size_t) (slash - path) + 1) : strdup (".");
  char *description = dir ? mm_path_join (dir, "dataset.json") : NULL, found[MM_SHA256_TEXT];
  json_t *dataset = NULL;
  mm_status st = description ? mm_json_read (description, JSON_LIMIT, &dataset)
                             : mm_fail (MM_ENOMEM, "%s: no memory", path);

  if (st == MM_ENOENT)
    st = mm_fail (MM_EFORMAT, "%s: no dataset.json beside it to verify it by", path);
  if (st == MM_OK)
    st = mm_sha256_file (path, found);
  want = listed_hash (dataset, name);
  if (st == MM_OK && !want)
    st = mm_fail (MM_EFORMAT, "%s: %s knows no such part", path, description);
  if (st == MM_OK && strcmp (found, want) != 0)
    st = mm_fail (MM_EFORMAT, "%s: has SHA-256 %s, want %s", path, found, want);
  json_decref (dataset);
  free (description);
  free (dir);
  return st;
}

static mm_status
verify_tokenizer (const char *path)
{
  struct mm_tokenizer *t;
  mm_status st = mm_tokenizer_load (path, &t);

  mm_tokenizer_free (t);
  return st;
}

mm_status
verify (const char *path, enum kind kind)
{
  switch (kind)
    {
    case KIND_CHECKPOINT:
      return verify_checkpoint (path);
    case KIND_MODEL:
      return verify_model (path);
    case KIND_ADAPTER_CHECKPOINT:
      return verify_adapter_checkpoint (path);
    case KIND_ADAPTER:
      return verify_adapter (path);
    case KIND_RUN:
      return verify_run (path);
    case KIND_DATASET:
      return verify_dataset (path);
    case KIND_TOKENIZER_FOLDER:
    case KIND_TOKENIZER:
      return verify_tokenizer (path);
    case KIND_TOKENS:
      return verify_tokens (path);
    case KIND_ROWS:
      return verify_rows (path);
    case KIND_SAFETENSORS:
      return MM_OK;             /* telling its kind has validated it */
    }
  return MM_OK;
}

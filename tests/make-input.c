/* make-input.c -- small token files and model folders, for the tests of tools that read them.
   SPDX-License-Identifier: Apache-2.0

   make-input tokens FILE [VOCAB] <TEXT: each line of TEXT is a document, its bytes, newline
   included, are the tokens, and eos ends it.  make-input model DIR [VOCAB [SEED]]: the preset nano
   with random weights.  Both have the tokenizer of tests/unit/tiny.h.  make-input adapter DIR BASE [SEED]: a
   random adapter for the model folder BASE; SEED "zero": as it starts, "nan": with such a value, "huge": with one
   that is too large for float16.  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <minimind/backend.h>
#include <minimind/files.h>
#include <minimind/lora.h>
#include <minimind/model.h>
#include <minimind/random.h>
#include <minimind/tokens.h>

#include "unit/tiny.h"

static mm_status
write_documents (struct mm_tokens_writer *w, uint32_t eos)
{
  char *line = NULL;
  size_t room = 0;
  ssize_t n;
  mm_status st = MM_OK;

  while (st == MM_OK && (n = getline (&line, &room, stdin)) > 0)
    {
      for (ssize_t i = 0; i < n && st == MM_OK; i++)
        st = mm_tokens_add (w, &(uint32_t) { (unsigned char) line[i] + 3u }, 1);
      if (st == MM_OK)
        st = mm_tokens_add (w, &eos, 1);
      if (st == MM_OK)
        st = mm_tokens_end_document (w);
    }
  free (line);
  return st;
}

static mm_status
make_tokens (const char *path, const struct mm_tokenizer *t)
{
  struct mm_tokens_writer *w;
  mm_status st = mm_tokens_create (path, true, t, &w);

  if (st == MM_OK)
    st = write_documents (w, (uint32_t) mm_tokenizer_eos (t));
  return st == MM_OK ? mm_tokens_commit (w) : st;
}

static mm_status
put (const char *dir, const char *name, const char *text, size_t size)
{
  char *path = mm_path_join (dir, name);
  mm_status st = path ? mm_write_file (path, text, size) : MM_ENOMEM;

  free (path);
  return st;
}

static mm_status
put_texts (const char *dir, const struct mm_tokenizer *t, const struct mm_model_config *c)
{
  const char *json, *config;
  size_t json_size, config_size;
  char *shape, *generation;
  mm_status st = mm_config_text (c, MM_F32, &shape, &generation);

  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  if (st == MM_OK)
    st = put (dir, "config.json", shape, strlen (shape));
  if (st == MM_OK)
    st = put (dir, "tokenizer.json", json, json_size);
  if (st == MM_OK)
    st = put (dir, "tokenizer_config.json", config, config_size);
  free (shape);
  free (generation);
  return st;
}

static mm_status
put_weights (const char *dir, struct mm_model *m)
{
  size_t size = mm_model_size (m) * sizeof (float);
  float *values = malloc (size);
  char *path = mm_path_join (dir, "model.safetensors");
  struct mm_safetensors_writer *w;
  mm_status st = values && path ? mm_safetensors_create (path, false, false, &w) : MM_ENOMEM;

  if (st == MM_OK)
    st = mm_backend_get (mm_model_backend (m), values, mm_model_values (m), size);
  if (st == MM_OK)
    st = mm_model_declare (m, "", w);
  if (st == MM_OK)
    st = mm_model_write (m, "", values, w);
  if (st == MM_OK)
    st = mm_safetensors_commit (w, NULL);
  free (values);
  free (path);
  return st;
}

static mm_status
make_model (const char *dir, const struct mm_tokenizer *t, uint64_t seed)
{
  struct mm_model_config c;
  struct mm_backend *be = NULL;
  struct mm_model *m = NULL;
  mm_status st = mm_config_preset ("nano", mm_tokenizer_vocab_size (t), &c);

  c.bos_id = mm_tokenizer_bos (t);
  c.eos_id = mm_tokenizer_eos (t);
  c.pad_id = mm_tokenizer_pad (t);
  if (mkdir (dir, 0777) < 0)
    st = mm_fail_errno (dir);
  if (st == MM_OK)
    st = put_texts (dir, t, &c);
  if (st == MM_OK)
    st = mm_backend_open ("cpu", 1, &be);
  if (st == MM_OK)
    st = mm_model_create (be, &c, &m);
  if (st == MM_OK)
    st = mm_model_init (m, seed);
  if (st == MM_OK)
    st = put_weights (dir, m);
  mm_model_free (m);
  mm_backend_close (be);
  return st;
}

static mm_status
make_adapter (const char *dir, const char *base, const char *seed)
{
  struct mm_backend *be = NULL;
  struct mm_model *m = NULL;
  struct mm_params p = { NULL, 0, 0, NULL };
  char sha256[MM_SHA256_TEXT];
  mm_status st = mm_backend_open ("cpu", 1, &be);

  if (mkdir (dir, 0777) < 0)
    st = mm_fail_errno (dir);
  if (st == MM_OK)
    st = mm_model_open (be, base, &m);
  if (st == MM_OK)
    st = mm_model_sha256 (m, sha256);
  if (st == MM_OK)
    st = mm_lora_create (m, 2, 4, 127, 1);
  if (st == MM_OK)
    p = mm_model_trained (m);
  if (st == MM_OK && strcmp (seed, "zero") != 0)
    mm_normal (strtoull (seed, NULL, 10), MM_RANDOM_TEST, 0, 0, p.size, 0.1, p.values);
  if (st == MM_OK && strcmp (seed, "nan") == 0)
    p.values[p.size - 1] = NAN;
  if (st == MM_OK && strcmp (seed, "huge") == 0)
    p.values[p.size - 1] = 3e38f;
  if (st == MM_OK)
    st = mm_adapter_write (m, p.values, sha256, dir);
  mm_model_free (m);
  mm_backend_close (be);
  return st;
}

int
main (int argc, char **argv)
{
  struct mm_tokenizer *t;
  mm_status st;

  if (argc < 3)
    return 64;
  if (strcmp (argv[1], "adapter") == 0)
    {
      st = make_adapter (argv[2], argv[3], argc > 4 ? argv[4] : "1");
      if (st < 0)
        fprintf (stderr, "make-input: %s\n", mm_error_message ());
      return st < 0;
    }
  t = tiny_tokenizer (argc > 3 ? (uint32_t) strtoul (argv[3], NULL, 10) : TINY_VOCAB);
  if (strcmp (argv[1], "model") == 0)
    st = make_model (argv[2], t, argc > 4 ? strtoull (argv[4], NULL, 10) : 1);
  else
    st = make_tokens (argv[2], t);
  mm_tokenizer_free (t);
  if (st < 0)
    fprintf (stderr, "make-input: %s\n", mm_error_message ());
  return st < 0;
}

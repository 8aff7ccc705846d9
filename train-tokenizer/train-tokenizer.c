/* train-tokenizer.c -- from documents to the two files of a tokenizer.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <minimind/files.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/tokenizer.h>

#include "report.h"

static const char *const default_special[] = { "<|endoftext|>", "<|im_start|>", "<|im_end|>" };

static const char file_name[] = "tokenizer.json", config_name[] = "tokenizer_config.json";

/* Fill in the special tokens and roles that were not given.  */
static void
choose_special (struct train_tokenizer_config *c)
{
  struct mm_bpe_options *o = &c->bpe;

  o->special = c->special;
  o->n_special = c->n_special;
  if (c->n_special == 0)
    {
      o->special = default_special;
      o->n_special = 3;
      o->bos = o->bos ? o->bos : default_special[1];
      o->eos = o->eos ? o->eos : default_special[2];
      o->unk = o->unk ? o->unk : default_special[0];
    }
  o->eos = o->eos ? o->eos : o->special[0];
  o->pad = o->pad ? o->pad : o->special[0];
}

/* Names of the two files, which the caller frees.  */
static mm_status
name_outputs (const char *output, char **json, char **config)
{
  size_t size = strlen (output), tail = sizeof file_name - 1;
  struct stat info;

  *json = *config = NULL;
  if (stat (output, &info) == 0 && S_ISDIR (info.st_mode))
    {
      *json = mm_path_join (output, file_name);
      *config = mm_path_join (output, config_name);
    }
  else if (size < tail || strcmp (output + size - tail, file_name) != 0)
    return mm_fail (MM_EUSAGE, "%s: want a name that ends in tokenizer.json, or a folder", output);
  else
    {
      *json = strdup (output);
      *config = malloc (size - tail + sizeof config_name);
      if (*config)
        {
          memcpy (*config, output, size - tail);
          memcpy (*config + size - tail, config_name, sizeof config_name);
        }
    }
  return *json && *config ? MM_OK : mm_fail (MM_ENOMEM, "%s: out of memory", output);
}

/* The folder for temporary files as a new string: $TMPDIR, or that of PATH.  */
static mm_status
name_folder (const char *path, char **folder)
{
  const char *variable = getenv ("TMPDIR"), *slash = strrchr (path, '/');

  if (variable && *variable)
    *folder = strdup (variable);
  else
    *folder = slash ? strndup (path, slash == path ? 1 : (size_t) (slash - path)) : strdup (".");
  return *folder ? MM_OK : mm_fail (MM_ENOMEM, "%s: out of memory", path);
}

static size_t
cut (const void *arg, const char *text, size_t size, size_t limit)
{
  return mm_bpe_trainer_cut (arg, text, size, limit);
}

static void
show_progress (const struct mm_documents *d, double start)
{
  char done_text[32], total_text[32], speed[32];
  uint64_t done, total;

  if (!mm_progress_due ())
    return;
  mm_documents_progress (d, &done, &total);
  mm_format_bytes (done, done_text);
  mm_format_bytes ((uint64_t) ((double) done / (mm_now () - start + 1e-9)), speed);
  if (total)
    mm_progress ("counting: %s of %s, %s/s", done_text, mm_format_bytes (total, total_text), speed);
  else
    mm_progress ("counting: %s, %s/s", done_text, speed);
}

/* Count all documents.  */
static mm_status
read_documents (struct train_tokenizer_config *c, struct mm_bpe_trainer *t,
                struct mm_document_counts *counts, struct samples *samples)
{
  double start = mm_now ();
  struct mm_documents *d;
  struct mm_document_part part;
  bool more = true;
  mm_status st;

  c->documents.cut = cut;
  c->documents.cut_arg = t;
  st = mm_documents_open (c->inputs, c->n_inputs, &c->documents, &d);
  while (st == MM_OK && more)
    {
      st = mm_documents_next (d, &part, &more);
      if (st == MM_OK && more)
        {
          st = mm_bpe_trainer_add (t, part.text, part.size);
          if (st == MM_OK)
            st = samples_add (samples, t, &part);
          show_progress (d, start);
        }
    }
  mm_progress_end ();
  if (st == MM_OK)
    mm_documents_counts (d, counts);
  mm_documents_close (d);
  return st;
}

/* Write the files; CONFIG may be NULL.  tokenizer.json appears last, so that who finds it finds both.  */
static mm_status
write_files (const char *json, const char *config,
             struct mm_output *json_out, struct mm_output *config_out)
{
  mm_status st = mm_output_write (json_out, json, strlen (json));

  if (st == MM_OK && config)
    st = mm_output_write (config_out, config, strlen (config));
  if (st < 0)
    {
      mm_output_abort (json_out);
      mm_output_abort (config_out);
      return st;
    }
  return config ? mm_output_commit_all ((struct mm_output *[]) { config_out, json_out }, 2)
                : mm_output_commit (json_out);
}

/* Load the tokenizer to extend, or choose what a new one is made of.  *CONFIG tells if a configuration will come.  */
static mm_status
begin (struct train_tokenizer_config *c, struct mm_tokenizer **base, bool *config)
{
  const char *text = NULL;
  size_t size;
  mm_status st = MM_OK;

  *base = NULL;
  if (c->from)
    st = mm_tokenizer_load (c->from, base);
  else
    choose_special (c);
  if (*base)
    {
      mm_tokenizer_files (*base, &text, &size, &text, &size);
      c->bpe.base = *base;
    }
  *config = text || !c->from;
  return st;
}

mm_status
train_tokenizer (struct train_tokenizer_config *c)
{
  char *json_path = NULL, *config_path = NULL, *folder = NULL, *json = NULL, *config = NULL;
  struct mm_output *json_out = NULL, *config_out = NULL;
  struct mm_document_counts counts = { 0 };
  struct samples samples = { 0 };
  struct mm_tokenizer *base;
  struct mm_bpe_trainer *t = NULL;
  uint32_t reached = 0;
  bool with_config;
  mm_status st = begin (c, &base, &with_config);

  if (st == MM_OK)
    st = name_outputs (c->output, &json_path, &config_path);
  if (st == MM_OK)
    st = name_folder (json_path, &folder);
  c->bpe.temp_folder = folder;
  c->bpe.checked = true;        /* by the reader of documents */
  if (st == MM_OK)
    st = mm_bpe_trainer_open (&c->bpe, &t);
  if (st == MM_OK)
    st = mm_output_open (json_path, c->force, &json_out);
  if (st == MM_OK && with_config)
    st = mm_output_open (config_path, c->force, &config_out);
  if (st == MM_OK)
    st = read_documents (c, t, &counts, &samples);
  if (st == MM_OK)
    st = mm_bpe_trainer_finish (t, &json, &config, &reached);
  if (st == MM_OK)
    st = report (c, t, json, config, reached, &counts, &samples);
  if (st == MM_OK)
    {
      st = write_files (json, config, json_out, config_out);
      json_out = config_out = NULL;
    }
  mm_output_abort (json_out);
  mm_output_abort (config_out);
  samples_free (&samples);
  mm_bpe_trainer_close (t);
  mm_tokenizer_free (base);
  free (json);
  free (config);
  free (json_path);
  free (config_path);
  free (folder);
  return st;
}

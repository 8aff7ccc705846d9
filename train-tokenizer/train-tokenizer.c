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

#include "train-tokenizer.h"

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

static size_t
cut (const void *arg, const char *text, size_t size, size_t limit)
{
  (void) arg;
  return mm_bpe_trainer_cut (text, size, limit);
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
                struct mm_document_counts *counts)
{
  double start = mm_now ();
  struct mm_documents *d;
  struct mm_document_part part;
  bool more = true;
  mm_status st;

  c->documents.cut = cut;
  st = mm_documents_open (c->inputs, c->n_inputs, &c->documents, &d);
  while (st == MM_OK && more)
    {
      st = mm_documents_next (d, &part, &more);
      if (st == MM_OK && more)
        {
          st = mm_bpe_trainer_add (t, part.text, part.size);
          show_progress (d, start);
        }
    }
  mm_progress_end ();
  if (st == MM_OK)
    mm_documents_counts (d, counts);
  mm_documents_close (d);
  return st;
}

static void
report (const struct train_tokenizer_config *c, const struct mm_bpe_trainer *t,
        const struct mm_document_counts *n, uint32_t reached)
{
  char bytes[32];
  uint64_t pieces, distinct;

  mm_bpe_trainer_counts (t, &pieces, &distinct);
  mm_info ("%s, %s, %s, %" PRIu64 " distinct; %s", MM_COUNT (n->documents, "document"),
           mm_format_bytes (n->bytes, bytes), MM_COUNT (pieces, "piece"), distinct, MM_COUNT (reached, "token"));
  if (n->empty)
    mm_info ("%s left out", MM_COUNT (n->empty, "empty document"));
  if (n->skipped)
    mm_warn ("%s left out because of errors", MM_COUNT (n->skipped, "document"));
  if (n->replaced)
    mm_warn ("%s U+FFFD put in for what is not UTF-8", MM_COUNT (n->replaced, "time"));
  if (reached < c->bpe.vocab_size)
    mm_warn ("the corpus ran dry: %s reached, %" PRIu32 " asked for", MM_COUNT (reached, "token"),
             c->bpe.vocab_size);
}

/* Write both files; tokenizer.json appears last, so that who finds it finds both.  */
static mm_status
write_files (const char *json, const char *config,
             struct mm_output *json_out, struct mm_output *config_out)
{
  mm_status st = mm_output_write (json_out, json, strlen (json));

  if (st == MM_OK)
    st = mm_output_write (config_out, config, strlen (config));
  if (st < 0)
    {
      mm_output_abort (json_out);
      mm_output_abort (config_out);
      return st;
    }
  return mm_output_commit_all ((struct mm_output *[]) { config_out, json_out }, 2);
}

mm_status
train_tokenizer (struct train_tokenizer_config *c)
{
  char *json_path = NULL, *config_path = NULL, *json = NULL, *config = NULL;
  struct mm_output *json_out = NULL, *config_out = NULL;
  struct mm_document_counts counts = { 0 };
  struct mm_bpe_trainer *t = NULL;
  uint32_t reached = 0;
  mm_status st;

  choose_special (c);
  st = name_outputs (c->output, &json_path, &config_path);
  if (st == MM_OK)
    st = mm_bpe_trainer_open (&c->bpe, &t);
  if (st == MM_OK)
    st = mm_output_open (json_path, c->force, &json_out);
  if (st == MM_OK)
    st = mm_output_open (config_path, c->force, &config_out);
  if (st == MM_OK)
    st = read_documents (c, t, &counts);
  if (st == MM_OK)
    st = mm_bpe_trainer_finish (t, &json, &config, &reached);
  if (st == MM_OK)
    {
      report (c, t, &counts, reached);
      st = write_files (json, config, json_out, config_out);
      json_out = config_out = NULL;
    }
  mm_output_abort (json_out);
  mm_output_abort (config_out);
  mm_bpe_trainer_close (t);
  free (json);
  free (config);
  free (json_path);
  free (config_path);
  return st;
}

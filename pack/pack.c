/* pack.c -- token files into a dataset folder: survey, plan, count the rows, write them.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/json.h>
#include <minimind/log.h>

#include "mix.h"
#include "pack.h"
#include "report.h"
#include "survey.h"

enum { LLMC_FILE_TOKENS = 100000000 };  /* as llm.c's own scripts make them */

const char *const pack_strategy_names[] = { "concat", "fit", "pad", NULL };
const char *const pack_format_names[] = { "dataset", "llmc", NULL };

/* The rows that will be made, before any is.  */
static mm_status
check_rows (const struct pack_config *c, const struct mix_counts *counts)
{
  if (counts->splits[MM_TRAIN].targets == 0)
    return mm_fail (MM_EFORMAT, "no row for training: nothing in the inputs is a target");
  for (int split = 0; c->shard_rows > 0 && c->format == PACK_DATASET && split < 2; split++)
    {
      uint64_t rows = counts->splits[split].rows;

      if (rows > 0 && (rows - 1) / c->shard_rows >= MM_DATASET_MAX_PARTS)
        return mm_fail (MM_EUSAGE, "%" PRIu64 " rows make more than %d parts: take --shard-rows=%" PRIu64
                        " at least", rows, MM_DATASET_MAX_PARTS,
                        (rows + MM_DATASET_MAX_PARTS - 1) / MM_DATASET_MAX_PARTS);
    }
  return MM_OK;
}

/* Write the rows that PLANNED counts.  */
static mm_status
write_rows (struct corpus *c, const struct plan *p, const struct rows_sink *sink,
            const struct mix_counts *planned)
{
  struct mix_counts written;
  mm_status st = mix_counts_new (c, &written);

  if (st >= 0)
    st = mix_run (c, p, sink, planned->splits[MM_TRAIN].rows, &written);
  if (st >= 0 && memcmp (written.splits, planned->splits, sizeof written.splits) != 0)
    st = mm_fail (MM_EFORMAT, "%s: an input changed while it was read", c->config->output);
  mix_counts_free (&written);
  return st;
}

static mm_status
write_dataset (struct corpus *c, const struct plan *p, const char *dir, const struct mix_counts *counts,
               const char *report)
{
  const struct mm_dataset_options options = {
    .seq_len = c->config->seq_len,
    .shard_rows = c->config->shard_rows,
    .with_mask = c->with_mask || p->strategy != PACK_CONCAT,
    .rows = { counts->splits[MM_TRAIN].rows, counts->splits[MM_VALIDATION].rows },
  };
  struct rows_sink sink = { 0 };
  mm_status st = mm_dataset_create (dir, c->tokenizer, &options, &sink.dataset);

  if (st < 0)
    return st;
  st = write_rows (c, p, &sink, counts);
  if (st < 0)
    {
      mm_dataset_abort (sink.dataset);
      return st;
    }
  return mm_dataset_commit (sink.dataset, report);
}

/* dataset.json of a folder of llm.c's files.  FILES is taken over.  */
static mm_status
describe_llmc (const struct corpus *c, const char *dir, json_t *files, const char *report)
{
  char *path = mm_path_join (dir, "dataset.json"), *text = NULL;
  json_t *root, *object = NULL;
  mm_status st = path ? mm_json_parse ("report", report, strlen (report), &object)
                      : mm_fail (MM_ENOMEM, "%s: no memory for a name", dir);

  root = json_pack ("{s:s, s:i, s:s, s:o, s:o*}", "kind", "minimind-llmc", "version", 1, "tokenizer_sha256",
                    mm_tokenizer_sha256 (c->tokenizer), "files", files, "report", object);
  if (st >= 0)
    st = root ? mm_json_text (root, true, &text) : mm_fail (MM_ENOMEM, "%s: no memory for dataset.json", dir);
  if (st >= 0)
    st = mm_write_file (path, text, strlen (text));
  json_decref (root);
  free (text);
  free (path);
  return st;
}

static mm_status
write_llmc (struct corpus *c, const struct plan *p, const char *dir, const struct mix_counts *counts,
            const char *report)
{
  const struct pack_config *config = c->config;
  uint64_t file_tokens = LLMC_FILE_TOKENS;
  struct rows_sink sink = { 0 };
  json_t *files;
  mm_status st;

  if (c->with_mask)
    return mm_fail (MM_EUNSUP, "%s: llm.c's files hold no loss mask, and an input has one", config->output);
  if (config->shard_rows > 0 && __builtin_mul_overflow (config->shard_rows, config->seq_len, &file_tokens))
    file_tokens = UINT64_MAX;
  st = llmc_create (dir, c->tokenizer, file_tokens, &sink.llmc);
  if (st < 0)
    return st;
  st = write_rows (c, p, &sink, counts);
  if (st < 0)
    {
      llmc_abort (sink.llmc);
      return st;
    }
  st = llmc_commit (sink.llmc, &files);
  if (st < 0)
    return st;
  report_llmc (files);
  return describe_llmc (c, dir, files, report);
}

/* Make the folder DIR, or nothing when it is NULL, and report.  */
static mm_status
make (struct corpus *c, const struct plan *p, const char *dir)
{
  const struct pack_config *config = c->config;
  struct mix_counts counts;
  char *report = NULL;
  mm_status st = mix_counts_new (c, &counts);

  if (st >= 0)
    st = mix_run (c, p, &(struct rows_sink) { 0 }, 0, &counts);
  if (st >= 0)
    st = check_rows (config, &counts);
  if (st >= 0)
    st = report_json (c, p, &counts, &report);
  if (st >= 0 && dir)
    st = (config->format == PACK_LLMC ? write_llmc : write_dataset) (c, p, dir, &counts, report);
  mm_progress_end ();
  if (st >= 0)
    report_print (c, p, &counts);
  if (st >= 0 && config->json)
    puts (report);
  free (report);
  mix_counts_free (&counts);
  return st;
}

mm_status
pack (const struct pack_config *config)
{
  struct mm_output_dir *out = NULL;
  struct corpus c = { .config = config };
  struct plan p = { 0 };
  const char *temp = NULL;
  mm_status st = MM_OK;

  if (!config->dry_run)
    st = mm_output_dir_open (config->output, config->force, &out, &temp);
  if (st >= 0)
    st = corpus_open (config, &c);
  if (st >= 0)
    st = survey (&c);
  if (st >= 0)
    st = plan_make (&c, &p);
  if (st >= 0)
    st = make (&c, &p, temp);
  if (st >= 0 && out)
    {
      st = mm_output_dir_commit (out);
      out = NULL;
    }
  mm_progress_end ();
  mm_output_dir_abort (out);
  plan_free (&p);
  corpus_close (&c);
  return st;
}

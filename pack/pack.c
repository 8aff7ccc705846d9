/* pack.c -- the second pass: every document to its split, rows to the dataset folder.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <minimind/files.h>
#include <minimind/log.h>

#include "pack.h"
#include "plan.h"
#include "report.h"
#include "rows.h"

const char *const pack_strategy_names[] = { "concat", "fit", "pad", NULL };

/* The work under way.  */
struct packing
{
  const struct pack_config *config;
  const struct plan *plan;
  struct rows *splits[2];       /* by enum mm_split */
  uint64_t seen;                /* tokens of the stream so far */
};

/* Hand a document to its split; the one in which the tail begins is cut there.  */
static mm_status
add_document (struct packing *k, struct mm_tokens *f, size_t input, uint64_t doc)
{
  const struct plan *p = k->plan;
  uint64_t first, length, tail_from = p->tokens - p->tail, before;
  mm_status st = mm_tokens_document (f, doc, &first, &length);

  if (st < 0)
    return st;
  if (p->held_out == HELD_DOCUMENTS)
    return rows_add (k->splits[plan_hash_holds (k->config, input, doc) ? MM_VALIDATION : MM_TRAIN],
                     f, first, length);

  before = tail_from > k->seen ? tail_from - k->seen : 0;
  before = before < length ? before : length;
  k->seen += length;
  if (before > 0 || length == 0)
    st = rows_add (k->splits[MM_TRAIN], f, first, before);
  if (st >= 0 && before < length)
    st = rows_add (k->splits[MM_VALIDATION], f, first + before, length - before);
  return st;
}

static mm_status
add_documents (struct packing *k, struct mm_tokens *f, size_t input)
{
  uint64_t documents = mm_tokens_documents (f);
  mm_status st = MM_OK;

  if (documents != k->plan->inputs[input].documents
      || mm_tokens_count (f) != k->plan->inputs[input].tokens)
    return mm_fail (MM_EFORMAT, "%s: changed while it was read", mm_tokens_path (f));
  for (uint64_t doc = 0; st >= 0 && doc < documents; doc++)
    {
      st = add_document (k, f, input, doc);
      if (mm_progress_due ())
        mm_progress ("packing %s: document %" PRIu64 " of %" PRIu64, mm_tokens_path (f), doc,
                     documents);
    }
  return st;
}

static mm_status
add_inputs (struct packing *k)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st >= 0 && i < k->config->n_inputs; i++)
    {
      struct mm_tokens *f;

      st = mm_tokens_open (k->config->inputs[i], &f);
      if (st >= 0)
        {
          st = add_documents (k, f, i);
          mm_tokens_close (f);
        }
    }
  return st;
}

static mm_status
make_rows (struct packing *k, struct mm_dataset_writer *w, struct rows_counts counts[2])
{
  const struct mm_tokenizer *t = mm_tokens_tokenizer (k->plan->first);
  mm_status st = rows_open (k->config, t, w, MM_TRAIN, &k->splits[MM_TRAIN]);

  if (st >= 0)
    st = rows_open (k->config, t, w, MM_VALIDATION, &k->splits[MM_VALIDATION]);
  if (st >= 0)
    st = add_inputs (k);
  for (int s = 0; s < 2; s++)
    if (st >= 0)
      st = rows_finish (k->splits[s], &counts[s]);
    else
      rows_abort (k->splits[s]);
  if (st >= 0 && counts[MM_TRAIN].rows == 0)
    st = mm_fail (MM_EFORMAT, "no row for training: nothing in the inputs is a target");
  return st;
}

/* Fill the folder DIR; *REPORT is also in its dataset.json.  */
static mm_status
write_dataset (const struct pack_config *c, const struct plan *p, const char *dir,
               struct rows_counts counts[2], char **report)
{
  const struct mm_dataset_options options = {
    .seq_len = c->seq_len,
    .shard_rows = c->shard_rows,
    .with_mask = p->with_mask || c->strategy != PACK_CONCAT,
  };
  struct packing k = { .config = c, .plan = p };
  struct mm_dataset_writer *w;
  mm_status st = mm_dataset_create (dir, mm_tokens_tokenizer (p->first), &options, &w);

  if (st < 0)
    return st;
  st = make_rows (&k, w, counts);
  if (st >= 0)
    st = report_json (c, p, counts, report);
  if (st < 0)
    {
      mm_dataset_abort (w);
      return st;
    }
  return mm_dataset_commit (w, *report);
}

mm_status
pack (const struct pack_config *c)
{
  struct rows_counts counts[2] = { { 0 } };
  struct mm_output_dir *out = NULL;
  struct plan p = { 0 };
  const char *temp;
  char *report = NULL;
  mm_status st = mm_output_dir_open (c->output, c->force, &out, &temp);

  if (st >= 0)
    st = plan_make (c, &p);
  if (st >= 0)
    st = write_dataset (c, &p, temp, counts, &report);
  if (st >= 0)
    {
      st = mm_output_dir_commit (out);
      out = NULL;
    }
  mm_progress_end ();
  if (st >= 0)
    report_print (c, &p, counts);
  if (st >= 0 && c->json)
    puts (report);
  mm_output_dir_abort (out);
  free (report);
  plan_free (&p);
  return st;
}

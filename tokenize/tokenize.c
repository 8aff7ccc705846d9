/* tokenize.c -- documents into ids, in their order.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>

#include "batch.h"
#include "report.h"
#include "sink.h"
#include "tokenize.h"

struct run
{
  const struct tokenize_config *c;
  struct source source;
  struct crew *crew;
  struct batch *batches[3];     /* filling, encoding, writing, in turn */
  bool more;                    /* documents to read */
  mm_status status;             /* of reading, which is told when what came before is written */
  char *problem;
  struct sink *sink;
  struct report report;
};

/* ---- shared with the other works ---- */

mm_status
tokenize_frame_find (const struct tokenize_config *c, const struct mm_tokenizer *t, struct tokenize_frame *frame)
{
  *frame = (struct tokenize_frame) { MM_NO_TOKEN, MM_NO_TOKEN };
  if (c->bos)
    frame->bos = mm_tokenizer_bos (t);
  if (!c->no_eos)
    frame->eos = c->eos ? mm_tokenizer_find (t, c->eos) : mm_tokenizer_eos (t);
  if (c->bos && frame->bos == MM_NO_TOKEN)
    return mm_fail (MM_EUSAGE, "%s: --bos: the tokenizer names no token for it", c->tokenizer);
  if (!c->no_eos && c->eos && frame->eos == MM_NO_TOKEN)
    return mm_fail (MM_EUSAGE, "%s: --eos: token %s is not in the vocabulary", c->tokenizer, c->eos);
  if (!c->no_eos && frame->eos == MM_NO_TOKEN)
    return mm_fail (MM_EUSAGE, "%s: the tokenizer names no token that ends a document: give "
                    "--eos=TOKEN or --no-eos", c->tokenizer);
  return MM_OK;
}

/* ---- writing ---- */

static mm_status
put_token (struct run *r, int32_t id)
{
  return id == MM_NO_TOKEN ? MM_OK : sink_add_one (r->sink, (uint32_t) id);
}

static mm_status
write_text (struct run *r, const struct batch_ids *ids)
{
  mm_status st = ids->first ? put_token (r, r->source.frame.bos) : MM_OK;

  if (st == MM_OK)
    st = sink_add (r->sink, ids->ids, ids->count);
  if (st == MM_OK && ids->last)
    st = put_token (r, r->source.frame.eos);
  return st == MM_OK && ids->last ? sink_end_document (r->sink) : st;
}

static mm_status
write_conversation (struct run *r, const struct batch_ids *ids)
{
  if (ids->status < 0)
    {
      report_skipped (&r->report, ids->problem);
      return MM_OK;
    }
  report_conversation (&r->report, ids);
  return sink_add_conversation (r->sink, ids);
}

/* The ids of an encoded batch, which is then empty.  */
static mm_status
write_batch (struct run *r, struct batch *b)
{
  bool skip = r->source.chat && r->c->documents.errors == MM_ERRORS_SKIP;
  struct batch_ids ids;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && batch_next (b, &i, &ids);)
    if (ids.status < 0 && !(skip && row_may_be_skipped (ids.status)))
      st = mm_fail (ids.status, "%s", ids.problem);
    else
      st = r->source.chat ? write_conversation (r, &ids) : write_text (r, &ids);
  batch_clear (b);
  return st;
}

/* ---- reading ---- */

static mm_status
add (struct run *r, struct batch *b, const struct mm_document_part *part, bool *full)
{
  char place[1024];

  if (!r->source.chat)
    {
      report_text (&r->report, part);
      return batch_add (b, part->text, part->size, part->first, part->last, full);
    }
  mm_documents_place (r->source.documents, place, sizeof place);
  return batch_add_row (b, place, part->text, part->size, full);
}

/* What fails here stands behind all that was read before, which may fail yet.  */
static void
fill_batch (struct run *r, struct batch *b)
{
  struct mm_document_part part;
  bool full = false;
  mm_status st = MM_OK;

  while (st == MM_OK && r->more && !full)
    {
      st = mm_documents_next (r->source.documents, &part, &r->more);
      if (st == MM_OK && r->more)
        st = add (r, b, &part, &full);
    }
  if (st == MM_OK)
    return;
  r->more = false;
  r->status = st;
  r->problem = strdup (mm_error_message ());
}

/* ---- all at once ---- */

/* Beside the encoding of batch 1: write batch 2, which came before it, and fill batch 0.  */
static mm_status
write_and_fill (void *arg)
{
  struct run *r = arg;
  mm_status st = write_batch (r, r->batches[2]);

  if (st == MM_OK)
    fill_batch (r, r->batches[0]);
  report_progress (&r->report, r->source.documents, sink_count (r->sink));
  return st;
}

static mm_status
run (struct run *r)
{
  mm_status st = MM_OK;

  fill_batch (r, r->batches[0]);
  sink_expect (r->sink, mm_documents_expected (r->source.documents));
  while (st == MM_OK && !batch_is_empty (r->batches[0]))
    {
      struct batch *written = r->batches[2];

      r->batches[2] = r->batches[1];
      r->batches[1] = r->batches[0];
      r->batches[0] = written;
      st = batch_run (r->batches[1], write_and_fill, r);
    }
  if (st == MM_OK)
    st = write_batch (r, r->batches[1]);
  if (st == MM_OK && r->status < 0)
    st = mm_fail (r->status, "%s", r->problem ? r->problem : "no memory for a message");
  mm_progress_end ();
  return st;
}

/* ---- the whole ---- */

static mm_status
open_all (struct run *r)
{
  mm_status st = source_open (r->c, &r->source);

  if (st == MM_OK)
    st = crew_open (&r->source, r->c->n_threads, &r->crew);
  for (int i = 0; st == MM_OK && i < 3; i++)
    st = batch_open (r->crew, &r->batches[i]);
  if (st == MM_OK)
    st = sink_open (r->c, &r->source, &r->sink);
  return st;
}

mm_status
tokenize (const struct tokenize_config *c)
{
  struct run r = { .c = c, .report = { .c = c, .source = &r.source, .start = mm_now () }, .more = true };
  uint64_t tokens;
  mm_status st = open_all (&r);

  if (st == MM_OK)
    st = run (&r);
  if (st == MM_OK)
    {
      tokens = sink_count (r.sink);
      st = sink_commit (r.sink);
      r.sink = NULL;
    }
  if (st == MM_OK)
    st = report_end (&r.report, tokens);
  sink_abort (r.sink);
  for (int i = 0; i < 3; i++)
    batch_close (r.batches[i]);
  crew_close (r.crew);
  source_close (&r.source);
  free (r.problem);
  return st;
}

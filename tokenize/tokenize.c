/* tokenize.c -- documents into ids, in their order.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/log.h>

#include "batch.h"
#include "report.h"
#include "sink.h"
#include "tokenize.h"

struct run
{
  const struct tokenize_config *c;
  struct mm_tokenizer *t;
  struct tokenize_frame frame;
  struct mm_documents *documents;
  struct crew *crew;
  struct batch *batches[3];     /* filling, encoding, writing, in turn */
  bool more;                    /* documents to read */
  struct sink *sink;
  struct report report;
};

/* ---- shared with the other works ---- */

mm_status
tokenize_load (const struct tokenize_config *c, struct mm_tokenizer **t,
               struct tokenize_frame *frame)
{
  mm_status st = mm_tokenizer_load (c->tokenizer, t);

  if (st < 0)
    return st;
  *frame = (struct tokenize_frame) { MM_NO_TOKEN, MM_NO_TOKEN };
  if (c->bos)
    frame->bos = mm_tokenizer_bos (*t);
  if (!c->no_eos)
    frame->eos = c->eos ? mm_tokenizer_find (*t, c->eos) : mm_tokenizer_eos (*t);
  if (c->bos && frame->bos == MM_NO_TOKEN)
    st = mm_fail (MM_EUSAGE, "%s: --bos: the tokenizer names no token for it", c->tokenizer);
  else if (!c->no_eos && c->eos && frame->eos == MM_NO_TOKEN)
    st = mm_fail (MM_EUSAGE, "%s: --eos: token %s is not in the vocabulary", c->tokenizer, c->eos);
  else if (!c->no_eos && frame->eos == MM_NO_TOKEN)
    st = mm_fail (MM_EUSAGE, "%s: the tokenizer names no token that ends a document: give "
                  "--eos=TOKEN or --no-eos", c->tokenizer);
  if (st < 0)
    {
      mm_tokenizer_free (*t);
      *t = NULL;
    }
  return st;
}

size_t
tokenize_cut (const void *arg, const char *text, size_t size, size_t limit)
{
  const struct tokenize_cutter *cutter = arg;

  return mm_encode_cut (cutter->t, text, size, limit, cutter->flags);
}

/* ---- writing ---- */

static mm_status
put_token (struct run *r, int32_t id)
{
  uint32_t one = (uint32_t) id;

  return id == MM_NO_TOKEN ? MM_OK : sink_add (r->sink, &one, 1);
}

/* The ids of an encoded batch, which is then empty.  */
static mm_status
write_batch (struct run *r, struct batch *b)
{
  struct batch_ids ids;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && batch_next (b, &i, &ids);)
    {
      if (ids.first)
        st = put_token (r, r->frame.bos);
      if (st == MM_OK)
        st = sink_add (r->sink, ids.ids, ids.count);
      if (st == MM_OK && ids.last)
        st = put_token (r, r->frame.eos);
      if (st == MM_OK && ids.last)
        st = sink_end_document (r->sink);
    }
  batch_clear (b);
  return st;
}

/* ---- reading ---- */

static mm_status
fill_batch (struct run *r, struct batch *b)
{
  struct mm_document_part part;
  bool full = false;
  mm_status st = MM_OK;

  while (st == MM_OK && r->more && !full)
    {
      st = mm_documents_next (r->documents, &part, &r->more);
      if (st < 0 || !r->more)
        break;
      report_text (&r->report, &part);
      st = batch_add (b, part.text, part.size, part.first, part.last, &full);
    }
  return st;
}

/* ---- all at once ---- */

/* Beside the encoding of batch 1: write batch 2, which came before it, and fill batch 0.  */
static mm_status
write_and_fill (void *arg)
{
  struct run *r = arg;
  mm_status st = write_batch (r, r->batches[2]);

  if (st == MM_OK)
    st = fill_batch (r, r->batches[0]);
  report_progress (&r->report, r->documents, sink_count (r->sink));
  return st;
}

static mm_status
run (struct run *r)
{
  mm_status st = fill_batch (r, r->batches[0]);

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
  mm_progress_end ();
  return st;
}

/* ---- the whole ---- */

static mm_status
open_all (struct run *r, const struct tokenize_cutter *cutter)
{
  struct mm_document_options options = r->c->documents;
  mm_status st;

  options.cut = tokenize_cut;
  options.cut_arg = cutter;
  st = mm_documents_open (r->c->inputs, r->c->n_inputs, &options, &r->documents);
  if (st == MM_OK)
    st = crew_open (r->t, cutter->flags, r->c->n_threads, &r->crew);
  for (int i = 0; st == MM_OK && i < 3; i++)
    st = batch_open (r->crew, &r->batches[i]);
  if (st == MM_OK)
    st = sink_open (r->c, r->t, &r->sink);
  return st;
}

mm_status
tokenize (const struct tokenize_config *c)
{
  struct run r = { .c = c, .report.c = c, .more = true };
  struct tokenize_cutter cutter = { .flags = c->parse_special ? MM_PARSE_SPECIAL : 0 };
  struct mm_document_counts counts;
  uint64_t tokens;
  mm_status st = tokenize_load (c, &r.t, &r.frame);

  if (st == MM_OK)
    {
      cutter.t = r.report.t = r.t;
      r.report.start = mm_now ();
      r.report.frame = r.frame;
      st = open_all (&r, &cutter);
    }
  if (st == MM_OK)
    st = run (&r);
  if (st == MM_OK)
    {
      mm_documents_counts (r.documents, &counts);
      tokens = sink_count (r.sink);
      st = sink_commit (r.sink);
      r.sink = NULL;
    }
  if (st == MM_OK)
    st = report_end (&r.report, &counts, tokens);
  sink_abort (r.sink);
  for (int i = 0; i < 3; i++)
    batch_close (r.batches[i]);
  crew_close (r.crew);
  mm_documents_close (r.documents);
  mm_tokenizer_free (r.t);
  return st;
}

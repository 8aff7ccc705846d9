/* tokenize.c -- documents into a token file, or into numbers.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/tokens.h>

#include "batch.h"
#include "tokenize.h"

struct run
{
  const struct tokenize_config *c;
  struct mm_tokenizer *t;
  struct tokenize_frame frame;
  struct mm_documents *documents;
  struct mm_tokens_writer *writer;      /* NULL: only count */
  struct batch *batch;
  uint64_t n_tokens;
  bool special_seen, eos_seen;  /* the user was told */
  double start;
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

/* ---- what to warn of ---- */

/* Does TEXT end, but for white space, with the text of token ID?  */
static bool
ends_with (const struct mm_tokenizer *t, int32_t id, const char *text, size_t size)
{
  size_t n;
  const char *bytes = mm_tokenizer_bytes (t, (uint32_t) id, &n);

  while (size > 0 && strchr (" \t\r\n", text[size - 1]) && text[size - 1] != '\0')
    size--;
  return size >= n && memcmp (text + size - n, bytes, n) == 0;
}

static void
warn_of_text (struct run *r, const struct mm_document_part *part)
{
  size_t size;
  int32_t id;

  if (!r->special_seen && !r->c->parse_special
      && (id = mm_tokenizer_special_in (r->t, part->text, part->size)) != MM_NO_TOKEN)
    {
      r->special_seen = true;
      mm_warn ("special tokens such as %s stand in the text and are taken for text; "
               "--parse-special makes them tokens", mm_tokenizer_bytes (r->t, (uint32_t) id, &size));
    }
  if (!r->eos_seen && part->last && r->frame.eos != MM_NO_TOKEN
      && ends_with (r->t, r->frame.eos, part->text, part->size))
    {
      r->eos_seen = true;
      mm_warn ("documents end with %s already and get another; --no-eos leaves it out",
               mm_tokenizer_bytes (r->t, (uint32_t) r->frame.eos, &size));
    }
}

/* ---- writing ---- */

static mm_status
put (struct run *r, const uint32_t *ids, size_t count)
{
  r->n_tokens += count;
  return r->writer ? mm_tokens_add (r->writer, ids, count) : MM_OK;
}

static mm_status
put_token (struct run *r, int32_t id)
{
  uint32_t one = (uint32_t) id;

  return id == MM_NO_TOKEN ? MM_OK : put (r, &one, 1);
}

/* Encode what is collected and write it in order.  */
static mm_status
drain (struct run *r)
{
  struct batch_ids ids;
  mm_status st = batch_run (r->batch);

  for (size_t i = 0; st == MM_OK && batch_next (r->batch, &i, &ids);)
    {
      if (ids.first)
        st = put_token (r, r->frame.bos);
      if (st == MM_OK)
        st = put (r, ids.ids, ids.count);
      if (st == MM_OK && ids.last)
        st = put_token (r, r->frame.eos);
      if (st == MM_OK && ids.last && r->writer)
        st = mm_tokens_end_document (r->writer);
    }
  return st;
}

static void
show_progress (const struct run *r)
{
  char done_text[32], total_text[32], speed[32];
  uint64_t done, total;

  if (!mm_progress_due ())
    return;
  mm_documents_progress (r->documents, &done, &total);
  mm_format_bytes (done, done_text);
  mm_format_bytes ((uint64_t) ((double) done / (mm_now () - r->start + 1e-9)), speed);
  if (total)
    mm_progress ("%s of %s, %" PRIu64 " tokens, %s/s", done_text, mm_format_bytes (total, total_text),
                 r->n_tokens, speed);
  else
    mm_progress ("%s, %" PRIu64 " tokens, %s/s", done_text, r->n_tokens, speed);
}

static mm_status
run (struct run *r)
{
  struct mm_document_part part;
  bool more = true, full;
  mm_status st = MM_OK;

  while (st == MM_OK && more)
    {
      st = mm_documents_next (r->documents, &part, &more);
      if (st < 0 || !more)
        break;
      warn_of_text (r, &part);
      st = batch_add (r->batch, part.text, part.size, part.first, part.last, &full);
      if (st == MM_OK && full)
        {
          st = drain (r);
          show_progress (r);
        }
    }
  if (st == MM_OK)
    st = drain (r);
  mm_progress_end ();
  return st;
}

/* ---- the report ---- */

static double
bytes_per_token (const struct mm_document_counts *n, uint64_t tokens)
{
  return tokens ? (double) n->bytes / (double) tokens : 0;
}

/* --count: the result, on standard output.  */
static mm_status
print_count (const struct run *r, const struct mm_document_counts *n)
{
  double ratio = bytes_per_token (n, r->n_tokens);
  json_t *object;
  char *text;
  mm_status st;

  if (!r->c->json)
    {
      printf ("documents        %" PRIu64 "\ntokens           %" PRIu64 "\nbytes            %" PRIu64
              "\nbytes per token  %.3f\n", n->documents, r->n_tokens, n->bytes, ratio);
      return MM_OK;
    }
  object = json_pack ("{s:I, s:I, s:I, s:f, s:I, s:I, s:I}", "documents", (json_int_t) n->documents,
                      "tokens", (json_int_t) r->n_tokens, "bytes", (json_int_t) n->bytes,
                      "bytes_per_token", ratio, "empty", (json_int_t) n->empty,
                      "skipped", (json_int_t) n->skipped, "replaced", (json_int_t) n->replaced);
  st = mm_json_text (object, true, &text);
  json_decref (object);
  if (st == MM_OK)
    {
      fputs (text, stdout);
      free (text);
    }
  return st;
}

static void
report (const struct run *r, const struct mm_document_counts *n)
{
  char bytes[32], seconds[32];

  if (!r->c->count)
    mm_info ("%" PRIu64 " documents, %s, %" PRIu64 " tokens (%.2f bytes each) in %s", n->documents,
             mm_format_bytes (n->bytes, bytes), r->n_tokens, bytes_per_token (n, r->n_tokens),
             mm_format_seconds (mm_now () - r->start, seconds));
  if (n->empty)
    mm_info ("%" PRIu64 " empty documents left out", n->empty);
  if (n->skipped)
    mm_warn ("%" PRIu64 " documents with errors left out", n->skipped);
  if (n->replaced)
    mm_warn ("%" PRIu64 " times U+FFFD put in for what is not UTF-8", n->replaced);
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
    st = batch_open (r->t, cutter->flags, r->c->n_threads, &r->batch);
  if (st == MM_OK && !r->c->count)
    st = mm_tokens_create (r->c->output, r->c->force, r->t, &r->writer);
  return st;
}

mm_status
tokenize (const struct tokenize_config *c)
{
  struct run r = { .c = c, .start = mm_now () };
  struct tokenize_cutter cutter = { .flags = c->parse_special ? MM_PARSE_SPECIAL : 0 };
  struct mm_document_counts counts;
  mm_status st = tokenize_load (c, &r.t, &r.frame);

  if (st == MM_OK)
    {
      cutter.t = r.t;
      st = open_all (&r, &cutter);
    }
  if (st == MM_OK)
    st = run (&r);
  if (st == MM_OK)
    {
      mm_documents_counts (r.documents, &counts);
      if (r.writer)
        st = mm_tokens_commit (r.writer);
      else
        st = print_count (&r, &counts);
      r.writer = NULL;
    }
  if (st == MM_OK)
    report (&r, &counts);
  mm_tokens_abort (r.writer);
  batch_close (r.batch);
  mm_documents_close (r.documents);
  mm_tokenizer_free (r.t);
  return st;
}

/* report.c -- warnings, progress and counts of minimind-tokenize.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <minimind/json.h>
#include <minimind/log.h>

#include "report.h"

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

void
report_text (struct report *r, const struct mm_document_part *part)
{
  size_t size;
  int32_t id;

  if (!r->special_seen && !r->c->parse_special
      && (id = mm_tokenizer_special_in (r->source->t, part->text, part->size)) != MM_NO_TOKEN)
    {
      r->special_seen = true;
      mm_warn ("special tokens such as %s stand in the text and are taken for text; "
               "--parse-special makes them tokens", mm_tokenizer_bytes (r->source->t, (uint32_t) id, &size));
    }
  if (!r->eos_seen && part->last && r->source->frame.eos != MM_NO_TOKEN
      && ends_with (r->source->t, r->source->frame.eos, part->text, part->size))
    {
      r->eos_seen = true;
      mm_warn ("documents end with %s already and get another; --no-eos leaves it out",
               mm_tokenizer_bytes (r->source->t, (uint32_t) r->source->frame.eos, &size));
    }
}

/* ---- conversations ---- */

void
report_conversation (struct report *r, const struct batch_ids *x)
{
  uint64_t targets = 0;

  for (size_t i = 0; i < x->count; i++)
    targets += x->mask[i];
  r->conversations++;
  r->turns += x->n_turns;
  r->targets += targets;
  r->bytes += x->bytes;
  r->untargeted += targets == 0;
}

void
report_skipped (struct report *r, const char *problem)
{
  if (r->skipped++ == 0)
    mm_warn ("left out: %s", problem);
  else
    mm_verbose ("left out: %s", problem);
}

/* ---- progress ---- */

void
report_progress (const struct report *r, const struct mm_documents *d, uint64_t tokens)
{
  char done_text[32], total_text[32], speed[32], left[32];
  uint64_t done, total;
  double rate;

  if (!mm_progress_due ())
    return;
  mm_documents_progress (d, &done, &total);
  rate = (double) done / (mm_now () - r->start + 1e-9);
  mm_format_bytes (done, done_text);
  mm_format_bytes ((uint64_t) rate, speed);
  if (total >= done && rate > 0)
    mm_progress ("%s of %s, %" PRIu64 " tokens, %s/s, %s left", done_text,
                 mm_format_bytes (total, total_text), tokens, speed,
                 mm_format_seconds ((double) (total - done) / rate, left));
  else
    mm_progress ("%s, %" PRIu64 " tokens, %s/s", done_text, tokens, speed);
}

/* ---- the end ---- */

static double
bytes_per_token (const struct mm_document_counts *n, uint64_t tokens)
{
  return tokens ? (double) n->bytes / (double) tokens : 0;
}

static mm_status
print_json (const struct report *r, const struct mm_document_counts *n, uint64_t tokens)
{
  json_t *object = json_pack ("{s:I, s:I, s:I, s:f, s:I, s:I, s:I}", "documents", (json_int_t) n->documents,
                              "tokens", (json_int_t) tokens, "bytes", (json_int_t) n->bytes,
                              "bytes_per_token", bytes_per_token (n, tokens), "empty", (json_int_t) n->empty,
                              "skipped", (json_int_t) n->skipped, "replaced", (json_int_t) n->replaced);
  char *text;
  mm_status st;

  if (r->source->chat)
    {
      json_object_set_new (object, "chat_template", json_string (mm_chat_template_name (r->source->rows.template)));
      json_object_set_new (object, "turns", json_integer ((json_int_t) r->turns));
      json_object_set_new (object, "targets", json_integer ((json_int_t) r->targets));
      json_object_set_new (object, "untargeted", json_integer ((json_int_t) r->untargeted));
    }
  st = mm_json_text (object, true, &text);
  json_decref (object);
  if (st == MM_OK)
    {
      fputs (text, stdout);
      free (text);
    }
  return st;
}

/* --count: the result, on standard output.  */
static mm_status
print_count (const struct report *r, const struct mm_document_counts *n, uint64_t tokens)
{
  if (r->c->json)
    return print_json (r, n, tokens);
  if (r->source->chat)
    printf ("conversations    %" PRIu64 "\nturns            %" PRIu64 "\ntargets          %" PRIu64 "\n",
            n->documents, r->turns, r->targets);
  else
    printf ("documents        %" PRIu64 "\n", n->documents);
  printf ("tokens           %" PRIu64 "\nbytes            %" PRIu64 "\nbytes per token  %.3f\n", tokens, n->bytes,
          bytes_per_token (n, tokens));
  return MM_OK;
}

/* What was made of what, how fast.  */
static void
print_work (const struct report *r, const struct mm_document_counts *n, uint64_t tokens)
{
  char bytes[32], seconds[32], speed[32], targets[64] = "";
  double took = mm_now () - r->start;

  if (r->source->chat)
    snprintf (targets, sizeof targets, ", of them %s", MM_COUNT (r->targets, "target"));
  mm_info ("%s, %s, %s%s (%.2f bytes each) in %s, %s/s",
           r->source->chat ? MM_COUNT (n->documents, "conversation") : MM_COUNT (n->documents, "document"),
           mm_format_bytes (n->bytes, bytes), MM_COUNT (tokens, "token"), targets, bytes_per_token (n, tokens),
           mm_format_seconds (took, seconds), mm_format_bytes ((uint64_t) ((double) n->bytes / (took + 1e-9)), speed));
}

mm_status
report_end (const struct report *r, uint64_t tokens)
{
  struct mm_document_counts n;

  mm_documents_counts (r->source->documents, &n);
  if (r->source->chat)
    {
      n.documents = r->conversations;
      n.bytes = r->bytes;
      n.skipped += r->skipped;
    }
  if (!r->c->count)
    print_work (r, &n, tokens);
  if (n.empty)
    mm_info ("%s left out", MM_COUNT (n.empty, "empty document"));
  if (n.skipped)
    mm_warn ("%s left out because of errors",
             r->source->chat ? MM_COUNT (n.skipped, "row") : MM_COUNT (n.skipped, "document"));
  if (n.replaced)
    mm_warn ("%s U+FFFD put in for what is not UTF-8", MM_COUNT (n.replaced, "time"));
  if (r->untargeted)
    mm_warn ("%s without a target: nothing is learnt from them", MM_COUNT (r->untargeted, "conversation"));
  return r->c->count ? print_count (r, &n, tokens) : MM_OK;
}

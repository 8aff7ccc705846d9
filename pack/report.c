/* report.c -- what is made of the inputs, for people and for dataset.json.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>

#include <minimind/log.h>

#include "report.h"

enum { USUAL_BATCH = 64, USUAL_MICRO_BATCH = 4 };     /* the trainers' defaults */

static const char *const held_out_names[] = { "nothing", "documents", "tail" };

static double
ratio (uint64_t part, uint64_t whole)
{
  return whole > 0 ? (double) part / (double) whole : 0;
}

/* How often source I was read: what came into rows, by what there is.  */
static double
times_read (const struct corpus *c, const struct plan *p, const struct mix_counts *counts, size_t i)
{
  const struct rows_counts *n = &counts->sources[i];

  return ratio (n->kept + n->untargeted_tokens, plan_train_tokens (c, p, i));
}

static json_t *
sources_list (const struct corpus *c, const struct plan *p, const struct mix_counts *counts)
{
  json_t *list = json_array ();

  for (size_t i = 0; i < c->config->n_sources; i++)
    {
      const struct source *s = &c->sources[i];
      const struct rows_counts *n = &counts->sources[i];

      json_t *object = json_pack ("{s:f, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}",
                                  "weight", c->config->weights[i],
                                  c->config->validation > 0 ? "xxh128" : "sha256", s->hash,
                                  "documents", (json_int_t) s->documents, "tokens", (json_int_t) s->tokens,
                                  "duplicates", (json_int_t) s->duplicates,
                                  "duplicate_tokens", (json_int_t) s->duplicate_tokens,
                                  "rows", (json_int_t) n->rows, "targets", (json_int_t) n->targets,
                                  "share", ratio (n->targets, counts->splits[MM_TRAIN].targets),
                                  "times_read", times_read (c, p, counts, i));

      if (s->turns > 0)
        json_object_set_new (object, "turns", json_integer ((json_int_t) s->turns));
      json_array_append_new (list, object);
    }
  return list;
}

static json_t *
split_object (const struct rows_counts *n)
{
  return json_pack ("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                    "rows", (json_int_t) n->rows, "documents", (json_int_t) n->documents,
                    "tokens", (json_int_t) n->tokens, "longest", (json_int_t) n->longest,
                    "cut_documents", (json_int_t) n->cut, "targets", (json_int_t) n->targets,
                    "padding", (json_int_t) n->padding, "dropped_tail", (json_int_t) n->tail,
                    "untargeted_rows", (json_int_t) n->untargeted_rows,
                    "untargeted_tokens", (json_int_t) n->untargeted_tokens);
}

mm_status
report_json (const struct corpus *c, const struct plan *p, const struct mix_counts *counts, char **text)
{
  json_t *root = json_pack ("{s:s, s:I, s:f, s:s, s:b, s:o, s:o, s:o}",
                            "strategy", pack_strategy_names[p->strategy],
                            "seed", (json_int_t) c->config->seed, "validation_share", c->config->validation,
                            "held_out", held_out_names[p->held_out], "dedupe", c->config->dedupe,
                            "sources", sources_list (c, p, counts),
                            "train", split_object (&counts->splits[MM_TRAIN]),
                            "validation", split_object (&counts->splits[MM_VALIDATION]));
  mm_status st;

  *text = NULL;
  if (root && c->chat_template)
    json_object_set_new (root, "chat_template", json_string (c->chat_template));
  st = root ? mm_json_text (root, false, text) : mm_fail (MM_ENOMEM, "no memory for the report");
  json_decref (root);
  return st;
}

/* ---- in words ---- */

static void
print_split (const struct corpus *c, const char *name, const struct rows_counts *n)
{
  if (c->config->format == PACK_LLMC)
    {
      mm_info ("%-11s documents %" PRIu64 ", tokens %" PRIu64 ", longest %" PRIu64, name, n->documents, n->kept,
               n->longest);
      return;
    }
  mm_info ("%-11s %s of %" PRIu32 "; tokens %" PRIu64 ", targets %" PRIu64 ", documents %" PRIu64
           ", longest %" PRIu64, name, MM_COUNT (n->rows, "row"), c->config->seq_len, n->kept, n->targets,
           n->documents, n->longest);
  if (n->cut > 0)
    mm_info ("%-11s longer than a row and cut: documents %" PRIu64, "", n->cut);
  if (n->padding > 0)
    mm_info ("%-11s efficiency %.2f%%: %.2f%% of the rows is padding", "", 100 * ratio (n->kept, n->padding + n->kept),
             100 * ratio (n->padding, n->padding + n->kept));
  if (n->tail > 0)
    mm_info ("%-11s dropped with rows that were not full at the end: tokens %" PRIu64, "", n->tail);
  if (n->untargeted_rows > 0)
    mm_info ("%-11s dropped, since nothing there is a target: rows %" PRIu64 ", tokens %" PRIu64, "",
             n->untargeted_rows, n->untargeted_tokens);
}

static void
print_sources (const struct corpus *c, const struct plan *p, const struct mix_counts *counts)
{
  uint64_t duplicates = 0, duplicate_tokens = 0;

  for (size_t i = 0; i < c->config->n_sources; i++)
    {
      const struct source *s = &c->sources[i];
      const char *more = s->inputs > 1 ? " and more" : "";

      duplicates += s->duplicates;
      duplicate_tokens += s->duplicate_tokens;
      if (c->config->n_sources > 1)
        mm_info ("mix         %s%s: weight %g, %.2f%% of the targets, read %.2f times",
                 c->config->inputs[s->first_input].path, more, c->config->weights[i],
                 100 * ratio (counts->sources[i].targets, counts->splits[MM_TRAIN].targets),
                 times_read (c, p, counts, i));
    }
  if (c->config->dedupe)
    mm_info ("dedupe      dropped documents %" PRIu64 ", tokens %" PRIu64, duplicates, duplicate_tokens);
}

static void
print_held_out (const struct corpus *c, const struct plan *p, const struct rows_counts *n)
{
  const char *each = c->config->n_sources > 1 ? " of each source" : "";

  switch (p->held_out)
    {
    case HELD_NOTHING:
      break;
    case HELD_DOCUMENTS:
      mm_info ("validation  takes whole documents, by a hash of seed %" PRIu64 " and text", c->config->seed);
      break;
    case HELD_TAIL:
      mm_info ("validation  takes the last %" PRIu64 " of %" PRIu64 " tokens%s: %s", p->validation_tokens, p->tokens,
               each, p->documents < FEW_DOCUMENTS ? "there are fewer than 100 documents"
               : "the documents chosen by hash would not fill a row");
      break;
    }
  if (p->held_out != HELD_NOTHING && n->targets == 0)
    mm_warn ("no validation rows: nothing is a target in the documents held out");
}

static void
print_advice (const struct corpus *c, const struct plan *p, uint64_t rows)
{
  uint64_t fits = (p->train_tokens - 1) / USUAL_BATCH;
  uint64_t batch = rows < USUAL_MICRO_BATCH ? rows : rows - rows % USUAL_MICRO_BATCH;
  char micro[32] = "";

  if (rows >= USUAL_BATCH || c->config->format != PACK_DATASET)
    return;
  if (rows < USUAL_MICRO_BATCH)
    snprintf (micro, sizeof micro, " --micro-batch=%" PRIu64, rows);
  mm_info ("%s: fewer than the usual batch of %d: train with --global-batch=%" PRIu64 "%s at most",
           MM_COUNT (rows, "row"), USUAL_BATCH, batch, micro);
  if (p->strategy == PACK_CONCAT && c->config->n_sources == 1 && fits > 0)
    mm_info ("or pack with --seq-len=%" PRIu64 " for %d rows", fits, USUAL_BATCH);
}

/* Bytes of the parts of a dataset with N rows in all.  */
static uint64_t
dataset_bytes (const struct corpus *c, const struct plan *p, uint64_t rows)
{
  uint64_t width = mm_tokenizer_vocab_size (c->tokenizer) > 65536 ? 4 : 2;
  bool with_mask = c->with_mask || p->strategy != PACK_CONCAT;

  return rows * ((uint64_t) c->config->seq_len + 1) * (width + 1 + with_mask);
}

void
report_print (const struct corpus *c, const struct plan *p, const struct mix_counts *counts)
{
  const struct rows_counts *train = &counts->splits[MM_TRAIN], *validation = &counts->splits[MM_VALIDATION];
  char bytes[32];

  print_split (c, "train", train);
  print_split (c, "validation", validation);
  print_sources (c, p, counts);
  print_held_out (c, p, validation);
  print_advice (c, p, train->rows);
  if (c->config->dry_run && c->config->format == PACK_DATASET)
    mm_info ("nothing was written: this is a dry run for a dataset of %s",
             mm_format_bytes (dataset_bytes (c, p, train->rows + validation->rows), bytes));
  else if (c->config->dry_run)
    mm_info ("nothing was written: this is a dry run");
}

void
report_llmc (const json_t *files)
{
  json_int_t open_ended = json_integer_value (json_object_get (files, "documents_without_eos"));

  mm_info ("llm.c's files tell documents apart by eos alone, and hold no tokenizer");
  if (open_ended > 0)
    mm_warn ("%" JSON_INTEGER_FORMAT " documents do not end with eos: where they end is lost", open_ended);
}

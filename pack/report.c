/* report.c -- what was made of the inputs, for people and for dataset.json.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>

#include <minimind/json.h>
#include <minimind/log.h>

#include "report.h"

enum { USUAL_BATCH = 64 };      /* pretrain's default --global-batch */

static const char *const held_out_names[] = { "nothing", "documents", "tail" };

static json_t *
inputs_object (const struct pack_config *c, const struct plan *p)
{
  json_t *list = json_array ();

  for (size_t i = 0; i < c->n_inputs; i++)
    json_array_append_new (list, json_pack ("{s:s, s:I, s:I}",
                                            "sha256", p->inputs[i].sha256,
                                            "documents", (json_int_t) p->inputs[i].documents,
                                            "tokens", (json_int_t) p->inputs[i].tokens));
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
report_json (const struct pack_config *c, const struct plan *p, const struct rows_counts counts[2],
             char **text)
{
  json_t *root = json_pack ("{s:s, s:I, s:f, s:s, s:o, s:o, s:o}",
                            "strategy", pack_strategy_names[c->strategy],
                            "seed", (json_int_t) c->seed, "validation_share", c->validation,
                            "held_out", held_out_names[p->held_out],
                            "inputs", inputs_object (c, p),
                            "train", split_object (&counts[MM_TRAIN]),
                            "validation", split_object (&counts[MM_VALIDATION]));
  mm_status st;

  *text = NULL;
  st = root ? mm_json_text (root, false, text) : mm_fail (MM_ENOMEM, "no memory for the report");
  json_decref (root);
  return st;
}

static void
print_split (const struct pack_config *c, const char *name, const struct rows_counts *n)
{
  mm_info ("%-11s %s of %" PRIu32 "; tokens %" PRIu64 ", targets %" PRIu64 ", documents %" PRIu64
           ", longest %" PRIu64, name, MM_COUNT (n->rows, "row"), c->seq_len, n->kept, n->targets, n->documents,
           n->longest);
  if (n->cut > 0)
    mm_info ("%-11s longer than a row and cut: documents %" PRIu64, "", n->cut);
  if (n->padding > 0)
    mm_info ("%-11s %.1f%% of the rows is padding", "",
             100.0 * (double) n->padding / ((double) n->padding + (double) n->kept));
  if (n->tail > 0)
    mm_info ("%-11s dropped with a short last row: tokens %" PRIu64, "", n->tail);
  if (n->untargeted_rows > 0)
    mm_info ("%-11s dropped, since nothing there is a target: rows %" PRIu64 ", tokens %" PRIu64, "",
             n->untargeted_rows, n->untargeted_tokens);
}

static void
print_held_out (const struct pack_config *c, const struct plan *p, const struct rows_counts *n)
{
  switch (p->held_out)
    {
    case HELD_NOTHING:
      break;
    case HELD_DOCUMENTS:
      mm_info ("validation  takes whole documents, by a hash of seed %" PRIu64, c->seed);
      break;
    case HELD_TAIL:
      mm_info ("validation  takes the last %" PRIu64 " of %" PRIu64 " tokens: %s", p->tail, p->tokens,
               p->documents < FEW_DOCUMENTS ? "there are fewer than 100 documents"
               : "the documents chosen by hash would not fill a row");
      break;
    }
  if (p->held_out != HELD_NOTHING && n->rows == 0)
    mm_warn ("no validation rows: nothing is a target in the documents held out");
}

void
report_print (const struct pack_config *c, const struct plan *p, const struct rows_counts counts[2])
{
  uint64_t rows = counts[MM_TRAIN].rows, fits = (p->train_tokens - 1) / USUAL_BATCH;

  print_split (c, "train", &counts[MM_TRAIN]);
  print_split (c, "validation", &counts[MM_VALIDATION]);
  print_held_out (c, p, &counts[MM_VALIDATION]);
  if (rows >= USUAL_BATCH)
    return;
  mm_info ("%s: fewer than pretrain's usual batch: train with --global-batch=%" PRIu64 " at most",
           MM_COUNT (rows, "row"), rows);
  if (c->strategy == PACK_CONCAT && fits > 0)
    mm_info ("or pack with --seq-len=%" PRIu64 " for %d rows", fits, USUAL_BATCH);
}

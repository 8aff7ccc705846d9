/* mix.c -- all sources into rows, in the order in which these stand.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "mix.h"

enum { OPEN_BYTES = 32 << 20, VALIDATION_BYTES = 1 << 20 };     /* of all rows that are open, at most */

/* A source being read.  */
struct stream
{
  size_t source, input;         /* input: which of the source's is under way */
  uint64_t next;                /* document of it */
  struct document d;            /* under way; done when at = length */
  uint64_t seen;                /* tokens kept, of this pass, up to the next document */
  uint64_t passes;              /* complete ones */
  bool flushing;                /* the pass is read, its last rows are to be written */
  struct rows *rows;
};

struct mixing
{
  struct corpus *corpus;
  const struct plan *plan;
  struct stream *streams;       /* [n_sources] */
  struct rows *validation;
};

/* ---- one source ---- */

/* The whole of a document to the rows of validation.  */
static mm_status
hold_out (struct mixing *m, struct mm_tokens *f, uint64_t first, uint64_t length)
{
  struct document d = { .file = f, .first = first, .length = length };
  mm_status st = MM_OK;

  rows_begin (m->validation, &d);
  while (st >= 0 && d.at < d.length)
    st = rows_take (m->validation, &d);
  return st;
}

/* Document LENGTH tokens from FIRST on is S's next; what is held out goes to validation, once.  */
static mm_status
meet_document (struct mixing *m, struct stream *s, struct mm_tokens *f, enum fate fate, uint64_t first,
               uint64_t length)
{
  const struct plan *p = m->plan;
  uint64_t train = length, tail_from = m->corpus->sources[s->source].tokens - p->tails[s->source];
  mm_status st = MM_OK;

  if (p->held_out == HELD_DOCUMENTS && fate == FATE_VALIDATION)
    train = 0;
  else if (p->held_out == HELD_TAIL)
    {
      train = tail_from > s->seen ? tail_from - s->seen : 0;
      train = train < length ? train : length;
    }
  s->seen += length;
  if (train < length && s->passes == 0)
    st = hold_out (m, f, first + train, length - train);
  if (train == 0 && length > 0)
    return st;
  s->d = (struct document) { .file = f, .first = first, .length = train };
  rows_begin (s->rows, &s->d);
  return st;
}

/* Behind the last document.  Under fit what is open ends with the pass; under concat the next one goes on in
   the same row.  */
static void
end_pass (struct mixing *m, struct stream *s)
{
  s->input = 0;
  s->next = s->seen = 0;
  if (m->plan->strategy == PACK_FIT)
    s->flushing = true;
  else
    s->passes++;
}

/* The next document of S that is kept, or the end of the pass.  */
static mm_status
next_document (struct mixing *m, struct stream *s)
{
  struct corpus *c = m->corpus;
  const struct source *source = &c->sources[s->source];
  size_t number = source->first_input + s->input;
  const struct input *input = &c->inputs[number];
  uint64_t first, length;
  struct mm_tokens *f;
  mm_status st;

  if (s->next == input->documents)
    {
      corpus_leave (c, number);
      s->next = 0;
      if (++s->input == source->inputs)
        end_pass (m, s);
      return MM_OK;
    }
  st = corpus_enter (c, number, &f);
  if (st >= 0)
    st = mm_tokens_document (f, s->next, &first, &length);
  if (st >= 0)
    {
      enum fate fate = corpus_fate (c, input->first_document + s->next);

      s->next++;
      if (fate != FATE_DROPPED)
        st = meet_document (m, s, f, fate, first, length);
    }
  return st;
}

/* A piece, at most a row's worth.  */
static mm_status
step (struct mixing *m, struct stream *s)
{
  bool more;
  mm_status st;

  if (s->flushing)
    {
      st = rows_flush (s->rows, &more);
      s->flushing = more;
      s->passes += !more;
      return st;
    }
  return s->d.at < s->d.length ? rows_take (s->rows, &s->d) : next_document (m, s);
}

/* ---- all sources ---- */

/* That whose targets are fewest for its weight.  */
static struct stream *
next_stream (const struct mixing *m)
{
  const struct pack_config *c = m->corpus->config;
  struct stream *best = &m->streams[0];
  double least = 0;

  for (size_t i = 0; c->n_sources > 1 && i < c->n_sources; i++)
    {
      double share = (double) rows_targets (m->streams[i].rows) / c->weights[i];

      if (i == 0 || share < least)
        {
          best = &m->streams[i];
          least = share;
        }
    }
  return best;
}

/* A source that gives no row after as many passes as fill several would be read for ever.  */
static mm_status
check_progress (const struct mixing *m, const struct stream *s)
{
  const struct pack_config *c = m->corpus->config;
  uint64_t tokens = plan_train_tokens (m->corpus, m->plan, s->source);

  if (s->passes < 1 || s->passes * tokens < 4 * ((uint64_t) c->seq_len + 1) || rows_targets (s->rows) > 0)
    return MM_OK;
  return mm_fail (MM_EFORMAT, "%s: nothing in it is a target, which is no share of a mix",
                  c->inputs[m->corpus->sources[s->source].first_input].path);
}

static bool
all_were_read (const struct mixing *m)
{
  for (size_t i = 0; i < m->corpus->config->n_sources; i++)
    if (m->streams[i].passes == 0)
      return false;
  return true;
}

static void
tell_progress (const struct mixing *m, uint64_t expected)
{
  uint64_t rows = 0;

  for (size_t i = 0; i < m->corpus->config->n_sources; i++)
    rows += rows_count (m->streams[i].rows).rows;
  mm_progress ("packing: row %" PRIu64 " of %" PRIu64, rows, expected);
}

static mm_status
run (struct mixing *m, uint64_t expected)
{
  bool mixed = m->corpus->config->n_sources > 1;
  mm_status st = MM_OK;
  bool more = true;

  for (uint64_t i = 0; st >= 0 && !all_were_read (m); i++)
    {
      struct stream *s = next_stream (m);

      st = step (m, s);
      if (st >= 0 && mixed)
        st = check_progress (m, s);
      if (expected > 0 && i % 256 == 0 && mm_progress_due ())
        tell_progress (m, expected);
    }
  while (st >= 0 && more)
    st = rows_flush (m->validation, &more);
  return st;
}

static mm_status
padding_id (const struct corpus *c, const struct plan *p, uint32_t *id)
{
  int32_t padding = mm_tokenizer_pad (c->tokenizer);

  if (padding == MM_NO_TOKEN)
    padding = mm_tokenizer_eos (c->tokenizer);
  if (padding == MM_NO_TOKEN && p->strategy != PACK_CONCAT)
    return mm_fail (MM_EFORMAT, "the tokenizer has neither a pad nor an eos token to fill rows "
                    "with; --strategy=concat needs none");
  *id = (uint32_t) padding;
  return MM_OK;
}

static mm_status
open_rows (struct mixing *m, const struct rows_sink *sink)
{
  const struct pack_config *c = m->corpus->config;
  struct rows_options o = {
    .strategy = m->plan->strategy, .format = c->format, .seq_len = c->seq_len,
    .width = mm_tokenizer_vocab_size (m->corpus->tokenizer) > 65536 ? 4 : 2,
    .with_mask = m->corpus->with_mask || m->plan->strategy != PACK_CONCAT,
    .memory = OPEN_BYTES / c->n_sources, .split = MM_TRAIN, .sink = *sink,
  };
  mm_status st = padding_id (m->corpus, m->plan, &o.padding_id);

  if (st >= 0)
    st = mm_alloc ("sources", c->n_sources, sizeof *m->streams, &m->streams);
  for (size_t i = 0; st >= 0 && i < c->n_sources; i++)
    {
      m->streams[i].source = i;
      st = rows_open (&o, &m->streams[i].rows);
    }
  o.split = MM_VALIDATION;
  o.memory = VALIDATION_BYTES;
  return st < 0 ? st : rows_open (&o, &m->validation);
}

mm_status
mix_run (struct corpus *c, const struct plan *p, const struct rows_sink *sink, uint64_t expected,
         struct mix_counts *counts)
{
  struct mixing m = { .corpus = c, .plan = p };
  size_t n = c->config->n_sources;
  mm_status st = open_rows (&m, sink);

  if (st >= 0)
    st = run (&m, expected);
  memset (counts->splits, 0, sizeof counts->splits);
  for (size_t i = 0; st >= 0 && i < n; i++)
    {
      counts->sources[i] = rows_count (m.streams[i].rows);
      rows_counts_add (&counts->splits[MM_TRAIN], &counts->sources[i]);
    }
  if (st >= 0)
    counts->splits[MM_VALIDATION] = rows_count (m.validation);
  for (size_t i = 0; m.streams && i < n; i++)
    rows_close (m.streams[i].rows);
  rows_close (m.validation);
  free (m.streams);
  return st;
}

mm_status
mix_counts_new (const struct corpus *c, struct mix_counts *counts)
{
  *counts = (struct mix_counts) { 0 };
  return mm_alloc ("sources", c->config->n_sources, sizeof *counts->sources, &counts->sources);
}

void
mix_counts_free (struct mix_counts *counts)
{
  free (counts->sources);
}

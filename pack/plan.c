/* plan.c -- a first pass over the inputs, of document lengths only, and what follows from it.
   SPDX-License-Identifier: Apache-2.0

   Inputs are opened one at a time, so that neither their number nor their size shows in memory.  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/random.h>

#include "plan.h"

/* What the hash would hold out, and whether it makes a row.  */
struct hashed
{
  uint64_t tokens;
  bool makes_row;
};

bool
plan_hash_holds (const struct pack_config *c, size_t input, uint64_t doc)
{
  return mm_uniform (c->seed, MM_RANDOM_VALIDATION, (uint32_t) input, doc) < c->validation;
}

/* Two files of one tokenizer may still differ in its configuration, where eos and pad stand.  */
static mm_status
check_tokenizer (const struct mm_tokens *first, const struct mm_tokens *f)
{
  const struct mm_tokenizer *a = mm_tokens_tokenizer (first), *b = mm_tokens_tokenizer (f);
  const char *json, *config[2];
  size_t json_size, config_size[2];

  if (strcmp (mm_tokenizer_sha256 (a), mm_tokenizer_sha256 (b)) != 0)
    return mm_fail (MM_EFORMAT, "%s: tokenizer %s, but %s has %s", mm_tokens_path (f),
                    mm_tokenizer_sha256 (b), mm_tokens_path (first), mm_tokenizer_sha256 (a));
  mm_tokenizer_files (a, &json, &json_size, &config[0], &config_size[0]);
  mm_tokenizer_files (b, &json, &json_size, &config[1], &config_size[1]);
  if (config_size[0] != config_size[1]
      || (config_size[0] > 0 && memcmp (config[0], config[1], config_size[0]) != 0))
    return mm_fail (MM_EFORMAT, "%s: tokenizer_config.json is not that of %s", mm_tokens_path (f),
                    mm_tokens_path (first));
  return MM_OK;
}

static mm_status
survey_documents (const struct pack_config *c, struct plan *p, size_t input, struct mm_tokens *f,
                  struct hashed *hashed)
{
  uint64_t documents = mm_tokens_documents (f);

  for (uint64_t doc = 0; doc < documents; doc++)
    {
      uint64_t first, length;
      mm_status st = mm_tokens_document (f, doc, &first, &length);

      if (st < 0)
        return st;
      if (length > 0)
        p->last_length = length;
      if (plan_hash_holds (c, input, doc))
        {
          hashed->tokens += length;
          hashed->makes_row |= length >= 2;
        }
    }
  return MM_OK;
}

static mm_status
survey (const struct pack_config *c, struct plan *p, size_t input, struct hashed *hashed)
{
  struct input_facts *facts = &p->inputs[input];
  struct mm_tokens *f;
  mm_status st = mm_tokens_open (c->inputs[input], &f);

  if (st < 0)
    return st;
  if (!p->first)
    p->first = f;
  facts->documents = mm_tokens_documents (f);
  facts->tokens = mm_tokens_count (f);
  p->documents += facts->documents;
  p->tokens += facts->tokens;
  p->with_mask |= mm_tokens_has_mask (f);

  mm_progress ("surveying %s", c->inputs[input]);
  st = check_tokenizer (p->first, f);
  if (st >= 0)
    st = survey_documents (c, p, input, f, hashed);
  if (st >= 0)
    st = mm_sha256_file (c->inputs[input], facts->sha256);
  if (f != p->first)
    mm_tokens_close (f);
  return st;
}

/* Tokens to hold out at the stream's end: the share in whole rows, at least one, and a row for
   training left; 0 if there are not as many.  Documents that stay whole need no full row: there
   the last one will do, if that is not half of all.  */
static uint64_t
tail_tokens (const struct pack_config *c, const struct plan *p)
{
  const uint64_t T = c->seq_len, n = p->tokens;
  uint64_t tail = (uint64_t) llround (c->validation * (double) n), least = T + 1;

  if (c->strategy == PACK_CONCAT)
    {
      uint64_t rows = (tail + T / 2) / T, most = n >= T + 2 ? (n - T - 2) / T : 0;

      rows = rows > 1 ? rows : 1;
      rows = rows < most ? rows : most;
      return rows > 0 ? rows * T + 1 : 0;
    }
  least = least < p->last_length ? least : p->last_length;
  least = least < n / 2 ? least : n / 2;
  return tail > least ? tail : least;
}

static mm_status
too_little (const struct pack_config *c, const struct plan *p)
{
  bool held = p->held_out != HELD_NOTHING;
  uint64_t fits = held ? p->tokens / 2 : p->tokens;

  if (fits < 2)
    return mm_fail (MM_EFORMAT, "%s%s: too few tokens to train on: %" PRIu64, c->inputs[0],
                    c->n_inputs > 1 ? " and the others" : "", p->tokens);
  return mm_fail (MM_EUSAGE, "%" PRIu64 " tokens do not fill %s of --seq-len=%" PRIu32
                  "; at most --seq-len=%" PRIu64 " fits", p->tokens,
                  held ? "a row for training and one for validation" : "a row", c->seq_len, fits - 1);
}

static mm_status
decide (const struct pack_config *c, struct plan *p, const struct hashed *hashed)
{
  bool concat = c->strategy == PACK_CONCAT, enough;

  enough = concat ? hashed->tokens > c->seq_len && p->tokens - hashed->tokens > c->seq_len
                  : hashed->makes_row;
  if (c->validation == 0)
    p->held_out = HELD_NOTHING;
  else if (p->documents >= FEW_DOCUMENTS && enough)
    p->held_out = HELD_DOCUMENTS;
  else
    {
      p->held_out = HELD_TAIL;
      p->tail = tail_tokens (c, p);
    }

  p->train_tokens = p->tokens - p->tail - (p->held_out == HELD_DOCUMENTS ? hashed->tokens : 0);
  if (p->tokens < 2 || (concat && p->train_tokens <= c->seq_len)
      || (p->held_out == HELD_TAIL && p->tail == 0))
    return too_little (c, p);
  return MM_OK;
}

/* Find out early where that is possible.  */
static mm_status
check_parts (const struct pack_config *c, const struct plan *p)
{
  uint64_t rows = (p->train_tokens - 1) / c->seq_len;

  if (c->strategy == PACK_CONCAT && c->shard_rows > 0
      && (rows - 1) / c->shard_rows >= MM_DATASET_MAX_PARTS)
    return mm_fail (MM_EUSAGE, "%" PRIu64 " rows make more than %d parts: take --shard-rows=%"
                    PRIu64 " at least", rows, MM_DATASET_MAX_PARTS,
                    (rows + MM_DATASET_MAX_PARTS - 1) / MM_DATASET_MAX_PARTS);
  return MM_OK;
}

mm_status
plan_make (const struct pack_config *c, struct plan *p)
{
  struct hashed hashed = { 0 };
  mm_status st;

  *p = (struct plan) { 0 };
  st = mm_alloc ("inputs", c->n_inputs, sizeof *p->inputs, &p->inputs);
  for (size_t i = 0; st >= 0 && i < c->n_inputs; i++)
    st = survey (c, p, i, &hashed);
  if (st >= 0)
    st = decide (c, p, &hashed);
  return st < 0 ? st : check_parts (c, p);
}

void
plan_free (struct plan *p)
{
  mm_tokens_close (p->first);
  free (p->inputs);
}

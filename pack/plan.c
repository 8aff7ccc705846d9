/* plan.c -- which part of the inputs is held out for validation, and whether there is enough.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <minimind/memory.h>

#include "plan.h"

/* Is what does not fill a row lost?  */
static bool
needs_full_rows (const struct pack_config *c, const struct plan *p)
{
  return p->strategy == PACK_CONCAT && c->format == PACK_DATASET;
}

/* Tokens to hold out at the end of a source of N: the share in whole rows, at least one, and a row for
   training left; 0 if there are not as many.  Documents that stay whole need no full row: there
   the last one will do, if that is not half of all.  */
static uint64_t
tail_tokens (const struct pack_config *c, const struct plan *p, const struct source *s)
{
  const uint64_t T = c->seq_len, n = s->tokens;
  uint64_t tail = (uint64_t) llround (c->validation * (double) n), least = T + 1;

  if (needs_full_rows (c, p))
    {
      uint64_t rows = (tail + T / 2) / T, most = n >= T + 2 ? (n - T - 2) / T : 0;

      rows = rows > 1 ? rows : 1;
      rows = rows < most ? rows : most;
      return rows > 0 ? rows * T + 1 : 0;
    }
  least = least < s->last_length ? least : s->last_length;
  least = least < n / 2 ? least : n / 2;
  return tail > least ? tail : least;
}

static mm_status
too_little (const struct corpus *c, const struct plan *p)
{
  const struct pack_config *config = c->config;
  bool held = p->held_out != HELD_NOTHING;
  uint64_t fits = held ? p->tokens / 2 : p->tokens;

  if (fits < 2)
    return mm_fail (MM_EFORMAT, "%s%s: too few tokens to train on: %" PRIu64, config->inputs[0].path,
                    config->n_inputs > 1 ? " and the others" : "", p->tokens);
  if (config->n_sources > 1)
    return mm_fail (MM_EUSAGE, "%" PRIu64 " tokens in %zu sources do not fill rows of --seq-len=%" PRIu32
                    " for training and validation; shorter rows may fit", p->tokens, config->n_sources,
                    config->seq_len);
  return mm_fail (MM_EUSAGE, "%" PRIu64 " tokens do not fill %s of --seq-len=%" PRIu32
                  "; at most --seq-len=%" PRIu64 " fits", p->tokens,
                  held ? "a row for training and one for validation" : "a row", config->seq_len, fits - 1);
}

/* Would the documents chosen by hash make a row, and leave one for training?  */
static bool
chosen_suffice (const struct corpus *c, const struct plan *p)
{
  uint64_t chosen = 0;

  for (size_t i = 0; i < c->config->n_sources; i++)
    chosen += c->sources[i].chosen_tokens;
  if (!needs_full_rows (c->config, p))
    return chosen >= 2 && p->tokens - chosen >= 2;
  return chosen > c->config->seq_len && p->tokens - chosen > c->config->seq_len;
}

uint64_t
plan_train_tokens (const struct corpus *c, const struct plan *p, size_t i)
{
  const struct source *s = &c->sources[i];

  return s->tokens - p->tails[i] - (p->held_out == HELD_DOCUMENTS ? s->chosen_tokens : 0);
}

static void
decide (const struct corpus *c, struct plan *p)
{
  for (size_t i = 0; i < c->config->n_sources; i++)
    {
      p->documents += c->sources[i].documents;
      p->tokens += c->sources[i].tokens;
    }
  if (c->config->validation == 0)
    p->held_out = HELD_NOTHING;
  else if (p->documents >= FEW_DOCUMENTS && chosen_suffice (c, p))
    p->held_out = HELD_DOCUMENTS;
  else
    p->held_out = HELD_TAIL;

  for (size_t i = 0; i < c->config->n_sources; i++)
    {
      if (p->held_out == HELD_TAIL)
        p->tails[i] = tail_tokens (c->config, p, &c->sources[i]);
      p->train_tokens += plan_train_tokens (c, p, i);
    }
  p->validation_tokens = p->tokens - p->train_tokens;
}

mm_status
plan_make (const struct corpus *c, struct plan *p)
{
  mm_status st;

  *p = (struct plan) { .strategy = c->config->strategy };
  if (p->strategy == PACK_BY_INPUT)
    p->strategy = c->with_mask && c->config->format == PACK_DATASET ? PACK_FIT : PACK_CONCAT;
  st = mm_alloc ("sources", c->config->n_sources, sizeof *p->tails, &p->tails);
  if (st < 0)
    return st;
  decide (c, p);
  if (p->tokens < 2 || (needs_full_rows (c->config, p) && p->train_tokens <= c->config->seq_len)
      || (p->held_out == HELD_TAIL && p->validation_tokens == 0))
    return too_little (c, p);
  for (size_t i = 0; i < c->config->n_sources; i++)
    if (c->config->n_sources > 1 && plan_train_tokens (c, p, i) == 0)
      return mm_fail (MM_EFORMAT, "%s: nothing is left of it for training, which is no share of a mix",
                      c->config->inputs[c->sources[i].first_input].path);
  return MM_OK;
}

void
plan_free (struct plan *p)
{
  free (p->tails);
}

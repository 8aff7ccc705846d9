/* result.c -- what an evaluation adds up, and how it is told.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <minimind/elementary.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/ops.h>

#include "result.h"

static const double ln2 = 0x1.62e42fefa39efp-1;

void
result_add (struct result *r, const struct mm_batch *b, const struct mm_loss *loss,
            const uint32_t *sizes)
{
  r->sum += loss->sum;
  r->targets += b->n_targets;
  r->rows += b->rows;
  for (size_t i = 0; i < b->rows * b->seq_len; i++)
    if (b->targets[i] >= 0)
      r->bytes += sizes[b->targets[i]];
}

void
result_print_losses (const struct mm_batch *b, const float *losses)
{
  for (size_t i = 0; i < b->rows * b->seq_len; i++)
    if (b->targets[i] >= 0)
      printf ("%" PRIu64 "\t%zu\t%" PRId32 "\t%a\n", b->first + i / b->seq_len,
              i % b->seq_len + 1, b->targets[i], losses[i]);
}

/* A number, or null where JSON has none.  */
static json_t *
number (double value)
{
  return isfinite (value) ? json_real (value) : json_null ();
}

mm_status
result_print (const struct result *r, const struct eval_config *c)
{
  double nats = ldexp ((double) r->sum, -MM_FIXED_BITS);
  double loss = nats / (double) r->targets, perplexity = mm_exp (loss);
  double bits = nats / ln2 / (double) r->bytes; /* not finite without bytes */
  char *text = NULL;
  json_t *root;
  mm_status st;

  if (c->losses)
    {
      mm_info ("loss %.6f over %s", loss, MM_COUNT (r->targets, "token"));
      return MM_OK;
    }
  if (!c->json)
    {
      printf ("loss           %.6f\nperplexity     %.4f\n", loss, perplexity);
      if (isfinite (bits))
        printf ("bits_per_byte  %.6f\n", bits);
      printf ("tokens         %" PRIu64 "\n", r->targets);
      return MM_OK;
    }
  root = json_pack ("{s:o, s:o, s:o, s:I, s:I, s:I, s:s}", "loss", number (loss),
                    "perplexity", number (perplexity), "bits_per_byte", number (bits),
                    "tokens", (json_int_t) r->targets, "bytes", (json_int_t) r->bytes,
                    "rows", (json_int_t) r->rows,
                    "split", c->split == MM_TRAIN ? "train" : "validation");
  st = root ? mm_json_text (root, false, &text) : mm_fail (MM_ENOMEM, "no memory for the result");
  if (st >= 0)
    puts (text);
  free (text);
  json_decref (root);
  return st;
}

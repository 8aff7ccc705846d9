/* probe.c -- how far apart the logits of two models are on a text.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/batch.h>
#include <minimind/memory.h>
#include <minimind/tokenizer.h>

#include "lora-merge.h"

/* TEXT as one row of a batch.  */
static mm_status
make_batch (const char *text, const char *dir, size_t vocab_size, struct mm_batch *b)
{
  struct mm_tokenizer *t;
  struct mm_encoder *e = NULL;
  struct mm_ids ids = { 0 };
  uint8_t *starts = NULL;
  mm_status st = mm_tokenizer_load (dir, &t);

  if (st < 0)
    return st;
  st = mm_encoder_open (t, &e);
  if (st == MM_OK)
    st = mm_encode (e, text, strlen (text), MM_PARSE_SPECIAL, &ids);
  if (st == MM_OK && ids.count == 0)
    st = mm_fail (MM_EUSAGE, "--probe: want a text");
  for (size_t i = 0; st == MM_OK && i < ids.count; i++)
    if (ids.data[i] >= vocab_size)
      st = mm_fail (MM_ECONFLICT, "%s: token %u is beyond the model's vocabulary of %zu", dir, ids.data[i], vocab_size);
  /* A row has one id more than it is long; the last one's logits do not matter.  */
  if (st == MM_OK)
    st = mm_grow ("ids", &ids.data, &ids.capacity, ids.count + 1, sizeof *ids.data);
  if (st == MM_OK)
    st = mm_alloc ("starts", ids.count + 1, 1, &starts);
  if (st == MM_OK)
    st = mm_batch_alloc (1, ids.count, b);
  if (st == MM_OK)
    {
      ids.data[ids.count] = ids.data[0];
      starts[0] = 1;
      mm_batch_set_row (b, 0, ids.data, starts, starts);
      b->rows = 1;
    }
  free (starts);
  free (ids.data);
  mm_encoder_close (e);
  mm_tokenizer_free (t);
  return st;
}

static mm_status
logits_of (struct mm_model *m, const struct mm_batch *b, float *logits)
{
  struct mm_pass *p;
  mm_status st = mm_pass_create (m, 1, b->seq_len, false, &p);

  if (st < 0)
    return st;
  st = mm_model_logits (p, b, logits);
  mm_pass_free (p);
  return st;
}

/* Print the largest and the root of the mean squared difference of N logits, and for how many positions the most
   likely token is the same.  */
static void
print_difference (const char *what, const float *a, const float *b, size_t rows, size_t vocab)
{
  double largest = 0, squares = 0;
  size_t same = 0;

  for (size_t i = 0; i < rows; i++)
    {
      size_t best_a = 0, best_b = 0;

      for (size_t v = 0; v < vocab; v++)
        {
          double d = fabs ((double) a[i * vocab + v] - (double) b[i * vocab + v]);

          largest = d > largest ? d : largest;
          squares += d * d;
          best_a = a[i * vocab + v] > a[i * vocab + best_a] ? v : best_a;
          best_b = b[i * vocab + v] > b[i * vocab + best_b] ? v : best_b;
        }
      same += best_a == best_b;
    }
  printf ("%s: logits differ by at most %.3g, root mean square %.3g; the same first choice at %zu of %zu positions\n",
          what, largest, sqrt (squares / (double) (rows * vocab)), same, rows);
}

mm_status
lora_merge_probe (const char *text, const char *base_dir, struct mm_model *base, struct mm_model *merged,
                  const struct mm_adapter *with)
{
  size_t vocab = mm_model_config (base)->vocab_size, n;
  struct mm_batch b;
  float *logits;
  mm_status st = make_batch (text, base_dir, vocab, &b);

  if (st < 0)
    return st;
  n = b.seq_len * vocab;
  st = mm_alloc ("logits", 2 * n, sizeof *logits, &logits);
  if (st == MM_OK)
    st = logits_of (merged, &b, logits);
  if (st == MM_OK)
    st = logits_of (base, &b, logits + n);
  if (st == MM_OK)
    print_difference ("base and merged", logits + n, logits, b.seq_len, vocab);
  if (st == MM_OK && with)
    {
      st = mm_adapter_attach (with, base);
      if (st == MM_OK)
        st = logits_of (base, &b, logits + n);
      if (st == MM_OK)
        print_difference ("adapter applied and merged", logits + n, logits, b.seq_len, vocab);
    }
  free (logits);
  mm_batch_free (&b);
  return st;
}

/* small_model.h -- small random models and micro-batches, for the tests of passes and sessions.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef SMALL_MODEL_H
#define SMALL_MODEL_H

#include <stdio.h>
#include <stdlib.h>

#include <minimind/model.h>
#include <minimind/random.h>

/* Both layouts, each with what the other has not: tied and untied, head_dim that is not hidden /
   heads, odd sizes.  */
static const struct mm_model_config small_configs[2] = {
  { MM_LLAMA, 24, 2, 4, 1, 6, 37, 51, 512, 1e-5f, 1e4, true, 1, 2, 0 },
  { MM_QWEN3, 20, 2, 4, 2, 10, 33, 45, 512, 1e-6f, 1e6, false, 1, 2, 0 },
};

/* Stop on a failure of what the test only needs.  */
static inline void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
}

/* A model with random weights, large enough that attention and gates matter; norms near 1.  */
static inline struct mm_model *
small_model (struct mm_backend *be, const struct mm_model_config *c)
{
  struct mm_model *m;
  float *x;

  must (mm_model_create (be, c, &m));
  x = malloc (mm_model_size (m) * sizeof *x);
  if (!x)
    exit (99);
  for (size_t i = 0; i < mm_model_n_params (m); i++)
    {
      const struct mm_param *p = mm_model_param (m, i);

      mm_normal (7, MM_RANDOM_TEST, (uint32_t) i, 0, p->size, p->n_dims == 2 ? 0.25 : 0.1,
                 x + p->offset);
      for (size_t k = 0; k < p->size && p->n_dims == 1; k++)
        x[p->offset + k] += 1;
    }
  must (mm_backend_put (be, mm_model_values (m), x, mm_model_size (m) * sizeof *x));
  must (mm_model_refresh (m));
  free (x);
  return m;
}

/* Token T of row ROW.  */
static inline uint32_t
small_id (uint64_t row, uint64_t t, uint32_t vocab)
{
  uint32_t words[4];

  mm_philox (3, MM_RANDOM_TEST, (uint32_t) row, t, words);
  return words[0] % vocab;
}

/* Sequence AT of B from row ROW; documents start at 0 and at multiples of EVERY, 0: at 0 only.  One
   target in seven is masked.  */
static inline void
small_row (struct mm_batch *b, size_t at, uint64_t row, uint32_t vocab, size_t every)
{
  size_t n = b->seq_len + 1;
  uint32_t *ids = malloc (n * sizeof *ids);
  uint8_t *starts = malloc (n), *mask = malloc (n);

  if (!ids || !starts || !mask)
    exit (99);
  for (size_t t = 0; t < n; t++)
    {
      ids[t] = small_id (row, t, vocab);
      starts[t] = t == 0 || (every && t % every == 0);
      mask[t] = ids[t] % 7 != 0;
    }
  mm_batch_set_row (b, at, ids, starts, mask);
  b->rows = at + 1;
  free (ids);
  free (starts);
  free (mask);
}

/* ROWS sequences of SEQ_LEN from row FIRST on; documents as small_row's.  */
static inline struct mm_batch
small_batch (size_t rows, size_t seq_len, uint64_t first, uint32_t vocab, size_t every)
{
  struct mm_batch b;

  must (mm_batch_alloc (rows, seq_len, &b));
  for (size_t i = 0; i < rows; i++)
    small_row (&b, i, first + i, vocab, every);
  return b;
}

#endif /* SMALL_MODEL_H */

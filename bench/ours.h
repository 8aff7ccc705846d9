/* ours.h -- a model of ours that is trained or evaluated by micro-batches, for what is measured beside others.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <stdbool.h>
#include <stdint.h>

#include <minimind/lora.h>
#include <minimind/model.h>
#include <minimind/optimizer.h>
#include <minimind/random.h>

#include "bench.h"

/* What is measured.  */
struct bench_shape
{
  struct mm_model_config config;
  uint32_t rank;                /* not 0: an adapter of this rank on all linear layers is what is trained */
  size_t rows, seq_len;         /* of a micro-batch */
  size_t document;              /* tokens of each document in a row, a divisor of seq_len */
  unsigned masked;              /* of each 8 tokens, this many are no targets */
  bool evaluates;               /* only: nothing is kept for a gradient, as in minimind-eval */
};

struct bench_ours
{
  struct mm_model *model;
  struct mm_optimizer optimizer;
  struct mm_pass *pass;
  struct mm_batch batch;
  struct mm_loss loss;          /* of the step so far */
  double turn_flops;            /* of training on a micro-batch */
  double forward_flops;         /* of evaluating it */
};

static inline void
bench_fill_batch (const struct bench_shape *s, struct mm_batch *batch)
{
  uint32_t *ids = calloc (s->seq_len + 1, sizeof *ids), words[4];
  uint8_t *starts = calloc (s->seq_len + 1, 1), *mask = calloc (s->seq_len + 1, 1);

  if (!ids || !starts || !mask)
    exit (1);
  bench_want (mm_batch_alloc (s->rows, s->seq_len, batch));
  for (uint32_t row = 0; row < s->rows; row++)
    {
      for (uint32_t i = 0; i <= s->seq_len; i++)
        {
          mm_philox (42, MM_RANDOM_TEST, row, i, words);
          ids[i] = words[0] % s->config.vocab_size;
          starts[i] = i % s->document == 0 && i < s->seq_len;
          mask[i] = i % 8 >= s->masked;
        }
      mm_batch_set_row (batch, row, ids, starts, mask);
    }
  batch->rows = s->rows;
  free (ids);
  free (starts);
  free (mask);
}

/* Each has a backend of its own, whose profile is that one's.  */
static inline void
bench_ours_open (int threads, const struct bench_shape *s, struct bench_ours *o)
{
  const unsigned all = (1u << MM_LORA_TARGETS) - 1;
  double tokens = (double) (s->rows * s->seq_len), flops = mm_config_train_flops (&s->config, s->document);
  struct mm_backend *be;

  *o = (struct bench_ours) { .forward_flops = mm_config_forward_flops (&s->config, s->document) * tokens };
  bench_want (mm_backend_open ("cpu", threads, &be));
  o->optimizer = (struct mm_optimizer) { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1,
                                         .grad_clip = 1 };
  bench_want (mm_model_create (be, &s->config, &o->model));
  bench_want (mm_model_init (o->model, 42));
  if (s->rank)
    {
      struct mm_lora_sizes sizes;

      bench_want (mm_lora_create (o->model, s->rank, 2 * s->rank, all, 42));
      bench_want (mm_lora_measure (&s->config, s->rank, all, s->document, &sizes));
      flops = sizes.train_flops;
    }
  bench_want (mm_optimizer_create (o->model, &o->optimizer));
  bench_want (mm_pass_create (o->model, s->rows, s->seq_len, !s->evaluates, &o->pass));
  bench_fill_batch (s, &o->batch);
  o->turn_flops = flops * tokens;
}

static inline void
bench_ours_close (struct bench_ours *o)
{
  struct mm_backend *be = mm_model_backend (o->model);

  mm_batch_free (&o->batch);
  mm_pass_free (o->pass);
  mm_optimizer_free (o->model, &o->optimizer);
  mm_model_free (o->model);
  mm_backend_close (be);
}

/* Seconds of one micro-batch, and of the update after the LAST of a step.  */
static inline double
bench_ours_turn (struct bench_ours *o, bool last)
{
  double began = bench_clock (CLOCK_MONOTONIC), norm;

  bench_want (mm_model_gradient (o->pass, &o->batch, o->optimizer.grad, &o->loss, NULL));
  if (last)
    {
      bench_want (mm_optimizer_step (o->model, &o->optimizer, 5e-4, o->loss.n_targets, &norm));
      o->loss = (struct mm_loss) { 0 };
    }
  bench_want (mm_backend_sync (mm_model_backend (o->model)));
  return bench_clock (CLOCK_MONOTONIC) - began;
}

/* Seconds of evaluating one micro-batch.  */
static inline double
bench_ours_evaluate (struct bench_ours *o)
{
  double began = bench_clock (CLOCK_MONOTONIC);
  struct mm_loss loss = { 0 };

  bench_want (mm_model_evaluate (o->pass, &o->batch, &loss, NULL));
  return bench_clock (CLOCK_MONOTONIC) - began;
}

#endif /* BENCH_OURS_H */

/* digest.c -- the reference run: 20 steps of nano on a dataset made by a formula.
   SPDX-License-Identifier: Apache-2.0

   Writes parameters, then m, then v, as little-endian float32 in the order of the parameter table, on
   standard output.  Their SHA-256 stands in nano.digest for the current numerics version: every machine,
   compiler, thread count and kernel set must give it (`digest THREADS | sha256sum -c nano.digest`).

   `digest THREADS STEPS` stops after STEPS; 0 writes the initial state.  Losses, norms and the rows of each
   step stand on standard error: interop/nano.py makes the same run with PyTorch.

   It needs no files and no library beyond libcore's base, backend, model and optimizer, so that it can be
   built alone for another processor.  Exit status 77: the kernels that MM_CPU names are not here.  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/batch.h>
#include <minimind/memory.h>
#include <minimind/model.h>
#include <minimind/ops.h>
#include <minimind/optimizer.h>
#include <minimind/random.h>
#include <minimind/schedule.h>

/* Sizes that divide nothing: rows end in the middle of a vector, windows and micro-batches are short at
   the end of an epoch.  */
enum { VOCAB = 320, SEQ_LEN = 37, ROWS = 17, GLOBAL_BATCH = 6, MICRO_BATCH = 2, STEPS = 20, SEED = 42 };

static const struct mm_order order = { .seed = SEED, .rows = ROWS, .global_batch = GLOBAL_BATCH,
                                       .micro_batch = MICRO_BATCH, .shuffle = true };
static const struct mm_schedule schedule = { .kind = MM_COSINE, .peak = 1e-2, .min_ratio = 0.1,
                                             .warmup = 4, .total = STEPS };

/* Row ROW of the dataset: documents of 1 to 11 tokens, each a quadratic progression; every fifth token or
   so is no target.  */
static void
make_row (uint64_t row, uint32_t ids[SEQ_LEN + 1], uint8_t starts[SEQ_LEN + 1], uint8_t mask[SEQ_LEN + 1])
{
  uint64_t key = 0, k = 0;

  for (uint64_t i = 0; i <= SEQ_LEN; i++)
    {
      starts[i] = i == 0 || (row * 7 + i * i * 3) % 11 == 0;
      if (starts[i])
        {
          key = row * 13 + i;
          k = 0;
        }
      ids[i] = (uint32_t) ((key * 17 + k * k * 3 + k) % VOCAB);
      mask[i] = (row + i) % 5 != 0;
      k++;
    }
}

/* COUNT samples of epoch EPOCH from sample FIRST on.  */
static void
fill_batch (struct mm_batch *b, uint64_t epoch, uint64_t first, uint64_t count)
{
  uint32_t ids[SEQ_LEN + 1];
  uint8_t starts[SEQ_LEN + 1], mask[SEQ_LEN + 1];

  for (uint64_t i = 0; i < count; i++)
    {
      uint64_t row = mm_permute (SEED, MM_RANDOM_ORDER, (uint32_t) epoch, ROWS, first + i);

      make_row (row, ids, starts, mask);
      mm_batch_set_row (b, (size_t) i, ids, starts, mask);
      fprintf (stderr, " %d", (int) row);
    }
  b->rows = (size_t) count;
}

/* One window: all its micro-batches, then the update.  */
static mm_status
train_step (struct mm_pass *pass, struct mm_model *model, struct mm_optimizer *o, struct mm_batch *b,
            uint64_t step)
{
  struct mm_loss loss = { 0 };
  uint64_t epoch, first, count;
  double norm;
  mm_status st = MM_OK;

  mm_order_window (&order, step, &epoch, &first, &count);
  fprintf (stderr, "step %d  rows", (int) step + 1);
  for (uint64_t i = 0; i < count && st == MM_OK; i += MICRO_BATCH)
    {
      fill_batch (b, epoch, first + i, count - i < MICRO_BATCH ? count - i : MICRO_BATCH);
      st = mm_model_gradient (pass, b, o->grad, &loss, NULL);
    }
  if (st == MM_OK && loss.overflow)
    st = mm_fail (MM_EGAVEUP, "loss or gradient overflows");
  if (st == MM_OK)
    st = mm_optimizer_step (model, o, mm_schedule_rate (&schedule, step), loss.n_targets, &norm);
  if (st == MM_OK)
    fprintf (stderr, "  loss %.6f  norm %.6f  targets %d\n",
             ldexp ((double) loss.sum, -MM_FIXED_BITS) / (double) loss.n_targets, norm, (int) loss.n_targets);
  return st;
}

static void
put_floats (const float *x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      uint32_t bits;

      memcpy (&bits, &x[i], sizeof bits);
      for (int shift = 0; shift < 32; shift += 8)
        putchar ((int) (bits >> shift & 0xff));
    }
}

static mm_status
put_state (struct mm_model *model, const struct mm_optimizer *o)
{
  struct mm_backend *be = mm_model_backend (model);
  const float *buffers[] = { mm_model_values (model), o->m, o->v };
  size_t n = mm_model_size (model);
  float *host = NULL;
  mm_status st = mm_alloc ("state", n, sizeof *host, &host);

  for (int i = 0; i < 3 && st == MM_OK; i++)
    {
      st = mm_backend_get (be, host, buffers[i], n * sizeof *host);
      if (st == MM_OK)
        put_floats (host, n);
    }
  free (host);
  if (st == MM_OK && fflush (stdout) != 0)
    st = mm_fail_errno ("standard output");
  return st;
}

static mm_status
train (struct mm_backend *be, uint64_t steps)
{
  /* The limit lies in the midst of the norms: some steps are clipped.  */
  struct mm_optimizer o = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1,
                            .grad_clip = 0.45 };
  struct mm_model_config config;
  struct mm_model *model = NULL;
  struct mm_pass *pass = NULL;
  struct mm_batch b = { 0 };
  mm_status st = mm_config_preset ("nano", VOCAB, &config);

  if (st == MM_OK)
    st = mm_model_create (be, &config, &model);
  if (st == MM_OK)
    st = mm_model_init (model, SEED);
  if (st == MM_OK)
    st = mm_optimizer_create (model, &o);
  if (st == MM_OK)
    st = mm_pass_create (model, MICRO_BATCH, SEQ_LEN, true, &pass);
  if (st == MM_OK)
    st = mm_batch_alloc (MICRO_BATCH, SEQ_LEN, &b);
  for (uint64_t step = 0; step < steps && st == MM_OK; step++)
    st = train_step (pass, model, &o, &b, step);
  if (st == MM_OK)
    st = put_state (model, &o);
  mm_batch_free (&b);
  mm_pass_free (pass);
  mm_optimizer_free (model, &o);
  mm_model_free (model);
  return st;
}

int
main (int argc, char **argv)
{
  int threads = argc > 1 ? atoi (argv[1]) : 1, steps = argc > 2 ? atoi (argv[2]) : STEPS;
  struct mm_backend *be;
  mm_status st = mm_backend_open ("cpu", threads, &be);

  if (st == MM_OK)
    {
      fprintf (stderr, "%s kernels, %d threads\n", mm_backend_kernels (be), mm_backend_threads (be));
      st = train (be, (uint64_t) steps);
      mm_backend_close (be);
    }
  if (st < 0)
    fprintf (stderr, "digest: %s\n", mm_error_message ());
  return st == MM_EUSAGE ? 77 : st < 0;
}

/* train.c -- a training step of minimind2-small, where its time goes, and PyTorch beside it.
   SPDX-License-Identifier: Apache-2.0

     bench/train [THREADS [STEPS]]              default: all processors, 3

   A step: 16 rows of 512 tokens, one document each, four at a time, AdamW with clip.  FLOPs are three times
   those of the forward pass with causal attention, nothing made again counted.  The peer, train_torch.py,
   runs between two halves of our steps, so that what else the machine does hits both; best step against best
   step.  BENCH_PYTHON names a Python that has torch and transformers, or is "venv": then they are fetched into a
   folder that is removed afterwards.  */

#include <config.h>

#include <stdint.h>
#include <sys/resource.h>

#include <minimind/model.h>
#include <minimind/optimizer.h>
#include <minimind/random.h>
#include <minimind/thread.h>

#include "bench.h"

enum { VOCAB = 6400, SEQ_LEN = 512, ROWS = 16, MICRO = 4, MOST_STEPS = 100 };

static struct mm_model_config config;
static struct mm_model *model;
static struct mm_optimizer optimizer
  = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .grad_clip = 1 };
static struct mm_pass *pass;
static struct mm_batch batch;

static void
prepare (struct mm_backend *be)
{
  bench_want (mm_config_preset ("minimind2-small", VOCAB, &config));
  bench_want (mm_model_create (be, &config, true, &model));
  bench_want (mm_model_init (model, 42));
  bench_want (mm_optimizer_create (model, &optimizer));
  bench_want (mm_pass_create (model, MICRO, SEQ_LEN, true, &pass));
  bench_want (mm_batch_alloc (MICRO, SEQ_LEN, &batch));
  for (uint32_t row = 0; row < MICRO; row++)
    {
      uint32_t ids[SEQ_LEN + 1], words[4];

      for (uint32_t i = 0; i <= SEQ_LEN; i++)
        {
          mm_philox (42, MM_RANDOM_TEST, row, i, words);
          ids[i] = words[0] % VOCAB;
        }
      mm_batch_set_row (&batch, row, ids, NULL, NULL);
    }
  batch.rows = MICRO;
}

/* Seconds of one step.  */
static double
run_step (void)
{
  double began = bench_clock (CLOCK_MONOTONIC), norm;
  struct mm_loss loss = { 0 };

  for (int i = 0; i < ROWS; i += MICRO)
    bench_want (mm_model_gradient (pass, &batch, optimizer.grad, &loss, NULL));
  bench_want (mm_optimizer_step (model, &optimizer, 5e-4, loss.n_targets, &norm));
  bench_want (mm_backend_sync (mm_model_backend (model)));
  return bench_clock (CLOCK_MONOTONIC) - began;
}

/* Where the time of STEPS steps went, SECONDS in all.  */
static void
print_profile (struct mm_backend *be, int steps, double seconds)
{
  const struct mm_op_profile *ops;
  size_t n = mm_backend_profile (be, &ops);
  double rest = seconds, peak = mm_backend_peak (be);

  printf ("%-20s %9s %7s %9s %8s %9s\n", "operation", "s a step", "share", "GFLOP/s", "of peak", "GB/s");
  for (size_t i = 0; i < n; i++)
    {
      const struct mm_op_profile *o = &ops[i];

      if (o->calls == 0)
        continue;
      rest -= o->seconds;
      printf ("%-20s %9.4f %6.1f%% %9.1f %7.1f%% %9.1f\n", o->name, o->seconds / steps, 100 * o->seconds / seconds,
              1e-9 * o->flops / o->seconds, 100 * o->flops / o->seconds / peak, 1e-9 * o->bytes / o->seconds);
    }
  printf ("%-20s %9.4f %6.1f%%\n", "between them", rest / steps, 100 * rest / seconds);
}

/* Run the peer; its best float32 tokens/s, or 0.  Each of its lines is "NAME TOKENS_PER_SECOND" or a reason why
   there are none.  */
static double
run_peer (int threads)
{
  const char *python = getenv ("BENCH_PYTHON"), *srcdir = getenv ("srcdir");
  char command[4096], line[256], name[64];
  double speed, best = 0;
  FILE *f;

  if (!python || strcmp (python, "venv") == 0)
    python = "python3";
  snprintf (command, sizeof command, "'%s' '%s/bench/train_torch.py' %d", python, srcdir ? srcdir : ".", threads);
  f = popen (command, "r");
  while (f && fgets (line, sizeof line, f))
    if (sscanf (line, "%63s %lf", name, &speed) == 2)
      {
        printf ("PyTorch %-20s %9.1f tokens/s\n", name, speed);
        if (strncmp (name, "float32", 7) == 0 && speed > best)
          best = speed;
      }
    else
      printf ("PyTorch: %s", line);
  if (f)
    pclose (f);
  return best;
}

int
main (int argc, char **argv)
{
  int threads = argc > 1 ? atoi (argv[1]) : mm_cpus_allowed (), steps = argc > 2 ? atoi (argv[2]) : 3;
  double seconds[2 * MOST_STEPS], total = 0, best, flops, peer;
  struct mm_backend *be;
  struct rusage usage;
  char processor[128];

  if (steps < 1 || steps > MOST_STEPS)
    return 64;
  bench_want (mm_backend_open ("cpu", threads, &be));
  bench_processor (processor, sizeof processor);
  prepare (be);
  run_step ();                  /* first touch of all memory */
  printf ("%s, kernels %s, %d threads, FMA peak measured %.1f GFLOP/s\n", processor, mm_backend_kernels (be),
          threads, 1e-9 * mm_backend_peak (be));

  mm_backend_profile_reset (be);
  for (int i = 0; i < steps; i++)
    total += seconds[i] = run_step ();
  print_profile (be, steps, total);
  getrusage (RUSAGE_SELF, &usage);
  fflush (stdout);
  peer = run_peer (threads);
  for (int i = steps; i < 2 * steps; i++)
    seconds[i] = run_step ();

  flops = mm_config_train_flops (&config, SEQ_LEN) * ROWS * SEQ_LEN;
  bench_median (seconds, 2 * (size_t) steps);
  best = ROWS * SEQ_LEN / seconds[0];
  printf ("step of %d x %d tokens, micro-batch %d: best of %d steps %.1f tokens/s, %.1f%% of the FMA peak;"
          " median %.1f tokens/s; peak memory %.2f GB\n", ROWS, SEQ_LEN, MICRO, 2 * steps, best,
          100 * flops / seconds[0] / mm_backend_peak (be), ROWS * SEQ_LEN / seconds[steps],
          1e-6 * (double) usage.ru_maxrss * 1.024);
  if (peer > 0)
    printf ("ratio to PyTorch in float32 at its best: %.2f\n", best / peer);

  mm_batch_free (&batch);
  mm_pass_free (pass);
  mm_optimizer_free (model, &optimizer);
  mm_model_free (model);
  mm_backend_close (be);
  return 0;
}

/* steps.c -- other work than the training step of minimind2-small: beside that step, and beside the peak.
   SPDX-License-Identifier: Apache-2.0

     bench/steps [THREADS [ROUNDS [WORK]]]      default: all processors, 1, all

   A step is four micro-batches of 4 rows of 512 tokens and the update, as in bench/train; of evaluation the four
   micro-batches alone.  FLOPs as there: causal, nothing made again counted.  In a round each micro-batch of the work
   stands beside one of the training step, with the peak (the best of some moments) and what threads sustain (their
   mean over a tenth of a second) measured before and after; medians over rounds.  "time" is that of the work over
   what its FLOPs need at the rate of the training step beside it.  */

#include <config.h>

#include <minimind/thread.h>

#include "ours.h"

enum { VOCAB = 6400, SEQ_LEN = 512, MICRO = 4, TURNS = 4, MOST = 400 };

static const struct work
{
  const char *name, *preset;
  uint32_t rank;
  size_t document;
  unsigned masked;
  bool evaluates;
} works[] = {
  { "train", "minimind2-small", 0, SEQ_LEN, 0, false },
  { "minimind-3", "minimind-3", 0, SEQ_LEN, 0, false },
  { "tiny", "tiny", 0, SEQ_LEN, 0, false },
  { "sft", "minimind2-small", 0, SEQ_LEN / 4, 4, false },
  { "lora", "minimind2-small", 8, SEQ_LEN, 0, false },
  { "eval", "minimind2-small", 0, SEQ_LEN, 0, true },
};

enum { N_WORKS = sizeof works / sizeof *works };

/* Seconds of a micro-batch of W.  */
static double
turn_of (const struct work *w, struct bench_ours *o, bool last)
{
  return w->evaluates ? bench_ours_evaluate (o) : bench_ours_turn (o, last);
}

static void
open_work (int threads, const struct work *w, struct bench_ours *o)
{
  struct bench_shape s = { .rank = w->rank, .rows = MICRO, .seq_len = SEQ_LEN, .document = w->document,
                           .masked = w->masked, .evaluates = w->evaluates };

  bench_want (mm_config_preset (w->preset, VOCAB, &s.config));
  bench_ours_open (threads, &s, o);
  turn_of (w, o, true);         /* first touch */
}

/* ROUNDS steps of W beside the training step STEP.  */
static void
measure (int threads, const struct work *w, struct bench_ours *step, int rounds)
{
  double of_peak[MOST], of_sustained[MOST], time[MOST], speed[MOST];
  struct bench_ours o;

  open_work (threads, w, &o);
  for (int r = 0; r < rounds; r++)
    {
      struct mm_limits limits = { 0 };
      double seconds = 0, beside = 0, flops = TURNS * (w->evaluates ? o.forward_flops : o.turn_flops);

      bench_add_limits (mm_model_backend (o.model), &limits);
      for (int t = 0; t < TURNS; t++)
        {
          seconds += turn_of (w, &o, t == TURNS - 1);
          bench_add_limits (mm_model_backend (o.model), &limits);
          beside += bench_ours_turn (step, t == TURNS - 1);
        }
      speed[r] = TURNS * MICRO * SEQ_LEN / seconds;
      of_peak[r] = 100 * flops / seconds / (limits.peak / (TURNS + 1));
      of_sustained[r] = 100 * flops / seconds / (limits.sustained / (TURNS + 1));
      time[r] = seconds / flops * (TURNS * step->turn_flops / beside);
    }
  printf ("%-12s %-16s %9.1f %9.1f %8.1f%% %9.1f%% %8.2f\n", w->name, w->preset, bench_median (speed, (size_t) rounds),
          1e-6 * (w->evaluates ? o.forward_flops : o.turn_flops) / (MICRO * SEQ_LEN),
          bench_median (of_peak, (size_t) rounds), bench_median (of_sustained, (size_t) rounds),
          bench_median (time, (size_t) rounds));
  fflush (stdout);
  bench_ours_close (&o);
}

int
main (int argc, char **argv)
{
  int threads = argc > 1 ? atoi (argv[1]) : mm_cpus_allowed (), rounds = argc > 2 ? atoi (argv[2]) : 1;
  struct bench_ours step;
  char processor[128];

  if (rounds < 1 || rounds > MOST)
    return 64;
  open_work (threads, &works[0], &step);
  bench_processor (processor, sizeof processor);
  printf ("%s, kernels %s, %d threads, %d rounds\n", processor, mm_backend_kernels (mm_model_backend (step.model)),
          threads, rounds);
  printf ("%-12s %-16s %9s %9s %9s %10s %8s\n", "work", "model", "tokens/s", "MF/token", "of peak", "sustained",
          "time");
  for (size_t i = 0; i < N_WORKS; i++)
    if (argc > 3 ? strcmp (argv[3], works[i].name) == 0 : true)
      measure (threads, &works[i], &step, rounds);
  bench_ours_close (&step);
  return 0;
}

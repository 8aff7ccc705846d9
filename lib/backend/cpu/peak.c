/* peak.c -- the limit that every other figure is a share of.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <time.h>

#include "cpu.h"

struct job
{
  const struct mm_cpu_kernels *kernels;
  size_t rounds;
};

static void
work (void *arg, int thread, int n_threads)
{
  struct job *job = arg;
  float sink = 0;

  (void) thread, (void) n_threads;
  job->kernels->peak (job->rounds, &sink);
}

static double
seconds_of (struct mm_cpu *cpu, struct job *job)
{
  struct timespec a, b;

  clock_gettime (CLOCK_MONOTONIC, &a);
  mm_team_run (cpu->team, work, job);
  clock_gettime (CLOCK_MONOTONIC, &b);
  return (double) (b.tv_sec - a.tv_sec) + 1e-9 * (double) (b.tv_nsec - a.tv_nsec);
}

/* The best of some runs of a few milliseconds: what others take from us on a shared machine is not
   the processor's limit.  */
double
mm_cpu_peak (struct mm_backend *be)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  struct job job = { cpu->kernels, 1000 };
  double spent = 0, flops;
  float sink = 0;

  if (cpu->peak > 0)
    return cpu->peak;
  while (seconds_of (cpu, &job) < 2e-3)
    job.rounds *= 2;
  flops = cpu->kernels->peak (job.rounds, &sink) * mm_team_size (cpu->team);
  while (spent < 0.1)
    {
      double t = seconds_of (cpu, &job);

      spent += t;
      if (flops / t > cpu->peak)
        cpu->peak = flops / t;
    }
  return cpu->peak;
}

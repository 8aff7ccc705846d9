/* peak.c -- the limits that every other figure is a share of.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdatomic.h>
#include <minimind/log.h>

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
  double began = mm_now ();

  mm_team_run (cpu->team, work, job);
  return mm_now () - began;
}

/* The best of some runs of a few milliseconds: what others take from us on a shared machine is not
   the processor's limit.  */
static double
measure_peak (struct mm_cpu *cpu)
{
  struct job job = { cpu->kernels, 1000 };
  double spent = 0, peak = 0, flops;
  float sink = 0;

  while (seconds_of (cpu, &job) < 2e-3)
    job.rounds *= 2;
  flops = cpu->kernels->peak (job.rounds, &sink) * mm_team_size (cpu->team);
  while (spent < 0.05)
    {
      double t = seconds_of (cpu, &job);

      spent += t;
      if (flops / t > peak)
        peak = flops / t;
    }
  return peak;
}

double
mm_cpu_peak (struct mm_backend *be)
{
  struct mm_cpu *cpu = mm_cpu_state (be);

  if (cpu->peak == 0)
    cpu->peak = measure_peak (cpu);
  return cpu->peak;
}

/* ---- what lasts ---- */

struct lasting
{
  const struct mm_cpu_kernels *kernels;
  size_t rounds;                /* of a piece */
  double until;                 /* of mm_now () */
  atomic_ullong pieces;
};

static void
last (void *arg, int thread, int n_threads)
{
  struct lasting *job = arg;
  unsigned long long done = 0;
  float sink = 0;

  (void) thread, (void) n_threads;
  for (; mm_now () < job->until; done++)
    job->kernels->peak (job->rounds, &sink);
  atomic_fetch_add (&job->pieces, done);
}

static double
measure_sustained (struct mm_cpu *cpu, double peak)
{
  const double piece = 2e-5, all = 0.1;         /* s */
  float sink = 0;
  double flops = cpu->kernels->peak (1000, &sink), began = mm_now ();
  struct lasting job = { .kernels = cpu->kernels, .until = began + all };

  job.rounds = (size_t) (1000 * piece * peak / mm_team_size (cpu->team) / flops) + 1;
  mm_team_run (cpu->team, last, &job);
  return flops / 1000 * (double) job.rounds * (double) atomic_load (&job.pieces) / (mm_now () - began);
}

/* ---- memory ---- */

/* A register that all processors have: compilers keep sums of wider vectors on the stack, slower than memory.  */
typedef uint64_t words __attribute__ ((vector_size (16), may_alias));

/* One stream is read at half the speed of four: each has its own prefetches.  */
enum
{
  STREAMS = 4,
  LINE = 4                      /* words */
};

struct reading
{
  const words *data;
  size_t n;                     /* lines */
  uint64_t sum;                 /* so that it is read */
};

static void
read_all (void *arg, size_t from, size_t to)
{
  struct reading *job = arg;
  size_t each = (to - from) / STREAMS * LINE;
  const words *data = job->data + from * LINE;
  words s0 = { 0 }, s1 = s0, s2 = s0, s3 = s0;

  for (size_t i = 0; i < each; i += LINE)
    for (size_t s = 0; s < STREAMS; s++)
      {
        const words *line = data + i + s * each;

        s0 += line[0];
        s1 += line[1];
        s2 += line[2];
        s3 += line[3];
      }
  s0 += s1 + s2 + s3;
  __atomic_fetch_add (&job->sum, s0[0] + s0[1], __ATOMIC_RELAXED);
}

static mm_status
measure_bandwidth (struct mm_backend *be, size_t bytes, double *bandwidth)
{
  enum { TIMES = 8, GRAIN = 64 * STREAMS };
  struct reading job = { .n = bytes / (LINE * sizeof (words)) };
  void *data;
  mm_status st = mm_backend_alloc (be, "memory to read", bytes, &data);

  if (st < 0)
    return st;
  job.data = data;
  *bandwidth = 0;
  for (int i = 0; i < TIMES; i++)
    {
      double began = mm_now ();

      mm_cpu_split (be, job.n, GRAIN, read_all, &job);
      *bandwidth = fmax (*bandwidth, (double) (job.n * LINE * sizeof (words)) / (mm_now () - began));
    }
  mm_backend_release (be, data);
  return MM_OK;
}

mm_status
mm_cpu_limits (struct mm_backend *be, size_t bytes, struct mm_limits *l)
{
  struct mm_cpu *cpu = mm_cpu_state (be);

  l->peak = measure_peak (cpu);
  l->sustained = measure_sustained (cpu, l->peak);
  return measure_bandwidth (be, bytes, &l->bandwidth);
}

/* bench.h -- what the benchmarks share: clocks, order statistics, the name of the processor.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <minimind/backend.h>

static inline double
bench_clock (clockid_t clock)
{
  struct timespec t;

  clock_gettime (clock, &t);
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static inline void
bench_sleep (double seconds)
{
  struct timespec t = { (time_t) seconds, (long) ((seconds - (double) (time_t) seconds) * 1e9) };

  nanosleep (&t, NULL);
}

static inline int
bench_compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* The median of N values, which are sorted.  */
static inline double
bench_median (double *v, size_t n)
{
  qsort (v, n, sizeof *v, bench_compare);
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Leave with the message of a failed call.  */
static inline void
bench_want (mm_status st)
{
  if (st == MM_OK)
    return;
  fprintf (stderr, "bench: %s\n", mm_error_message ());
  exit (1);
}

/* FLOP/s of fmas in registers on THREADS threads, measured now: a backend measures once and remembers.  */
static inline double
bench_peak (int threads)
{
  struct mm_backend *be;
  double peak;

  bench_want (mm_backend_open ("cpu", threads, &be));
  peak = mm_backend_peak (be);
  mm_backend_close (be);
  return peak;
}

/* The peak of BE's threads and what they sustain, measured now and added to those in SUM.  */
static inline void
bench_add_limits (struct mm_backend *be, struct mm_limits *sum)
{
  struct mm_limits l;

  bench_want (mm_backend_limits (be, 1 << 20, &l));
  sum->peak += l.peak;
  sum->sustained += l.sustained;
}

static inline void
bench_print (void *arg, const char *line)
{
  (void) arg;
  puts (line);
}

/* Limits, and where the time of STEPS steps went, SECONDS in all, beside PEAK, measured beside them.  */
static inline void
bench_profile (struct mm_backend *be, double peak, double steps, double seconds)
{
  struct mm_limits l;

  bench_want (mm_backend_limits (be, 0, &l));
  l.peak = peak;
  printf ("FMA peak %.0f GFLOP/s, %.0f sustained; memory is read at %.1f GB/s\n", 1e-9 * peak, 1e-9 * l.sustained,
          1e-9 * l.bandwidth);
  mm_backend_profile_table (be, &l, steps, seconds, bench_print, NULL);
}

/* The processor's name into NAME.  */
static inline void
bench_processor (char *name, size_t size)
{
  FILE *f = fopen ("/proc/cpuinfo", "r");
  char line[256];

  snprintf (name, size, "unknown processor");
  while (f && fgets (line, sizeof line, f))
    if (strncmp (line, "model name", 10) == 0 && strchr (line, ':'))
      {
        line[strcspn (line, "\n")] = '\0';
        snprintf (name, size, "%s", strchr (line, ':') + 2);
        break;
      }
  if (f)
    fclose (f);
}

#endif /* BENCH_H */

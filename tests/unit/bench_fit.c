/* bench_fit.c -- latency and bandwidth from measurements, and the figures of a line.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>

#include "../../bench-allreduce/bench-allreduce.h"
#include "../tap.h"

static bool
near (double a, double b)
{
  return fabs (a - b) <= 1e-9 * fabs (b);
}

/* N results whose seconds are START + bytes / BANDWIDTH, among others of another type.  */
static size_t
make (struct bench_result *r, size_t n, double start, double bandwidth)
{
  for (size_t i = 0; i < n; i++)
    {
      size_t bytes = (size_t) 1000 << 2 * i;

      r[2 * i] = (struct bench_result) { .dtype = BENCH_I64, .algorithm = BENCH_COPY, .bytes = bytes,
                                         .seconds = start + (double) bytes / bandwidth };
      r[2 * i + 1] = (struct bench_result) { .dtype = BENCH_F32, .algorithm = BENCH_COPY, .bytes = bytes,
                                             .seconds = 1 };
    }
  return 2 * n;
}

int
main (void)
{
  struct bench_result r[16], one = { .bytes = 3000000000u, .seconds = 2 };
  struct bench_fit fit = bench_fit_of (r, make (r, 6, 5e-6, 2e9), BENCH_I64, BENCH_COPY);

  ok (near (fit.latency, 5e-6) && near (fit.bandwidth, 2e9), "latency and bandwidth come out again");
  fit = bench_fit_of (r, make (r, 6, -1e-8, 2e9), BENCH_I64, BENCH_COPY);
  ok (fit.latency == 0 && fabs (fit.bandwidth / 2e9 - 1) < 0.03, "no latency below zero");
  fit = bench_fit_of (r, make (r, 1, 5e-6, 2e9), BENCH_I64, BENCH_COPY);
  ok (fit.bandwidth == 0, "one size is no line");
  fit = bench_fit_of (r, make (r, 6, 5e-6, 2e9), BENCH_I64, BENCH_SUM);
  ok (fit.bandwidth == 0, "nothing measured, nothing fitted");
  fit = bench_fit_of (r, make (r, 6, 5e-6, 2e9), BENCH_F32, BENCH_COPY);
  ok (fit.bandwidth == 0, "times that do not grow are no bandwidth");
  ok (near (bench_algbw (&one), 1.5) && near (bench_busbw (&one, 4), 2.25), "algbw and busbw");
  return tap_done ();
}

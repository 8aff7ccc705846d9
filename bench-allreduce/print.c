/* print.c -- the table, the fits, the JSON object.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include <minimind/json.h>
#include <minimind/log.h>

#include "bench-allreduce.h"

const char *const bench_dtype_names[] = { "float32", "bfloat16", "int64", NULL };
const char *const bench_algorithm_names[] = { "sum", "copy", "scatter-gather", "mpi", "limit", "memcpy", NULL };

size_t
bench_dtype_size (enum bench_dtype dtype)
{
  return dtype == BENCH_F32 ? sizeof (float) : dtype == BENCH_BF16 ? sizeof (uint16_t) : sizeof (int64_t);
}

double
bench_algbw (const struct bench_result *r)
{
  return (double) r->bytes / r->seconds / 1e9;
}

double
bench_busbw (const struct bench_result *r, int n)
{
  return bench_algbw (r) * 2 * (n - 1) / n;
}

/* ---- the table ---- */

void
bench_print_header (const struct mm_comm *comm)
{
  printf ("%s, transport %s\n"
          "time: median over iterations of the slowest rank; spread: from the 10th to the 90th percentile, / median\n"
          "algbw = bytes / time; busbw = algbw * 2 (n - 1) / n, n = %d; GB/s of 1e9 bytes\n"
          "of limit: the time of a loop that only reads and writes as much memory, in this run, / time\n\n"
          "%-8s %-14s %12s %6s %12s %7s %9s %9s %9s  %s\n",
          MM_COUNT ((uint64_t) mm_comm_size (comm), "rank"), mm_comm_name (comm), mm_comm_size (comm), "type",
          "algorithm", "bytes", "times", "time us", "spread", "algbw", "busbw", "of limit", "sums");
}

void
bench_print_result (const struct bench_result *r, int ranks, const struct bench_result *limit)
{
  char bus[32] = "n/a", share[32] = "n/a";
  bool adds = r->algorithm < BENCH_LIMIT;

  if (r->iterations == 0)
    {
      printf ("%-8s %-14s %12zu %6s %12s %7s %9s %9s %9s  n/a\n", bench_dtype_names[r->dtype],
              bench_algorithm_names[r->algorithm], r->bytes, "n/a", "n/a", "n/a", "n/a", "n/a", "n/a");
      return;
    }
  if (ranks > 1 && adds)
    {
      snprintf (bus, sizeof bus, "%.2f", bench_busbw (r, ranks));
      if (limit)
        snprintf (share, sizeof share, "%.0f%%", 100 * limit->seconds / r->seconds);
    }
  printf ("%-8s %-14s %12zu %6d %12.1f %6.0f%% %9.2f %9s %9s  %s\n", bench_dtype_names[r->dtype],
          bench_algorithm_names[r->algorithm], r->bytes, r->iterations, 1e6 * r->seconds,
          100 * (r->slow - r->fast) / r->seconds, bench_algbw (r), bus, share,
          !adds ? "" : r->wrong ? "WRONG" : "right");
  fflush (stdout);
}

/* ---- fits ---- */

/* Weights 1 / seconds^2 make the error relative: sizes of all magnitudes count alike.  */
struct bench_fit
bench_fit_of (const struct bench_result *results, size_t n, enum bench_dtype dtype, enum bench_algorithm algorithm)
{
  double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, slope, start, det;
  size_t used = 0;

  for (size_t i = 0; i < n; i++)
    if (results[i].dtype == dtype && results[i].algorithm == algorithm && results[i].seconds > 0)
      {
        double x = (double) results[i].bytes, y = results[i].seconds, w = 1 / (y * y);

        s += w;
        sx += w * x;
        sy += w * y;
        sxx += w * x * x;
        sxy += w * x * y;
        used++;
      }
  det = s * sxx - sx * sx;
  if (used < 2 || !(det > 0))
    return (struct bench_fit) { 0, 0 };
  slope = (s * sxy - sx * sy) / det;
  start = (sy - slope * sx) / s;
  /* Noise may push the start below zero: then there is no latency to see.  */
  if (start < 0)
    {
      start = 0;
      slope = sxy / sxx;
    }
  return (struct bench_fit) { start, slope > 0 ? 1 / slope : 0 };
}

void
bench_print_fits (const struct bench_result *results, size_t n)
{
  puts ("");
  for (enum bench_dtype d = 0; d < BENCH_DTYPES; d++)
    for (enum bench_algorithm a = 0; a < BENCH_LIMIT; a++)
      {
        struct bench_fit fit = bench_fit_of (results, n, d, a);

        if (fit.bandwidth > 0)
          printf ("%s, %s: time = %.1f us + bytes / %.2f GB/s\n", bench_dtype_names[d], bench_algorithm_names[a],
                  1e6 * fit.latency, fit.bandwidth / 1e9);
      }
}

/* ---- JSON ---- */

static json_t *
result_object (const struct bench_result *r, int ranks)
{
  bool adds = r->algorithm < BENCH_LIMIT;

  return json_pack ("{s:s, s:s, s:I, s:i, s:f, s:f, s:f, s:f, s:o, s:o}", "dtype", bench_dtype_names[r->dtype],
                    "algorithm", bench_algorithm_names[r->algorithm], "bytes", (json_int_t) r->bytes,
                    "iterations", r->iterations, "seconds", r->seconds, "percentile_10", r->fast,
                    "percentile_90", r->slow, "algbw", bench_algbw (r), "busbw",
                    ranks > 1 && adds ? json_real (bench_busbw (r, ranks)) : json_null (),
                    "right", adds ? json_boolean (!r->wrong) : json_null ());
}

mm_status
bench_print_json (const struct mm_comm *comm, const struct bench_result *results, size_t n)
{
  json_t *root = json_object (), *rows = json_array (), *fits = json_array ();
  char *text = NULL;
  mm_status st;

  for (size_t i = 0; i < n; i++)
    if (results[i].iterations > 0)
      json_array_append_new (rows, result_object (&results[i], mm_comm_size (comm)));
  for (enum bench_dtype d = 0; d < BENCH_DTYPES; d++)
    for (enum bench_algorithm a = 0; a < BENCH_LIMIT; a++)
      {
        struct bench_fit fit = bench_fit_of (results, n, d, a);

        if (fit.bandwidth > 0)
          json_array_append_new (fits, json_pack ("{s:s, s:s, s:f, s:f}", "dtype", bench_dtype_names[d], "algorithm",
                                                  bench_algorithm_names[a], "latency_seconds", fit.latency,
                                                  "bytes_per_second", fit.bandwidth));
      }
  json_object_set_new (root, "ranks", json_integer (mm_comm_size (comm)));
  json_object_set_new (root, "transport", json_string (mm_comm_name (comm)));
  json_object_set_new (root, "results", rows);
  json_object_set_new (root, "fits", fits);
  st = mm_json_text (root, true, &text);
  if (st == MM_OK)
    fputs (text, stdout);
  free (text);
  json_decref (root);
  return st;
}

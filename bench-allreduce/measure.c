/* measure.c -- time one algorithm at one size, and check its sums.
   SPDX-License-Identifier: Apache-2.0

   Data differ by rank and position and are small integers, so that every sum is exact in any type and order;
   they are put in afresh before each iteration, which is not timed.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "bench-allreduce.h"

enum { BLOCK = 512, WARM_UPS = 2, FEWEST = 3 };

static const double budget = 0.5;       /* seconds of iterations at a size */

/* ---- memory ---- */

mm_status
bench_buffers_open (struct mm_comm *comm, size_t bytes, struct bench_buffers *b)
{
  mm_status st;

  *b = (struct bench_buffers) { NULL, NULL, false, NULL };
  st = mm_alloc ("times", (size_t) mm_comm_size (comm) * BENCH_MAX_ITERATIONS, sizeof *b->times, &b->times);
  if (st == MM_OK)
    st = mm_alloc ("buffer", bytes, 1, &b->own);
  st = mm_comm_agree (comm, st);
  if (st == MM_OK)
    st = mm_comm_alloc (comm, "buffer that peers reach", bytes, &b->shared);
  b->shared_is_ours = st == MM_OK && !b->shared;
  return b->shared_is_ours ? mm_comm_agree (comm, mm_alloc ("buffer", bytes, 1, &b->shared)) : st;
}

void
bench_buffers_close (struct bench_buffers *b)
{
  if (b->shared_is_ours)
    free (b->shared);
  free (b->own);
  free (b->times);
}

/* ---- data ---- */

static int
value (int rank, size_t i)
{
  return (int) ((i * 7 + (size_t) rank * 13 + (i >> 8) * 5) % 61) - 30;
}

static void
fill (void *data, enum bench_dtype dtype, size_t count, int rank)
{
  if (dtype == BENCH_F32)
    for (size_t i = 0; i < count; i++)
      ((float *) data)[i] = (float) value (rank, i);
  else
    for (size_t i = 0; i < count; i++)
      ((int64_t *) data)[i] = value (rank, i);
}

static bool
is_sum (const void *data, enum bench_dtype dtype, size_t count, int ranks)
{
  for (size_t i = 0; i < count; i++)
    {
      int sum = 0;

      for (int r = 0; r < ranks; r++)
        sum += value (r, i);
      if (dtype == BENCH_F32 ? ((const float *) data)[i] != (float) sum : ((const int64_t *) data)[i] != sum)
        return false;
    }
  return true;
}

/* ---- without communication ---- */

/* What each rank does to memory in a sum in place: of RANKS buffers it reads a share, and writes it to all.  Here they
   are the RANKS parts of one buffer of its own.  */
static void
add_and_write (float *data, size_t count, size_t ranks)
{
  size_t share = count / ranks;
  float sum[BLOCK];

  for (size_t at = 0; at < share; at += BLOCK)
    {
      size_t n = share - at < BLOCK ? share - at : BLOCK;

      memcpy (sum, data + at, n * sizeof *sum);
      for (size_t r = 1; r < ranks; r++)
        for (size_t i = 0; i < n; i++)
          sum[i] += data[r * share + at + i];
      for (size_t r = 0; r < ranks; r++)
        memcpy (data + r * share + at, sum, n * sizeof *sum);
    }
}

/* ---- algorithms ---- */

bool
bench_has (struct mm_comm *comm, enum bench_algorithm algorithm)
{
  return algorithm != BENCH_MPI || (bench_mpi_is_there () && strcmp (mm_comm_name (comm), "self") != 0);
}

/* Is there a sum to check?  */
static bool
adds (enum bench_algorithm algorithm)
{
  return algorithm != BENCH_LIMIT && algorithm != BENCH_MEMCPY;
}

static mm_status
all_reduce (struct mm_comm *comm, enum bench_dtype dtype, void *data, size_t count)
{
  return dtype == BENCH_F32 ? mm_comm_sum_f32 (comm, data, count) : mm_comm_sum_i64 (comm, data, count);
}

static mm_status
scatter_and_gather (struct mm_comm *comm, enum bench_dtype dtype, void *data, size_t count)
{
  mm_status st = dtype == BENCH_F32 ? mm_comm_reduce_scatter_f32 (comm, data, count, 1)
                                    : mm_comm_reduce_scatter_i64 (comm, data, count, 1);

  return st < 0 ? st : mm_comm_all_gather (comm, data, count, bench_dtype_size (dtype), 1);
}

static mm_status
run (struct mm_comm *comm, const struct bench_buffers *b, enum bench_algorithm algorithm, enum bench_dtype dtype,
     void *data, size_t bytes)
{
  size_t count = bytes / bench_dtype_size (dtype);

  switch (algorithm)
    {
    case BENCH_SUM:
    case BENCH_COPY:
      return all_reduce (comm, dtype, data, count);
    case BENCH_SCATTER:
      return scatter_and_gather (comm, dtype, data, count);
    case BENCH_MPI:
      return bench_mpi_sum (dtype, data, count);
    case BENCH_LIMIT:
      add_and_write (data, bytes / sizeof (float), (size_t) mm_comm_size (comm));
      return MM_OK;
    default:
      memcpy (b->shared, data, bytes);
      return MM_OK;
    }
}

/* Put data in, meet, run: *SECONDS is this rank's time.  */
static mm_status
run_once (struct mm_comm *comm, const struct bench_buffers *b, struct bench_result *r, double *seconds)
{
  void *data = r->algorithm == BENCH_SUM || r->algorithm == BENCH_SCATTER ? b->shared : b->own;
  size_t count = r->bytes / bench_dtype_size (r->dtype);
  double began;
  mm_status st;

  fill (data, r->dtype, count, mm_comm_rank (comm));
  st = mm_comm_barrier (comm);
  began = mm_now ();
  if (st == MM_OK)
    st = run (comm, b, r->algorithm, r->dtype, data, r->bytes);
  *seconds = mm_now () - began;
  if (st == MM_OK && adds (r->algorithm) && !is_sum (data, r->dtype, count, mm_comm_size (comm)))
    r->wrong = true;
  return st;
}

/* ---- figures ---- */

static int
compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

/* The slowest rank's time of each iteration; then median and percentiles.  */
static mm_status
take_figures (struct mm_comm *comm, double *times, int iterations, struct bench_result *r)
{
  size_t n = (size_t) iterations, rank = (size_t) mm_comm_rank (comm);
  int64_t wrong = r->wrong;
  mm_status st;

  memmove (times + rank * n, times, n * sizeof *times);
  st = mm_comm_all_gather (comm, times, (size_t) mm_comm_size (comm) * n, sizeof *times, n);
  if (st == MM_OK)
    st = mm_comm_sum_i64 (comm, &wrong, 1);
  if (st < 0)
    return st;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 1; k < (size_t) mm_comm_size (comm); k++)
      if (times[k * n + i] > times[i])
        times[i] = times[k * n + i];
  qsort (times, n, sizeof *times, compare);
  r->iterations = iterations;
  r->seconds = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  r->fast = times[n / 10];
  r->slow = times[n - 1 - n / 10];
  r->wrong = wrong != 0;
  return MM_OK;
}

/* How many iterations, decided by rank 0 from the last warm-up.  */
static mm_status
choose_iterations (struct mm_comm *comm, double seconds, int wanted, int *iterations)
{
  double fit = budget / (seconds > 1e-7 ? seconds : 1e-7);

  *iterations = wanted ? wanted : fit > BENCH_MAX_ITERATIONS ? BENCH_MAX_ITERATIONS : fit < FEWEST ? FEWEST : (int) fit;
  return mm_comm_broadcast (comm, iterations, sizeof *iterations, 0);
}

mm_status
bench_measure (struct mm_comm *comm, const struct bench_buffers *b, int wanted, struct bench_result *r)
{
  double seconds = 0;
  int iterations = 0;
  mm_status st = MM_OK;

  r->wrong = false;
  for (int i = 0; st == MM_OK && i < WARM_UPS; i++)
    st = run_once (comm, b, r, &seconds);
  if (st == MM_OK)
    st = choose_iterations (comm, seconds, wanted, &iterations);
  for (int i = 0; st == MM_OK && i < iterations; i++)
    st = run_once (comm, b, r, &b->times[i]);
  return st < 0 ? st : take_figures (comm, b->times, iterations, r);
}

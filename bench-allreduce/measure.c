/* measure.c -- time one algorithm at one size, and check its sums.
   SPDX-License-Identifier: Apache-2.0

   Data differ by rank and position and are small integers, so that every sum is exact in any type and order, or in
   bfloat16 known to the rounding; they are put in afresh before each iteration, which is not timed.  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "bench-allreduce.h"

enum { WARM_UPS = 2, FEWEST = 3 };

static const double budget = 0.5;       /* seconds of iterations at a size */

/* ---- memory ---- */

/* Bytes that this host can still give, as far as the kernel says; UINT64_MAX if it does not.  */
static uint64_t
memory_left (void)
{
  FILE *f = fopen ("/proc/meminfo", "r");
  unsigned long long kilobytes = 0;
  char line[128];
  bool found = false;

  while (f && !found && fgets (line, sizeof line, f))
    found = sscanf (line, "MemAvailable: %llu kB", &kilobytes) == 1;
  if (f)
    fclose (f);
  return found ? kilobytes * 1024 : UINT64_MAX;
}

/* Two buffers of BYTES for each rank of this host: memory that is not there is not promised.  Ranks take the worst of
   all hosts.  */
static mm_status
check_memory (struct mm_comm *comm, size_t bytes)
{
  uint64_t ranks = (uint64_t) mm_comm_local_size (comm), left = memory_left (), most = left / ranks / 2;
  char wanted[32], there[32];

  if (bytes <= most)
    return MM_OK;
  return mm_fail (MM_EUSAGE, "two buffers of %s for each of %s do not fit into the %s that this host has left:"
                  " --max-bytes=%lluM fits", mm_format_bytes (bytes, wanted), MM_COUNT (ranks, "rank"),
                  mm_format_bytes (left, there), (unsigned long long) (most >> 20) * 9 / 10);
}

mm_status
bench_buffers_open (struct mm_comm *comm, size_t bytes, struct bench_buffers *b)
{
  mm_status st;

  *b = (struct bench_buffers) { NULL, NULL, false, NULL };
  st = mm_comm_agree (comm, check_memory (comm, bytes));
  if (st < 0)
    return st;
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

/* Bits of a whole number below 2^24 in bfloat16, rounded to the nearest, ties to even; reckoned otherwise than the
   sums are.  */
static uint16_t
bf16 (int number)
{
  int exponent;
  double fraction = frexp (number, &exponent), rounded = ldexp (nearbyint (ldexp (fraction, 8)), exponent - 8);
  float f = (float) rounded;
  uint32_t bits;

  memcpy (&bits, &f, sizeof bits);
  return (uint16_t) (bits >> 16);
}

/* In bfloat16 four times the value and one more: exact themselves, but not the sums of several ranks.  */
static int
bf16_value (int rank, size_t i)
{
  return 4 * value (rank, i) + 1;
}

static void
fill (void *data, enum bench_dtype dtype, size_t count, int rank)
{
  if (dtype == BENCH_F32)
    for (size_t i = 0; i < count; i++)
      ((float *) data)[i] = (float) value (rank, i);
  else if (dtype == BENCH_BF16)
    for (size_t i = 0; i < count; i++)
      ((uint16_t *) data)[i] = bf16 (bf16_value (rank, i));
  else
    for (size_t i = 0; i < count; i++)
      ((int64_t *) data)[i] = value (rank, i);
}

/* Is FOUND, the bits of one, the sum SUM?  ROUNDED_TWICE: on each host and between them, each time by at most a 2^-8th
   of half of what was added; LARGEST is the sum of the magnitudes.  */
static bool
is_bf16_sum (uint16_t found, int sum, int largest, bool rounded_twice)
{
  uint32_t bits = (uint32_t) found << 16;
  float f;

  memcpy (&f, &bits, sizeof f);
  return rounded_twice ? fabs ((double) f - sum) <= ldexp (largest, -8) : found == bf16 (sum);
}

static bool
is_sum_of_bf16 (const uint16_t *data, size_t count, int ranks, bool rounded_twice)
{
  for (size_t i = 0; i < count; i++)
    {
      int sum = 0, largest = 0;

      for (int r = 0; r < ranks; r++)
        {
          sum += bf16_value (r, i);
          largest += abs (bf16_value (r, i));
        }
      if (!is_bf16_sum (data[i], sum, largest, rounded_twice))
        return false;
    }
  return true;
}

static bool
is_sum (const void *data, enum bench_dtype dtype, size_t count, struct mm_comm *comm)
{
  int ranks = mm_comm_size (comm), here = mm_comm_local_size (comm);

  if (dtype == BENCH_BF16)
    return is_sum_of_bf16 (data, count, ranks, here > 1 && here < ranks);
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

enum
{
  LINE = 16,                    /* floats of a cache line */
  BLOCK = 2 * LINE,             /* floats at a time */
  AHEAD = 1024                  /* floats from what is added up to what is asked for: a page */
};

/* One block of the loop, inlined for a constant N, which compilers vectorise.  It asks for memory as early as the
   library's sums do.  */
static inline __attribute__ ((always_inline)) void
add_block (float *data, size_t share, size_t ranks, size_t n)
{
  float sum[BLOCK];

  for (size_t r = 0; r < ranks; r++)
    for (size_t i = 0; i < n; i += LINE)
      __builtin_prefetch (data + r * share + i + AHEAD);
  memcpy (sum, data, n * sizeof *sum);
  for (size_t r = 1; r < ranks; r++)
    for (size_t i = 0; i < n; i++)
      sum[i] += data[r * share + i];
  for (size_t r = 0; r < ranks; r++)
    memcpy (data + r * share, sum, n * sizeof *sum);
}

/* What each rank does to memory in a sum in place: of RANKS buffers it reads a share, and writes it to all.  Here they
   are the RANKS parts of one buffer of its own.  */
static void
add_and_write (float *data, size_t count, size_t ranks)
{
  size_t share = count / ranks, at = 0;

  for (; share - at >= BLOCK; at += BLOCK)
    add_block (data + at, share, ranks, BLOCK);
  add_block (data + at, share, ranks, share - at);
}

/* ---- algorithms ---- */

bool
bench_has (struct mm_comm *comm, enum bench_algorithm algorithm)
{
  return algorithm != BENCH_MPI || (bench_mpi_is_there () && strcmp (mm_comm_name (comm), "self") != 0);
}

bool
bench_adds (enum bench_dtype dtype, enum bench_algorithm algorithm)
{
  return algorithm != BENCH_MPI || dtype != BENCH_BF16;
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
  return dtype == BENCH_F32 ? mm_comm_sum_f32 (comm, data, count)
         : dtype == BENCH_BF16 ? mm_comm_sum_bf16 (comm, data, count) : mm_comm_sum_i64 (comm, data, count);
}

static mm_status
scatter_and_gather (struct mm_comm *comm, enum bench_dtype dtype, void *data, size_t count)
{
  mm_status st = dtype == BENCH_F32    ? mm_comm_reduce_scatter_f32 (comm, data, count, 1)
                 : dtype == BENCH_BF16 ? mm_comm_reduce_scatter_bf16 (comm, data, count, 1)
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
  if (st == MM_OK && adds (r->algorithm) && !is_sum (data, r->dtype, count, comm))
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

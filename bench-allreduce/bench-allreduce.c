/* bench-allreduce.c -- all types, sizes and algorithms that were asked for.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "bench-allreduce.h"

struct bench
{
  const struct bench_config *c;
  struct mm_comm *comm;
  struct bench_buffers buffers;
  struct bench_result *results;
  size_t n, capacity;
  bool wrong;
};

static bool
tells (const struct bench *b)
{
  return mm_comm_rank (b->comm) == 0;
}

static bool
prints_table (const struct bench *b)
{
  return tells (b) && !b->c->json;
}

/* One more line; returns its place, or NULL where the algorithm does not exist.  */
static mm_status
measure (struct bench *b, enum bench_dtype dtype, enum bench_algorithm algorithm, size_t bytes)
{
  struct bench_result r = { .dtype = dtype, .algorithm = algorithm, .bytes = bytes };
  mm_status st = mm_grow ("results", &b->results, &b->capacity, b->n + 1, sizeof *b->results);

  if (st == MM_OK && bench_adds (dtype, algorithm))
    st = bench_measure (b->comm, &b->buffers, b->c->iterations, &r);
  if (st < 0)
    return st;
  b->results[b->n++] = r;
  b->wrong = b->wrong || r.wrong;
  return MM_OK;
}

/* All algorithms at one size; the limit first, for the others' share of it.  */
static mm_status
measure_size (struct bench *b, enum bench_dtype dtype, size_t bytes)
{
  size_t limit = b->n;
  mm_status st = measure (b, dtype, BENCH_LIMIT, bytes);

  for (enum bench_algorithm a = 0; st == MM_OK && a < BENCH_LIMIT; a++)
    if (b->c->algorithms & 1u << a && bench_has (b->comm, a))
      {
        st = measure (b, dtype, a, bytes);
        if (st == MM_OK && prints_table (b))
          bench_print_result (&b->results[b->n - 1], mm_comm_size (b->comm), &b->results[limit]);
      }
  if (st == MM_OK && prints_table (b) && b->c->algorithms & 1u << BENCH_LIMIT)
    bench_print_result (&b->results[limit], mm_comm_size (b->comm), NULL);
  if (st == MM_OK && b->c->algorithms & 1u << BENCH_MEMCPY)
    {
      st = measure (b, dtype, BENCH_MEMCPY, bytes);
      if (st == MM_OK && prints_table (b))
        bench_print_result (&b->results[b->n - 1], mm_comm_size (b->comm), NULL);
    }
  return st;
}

static mm_status
measure_all (struct bench *b)
{
  const struct bench_config *c = b->c;
  mm_status st = MM_OK;

  for (enum bench_dtype d = 0; st == MM_OK && d < BENCH_DTYPES; d++)
    {
      size_t unit = bench_dtype_size (d), last = 0;

      for (double size = (double) c->min_bytes; st == MM_OK && c->dtypes & 1u << d; size *= c->factor)
        {
          bool end = size >= (double) c->max_bytes;
          size_t bytes = (end ? c->max_bytes : (size_t) size) / unit * unit;

          if (bytes != last && bytes > 0)
            st = measure_size (b, d, bytes);
          last = bytes;
          if (end)
            break;
        }
    }
  return st;
}

static mm_status
report (struct bench *b)
{
  mm_status st = MM_OK;

  if (tells (b) && b->c->json)
    st = bench_print_json (b->comm, b->results, b->n);
  else if (tells (b) && mm_comm_size (b->comm) > 1)
    bench_print_fits (b->results, b->n);
  st = mm_comm_agree (b->comm, st);
  if (st == MM_OK && b->c->predict)
    st = bench_predict (b->c, b->comm, b->results, b->n);
  if (st == MM_OK && b->wrong)
    st = mm_fail (MM_EDEVICE, "some sums were wrong");
  return st;
}

mm_status
bench_allreduce (const struct bench_config *c)
{
  struct bench b = { .c = c };
  mm_status st = mm_comm_open (c->transport, c->timeout, &b.comm);

  if (st < 0)
    return st;
  if (c->algorithms != BENCH_ALL && c->algorithms & 1u << BENCH_MPI && !bench_has (b.comm, BENCH_MPI))
    st = mm_fail (MM_EUSAGE, "--algorithm=mpi: want ranks that mpirun started, in a build with MPI");
  if (st == MM_OK && c->predict)
    st = bench_predict_check (c, mm_comm_size (b.comm));
  if (st == MM_OK)
    st = bench_buffers_open (b.comm, c->max_bytes, &b.buffers);
  if (st == MM_OK && prints_table (&b))
    bench_print_header (b.comm);
  if (st == MM_OK)
    st = measure_all (&b);
  if (st == MM_OK)
    st = report (&b);
  bench_buffers_close (&b.buffers);
  free (b.results);
  mm_comm_close (b.comm);
  return st;
}

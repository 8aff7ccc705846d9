/* mpi.c -- the MPI library's own all-reduce, to compare with.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "bench-allreduce.h"

#if HAVE_MPI

#include <limits.h>
#include <mpi.h>

bool
bench_mpi_is_there (void)
{
  int initialized;

  return MPI_Initialized (&initialized) == MPI_SUCCESS && initialized;
}

mm_status
bench_mpi_sum (enum bench_dtype dtype, void *data, size_t count)
{
  if (count > INT_MAX)
    return mm_fail (MM_EUNSUP, "MPI_Allreduce: %zu elements are more than its count holds", count);
  return MPI_Allreduce (MPI_IN_PLACE, data, (int) count, dtype == BENCH_F32 ? MPI_FLOAT : MPI_INT64_T, MPI_SUM,
                        MPI_COMM_WORLD) == MPI_SUCCESS
           ? MM_OK : mm_fail (MM_EDEVICE, "MPI_Allreduce failed");
}

#else

bool
bench_mpi_is_there (void)
{
  return false;
}

mm_status
bench_mpi_sum (enum bench_dtype dtype, void *data, size_t count)
{
  (void) dtype;
  (void) data;
  (void) count;
  return mm_fail (MM_EUNSUP, "this build has no MPI");
}

#endif

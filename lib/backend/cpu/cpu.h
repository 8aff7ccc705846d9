/* cpu.h -- the state of a CPU backend and the entries of its table.
   SPDX-License-Identifier: Apache-2.0

   lib/backend/cpu/OP.c is the driver of an operation: it splits the outputs over the team's
   threads (mm_share) and calls kernels on ranges of them.  The kernels stand in kernels.h, their
   definition in ref/OP.c, their speed in simd/OP.c.  No driver splits a reduction.  */

#ifndef BACKEND_CPU_H
#define BACKEND_CPU_H

#include <minimind/thread.h>

#include "../impl.h"
#include "kernels.h"

/* Scratch memory that grows to the largest use and stays.  Each part has one user at a time, so
   that an operation may call the products while it holds its own.  */
enum mm_cpu_scratch_part
{
  MM_SCRATCH_PRODUCT,           /* gemm.c: packed operands */
  MM_SCRATCH_OP,                /* the operation: shared by its threads */
  MM_SCRATCH_THREADS,           /* the operation: one piece for each thread */
  MM_N_SCRATCH
};

struct mm_cpu
{
  struct mm_team *team;
  const struct mm_cpu_kernels *kernels;
  void *scratch[MM_N_SCRATCH];
  size_t scratch_bytes[MM_N_SCRATCH];
  double peak;                  /* FLOP/s; 0: not measured yet */
};

static inline struct mm_cpu *
mm_cpu_state (const struct mm_backend *be)
{
  return be->state;
}

/* *P = at least COUNT * SIZE bytes of PART, 64-byte aligned, contents undefined, valid until the
   next call for the same part.  MM_ENOMEM.  */
mm_status mm_cpu_scratch (struct mm_backend *be, enum mm_cpu_scratch_part part, size_t count,
                          size_t size, void *p) MM_NODISCARD;

/* The entries of the table, each in the file of its name.  */
mm_status mm_cpu_accumulate (struct mm_backend *be, const float *g, size_t n, int64_t *acc,
                             int *overflow);
double mm_cpu_peak (struct mm_backend *be);

#endif /* BACKEND_CPU_H */

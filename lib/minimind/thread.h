/* thread.h -- a fixed team of threads that run one function together.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_THREAD_H
#define MINIMIND_THREAD_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

#include <minimind/error.h>

/* The order and rounding of every operation are part of the result (docs/numerics.md).  */
#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
# error "minimind promises the same bits everywhere: build without -ffast-math"
#endif
#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
# error "float arithmetic must be done in float: use SSE2 (-mfpmath=sse)"
#endif

struct mm_team;                 /* opaque */

/* CPUs this process may run on (affinity mask), at least 1.  */
int mm_cpus_allowed (void);

/* Set the calling thread's floating-point mode to the one numerics.md asks
   for: round to nearest, no flush to zero.  Every team thread does it.  */
void mm_thread_float_mode (void);

/* Start N_THREADS - 1 threads; the caller of mm_team_run is thread 0.
   MM_EINVAL unless 1 <= N_THREADS <= 1024; MM_ENOMEM if one can't start.  */
mm_status mm_team_open (int n_threads, struct mm_team **team) MM_NODISCARD;
void mm_team_close (struct mm_team *team);      /* accepts NULL */
int mm_team_size (const struct mm_team *team);

/* Run FN (ARG, thread, n_threads) on all threads at once and wait for all.
   Idle threads spin briefly, then sleep.  Not reentrant.  */
typedef void mm_team_fn (void *arg, int thread, int n_threads);
void mm_team_run (struct mm_team *team, mm_team_fn *fn, void *arg);

/* Inside FN: wait until every thread of the team has called it.  */
void mm_team_barrier (struct mm_team *team);

/* Hand out tasks 0 to N - 1, N < 2^32: before mm_team_run or, inside FN, by one thread between two barriers.  Each
   thread gets a range of neighbours.  */
void mm_team_tasks (struct mm_team *team, size_t n);

/* Inside FN: the next task of THREAD's range, or, when that is used up, the last one of the thread that has most left:
   who is held up by others keeps nobody waiting.  False: none is left.  */
bool mm_team_take (struct mm_team *team, int thread, size_t *task);

/* The part [*FROM, *TO) of N items that falls to THREAD of N_THREADS, cut at
   multiples of GRAIN.  */
static inline void
mm_share (size_t n, size_t grain, int thread, int n_threads, size_t *from, size_t *to)
{
  size_t pieces = (n + grain - 1) / grain;
  size_t a = pieces * (size_t) thread / (size_t) n_threads * grain;
  size_t b = pieces * ((size_t) thread + 1) / (size_t) n_threads * grain;

  *from = a < n ? a : n;
  *to = b < n ? b : n;
}

#endif /* MINIMIND_THREAD_H */

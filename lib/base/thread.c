/* thread.c -- the team of threads.
   SPDX-License-Identifier: Apache-2.0

   A training step hands over thousands of short jobs, so waiting spins first and sleeps
   only when nothing comes.  Every wait is for a word to leave a value: the number of jobs
   handed over, the number done, or the barrier's round.  */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined __x86_64__
# include <immintrin.h>
#endif

#include <minimind/memory.h>
#include <minimind/thread.h>

enum
{
  MAX_THREADS = 1024,
  SPINS = 2000,                 /* pauses before sleeping: about 0.1 ms */
  LINE = 64                     /* bytes of a cache line: words that threads write apart */
};

/* Tasks [low half, high half) that a thread has left, in a line of its own.  */
struct range
{
  _Alignas (LINE) atomic_uint_least64_t left;
};

struct mm_team
{
  int n_threads;                /* the caller included */
  int spins;                    /* 0 when threads outnumber processors */
  pthread_t *threads;           /* n_threads - 1 of them */
  struct range *ranges;         /* [n_threads] */
  mm_team_fn *fn;               /* NULL: leave */
  void *arg;
  _Alignas (LINE) atomic_uint job;      /* jobs handed over */
  _Alignas (LINE) atomic_uint done;     /* jobs that all started threads have finished */
  _Alignas (LINE) atomic_uint working;  /* started threads still at the last job */
  _Alignas (LINE) atomic_uint arrived;  /* threads at the barrier */
  _Alignas (LINE) atomic_uint round;    /* barriers passed */
  _Alignas (LINE) atomic_uint sleepers;
  pthread_mutex_t lock;         /* for sleeping only */
  pthread_cond_t wake;
};

struct starter
{
  struct mm_team *team;
  int thread;
};

int
mm_cpus_allowed (void)
{
  int n = 0;

  /* The kernel refuses a mask smaller than its own; machines above 1024 exist.  */
  for (int size = CPU_SETSIZE; size <= 1 << 20 && n < 1; size *= 2)
    {
      cpu_set_t *set = CPU_ALLOC (size);

      if (!set)
        break;
      if (sched_getaffinity (0, CPU_ALLOC_SIZE (size), set) == 0)
        n = CPU_COUNT_S (CPU_ALLOC_SIZE (size), set);
      else if (errno != EINVAL)
        size = 1 << 20;
      CPU_FREE (set);
    }
  return n < 1 ? 1 : n;
}

void
mm_thread_float_mode (void)
{
#if defined __x86_64__
  /* Exceptions masked, nearest, FTZ and DAZ off: the processor's own default.  A program
     linked with -ffast-math starts differently.  */
  _mm_setcsr (0x1f80);
#elif defined __aarch64__
  __asm__ volatile ("msr fpcr, %0" : : "r" (0UL));
#else
  fesetenv (FE_DFL_ENV);
#endif
}

static inline void
spin_pause (void)
{
#if defined __x86_64__
  _mm_pause ();
#elif defined __aarch64__
  __asm__ volatile ("yield");
#endif
}

/* Wait until *WORD is not OLD.  */
static void
wait_while (struct mm_team *team, atomic_uint *word, unsigned old)
{
  for (int i = 0; i < team->spins; i++)
    {
      if (atomic_load_explicit (word, memory_order_acquire) != old)
        return;
      spin_pause ();
    }
  /* Announce first, look again after: whoever changes the word reads sleepers after,
     so one of the two sees the other (both orders are sequentially consistent).  */
  pthread_mutex_lock (&team->lock);
  atomic_fetch_add (&team->sleepers, 1);
  while (atomic_load (word) == old)
    pthread_cond_wait (&team->wake, &team->lock);
  atomic_fetch_sub (&team->sleepers, 1);
  pthread_mutex_unlock (&team->lock);
}

/* After a word has changed.  */
static void
wake_sleepers (struct mm_team *team)
{
  if (atomic_load (&team->sleepers) == 0)
    return;
  pthread_mutex_lock (&team->lock);
  pthread_cond_broadcast (&team->wake);
  pthread_mutex_unlock (&team->lock);
}

static void *
thread_main (void *arg)
{
  struct starter me = *(struct starter *) arg;
  struct mm_team *team = me.team;
  unsigned job = 0;

  free (arg);
  mm_thread_float_mode ();
  for (;;)
    {
      wait_while (team, &team->job, job);
      job++;
      if (!team->fn)
        return NULL;
      team->fn (team->arg, me.thread, team->n_threads);
      if (atomic_fetch_sub (&team->working, 1) == 1)
        {
          atomic_fetch_add (&team->done, 1);
          wake_sleepers (team);
        }
    }
}

/* Hand FN over without taking part.  */
static void
start_job (struct mm_team *team, mm_team_fn *fn, void *arg)
{
  team->fn = fn;
  team->arg = arg;
  atomic_store (&team->working, (unsigned) team->n_threads - 1);
  atomic_fetch_add (&team->job, 1);
  wake_sleepers (team);
}

static mm_status
start_thread (struct mm_team *team, int thread)
{
  struct starter *s;
  int error;
  mm_status st = mm_alloc ("thread", 1, sizeof *s, &s);

  if (st < 0)
    return st;
  *s = (struct starter) { team, thread };
  error = pthread_create (&team->threads[thread - 1], NULL, thread_main, s);
  if (error == 0)
    return MM_OK;
  free (s);
  return mm_fail (MM_ENOMEM, "thread %d could not be started: %s", thread, strerror (error));
}

mm_status
mm_team_open (int n_threads, struct mm_team **out)
{
  struct mm_team *team;
  mm_status st;

  *out = NULL;
  if (n_threads < 1 || n_threads > MAX_THREADS)
    return mm_fail (MM_EINVAL, "%d threads: want 1 to %d", n_threads, MAX_THREADS);
  team = aligned_alloc (LINE, sizeof *team);
  if (!team)
    return mm_fail (MM_ENOMEM, "no memory for a team of %d threads", n_threads);
  *team = (struct mm_team) { .spins = n_threads <= mm_cpus_allowed () ? SPINS : 0 };
  pthread_mutex_init (&team->lock, NULL);
  pthread_cond_init (&team->wake, NULL);
  team->ranges = aligned_alloc (LINE, (size_t) n_threads * sizeof *team->ranges);
  st = team->ranges ? mm_alloc ("team of threads", (size_t) n_threads, sizeof *team->threads, &team->threads)
                    : mm_fail (MM_ENOMEM, "no memory for the tasks of %d threads", n_threads);
  for (team->n_threads = 1; st == MM_OK && team->n_threads < n_threads; team->n_threads++)
    if ((st = start_thread (team, team->n_threads)) < 0)
      break;
  if (st < 0)
    {
      mm_team_close (team);
      return st;
    }
  *out = team;
  return MM_OK;
}

void
mm_team_close (struct mm_team *team)
{
  if (!team)
    return;
  start_job (team, NULL, NULL);
  for (int i = 0; i < team->n_threads - 1; i++)
    pthread_join (team->threads[i], NULL);
  pthread_cond_destroy (&team->wake);
  pthread_mutex_destroy (&team->lock);
  free (team->threads);
  free (team->ranges);
  free (team);
}

int
mm_team_size (const struct mm_team *team)
{
  return team->n_threads;
}

void
mm_team_run (struct mm_team *team, mm_team_fn *fn, void *arg)
{
  unsigned done = atomic_load (&team->done);

  mm_thread_float_mode ();
  if (team->n_threads > 1)
    start_job (team, fn, arg);
  fn (arg, 0, team->n_threads);
  if (team->n_threads > 1)
    wait_while (team, &team->done, done);
}

void
mm_team_barrier (struct mm_team *team)
{
  unsigned round = atomic_load (&team->round);

  if (atomic_fetch_add (&team->arrived, 1) + 1 < (unsigned) team->n_threads)
    {
      wait_while (team, &team->round, round);
      return;
    }
  atomic_store (&team->arrived, 0);
  atomic_fetch_add (&team->round, 1);
  wake_sleepers (team);
}

static uint64_t
make_range (size_t from, size_t to)
{
  return (uint64_t) to << 32 | from;
}

static size_t
range_from (uint64_t range)
{
  return range & UINT32_MAX;
}

static size_t
range_to (uint64_t range)
{
  return range >> 32;
}

static size_t
range_size (uint64_t range)
{
  return range_to (range) - range_from (range);
}

void
mm_team_tasks (struct mm_team *team, size_t n)
{
  for (int t = 0; t < team->n_threads; t++)
    {
      size_t from, to;

      mm_share (n, 1, t, team->n_threads, &from, &to);
      atomic_store (&team->ranges[t].left, make_range (from, to));
    }
}

/* Take the first task of a range, or the last.  */
static bool
take_from (struct range *range, bool first, size_t *task)
{
  uint64_t old = atomic_load (&range->left);

  while (range_size (old) > 0)
    {
      size_t from = range_from (old), to = range_to (old);

      *task = first ? from : to - 1;
      if (atomic_compare_exchange_weak (&range->left, &old, make_range (from + first, to - !first)))
        return true;
    }
  return false;
}

bool
mm_team_take (struct mm_team *team, int thread, size_t *task)
{
  if (take_from (&team->ranges[thread], true, task))
    return true;
  for (;;)
    {
      int fullest = -1;
      size_t most = 0;

      for (int t = 0; t < team->n_threads; t++)
        {
          size_t size = range_size (atomic_load (&team->ranges[t].left));

          if (size > most)
            {
              most = size;
              fullest = t;
            }
        }
      if (fullest < 0)
        return false;
      if (take_from (&team->ranges[fullest], false, task))
        return true;
    }
}

/* thread.c -- every thread runs, once a job; barriers hold; shares cover; tasks are taken once; float mode.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#if defined __x86_64__
# include <immintrin.h>
#endif

#include <minimind/thread.h>

#include "../tap.h"

enum { MOST = 7, JOBS = 300, ROUNDS = 20 };

struct work
{
  struct mm_team *team;
  int ran[MOST];                /* jobs each thread did */
  int size[MOST];               /* the team's size it was told */
  atomic_int at_work;
  int seen[MOST][ROUNDS];       /* at_work after each barrier */
};

static void
count_job (void *arg, int thread, int n_threads)
{
  struct work *w = arg;

  w->ran[thread]++;
  w->size[thread] = n_threads;
}

static void
meet (void *arg, int thread, int n_threads)
{
  struct work *w = arg;

  for (int round = 0; round < ROUNDS; round++)
    {
      atomic_fetch_add (&w->at_work, 1);
      mm_team_barrier (w->team);
      w->seen[thread][round] = atomic_load (&w->at_work);
      mm_team_barrier (w->team);
    }
  (void) n_threads;
}

static void
test_team (int n)
{
  struct work w = { 0 };
  int good = 1;

  if (mm_team_open (n, &w.team) < 0)
    {
      ok (0, "team opened");
      return;
    }
  for (int i = 0; i < JOBS; i++)
    mm_team_run (w.team, count_job, &w);
  for (int i = 0; i < n; i++)
    good &= w.ran[i] == JOBS && w.size[i] == n;
  ok (good && mm_team_size (w.team) == n, "each thread does each job once");

  mm_team_run (w.team, meet, &w);
  for (int i = 0; i < n; i++)
    for (int round = 0; round < ROUNDS; round++)
      good &= w.seen[i][round] == n * (round + 1);
  ok (good, "no thread passes a barrier before the last has come");
  mm_team_close (w.team);
}

/* Open a team whose threads ask for more stack than there are addresses.  */
static mm_status
no_stacks (struct mm_team **team)
{
  pthread_attr_t usual, huge;
  mm_status st;

  pthread_getattr_default_np (&usual);
  pthread_attr_init (&huge);
  pthread_attr_setstacksize (&huge, (size_t) 1 << 50);
  pthread_setattr_default_np (&huge);
  st = mm_team_open (3, team);
  pthread_setattr_default_np (&usual);
  pthread_attr_destroy (&huge);
  pthread_attr_destroy (&usual);
  return st;
}

static void
test_refusals (void)
{
  struct mm_team *team = (struct mm_team *) 1;

  ok (mm_team_open (0, &team) == MM_EINVAL && !team, "no threads");
  ok (mm_team_open (1025, &team) == MM_EINVAL && strstr (mm_error_message (), "1025"),
      "too many threads");
  ok (no_stacks (&team) == MM_ENOMEM && !team && strstr (mm_error_message (), "thread 1"),
      "a thread that cannot start");
  mm_team_close (NULL);
  ok (mm_cpus_allowed () >= 1, "at least one processor");
}

static void
test_share (void)
{
  int good = 1;

  for (size_t n = 0; n < 70; n++)
    for (size_t grain = 1; grain < 20; grain++)
      for (int threads = 1; threads < 9; threads++)
        {
          size_t next = 0;

          for (int t = 0; t < threads; t++)
            {
              size_t from, to;

              mm_share (n, grain, t, threads, &from, &to);
              good &= from == next && to >= from && (from % grain == 0 || from == n);
              next = to;
            }
          good &= next == n;
        }
  ok (good, "shares cover all items in order, cut at the grain");
}

enum { TASKS = 1000 };

struct tasks
{
  struct mm_team *team;
  atomic_int taken[TASKS], done;
  bool held_up;                 /* thread 0 goes on when all others' work and the rest of its own is done */
  int by_first;                 /* tasks thread 0 did */
};

static void
take_tasks (void *arg, int thread, int n_threads)
{
  struct tasks *t = arg;
  time_t began = time (NULL);
  size_t task;

  (void) n_threads;
  while (mm_team_take (t->team, thread, &task))
    {
      atomic_fetch_add (&t->taken[task], 1);
      t->by_first += thread == 0;
      while (thread == 0 && t->held_up && atomic_load (&t->done) < TASKS - 1 && time (NULL) < began + 20)
        sched_yield ();
      atomic_fetch_add (&t->done, 1);
    }
}

static void
test_tasks (int threads, bool held_up)
{
  struct tasks t = { .held_up = held_up };
  int good = 1;

  if (mm_team_open (threads, &t.team) < 0)
    {
      ok (0, "team opened");
      return;
    }
  mm_team_tasks (t.team, TASKS);
  mm_team_run (t.team, take_tasks, &t);
  for (int i = 0; i < TASKS; i++)
    good &= atomic_load (&t.taken[i]) == 1;
  ok (good && (threads > 1 || t.by_first == TASKS), "threads take each task once");
  if (held_up)
    ok (t.by_first <= 1 && atomic_load (&t.done) == TASKS, "one that is held up leaves its tasks to the others");
  mm_team_tasks (t.team, 0);
  mm_team_run (t.team, take_tasks, &t);
  ok (atomic_load (&t.done) == TASKS, "no tasks");
  mm_team_close (t.team);
}

struct mode
{
  int nearest[2], subnormals[2];
};

static void
look_at_mode (void *arg, int thread, int n_threads)
{
  struct mode *m = arg;
  volatile float tiny = 0x1p-126f, half = 0.5f, result = tiny * half;
  volatile float one = 1, little = 0x1p-30f, sum = one + little, rest = -one - little;

  (void) n_threads;
  m->nearest[thread] = sum == one && rest == -one;
  m->subnormals[thread] = result == 0x1p-127f && result * 2 == tiny;
}

/* A program that flushes to zero or rounds up: the team does not.  */
static void
test_float_mode (void)
{
  struct mm_team *team;
  struct mode m = { 0 };

  fesetround (FE_UPWARD);
#if defined __x86_64__
  _mm_setcsr (_mm_getcsr () | 0x8040);
#endif
  if (mm_team_open (2, &team) < 0)
    return;
  mm_team_run (team, look_at_mode, &m);
  mm_team_close (team);
  ok (m.nearest[0] && m.nearest[1], "threads round to nearest");
  ok (m.subnormals[0] && m.subnormals[1], "threads keep subnormals");
  fesetround (FE_TONEAREST);
}

int
main (void)
{
  test_team (1);
  test_team (2);
  test_team (MOST);
  test_refusals ();
  test_share ();
  test_tasks (1, false);
  test_tasks (2, true);
  test_tasks (MOST, false);
  test_tasks (MOST, true);
  test_float_mode ();
  return tap_done ();
}

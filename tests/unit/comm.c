/* Tests of comm.h: one process alone; ranks that are forked; ranks that leave, hang or differ.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <minimind/comm.h>
#include <minimind/log.h>

#include "../tap.h"

static const char *const variables[] = { "MM_RANK", "MM_WORLD_SIZE", "MM_LOCAL_RANK", "MM_LOCAL_SIZE", "MM_WINDOW",
                                         "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE" };

static void
clear_environment (void)
{
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    unsetenv (variables[i]);
}

/* ---- one process ---- */

static void
test_names (void)
{
  struct mm_comm *c;

  ok (mm_comm_open ("auto", 1, &c) == MM_OK, "auto opens");
  ok (strcmp (mm_comm_name (c), "self") == 0, "and is self");
  mm_comm_close (c);
  ok (mm_comm_open ("carrier pigeon", 1, &c) == MM_EUSAGE && !c, "an unknown transport is refused");
  ok (strstr (mm_error_message (), "carrier pigeon") != NULL, "by name");
  ok (mm_comm_open ("shm", 1, &c) == MM_EUSAGE && !c, "shm without a launcher is refused");
  ok (strstr (mm_error_message (), "minimind-launch") != NULL, "and the launcher named");
  mm_comm_close (NULL);
}

static void
test_self (struct mm_comm *c)
{
  int64_t sums[3] = { 1, -2, INT64_MAX };
  float floats[2] = { 0.5f, -1 };
  char text[] = "hello";
  size_t from, to;
  void *p = text;

  ok (mm_comm_rank (c) == 0 && mm_comm_size (c) == 1 && mm_comm_local_rank (c) == 0
      && mm_comm_local_size (c) == 1, "rank 0 of 1");
  ok (mm_comm_barrier (c) == MM_OK, "barrier passes");
  ok (mm_comm_broadcast (c, text, sizeof text, 0) == MM_OK && strcmp (text, "hello") == 0,
      "broadcast keeps the root's bytes");
  ok (mm_comm_broadcast (c, text, sizeof text, 1) == MM_EINVAL, "no rank 1 to broadcast from");
  ok (mm_comm_broadcast (c, text, sizeof text, -1) == MM_EINVAL, "nor rank -1");
  ok (mm_comm_sum_i64 (c, sums, 3) == MM_OK && sums[0] == 1 && sums[1] == -2
      && sums[2] == INT64_MAX, "the sum over one rank is its own");
  ok (mm_comm_sum_f32 (c, floats, 2) == MM_OK && floats[0] == 0.5f && floats[1] == -1, "floats too");
  ok (mm_comm_sum_i64 (c, sums, SIZE_MAX / 2) == MM_EINVAL, "more bytes than there can be are refused");
  ok (mm_comm_reduce_scatter_i64 (c, sums, 3, 1) == MM_OK && sums[1] == -2, "reduce-scatter");
  ok (mm_comm_reduce_scatter_f32 (c, floats, 2, 0) == MM_EINVAL, "parts at multiples of 0 are refused");
  ok (mm_comm_all_gather (c, sums, 3, sizeof *sums, 1) == MM_OK && sums[1] == -2, "all-gather");
  ok (mm_comm_begin_i64 (c, sums, 3, 0, 2) == MM_OK && mm_comm_hand_over (c, 1) == MM_OK
      && mm_comm_end (c) == MM_OK && sums[1] == -2, "a sum under way");
  ok (mm_comm_begin_f32 (c, floats, 2, 0, 0) == MM_EINVAL, "pieces of nothing are refused");
  ok (mm_comm_hand_over (c, 0) == MM_EINVAL && mm_comm_end (c) == MM_EINVAL, "and going on where nothing was begun");
  ok (mm_comm_begin_f32 (c, floats, 2, 0, 1) == MM_OK && mm_comm_begin_f32 (c, floats, 2, 0, 1) == MM_EINVAL
      && mm_comm_hand_over (c, 3) == MM_EINVAL && mm_comm_end (c) == MM_OK, "and a second at once, and too many");
  mm_comm_part (c, 0, 10, 4, &from, &to);
  ok (from == 0 && to == 10, "one rank has the only part");
  ok (mm_comm_alloc (c, "x", 8, &p) == MM_OK && !p, "no memory to share with nobody");
  ok (mm_comm_agree (c, MM_OK) == MM_OK, "agree on success");
  ok (mm_comm_agree (c, mm_fail (MM_EIO, "disk on fire")) == MM_EIO
      && strcmp (mm_error_message (), "disk on fire") == 0, "agree on failure, message kept");
  ok (mm_comm_check (c) == MM_OK, "the check passes");
}

/* ---- what launchers say ---- */

static mm_status
open_status (void)
{
  struct mm_comm *c;
  mm_status st = mm_comm_open ("auto", 1, &c);

  mm_comm_close (c);
  return st;
}

static void
test_environment (void)
{
  struct mm_comm *c;

  setenv ("SLURM_NTASKS", "4", 1);
  ok (open_status () == MM_EUSAGE && strstr (mm_error_message (), "SLURM_NTASKS is 4"),
      "one process where Slurm has four tasks is refused");
  ok (mm_comm_open ("self", 1, &c) == MM_OK, "unless it is asked for");
  mm_comm_close (c);
  setenv ("SLURM_NTASKS", "1", 1);
  setenv ("WORLD_SIZE", "2", 1);
  ok (open_status () == MM_EUSAGE && strstr (mm_error_message (), "WORLD_SIZE is 2"), "WORLD_SIZE of two, too");
  setenv ("WORLD_SIZE", "two", 1);
  ok (open_status () == MM_EUSAGE && strstr (mm_error_message (), "'two'"), "and one that is no number");
  clear_environment ();
  setenv ("MM_WORLD_SIZE", "2", 1);
  ok (open_status () == MM_EUSAGE && strstr (mm_error_message (), "MM_RANK"), "a size without a rank is refused");
  setenv ("MM_RANK", "2", 1);
  setenv ("MM_LOCAL_RANK", "0", 1);
  setenv ("MM_LOCAL_SIZE", "2", 1);
  ok (open_status () == MM_EUSAGE, "rank 2 of 2 is refused");
  setenv ("MM_RANK", "0", 1);
  ok (open_status () == MM_EUSAGE && strstr (mm_error_message (), "nothing to join"), "ranks without a window, too");
  setenv ("MM_WINDOW", "0", 1);
  ok (open_status () == MM_EUSAGE && strstr (mm_error_message (), "MM_WINDOW=0"), "and what is no window");
  ok (mm_comm_alone ("this") == MM_EUSAGE
      && strstr (mm_error_message (), "this works as one process, but minimind-launch"),
      "a tool of one process is told that there are two");
  clear_environment ();
  setenv ("OMPI_COMM_WORLD_SIZE", "2", 1);
  ok (mm_comm_alone ("this") == MM_EUSAGE && strstr (mm_error_message (), "MPI"), "whoever started them");
  setenv ("OMPI_COMM_WORLD_SIZE", "1", 1);
  setenv ("SLURM_NTASKS", "2", 1);
  ok (mm_comm_alone ("this") == MM_OK, "but not that a job may have two");
  clear_environment ();
}

/* ---- ranks ---- */

typedef int body_fn (struct mm_comm *c, int rank, int size);

struct team
{
  pid_t pids[8];
  int size;
};

/* Fork SIZE ranks that run BODY; its result is their exit status.  DEADLINE in seconds.  */
static void
start (struct team *t, int size, double deadline, body_fn *body)
{
  int fd;

  *t = (struct team) { .size = size };
  if (mm_comm_window (size, &fd) < 0)
    exit (99);
  fflush (stdout);
  for (int r = 0; r < size; r++)
    if ((t->pids[r] = fork ()) == 0)
      {
        struct mm_comm *c = NULL;
        int result = 98;

        if (mm_comm_set_environment (r, size, fd) == MM_OK && mm_comm_open ("auto", deadline, &c) == MM_OK)
          result = body (c, r, size);
        else
          printf ("# rank %d: %s\n", r, mm_error_message ());
        mm_comm_close (c);
        fflush (stdout);
        _exit (result);
      }
  close (fd);
}

/* The exit status of rank R; 128 + signal if it was killed.  */
static int
result_of (struct team *t, int r)
{
  int status;

  waitpid (t->pids[r], &status, 0);
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

static int
all_succeed (struct team *t)
{
  int good = 1;

  for (int r = 0; r < t->size; r++)
    good &= result_of (t, r) == 0;
  return good;
}

static int
succeeds (int size, body_fn *body)
{
  struct team t;

  start (&t, size, 30, body);
  return all_succeed (&t);
}

/* Sizes at the edges of pieces and parts, in memory of one's own and in shared memory.  */
static const size_t counts[] = { 1, 3, 4095, 4096, 4097, 65536, 65537, 200003, 400000 };
enum { N_COUNTS = sizeof counts / sizeof *counts, MOST = 400000 };

static int64_t
value (int rank, size_t i)
{
  return (int64_t) (((size_t) rank * 7919 + i * 31) % 1021) - 500;
}

static int64_t
total (int size, size_t i)
{
  int64_t sum = 0;

  for (int r = 0; r < size; r++)
    sum += value (r, i);
  return sum;
}

static int
sums_are_right (struct mm_comm *c, int64_t *x, float *f, int rank, int size)
{
  for (size_t k = 0; k < N_COUNTS; k++)
    {
      for (size_t i = 0; i < counts[k]; i++)
        f[i] = (float) (x[i] = value (rank, i));
      if (mm_comm_sum_i64 (c, x, counts[k]) < 0 || mm_comm_sum_f32 (c, f, counts[k]) < 0)
        return 0;
      for (size_t i = 0; i < counts[k]; i++)
        if (x[i] != total (size, i) || f[i] != (float) total (size, i))
          return 0;
    }
  return 1;
}

static int
parts_are_right (struct mm_comm *c, int64_t *x, float *f, int rank, int size)
{
  for (size_t k = 0; k < N_COUNTS; k++)
    {
      size_t grain = k % 2 ? 4096 : 7, from, to;

      for (size_t i = 0; i < counts[k]; i++)
        f[i] = (float) (x[i] = value (rank, i));
      if (mm_comm_reduce_scatter_i64 (c, x, counts[k], grain) < 0
          || mm_comm_reduce_scatter_f32 (c, f, counts[k], grain) < 0)
        return 0;
      mm_comm_part (c, rank, counts[k], grain, &from, &to);
      for (size_t i = from; i < to; i++)
        if (x[i] != total (size, i) || f[i] != (float) total (size, i))
          return 0;
      if (mm_comm_all_gather (c, x, counts[k], sizeof *x, grain) < 0)
        return 0;
      for (size_t i = 0; i < counts[k]; i++)
        if (x[i] != total (size, i))
          return 0;
    }
  return 1;
}

static uint16_t
bf16_of (float f)
{
  uint32_t bits;

  memcpy (&bits, &f, sizeof bits);
  return (uint16_t) (bits >> 16);
}

/* 256 + 1 + ... lies between 256, 258 and 260: rounded once, from the sum of all; and what is no number.  */
static int
bf16_is_right (struct mm_comm *c, void *data, int rank, int size)
{
  uint16_t *x = data;
  size_t from, to;

  for (int again = 0; again < 2; again++)
    {
      for (size_t i = 0; i < 5000; i++)
        x[i] = bf16_of (rank == 0 ? 256 : i % 2 ? 1 : 0.5f);
      x[4999] = rank == size - 1 ? 0x7f81 : 0;
      if ((again ? mm_comm_reduce_scatter_bf16 (c, x, 5000, 1) : mm_comm_sum_bf16 (c, x, 5000)) < 0)
        return 0;
      from = 0, to = 5000;
      if (again)
        mm_comm_part (c, rank, 5000, 1, &from, &to);
      for (size_t i = from; i < to; i++)
        {
          static const float sums[2][5] = { { 256, 256, 256, 258, 258 }, { 256, 256, 258, 260, 260 } };
          int nan = (x[i] & 0x7fff) > 0x7f80;

          if (i == 4999 ? size > 1 && !nan : x[i] != bf16_of (sums[i % 2][size - 1]))
            return 0;
        }
    }
  return 1;
}

static int
broadcasts_are_right (struct mm_comm *c, int64_t *x, int rank, int size)
{
  for (size_t k = 0; k < N_COUNTS; k++)
    {
      int root = (int) k % size;

      for (size_t i = 0; i < counts[k]; i++)
        x[i] = value (rank, i);
      if (mm_comm_broadcast (c, x, counts[k] * sizeof *x, root) < 0)
        return 0;
      for (size_t i = 0; i < counts[k]; i++)
        if (x[i] != value (root, i))
          return 0;
    }
  return 1;
}

/* A sum under way of COUNT elements, handed over in odd steps between which other calls are made.  */
static int
flow_is_right (struct mm_comm *c, int64_t *x, float *f, size_t count, size_t grain, size_t piece)
{
  int rank = mm_comm_rank (c), size = mm_comm_size (c);
  size_t from = 0, to = count, at = count;
  int64_t other = 1;
  mm_status st = f ? mm_comm_begin_f32 (c, f, count, grain, piece) : mm_comm_begin_i64 (c, x, count, grain, piece);

  while (st == MM_OK && at > count / 5)
    {
      size_t step = count / 7 + 1, next = at > step ? at - step : 0;

      for (size_t i = next; i < at; i++)
        if (f)
          f[i] = (float) value (rank, i);
        else
          x[i] = value (rank, i);
      at = next;
      st = mm_comm_hand_over (c, at);
      if (st == MM_OK && step % 2)
        st = mm_comm_sum_i64 (c, &other, 1);
    }
  for (size_t i = 0; i < at; i++)
    if (f)
      f[i] = (float) value (rank, i);
    else
      x[i] = value (rank, i);
  if (st < 0 || mm_comm_end (c) < 0)
    return 0;
  if (grain)
    mm_comm_part (c, rank, count, grain, &from, &to);
  for (size_t i = from; i < to; i++)
    if (f ? f[i] != (float) total (size, i) : x[i] != total (size, i))
      return 0;
  return 1;
}

static int
flows_are_right (struct mm_comm *c, int64_t *x, float *f)
{
  static const size_t grains[] = { 0, 7, 4096 }, pieces[] = { 1000, 4096, MOST + 1 };

  for (size_t k = 0; k < N_COUNTS; k++)
    for (size_t i = 0; i < 3; i++)
      if (!flow_is_right (c, x, NULL, counts[k], grains[i], pieces[(k + i) % 3])
          || !flow_is_right (c, x, f, counts[k], grains[i], pieces[(k + i) % 3]))
        return 0;
  return mm_comm_begin_i64 (c, x, 0, 0, 1) == MM_OK && mm_comm_end (c) == MM_OK;
}

static int
operations (struct mm_comm *c, int rank, int size)
{
  void *own = malloc (MOST * 12), *shared, *again;
  int good;

  if (!own || mm_comm_rank (c) != rank || mm_comm_size (c) != size || mm_comm_local_size (c) != size
      || mm_comm_alloc (c, "x", MOST * 12, &shared) < 0 || mm_comm_alloc (c, "y", 1, &again) < 0
      || !shared != (size == 1))
    return 1;
  for (size_t i = 0; shared && i < MOST * 12; i++)
    if (((char *) shared)[i])
      return 2;
  for (int i = 0; i < (shared ? 2 : 1); i++)
    {
      int64_t *x = i ? shared : own;
      float *f = (float *) (x + MOST);

      good = sums_are_right (c, x, f, rank, size) && parts_are_right (c, x, f, rank, size)
             && broadcasts_are_right (c, x, rank, size) && flows_are_right (c, x, f)
             && bf16_is_right (c, x, rank, size);
      if (!good)
        return 3 + i;
    }
  free (own);
  return mm_comm_check (c) == MM_OK && mm_comm_barrier (c) == MM_OK ? 0 : 5;
}

static int
agrees (struct mm_comm *c, int rank, int size)
{
  mm_status st = mm_comm_agree (c, MM_OK);

  if (st != MM_OK)
    return 1;
  st = mm_comm_agree (c, rank == size - 1 ? mm_fail (MM_EIO, "disk on fire") : MM_OK);
  if (st != MM_EIO || (rank == 0 && !strstr (mm_error_message (), ": disk on fire"))
      || (rank > 0 && *mm_error_message ()))
    return 2;
  st = mm_comm_agree (c, mm_fail (MM_EUSAGE, "wrong"));
  return st == MM_EUSAGE && (rank > 0 || strcmp (mm_error_message (), "wrong") == 0) ? 0 : 3;
}

/* Status and message of the call in which a peer is missed.  */
static int
missed (mm_status st, const char *want)
{
  if (st == MM_ESTOPPED && strstr (mm_error_message (), want))
    return 0;
  printf ("# status %d: %s\n", st, mm_error_message ());
  return 1;
}

static int
rank_1_leaves (struct mm_comm *c, int rank, int size)
{
  int64_t x = 0;

  (void) size;
  if (rank == 1)
    raise (SIGKILL);
  return missed (mm_comm_sum_i64 (c, &x, 1), "rank 1 of 3 (process ");
}

static int
rank_1_hangs (struct mm_comm *c, int rank, int size)
{
  (void) size;
  if (rank == 1)
    raise (SIGSTOP);
  return missed (mm_comm_barrier (c), "rank 1 of 3 has not come to a barrier within 4 s");
}

static int
rank_1_differs (struct mm_comm *c, int rank, int size)
{
  int64_t x[2] = { 0 };
  mm_status st = rank == 1 ? mm_comm_broadcast (c, x, 16, 0) : mm_comm_sum_i64 (c, x, 2);

  (void) size;
  return rank == 1 && st != MM_EINVAL;
}

static int
nothing (struct mm_comm *c, int rank, int size)
{
  (void) c, (void) rank, (void) size;
  return 0;
}

static void
test_ranks (void)
{
  ok (succeeds (1, operations), "a window of one rank is self, without shared memory");
  ok (succeeds (2, operations), "sums, parts, broadcasts of 2 ranks");
  ok (succeeds (3, operations), "of 3");
  ok (succeeds (5, operations), "of 5, more than there are processors perhaps");
  ok (succeeds (3, agrees), "ranks agree on the first failure, and rank 0 has its message");
}

static void
test_trouble (void)
{
  struct team t;

  start (&t, 3, 1000, rank_1_leaves);
  ok (result_of (&t, 1) == 128 + SIGKILL && result_of (&t, 0) == 0 && result_of (&t, 2) == 0,
      "a rank that is killed is named, whatever the timeout");
  start (&t, 3, 4, rank_1_hangs);
  ok (result_of (&t, 0) == 0 && result_of (&t, 2) == 0, "a rank that hangs is named at the deadline");
  kill (t.pids[1], SIGKILL);
  result_of (&t, 1);
  start (&t, 2, 5, rank_1_differs);
  ok (result_of (&t, 1) == 0, "a rank that makes another call is told");
  result_of (&t, 0);
}

/* One of two ranks is never started, or is started twice.  */
static void
test_joining (void)
{
  struct mm_comm *c;
  struct team t;
  int fd;

  ok (mm_comm_window (0, &fd) == MM_EINVAL && mm_comm_window (MM_COMM_MAX_LOCAL + 1, &fd) == MM_EINVAL,
      "windows of no ranks, or of too many, are refused");
  ok (mm_comm_window (2, &fd) == MM_OK && mm_comm_set_environment (1, 2, fd) == MM_OK, "a window");
  ok (mm_comm_open ("auto", 1, &c) == MM_ESTOPPED && !c && strstr (mm_error_message (), "rank 0 of 2 has not joined"),
      "a rank that never comes is named");
  clear_environment ();
  ok (mm_comm_window (3, &fd) == MM_OK && mm_comm_set_environment (0, 2, fd) == MM_OK
      && mm_comm_open ("auto", 1, &c) == MM_EUSAGE && strstr (mm_error_message (), "window of 3 ranks"),
      "a window of another size is refused");
  clear_environment ();
  start (&t, 2, 30, nothing);
  ok (all_succeed (&t), "ranks that only join may leave");
}

int
main (void)
{
  struct mm_comm *c;

  clear_environment ();
  test_names ();
  if (mm_comm_open ("self", 1, &c) < 0)
    return 1;
  test_self (c);
  mm_comm_close (c);
  test_environment ();
  test_ranks ();
  test_trouble ();
  test_joining ();
  return tap_done ();
}

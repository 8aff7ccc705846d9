/* ranks.c -- start one rank: what it inherits, where it may run, what ends it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <minimind/comm.h>
#include <minimind/log.h>
#include <minimind/topology.h>

#include "launch.h"

/* ---- in the rank ---- */

/* Rank 0 reads the launcher's standard input, unless that is a terminal: ranks are no foreground job, so that
   Ctrl-C reaches them once, through the launcher.  */
static void
set_input (int rank)
{
  int null;

  if (rank == 0 && !isatty (STDIN_FILENO))
    return;
  null = open ("/dev/null", O_RDONLY);
  if (null > 0)
    {
      dup2 (null, STDIN_FILENO);
      close (null);
    }
}

/* Signals that the launcher blocks or ignores for itself; what it was told to ignore stays so.  */
static void
default_signals (void)
{
  sigset_t none;

  signal (SIGPIPE, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
}

static mm_status
pin (int rank, int ranks)
{
  struct mm_topology *t;
  mm_status st = mm_topology_open (&t);

  if (st == MM_OK)
    st = mm_topology_pin (t, rank, ranks);
  mm_topology_close (t);
  return st;
}

/* Become the command.  Returns errno when that fails.  */
static int
become (const struct launch_config *c, int rank, int window, int launcher, const int to[2])
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != launcher)
    return ESRCH;               /* it died before that took effect */
  default_signals ();
  set_input (rank);
  for (int i = 0; i < 2; i++)
    if (to[i] >= 0)
      dup2 (to[i], i + 1);
  if (window >= 0 && mm_comm_set_environment (rank, c->ranks, window) < 0)
    return ENOMEM;
  if (c->pin && !c->hosts && pin (rank, c->ranks) < 0)
    mm_warn ("%s: going on without", mm_error_message ());
  execvp (c->command[0], c->command);
  return errno;
}

/* ---- in the launcher ---- */

static mm_status
make_pipes (struct launch_rank *r, int to[2])
{
  for (int i = 0; i < 2; i++)
    {
      int ends[2];

      if (pipe2 (ends, O_CLOEXEC) < 0)
        return mm_fail_errno ("pipe");
      r->streams[i] = ends[0];
      to[i] = ends[1];
    }
  return MM_OK;
}

mm_status
launch_rank_start (const struct launch_config *c, int rank, int window, int report, int *group,
                   struct launch_rank *r)
{
  int launcher = (int) getpid (), to[2] = { -1, -1 }, error;
  mm_status st = MM_OK;

  *r = (struct launch_rank) { .streams = { -1, -1 } };
  /* Rank 0 keeps the terminal, if it is one, for its progress.  */
  if (c->prefix && rank > 0)
    st = make_pipes (r, to);
  if (st < 0)
    return st;
  r->pid = (int) fork ();
  if (r->pid == 0)
    {
      setpgid (0, *group);
      error = become (c, rank, window, launcher, to);
      if (write (report, &error, sizeof error) < 0)
        _exit (126);
      _exit (127);
    }
  for (int i = 0; i < 2; i++)
    if (to[i] >= 0)
      close (to[i]);
  if (r->pid < 0)
    {
      r->pid = 0;
      return mm_fail (MM_ENOMEM, "rank %d cannot be started: %s", rank, strerror (errno));
    }
  if (*group == 0)
    *group = r->pid;
  setpgid (r->pid, *group);     /* whoever comes first; the other does no harm */
  return MM_OK;
}

/* launch.c -- one job: start its ranks, watch them, end them together; again, if that is asked for.
   SPDX-License-Identifier: Apache-2.0

   A single loop waits for signals (through a descriptor), for what ranks write, and for the next moment at
   which patience with ranks that should have ended is over.  */

#include <config.h>

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <minimind/cli.h>
#include <minimind/comm.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "launch.h"

/* Ranks that miss a peer say so and end by themselves; this long they are left alone.  */
static const double linger = 2; /* seconds */

/* What has been done to end the ranks.  */
enum stage { RUNNING, LINGERING, TERMINATING, KILLING };

struct job
{
  const struct launch_config *config;
  struct launch_rank *ranks;
  struct launch_relay *relays;  /* two a rank */
  struct pollfd *polls;
  int n, running;
  int group;                    /* process group of the ranks */
  int signals, report;          /* descriptors; report: errno of a command that could not be run */
  bool asked;                   /* by a signal to end */
  enum stage stage;
  double due;                   /* when the stage ends; s of mm_now */
  bool ranks_seen, ranks_gone;  /* of mpirun, on this host */
  int status;                   /* see launch() */
};

/* ---- ending ---- */

static void
signal_ranks (const struct job *j, int signo)
{
  if (j->group > 0)
    kill (-j->group, signo);
}

/* The stage that was due has come.  */
static void
next_stage (struct job *j)
{
  switch (j->stage)
    {
    case RUNNING:
      j->stage = LINGERING;
      j->due = mm_now () + linger;
      break;
    case LINGERING:
      j->stage = TERMINATING;
      j->due = mm_now () + j->config->grace;
      signal_ranks (j, SIGTERM);
      break;
    case TERMINATING:
      mm_warn ("ranks have not ended %.0f s after they were told to: killing them", j->config->grace);
      j->stage = KILLING;
      j->due = INFINITY;
      signal_ranks (j, SIGKILL);
      break;
    case KILLING:
      break;
    }
}

/* Rank R ended as STATUS of waitpid says.  */
static void
take_status (struct job *j, int r, int status)
{
  int code = WIFEXITED (status) ? WEXITSTATUS (status) : MM_EXIT_RESUME;
  const char *what = j->config->hosts ? "mpirun" : "rank";

  if (WIFSIGNALED (status) && j->stage < TERMINATING)
    mm_warn ("%s %d (process %d) was killed by signal %d (%s)%s", what, r, j->ranks[r].pid, WTERMSIG (status),
             strsignal (WTERMSIG (status)), j->running > 1 ? ": ending the others" : "");
  else if (code != 0 && j->stage == RUNNING)
    mm_verbose ("%s %d (process %d) ended with status %d", what, r, j->ranks[r].pid, code);
  j->ranks[r].pid = 0;
  j->running--;
  if (j->status == 0 || (j->status == MM_EXIT_RESUME && code != 0))
    j->status = code;
  if (code != 0 && j->stage == RUNNING)
    next_stage (j);
}

static void
reap (struct job *j)
{
  int status;
  pid_t pid;

  while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
    for (int r = 0; r < j->n; r++)
      if (j->ranks[r].pid == pid)
        take_status (j, r, status);
}

/* mpirun passes SIGUSR1 on, on which training saves and leaves; on the others it leaves no time for that.  */
static int
passed_on (const struct job *j, int signo)
{
  return j->config->hosts && (signo == SIGTERM || signo == SIGINT) && !j->asked ? SIGUSR1 : signo;
}

/* Pass SIGNO on.  Ranks that are asked to end may take their time to save; asked again, they have the grace of those
   that one of them left.  */
static void
pass_on (struct job *j, int signo)
{
  bool again = j->asked && (signo == SIGTERM || signo == SIGINT || signo == SIGHUP);

  signal_ranks (j, passed_on (j, signo));
  j->asked = true;
  if (again && j->stage < TERMINATING)
    {
      j->stage = TERMINATING;
      j->due = mm_now () + j->config->grace;
    }
}

static void
take_signals (struct job *j)
{
  struct signalfd_siginfo info;

  while (read (j->signals, &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGCHLD)
      reap (j);
    else
      pass_on (j, (int) info.ssi_signo);
}

/* ---- watching ---- */

/* Milliseconds until the stage is due, at most a second.  */
static int
wait_time (const struct job *j)
{
  double left = j->stage == RUNNING ? 1 : j->due - mm_now ();

  return left > 1 ? 1000 : left < 0 ? 0 : (int) (left * 1000) + 1;
}

/* Wait for a signal or output, and move output.  SIGNALS: look for signals, too.  *OPEN: relays that are.  */
static mm_status
watch (struct job *j, bool signals, int timeout, int *open)
{
  nfds_t n = 1;
  mm_status st = MM_OK;

  j->polls[0] = (struct pollfd) { .fd = signals ? j->signals : -1, .events = POLLIN };
  *open = 0;
  for (int i = 0; i < 2 * j->n; i++)
    {
      j->polls[n++] = (struct pollfd) { .fd = j->relays[i].from, .events = POLLIN };
      *open += j->relays[i].from >= 0;
    }
  if (poll (j->polls, n, timeout) < 0)
    return errno == EINTR ? MM_OK : mm_fail_errno ("poll");
  for (int i = 0; i < 2 * j->n && st == MM_OK; i++)
    if (j->polls[i + 1].revents)
      st = launch_relay_move (&j->relays[i]);
  if (j->polls[0].revents)
    take_signals (j);
  return st;
}

/* What ranks wrote last.  Their processes are gone, but one that they started may hold the pipe.  */
static mm_status
drain (struct job *j)
{
  int open = 1;
  mm_status st = MM_OK;

  signal_ranks (j, SIGKILL);
  for (int i = 0; i < 100 && open > 0 && st == MM_OK; i++)
    st = watch (j, false, 10, &open);
  return st;
}

static mm_status
check_report (struct job *j)
{
  int error;

  if (read (j->report, &error, sizeof error) != sizeof error)
    return MM_OK;
  errno = error;
  return mm_fail_errno (j->config->command[0]);
}

/* ---- one job ---- */

static mm_status
start_ranks (struct job *j)
{
  int window = -1, report[2];
  mm_status st = MM_OK;

  if (pipe2 (report, O_CLOEXEC) < 0)
    return mm_fail_errno ("pipe");
  j->report = report[0];
  fcntl (j->report, F_SETFL, O_NONBLOCK);
  if (!j->config->hosts)
    st = mm_comm_window (j->n, &window);
  for (int r = 0; r < j->n && st == MM_OK; r++)
    {
      st = launch_rank_start (j->config, r, window, report[1], &j->group, &j->ranks[r]);
      j->running += st == MM_OK;
      for (int i = 0; i < 2; i++)
        launch_relay_open (&j->relays[2 * r + i], r, j->ranks[r].streams[i], i + 1);
    }
  close (report[1]);
  if (window >= 0)
    close (window);
  return st;
}

static mm_status
make_room (struct job *j)
{
  mm_status st = mm_alloc ("ranks", (size_t) j->n, sizeof *j->ranks, &j->ranks);

  if (st == MM_OK)
    st = mm_alloc ("ranks", 2 * (size_t) j->n, sizeof *j->relays, &j->relays);
  if (st == MM_OK)
    st = mm_alloc ("ranks", 2 * (size_t) j->n + 1, sizeof *j->polls, &j->polls);
  for (int i = 0; i < 2 * j->n && j->relays; i++)
    j->relays[i].from = -1;
  return st;
}

/* mpirun whose ranks here have all ended, and which does not end, waits for a host that is lost.  */
static void
watch_mpirun (struct job *j)
{
  int ranks;

  if (!j->config->hosts || j->ranks_gone || j->stage != RUNNING || j->running == 0)
    return;
  ranks = launch_ranks_below (j->ranks[0].pid);
  j->ranks_gone = j->ranks_seen && ranks == 0;
  j->ranks_seen = j->ranks_seen || ranks > 0;
  if (j->ranks_gone)
    next_stage (j);
}

static mm_status
watch_ranks (struct job *j)
{
  int open;
  mm_status st = MM_OK;

  while (j->running > 0 && st == MM_OK)
    {
      st = watch (j, true, wait_time (j), &open);
      watch_mpirun (j);
      if (j->stage != RUNNING && mm_now () >= j->due)
        next_stage (j);
    }
  /* It was ended because of a lost host, whatever it made of that.  */
  if (j->ranks_gone && j->stage >= TERMINATING)
    j->status = MM_EXIT_RESUME;
  if (st == MM_OK)
    st = drain (j);
  return st == MM_OK ? check_report (j) : st;
}

/* Nothing of the job is left when this returns.  */
static void
clean_up (struct job *j)
{
  signal_ranks (j, SIGKILL);
  launch_end_children ();
  for (int i = 0; i < 2 * j->n && j->relays; i++)
    launch_relay_close (&j->relays[i]);
  if (j->report >= 0)
    close (j->report);
  free (j->ranks);
  free (j->relays);
  free (j->polls);
}

/* *ASKED: a signal told the launcher to end.  */
static mm_status
run_job (const struct launch_config *c, int signals, int *status, bool *asked)
{
  struct job j = { .config = c, .n = c->ranks, .signals = signals, .report = -1 };
  mm_status st = make_room (&j);

  if (st == MM_OK)
    st = start_ranks (&j);
  if (st == MM_OK)
    st = watch_ranks (&j);
  clean_up (&j);
  *status = j.status;
  *asked = j.asked;
  return st;
}

/* ---- all of them ---- */

static mm_status
open_signals (int *signals)
{
  static const int caught[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
  sigset_t set;

  sigemptyset (&set);
  for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
    sigaddset (&set, caught[i]);
  sigprocmask (SIG_BLOCK, &set, NULL);
  *signals = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return *signals < 0 ? mm_fail_errno ("signalfd") : MM_OK;
}

static mm_status
run_jobs (const struct launch_config *c, int *status)
{
  int signals;
  bool asked = false;
  mm_status st = open_signals (&signals);

  if (st < 0)
    return st;
  /* What a rank starts and leaves behind comes to us, to be ended with the rest.  */
  prctl (PR_SET_CHILD_SUBREAPER, 1);
  for (int restarts = 0; st == MM_OK; restarts++)
    {
      st = run_job (c, signals, status, &asked);
      if (st < 0 || *status != MM_EXIT_RESUME || asked || restarts == c->max_restarts)
        break;
      mm_warn ("status 75: restart %d of %d", restarts + 1, c->max_restarts);
    }
  close (signals);
  return st;
}

mm_status
launch (const struct launch_config *c, int *status)
{
  struct launch_config across = *c;
  char text[LAUNCH_HOSTS_TEXT];
  mm_status st;

  *status = 0;
  if (!c->hosts)
    return run_jobs (c, status);
  /* mpirun looks after its ranks; for us it is the only one.  */
  st = launch_hosts_command (c, text, &across.command);
  across.ranks = 1;
  across.prefix = false;
  if (st == MM_OK)
    st = run_jobs (&across, status);
  free (across.command);
  return st;
}

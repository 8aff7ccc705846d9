/* cli.c -- option parsers, checked values and the end of every tool.
   SPDX-License-Identifier: Apache-2.0

   What --version prints is in version.c; log levels are kept by log.c.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/cli.h>
#include <minimind/log.h>
#include <minimind/thread.h>

#include "version.h"

static const char *program_name = "minimind";
static void (*at_signal) (void);
static atomic_int holds;        /* while it is not 0 ... */
static atomic_int waiting;      /* ... a signal that came waits here */
static bool pipe_ignored;       /* SIGPIPE, by whoever started the tool */

const char *argp_program_bug_address = PACKAGE_BUGREPORT;

/* A reader who has enough is no error: end without a word as tools do that do not ignore the signal.  Returns where
   the parent said to ignore it (nohup, a service): then it is told like other failed writes.  */
static void
end_by_pipe (void)
{
  if (pipe_ignored)
    return;
  if (at_signal)
    at_signal ();
  signal (SIGPIPE, SIG_DFL);
  raise (SIGPIPE);
}

/* Close standard output once; false if something written to it was lost.  */
static bool
close_stdout (void)
{
  static bool closed;
  bool failed;

  if (closed)
    return true;
  closed = true;
  failed = ferror (stdout) != 0;
  errno = 0;
  if (fclose (stdout) != 0)
    failed = true;
  if (failed && errno == EPIPE)
    end_by_pipe ();
  if (failed)
    fprintf (stderr, "%s: standard output: %s\n", program_name,
             errno ? strerror (errno) : "write error");
  return !failed;
}

/* --help and --version leave through exit, not through mm_exit_status.  */
static void
close_stdout_at_exit (void)
{
  if (!close_stdout ())
    _exit (MM_EXIT_IO);
}

/* A closed descriptor 0, 1 or 2 would be taken by the next file opened, and
   messages would land in it.  The stand-ins fail when used: standard input is
   opened for writing, the others for reading.  */
static void
open_standard_streams (void)
{
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl (fd, F_GETFD) < 0 && errno == EBADF
        && open ("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
      _exit (MM_EXIT_FAILURE);
}

static void
end_by_signal (int signo)
{
  void (*fn) (void) = at_signal;

  if (atomic_load (&holds) > 0)
    {
      atomic_store (&waiting, signo);
      return;
    }
  if (fn)
    fn ();
  signal (signo, SIG_DFL);
  raise (signo);
}

/* A signal that the parent told us to ignore (nohup) stays ignored.  */
static void
catch_signals (void)
{
  static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    {
      struct sigaction old, new = { 0 };

      new.sa_handler = end_by_signal;
      new.sa_flags = SA_RESTART;
      sigemptyset (&new.sa_mask);
      if (sigaction (signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction (signals[i], &new, NULL);
    }
}

void
mm_cli_begin (const char *program)
{
  open_standard_streams ();
  program_name = program;
  mm_log_setup (program, MM_LOG_NORMAL);
  argp_err_exit_status = MM_EXIT_USAGE;
  argp_program_version_hook = mm_version_print;
  /* A closed pipe and a file-size limit are failed writes: what was begun is taken away first.  */
  pipe_ignored = signal (SIGPIPE, SIG_IGN) == SIG_IGN;
  signal (SIGXFSZ, SIG_IGN);
  catch_signals ();
  atexit (close_stdout_at_exit);
}

void
mm_cli_at_signal (void (*fn) (void))
{
  at_signal = fn;
}

void
mm_cli_hold_signals (void)
{
  atomic_fetch_add (&holds, 1);
}

void
mm_cli_release_signals (void)
{
  int signo;

  if (atomic_fetch_sub (&holds, 1) == 1 && (signo = atomic_exchange (&waiting, 0)) != 0)
    raise (signo);
}

/* Options of every tool.  Their header is one of them: before a child's argp leaves two lines where options before it
   have headers.  */

static const struct argp_option common_options[] = {
  { NULL, 0, NULL, 0, "Common options:", 0 },
  { "quiet", 'q', NULL, 0, "say nothing but warnings and errors", 0 },
  { "verbose", 'v', NULL, 0, "say more about what is done", 0 },
  { 0 }
};

static error_t
parse_common (int key, char *arg, struct argp_state *state)
{
  (void) arg;
  (void) state;
  switch (key)
    {
    case 'q':
      mm_log_setup (program_name, MM_LOG_QUIET);
      return 0;
    case 'v':
      mm_log_setup (program_name, MM_LOG_VERBOSE);
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
    }
}

const struct argp mm_common_argp
  = { common_options, parse_common, NULL, NULL, NULL, NULL, NULL };

/* Options of the tools that compute.  */

enum { OPT_THREADS = 0x5000, OPT_SEED, OPT_BACKEND, MAX_THREADS = 1024 };

static const struct argp_option compute_options[] = {
  { NULL, 0, NULL, 0, "Computing:", 0 },
  { "threads", OPT_THREADS, "N", 0, "use N threads [all processors allowed]", 0 },
  { "seed", OPT_SEED, "N", 0, "start random numbers from N [42]", 0 },
  { "backend", OPT_BACKEND, "NAME", 0, "compute with auto, cpu or cuda [auto]", 0 },
  { 0 }
};

static error_t
parse_compute (int key, char *arg, struct argp_state *state)
{
  static const char *const backends[] = { "auto", "cpu", "cuda", NULL };
  struct mm_compute *compute = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      compute->threads = mm_cpus_allowed ();
      if (compute->threads > MAX_THREADS)
        compute->threads = MAX_THREADS;
      compute->seed = 42;
      compute->backend = backends[0];
      return 0;
    case OPT_THREADS:
      compute->threads = (int) mm_cli_integer (state, "threads", arg, 1, MAX_THREADS);
      return 0;
    case OPT_SEED:
      compute->seed = (uint64_t) mm_cli_integer (state, "seed", arg, 0, INT64_MAX);
      return 0;
    case OPT_BACKEND:
      compute->backend = backends[mm_cli_choice (state, "backend", arg, backends)];
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
    }
}

const struct argp mm_compute_argp
  = { compute_options, parse_compute, NULL, NULL, NULL, NULL, NULL };

/* Checked values.  */

/* strtol and its relatives skip leading blanks; a value on a command line has none.  */
static bool
starts_a_number (const char *arg)
{
  return (*arg >= '0' && *arg <= '9') || *arg == '-' || *arg == '+' || *arg == '.';
}

int64_t
mm_cli_integer (struct argp_state *state, const char *name, const char *arg,
                int64_t min, int64_t max)
{
  char *end;
  long long value;

  errno = 0;
  value = strtoll (arg, &end, 10);
  if (starts_a_number (arg) && *end == '\0' && errno == 0 && min <= value && value <= max)
    return value;
  if (max == INT64_MAX)
    argp_error (state, "--%s=%s: want a whole number of at least %" PRId64, name, arg, min);
  else
    argp_error (state, "--%s=%s: want a whole number from %" PRId64 " to %" PRId64, name, arg,
                min, max);
  return min;
}

double
mm_cli_number (struct argp_state *state, const char *name, const char *arg,
               double min, double max)
{
  char *end;
  double value;

  errno = 0;
  value = strtod (arg, &end);
  /* ERANGE for a tiny value is no error: the nearest double is returned.  */
  if (starts_a_number (arg) && end != arg && *end == '\0' && min <= value && value <= max)
    return value;
  argp_error (state, "--%s=%s: want a number from %.10g to %.10g", name, arg, min, max);
  return min;
}

/* The factor of a suffix K, M or G at the end of TEXT ("": 1), or 0.  */
static uint64_t
size_factor (const char *text)
{
  static const char suffixes[] = "KMG";
  const char *at;

  if (*text == '\0')
    return 1;
  at = strchr (suffixes, *text);
  if (!at || text[1] != '\0')
    return 0;
  return UINT64_C (1) << 10 * (at - suffixes + 1);
}

uint64_t
mm_cli_size (struct argp_state *state, const char *name, const char *arg,
             uint64_t min, uint64_t max)
{
  char *end;
  uint64_t value, factor;

  errno = 0;
  value = strtoull (arg, &end, 10);
  factor = size_factor (end);
  if (*arg >= '0' && *arg <= '9' && errno == 0 && factor != 0 && value <= UINT64_MAX / factor
      && min <= value * factor && value * factor <= max)
    return value * factor;
  argp_error (state, "--%s=%s: want a size from %" PRIu64 " to %" PRIu64 " (suffixes K, M, G)",
              name, arg, min, max);
  return min;
}

int
mm_cli_choice (struct argp_state *state, const char *name, const char *arg,
               const char *const *choices)
{
  char list[512] = "";
  size_t used = 0;

  for (int i = 0; choices[i]; i++)
    {
      if (strcmp (arg, choices[i]) == 0)
        return i;
      if (used < sizeof list)
        used += (size_t) snprintf (list + used, sizeof list - used, "%s%s",
                                   i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
    }
  argp_error (state, "--%s=%s: want %s", name, arg, list);
  return 0;
}

char *
mm_cli_path (struct argp_state *state, const char *name, char *arg)
{
  if (!*arg)
    argp_error (state, "--%s: the name is empty", name);
  return arg;
}

/* The end.  */

static int
exit_status_of (mm_status st)
{
  switch (st)
    {
    case MM_OK:
      return MM_EXIT_OK;
    case MM_EFORMAT:
    case MM_ESHAPE:
    case MM_EUNSUP:
      return MM_EXIT_DATA;
    case MM_ENOENT:
      return MM_EXIT_NOINPUT;
    case MM_EUSAGE:
    case MM_EEXIST:
      return MM_EXIT_USAGE;
    case MM_EIO:
    case MM_EPIPE:
      return MM_EXIT_IO;
    case MM_EBUSY:
      return MM_EXIT_BUSY;
    case MM_ESTOPPED:
      return MM_EXIT_RESUME;
    case MM_ECONFLICT:
      return MM_EXIT_CONFLICT;
    case MM_EGAVEUP:
      return MM_EXIT_GAVE_UP;
    case MM_EINVAL:
    case MM_ENOMEM:
    case MM_EDEVICE:
      break;
    }
  return MM_EXIT_FAILURE;
}

int
mm_exit_status (const char *program, mm_status st)
{
  mm_progress_end ();
  if (st == MM_EPIPE)
    end_by_pipe ();
  if (st < 0 && *mm_error_message ())
    fprintf (stderr, "%s: %s\n", program, mm_error_message ());
  if (!close_stdout ())
    return MM_EXIT_IO;
  return exit_status_of (st);
}

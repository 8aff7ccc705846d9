/* cli.c -- parsers, checked values and the end of a tool, each in a child process.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <minimind/cli.h>
#include <minimind/log.h>
#include <minimind/thread.h>

#include "../tap.h"

static char err[4096];          /* what the last child wrote to stderr */
static char out[4096];          /* and to stdout */

/* The tool under test: one option for each kind of value, printed as parsed.  */

static const struct argp_option options[] = {
  { "integer", 'i', "N", 0, "a whole number", 0 },
  { "number", 'n', "X", 0, "a number", 0 },
  { "size", 's', "SIZE", 0, "a size", 0 },
  { "choice", 'c', "WORD", 0, "a word", 0 },
  { "path", 'p', "FILE", 0, "a file", 0 },
  { 0 }
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  static const char *const words[] = { "red", "green", "blue", NULL };

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[1] = state->input;
      return 0;
    case 'i':
      printf ("%lld\n", (long long) mm_cli_integer (state, "integer", arg, -5, 100));
      return 0;
    case 'n':
      printf ("%g\n", mm_cli_number (state, "number", arg, 0, 1));
      return 0;
    case 's':
      printf ("%llu\n", (unsigned long long) mm_cli_size (state, "size", arg, 1, 1ull << 40));
      return 0;
    case 'c':
      printf ("%d\n", mm_cli_choice (state, "choice", arg, words));
      return 0;
    case 'p':
      printf ("%s\n", mm_cli_path (state, "path", arg));
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
    }
}

static int
tool (int argc, char **argv)
{
  static const struct argp_child children[]
    = { { &mm_common_argp, 0, NULL, 0 }, { &mm_compute_argp, 0, NULL, 0 }, { 0 } };
  static const struct argp parser
    = { options, parse_opt, NULL, "Test.", children, NULL, NULL };
  struct mm_compute compute;

  mm_cli_begin ("minimind-test");
  argp_parse (&parser, argc, argv, 0, NULL, &compute);
  printf ("%d %llu %s %d\n", compute.threads, (unsigned long long) compute.seed, compute.backend,
          (int) mm_log_get_level ());
  return mm_exit_status ("minimind-test", MM_OK);
}

static void
read_back (int fd, char *text, size_t room)
{
  ssize_t got;

  lseek (fd, 0, SEEK_SET);
  got = read (fd, text, room - 1);
  text[got > 0 ? got : 0] = '\0';
  close (fd);
}

static int
scratch_file (void)
{
  char name[] = "/tmp/minimind-cli.XXXXXX";
  int fd = mkstemp (name);

  unlink (name);
  return fd;
}

/* Run CHILD in a process of its own, with its standard output on OUT_PATH or a file that
   is read back; its exit status, or 1000 + its signal.  */
static int
in_child (int (*child) (void *), void *arg, const char *out_path)
{
  int status, e = scratch_file (), o = out_path ? open (out_path, O_RDWR) : scratch_file ();
  pid_t pid;

  fflush (stdout);
  pid = fork ();
  if (pid == 0)
    {
      dup2 (o, 1);
      dup2 (e, 2);
      exit (child (arg));
    }
  waitpid (pid, &status, 0);
  read_back (e, err, sizeof err);
  read_back (o, out, out_path ? 1 : sizeof out);
  return WIFEXITED (status) ? WEXITSTATUS (status) : 1000 + WTERMSIG (status);
}

static int
call_tool (void *arg)
{
  char *argv[] = { "minimind-test", arg, NULL };

  return tool (arg ? 2 : 1, argv);
}

/* The tool with one argument prints WANT first.  */
static int
prints (const char *arg, const char *want)
{
  return in_child (call_tool, (void *) arg, NULL) == 0 && strncmp (out, want, strlen (want)) == 0;
}

/* The tool refuses ARG with 64 and a message that holds WANT.  */
static int
refuses (const char *arg, const char *want)
{
  return in_child (call_tool, (void *) arg, NULL) == MM_EXIT_USAGE && strstr (err, want) != NULL;
}

static void
test_values (void)
{
  ok (prints ("--integer=-5", "-5\n") && prints ("--integer=100", "100\n"), "integers");
  ok (refuses ("--integer=101", "--integer=101: want a whole number from -5 to 100"),
      "integer out of range");
  ok (refuses ("--integer=", "want") && refuses ("--integer=1x", "want")
      && refuses ("--integer= 1", "want") && refuses ("--integer=99999999999999999999", "want"),
      "no integer");
  ok (prints ("--number=0.25", "0.25\n") && prints ("--number=1e-320", "9.99989e-321\n"),
      "numbers, a subnormal one too");
  ok (refuses ("--number=1.5", "--number=1.5: want a number from 0 to 1")
      && refuses ("--number=nan", "want") && refuses ("--number=inf", "want")
      && refuses ("--number=", "want") && refuses ("--number=.", "want"), "no number");
  ok (prints ("--size=3", "3\n") && prints ("--size=2K", "2048\n")
      && prints ("--size=1G", "1073741824\n"), "sizes");
  ok (refuses ("--size=0", "--size=0: want a size from 1 to 1099511627776")
      && refuses ("--size=1T", "want") && refuses ("--size=-1", "want")
      && refuses ("--size=1KB", "want") && refuses ("--size=18446744073709551615G", "want"),
      "no size");
  ok (prints ("--choice=blue", "2\n"), "a choice");
  ok (refuses ("--choice=pink", "--choice=pink: want red, green or blue"), "no choice");
  ok (prints ("--path=a b", "a b\n"), "a file's name");
  ok (refuses ("--path=", "--path: the name is empty"), "no name");
}

static void
test_shared (void)
{
  char want[64];

  snprintf (want, sizeof want, "%d 42 auto 1\n", mm_cpus_allowed ());
  ok (prints (NULL, want), "defaults");
  ok (prints ("--threads=3", "3 42 auto 1\n"), "--threads");
  ok (prints ("--seed=9223372036854775807", "") && strstr (out, " 9223372036854775807 "), "--seed");
  ok (prints ("--backend=cpu", "") && strstr (out, " cpu "), "--backend");
  ok (prints ("-q", "") && strstr (out, "auto 0\n"), "--quiet");
  ok (prints ("-v", "") && strstr (out, "auto 2\n"), "--verbose");
  ok (refuses ("--threads=0", "from 1 to 1024") && refuses ("--seed=-1", "at least 0")
      && refuses ("--backend=tpu", "auto, cpu or cuda"), "bad values are refused");
  ok (refuses ("--no-such-option", "unrecognized option"), "an unknown option is refused");
}

static void
test_standard_streams (void)
{
  ok (prints ("--version", "minimind-test (minimind) " PACKAGE_VERSION "\nnumerics version ")
      && strstr (out, "backends: ") && strstr (out, "libarchive") && strstr (out, "Jansson")
      && strstr (out, "OpenSSL"), "--version");
  if (access ("/dev/full", W_OK) != 0)
    return;
  ok (in_child (call_tool, "--version", "/dev/full") == MM_EXIT_IO
      && strstr (err, "minimind-test: standard output: No space"), "--version on a full disk");
  ok (in_child (call_tool, "--help", "/dev/full") == MM_EXIT_IO, "--help on a full disk");
  ok (in_child (call_tool, NULL, "/dev/full") == MM_EXIT_IO, "results on a full disk");
}

/* With standard input and output closed, no file that is opened takes their place.  */
static int
closed_streams (void *arg)
{
  char c;
  int fd;

  (void) arg;
  close (0);
  close (1);
  mm_cli_begin ("minimind-test");
  fd = open ("/dev/null", O_RDONLY);
  return fd > 2 && read (0, &c, 1) < 0 && write (1, "x", 1) < 0 ? 0 : 1;
}

static int
closed_output (void *arg)
{
  close (1);
  return call_tool (arg);
}

/* Written to a pipe that nobody reads, by a tool that was started with SIGPIPE ignored or not.  */
static int
broken_pipe (void *ignored)
{
  int fds[2];

  if (pipe (fds) != 0 || dup2 (fds[1], 1) < 0)
    return 1;
  close (fds[0]);
  signal (SIGPIPE, ignored ? SIG_IGN : SIG_DFL);
  return call_tool (NULL);
}

static int
failing_tool (void *arg)
{
  mm_cli_begin ("minimind-test");
  return mm_exit_status ("minimind-test", mm_fail (*(mm_status *) arg, "why"));
}

static void
test_exit (void)
{
  static const struct { mm_status st; int want; } cases[] = {
    { MM_OK, 0 }, { MM_EINVAL, 1 }, { MM_ENOMEM, 1 }, { MM_EIO, 74 }, { MM_EFORMAT, 65 },
    { MM_ESHAPE, 65 }, { MM_EDEVICE, 1 }, { MM_EUNSUP, 65 }, { MM_ENOENT, 66 },
    { MM_EUSAGE, 64 }, { MM_EEXIST, 64 }, { MM_EBUSY, 73 }, { MM_ESTOPPED, 75 },
    { MM_ECONFLICT, 78 }, { MM_EGAVEUP, 70 }
  };
  int good = 1;

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      mm_status st = cases[i].st;

      good &= in_child (failing_tool, &st, NULL) == cases[i].want
              && strcmp (err, st < 0 ? "minimind-test: why\n" : "") == 0;
    }
  ok (good, "each status has its exit status and one line");
  ok (in_child (closed_streams, NULL, NULL) == 0, "closed standard streams fail when used");
  ok (in_child (closed_output, NULL, NULL) == MM_EXIT_IO, "results to a closed output are lost: 74");
  ok (in_child (broken_pipe, NULL, NULL) == 1000 + SIGPIPE && *err == '\0', "a reader who has enough is no error");
  ok (in_child (broken_pipe, (void *) "ignored", NULL) == MM_EXIT_IO && strstr (err, "standard output: Broken pipe"),
      "but where the signal is ignored");
}

static void
say_caught (void)
{
  if (write (1, "caught\n", 7) != 7)
    _exit (1);
}

static int
signalled_tool (void *arg)
{
  signal (SIGHUP, *(int *) arg ? SIG_IGN : SIG_DFL);
  mm_cli_begin ("minimind-test");
  mm_cli_at_signal (say_caught);
  raise (SIGHUP);
  return mm_exit_status ("minimind-test", MM_OK);
}

static int
held_tool (void *arg)
{
  (void) arg;
  mm_cli_begin ("tool");
  mm_cli_at_signal (say_caught);
  mm_cli_hold_signals ();
  mm_cli_hold_signals ();
  raise (SIGTERM);
  mm_cli_release_signals ();
  if (write (STDOUT_FILENO, "held\n", 5) != 5)
    _exit (1);
  mm_cli_release_signals ();
  return 0;
}

static void
test_signals (void)
{
  int ignored = 0;

  ok (in_child (signalled_tool, &ignored, NULL) == 1000 + SIGHUP && strcmp (out, "caught\n") == 0,
      "a signal runs the registered function, then ends the tool");
  ignored = 1;
  ok (in_child (signalled_tool, &ignored, NULL) == 0 && strcmp (out, "") == 0,
      "an ignored signal stays ignored");
  ok (in_child (held_tool, NULL, NULL) == 1000 + SIGTERM && strcmp (out, "held\ncaught\n") == 0,
      "a held signal waits for the last release");
}

int
main (void)
{
  test_values ();
  test_shared ();
  test_standard_streams ();
  test_exit ();
  test_signals ();
  return tap_done ();
}

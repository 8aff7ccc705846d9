/* cli.h -- what the command lines of all tools have in common.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_CLI_H
#define MINIMIND_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <minimind/error.h>

/* Exit statuses shared by all tools; scripts rely on them.  */
enum
{
  MM_EXIT_OK = 0,
  MM_EXIT_FAILURE = 1,
  MM_EXIT_USAGE = 64,           /* wrong command line; argp's EX_USAGE */
  MM_EXIT_DATA = 65,            /* bad input data, no valid checkpoint */
  MM_EXIT_NOINPUT = 66,         /* an input is missing */
  MM_EXIT_GAVE_UP = 70,         /* no progress after repeated attempts */
  MM_EXIT_BUSY = 73,            /* the output is in use by another run */
  MM_EXIT_IO = 74,              /* a read or write failed */
  MM_EXIT_RESUME = 75,          /* stopped early; run again to go on */
  MM_EXIT_CONFLICT = 78         /* configuration conflicts with a checkpoint */
};

/* Options of every tool: -q/--quiet and -v/--verbose.  The child parser has
   no input: it sets the level of log.h.  This parser and the next hold their
   headers: they are children without one.  */
extern const struct argp mm_common_argp;

/* Options of the tools that compute.  The child parser's input is a
   struct mm_compute *, filled with the defaults first.  */
struct mm_compute
{
  int threads;                  /* >= 1; default: CPUs in the affinity mask */
  uint64_t seed;                /* default 42 */
  const char *backend;          /* "auto", "cpu" or "cuda" */
};
extern const struct argp mm_compute_argp;

/* Begin a tool: the program's name for messages and --version (which prints
   the version, the numerics version, the backends and libraries built in),
   standard streams that exist, SIGPIPE and SIGXFSZ ignored, SIGINT, SIGTERM and SIGHUP caught
   for mm_cli_at_signal.  Call first in main.  */
void mm_cli_begin (const char *program);

/* When SIGINT, SIGTERM or SIGHUP ends the tool, call FN first; it may use what is
   async-signal-safe only (unlink, not free).  One function: lib/io removes unfinished
   outputs with it.  The signal then takes its default action.  */
void mm_cli_at_signal (void (*fn) (void));

/* Between hold and release, which nest, such a signal waits, on whatever thread it comes: for the moments in which
   half a thing is done that FN could not undo.  */
void mm_cli_hold_signals (void);
void mm_cli_release_signals (void);

/* Parse ARG as a number for option --NAME, within [MIN, MAX]; otherwise
   argp_error, which prints the range and exits with 64.  mm_cli_size takes
   the suffixes K, M, G (powers of 1024).  */
int64_t mm_cli_integer (struct argp_state *state, const char *name, const char *arg,
                        int64_t min, int64_t max);
double mm_cli_number (struct argp_state *state, const char *name, const char *arg,
                      double min, double max);
uint64_t mm_cli_size (struct argp_state *state, const char *name, const char *arg,
                      uint64_t min, uint64_t max);

/* Index of ARG in the NULL-terminated CHOICES, or argp_error listing them.  */
int mm_cli_choice (struct argp_state *state, const char *name, const char *arg,
                   const char *const *choices);

/* ARG itself, a file's or folder's name; argp_error if it is empty: where a script's variable is unset, "" must
   not become the present or the root folder.  */
char *mm_cli_path (struct argp_state *state, const char *name, char *arg);

/* The exit status for ST.  If ST is a failure, print "PROGRAM: MESSAGE" on
   stderr, unless the message is empty (another rank tells it: comm.h).  Flushes
   and checks standard output: if it could not be written, says so and returns MM_EXIT_IO.  Where the reader of a pipe
   has left (MM_EPIPE, or standard output) the tool ends by SIGPIPE without a word, unless its parent had that
   ignored.  Last call of every main.  */
int mm_exit_status (const char *program, mm_status st) MM_NODISCARD;

#endif /* MINIMIND_CLI_H */

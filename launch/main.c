/* minimind-launch -- start the ranks of a distributed job.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct launch_config and calls launch() once.  */

#include <config.h>

#include <argp.h>

#include <minimind/cli.h>
#include <minimind/comm.h>

#include "launch.h"

#define PROGRAM "minimind-launch"

static const char doc[] =
  "Start a minimind tool as several ranks that train one model, end them together, and pass their exit status on."
  "\v"
  "Ranks of one host need nothing but memory that they share; each is bound to its share of the processors, and"
  " uses as many threads unless told otherwise.  With --hosts, mpirun starts them.  When one rank fails, the"
  " others are ended: SIGTERM, and SIGKILL after --grace.  Signals to the launcher go to all ranks.";

enum { OPT_HOSTS = 0x100, OPT_NO_PIN, OPT_NO_PREFIX, OPT_MAX_RESTARTS, OPT_GRACE };

static const struct argp_option options[] = {
  { "ranks", 'n', "N", 0, "start N ranks", 1 },
  { "hosts", OPT_HOSTS, "LIST", 0, "on the hosts of LIST (a:2,b:2 for two ranks on each), by mpirun [this host]", 1 },
  { "max-restarts", OPT_MAX_RESTARTS, "N", 0,
    "on status 75 (stopped, a rank lost) start all of them again, up to N times [0]", 1 },
  { "grace", OPT_GRACE, "SECONDS", 0, "time to end between SIGTERM and SIGKILL when a rank has failed [10]", 1 },
  { "no-pin", OPT_NO_PIN, NULL, 0, "do not bind ranks to processors", 1 },
  { "no-prefix", OPT_NO_PREFIX, NULL, 0, "do not put [rank 1] and so on before the lines of ranks beyond 0", 1 },
  { 0 }
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct launch_config *c = state->input;

  switch (key)
    {
    case 'n':
      c->ranks = (int) mm_cli_integer (state, "ranks", arg, 1, MM_COMM_MAX_LOCAL);
      break;
    case OPT_HOSTS:
      c->hosts = mm_cli_path (state, "hosts", arg);
      break;
    case OPT_NO_PIN:
      c->pin = false;
      break;
    case OPT_NO_PREFIX:
      c->prefix = false;
      break;
    case OPT_MAX_RESTARTS:
      c->max_restarts = (int) mm_cli_integer (state, "max-restarts", arg, 0, 1 << 20);
      break;
    case OPT_GRACE:
      c->grace = mm_cli_number (state, "grace", arg, 0, 1e6);
      break;
    case ARGP_KEY_ARGS:
      c->command = state->argv + state->next;
      state->next = state->argc;
      break;
    case ARGP_KEY_END:
      if (c->ranks == 0)
        argp_error (state, "give -n RANKS");
      if (!c->command)
        argp_error (state, "give the tool to start, as in %s -n 2 -- minimind-pretrain ...", PROGRAM);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = { { &mm_common_argp, 0, NULL, 20 }, { 0 } };

static const struct argp parser = { options, parse_opt, "-- TOOL [ARG...]", doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct launch_config config = { .pin = true, .prefix = true, .grace = 10 };
  int status = 0, result;

  mm_cli_begin (PROGRAM);
  argp_parse (&parser, argc, argv, ARGP_IN_ORDER, NULL, &config);
  result = mm_exit_status (PROGRAM, launch (&config, &status));
  return result == MM_EXIT_OK ? status : result;
}

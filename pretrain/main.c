/* minimind-pretrain -- train a language model from scratch.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct mm_train_config and calls mm_train once: the loop is in
   lib/train/train.c, since fine-tuning runs the same.  */

#include <config.h>

#include <argp.h>

#include <minimind/cli.h>
#include <minimind/train.h>

#define PROGRAM "minimind-pretrain"

static const char doc[] =
  "Train a language model on a dataset folder that minimind-pack made."
  "\v"
  "Checkpoints are HuggingFace model folders.  Their bytes depend on the data, the options and the seed, and"
  " neither on the number of ranks or threads nor on interruptions: the same command, given again, goes on from the"
  " newest checkpoint and ends in the same bits as one that was never stopped.  SIGTERM, SIGINT and SIGUSR1"
  " make it save at the next step and leave with status 75; a second signal ends it at once.";

enum { OPT_PRESET = 0x100, OPT_CONFIG };

static const struct argp_option options[] = {
  { NULL, 0, NULL, 0, "Model:", 1 },
  { "preset", OPT_PRESET, "NAME", 0,
    "minimind2-small (26M), minimind2 (104M), minimind-3 (64M), tiny (1M) or nano (for tests) [minimind2-small]", 1 },
  { "config", OPT_CONFIG, "FILE", 0, "as config.json says, Llama or Qwen3", 1 },
  { 0 }
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct mm_train_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[1] = c;
      break;
    case OPT_PRESET:
      c->preset = arg;
      break;
    case OPT_CONFIG:
      c->config = mm_cli_path (state, "config", arg);
      break;
    case ARGP_KEY_ARG:
      argp_error (state, "extra operand '%s'", arg);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = {
  { &mm_common_argp, 0, NULL, 20 },
  { &mm_train_argp, 0, NULL, 10 },
  { 0 }
};

static const struct argp parser = { options, parse_opt, "--data=DIR --output=DIR", doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct mm_train_config config;

  mm_cli_begin (PROGRAM);
  mm_train_defaults (&config);
  argp_parse (&parser, argc, argv, 0, NULL, &config);
  return mm_exit_status (PROGRAM, mm_train (&config));
}

/* minimind-eval -- loss, perplexity and bits per byte of a model on a dataset.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct eval_config and calls eval() once.  */

#include <config.h>

#include <argp.h>

#include "eval.h"

#define PROGRAM "minimind-eval"

static const char doc[] =
  "Tell how well a model predicts a dataset: mean loss in nats a token, perplexity, bits per byte."
  "\v"
  "The result does not depend on the batch, the threads or the processor.";

enum { OPT_MODEL = 0x100, OPT_DATA, OPT_SPLIT, OPT_BATCH, OPT_JSON, OPT_LOSSES };

static const char *const splits[] = { "train", "validation", NULL };    /* by enum mm_split */

static const struct argp_option options[] = {
  { "model", OPT_MODEL, "DIR", 0, "evaluate this model folder, or a run's newest checkpoint", 0 },
  { "data", OPT_DATA, "DIR", 0, "on this dataset folder", 0 },
  { "split", OPT_SPLIT, "NAME", 0, "on its train or validation rows [validation]", 0 },
  { "batch", OPT_BATCH, "N", 0, "N sequences at a time [4]", 0 },
  { "json", OPT_JSON, NULL, 0, "print a JSON object", 0 },
  { "losses", OPT_LOSSES, NULL, 0, "print each target's loss: row, position, id, hexadecimal float", 0 },
  { 0 }
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct eval_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &c->compute;
      break;
    case OPT_MODEL:
      c->model = mm_cli_path (state, "model", arg);
      break;
    case OPT_DATA:
      c->data = mm_cli_path (state, "data", arg);
      break;
    case OPT_SPLIT:
      c->split = (enum mm_split) mm_cli_choice (state, "split", arg, splits);
      break;
    case OPT_BATCH:
      c->batch = (size_t) mm_cli_integer (state, "batch", arg, 1, 65536);
      break;
    case OPT_JSON:
      c->json = true;
      break;
    case OPT_LOSSES:
      c->losses = true;
      break;
    case ARGP_KEY_ARG:
      argp_error (state, "extra operand '%s'", arg);
      break;
    case ARGP_KEY_END:
      if (!c->model || !c->data)
        argp_error (state, "give --model=DIR and --data=DIR");
      if (c->json && c->losses)
        argp_error (state, "--json and --losses exclude each other");
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = {
  { &mm_compute_argp, 0, NULL, 1 },
  { &mm_common_argp, 0, NULL, 2 },
  { 0 }
};

static const struct argp parser
  = { options, parse_opt, "--model=DIR --data=DIR", doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct eval_config c = { .split = MM_VALIDATION, .batch = 4 };

  mm_cli_begin (PROGRAM);
  argp_parse (&parser, argc, argv, 0, NULL, &c);
  return mm_exit_status (PROGRAM, eval (&c));
}

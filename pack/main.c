/* minimind-pack -- token files into a dataset folder, rows ready to train on.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct pack_config and calls pack() once.  Which documents are
   held out is decided in plan.c, rows are filled in rows.c.  */

#include <config.h>

#include <argp.h>

#include <minimind/cli.h>
#include <minimind/dataset.h>

#include "pack.h"

#define PROGRAM "minimind-pack"

static const char doc[] =
  "Make a dataset folder of token files: rows of --seq-len tokens with document boundaries, "
  "split into a training and a validation part."
  "\v"
  "Strategies: concat lays documents end to end and cuts rows from the stream, so that no token "
  "is lost but a short last row; fit keeps documents whole, as many in a row as fit best; pad "
  "gives each document a row of its own.  Attention and positions restart at each document under "
  "all three.\n\n"
  "Token files come from minimind-tokenize and may be larger than memory.  All must have been "
  "made with the same tokenizer.";

static const char args_doc[] = "TOKENS... -o DIR";

enum { OPT_SEQ_LEN = 0x100, OPT_STRATEGY, OPT_VALIDATION, OPT_SHARD_ROWS, OPT_SEED, OPT_FORCE,
       OPT_JSON };

static const struct argp_option options[] = {
  { "output", 'o', "DIR", 0, "make the dataset folder DIR", 0 },
  { "seq-len", OPT_SEQ_LEN, "N", 0, "train on N tokens a row [512]", 0 },
  { "strategy", OPT_STRATEGY, "NAME", 0, "fill rows by concat, fit or pad [concat]", 0 },
  { "validation", OPT_VALIDATION, "SHARE", 0, "hold out SHARE, 0 to 0.5, for validation [0.01]", 0 },
  { "shard-rows", OPT_SHARD_ROWS, "N", 0, "begin a new file every N rows [one file a split]", 0 },
  { "seed", OPT_SEED, "N", 0, "choose the documents held out by N [42]", 0 },
  { "force", OPT_FORCE, NULL, 0, "replace DIR if it exists", 0 },
  { "json", OPT_JSON, NULL, 0, "print the report as a JSON object", 0 },
  { 0 }
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct pack_config *c = state->input;

  switch (key)
    {
    case 'o':
      c->output = mm_cli_path (state, "output", arg);
      break;
    case OPT_SEQ_LEN:
      c->seq_len = (uint32_t) mm_cli_integer (state, "seq-len", arg, 1, MM_DATASET_MAX_SEQ_LEN);
      break;
    case OPT_STRATEGY:
      c->strategy = (enum pack_strategy) mm_cli_choice (state, "strategy", arg, pack_strategy_names);
      break;
    case OPT_VALIDATION:
      c->validation = mm_cli_number (state, "validation", arg, 0, 0.5);
      break;
    case OPT_SHARD_ROWS:
      c->shard_rows = (uint64_t) mm_cli_integer (state, "shard-rows", arg, 1, INT64_MAX);
      break;
    case OPT_SEED:
      c->seed = (uint64_t) mm_cli_integer (state, "seed", arg, 0, INT64_MAX);
      break;
    case OPT_FORCE:
      c->force = true;
      break;
    case OPT_JSON:
      c->json = true;
      break;
    case ARGP_KEY_ARGS:
      c->inputs = state->argv + state->next;
      c->n_inputs = (size_t) (state->argc - state->next);
      break;
    case ARGP_KEY_END:
      if (c->n_inputs == 0)
        argp_error (state, "give at least one token file");
      if (!c->output)
        argp_error (state, "give --output=DIR");
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = {
  { &mm_common_argp, 0, "Common options:", 1 },
  { 0 }
};

static const struct argp parser
  = { options, parse_opt, args_doc, doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct pack_config c = { .seq_len = 512, .validation = 0.01, .seed = 42 };

  mm_cli_begin (PROGRAM);
  argp_parse (&parser, argc, argv, 0, NULL, &c);
  return mm_exit_status (PROGRAM, pack (&c));
}

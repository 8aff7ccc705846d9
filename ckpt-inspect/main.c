/* minimind-ckpt-inspect -- show, verify and compare the files of the suite.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct inspect_config and calls ckpt_inspect() once.  */

#include <config.h>

#include <argp.h>

#include <minimind/cli.h>

#include "ckpt-inspect.h"

#define PROGRAM "minimind-ckpt-inspect"

static const char doc[] =
  "Show what checkpoints, model folders, run folders, safetensors files, token files, datasets and "
  "tokenizers hold."
  "\v"
  "Without --verify, --sha256 or --diff: kind, configuration, number of parameters, every tensor with its "
  "shape and type, samples of tokens decoded.  Of a run folder the newest valid checkpoint is taken.\n\n"
  "In decoded text \\[...] is a control token, \\| a document's start, \\{...\\} are training targets (not "
  "marked where all tokens are), \\xNN is a byte that is no whole character.\n\n"
  "--diff ends with status 1 when anything differs.";

static const char args_doc[] = "PATH...";

enum { OPT_JSON = 0x100, OPT_STATS, OPT_VERIFY, OPT_SHA256, OPT_DIFF, OPT_SAMPLES };

static const struct argp_option options[] = {
  { "stats", OPT_STATS, NULL, 0, "show minimum, maximum, mean, deviation, norm, zeros and non-finite values "
    "of each tensor", 0 },
  { "samples", OPT_SAMPLES, "N", 0, "decode N documents or rows, or N tokens of a tokenizer [3; 8 tokens]", 0 },
  { "verify", OPT_VERIFY, NULL, 0, "check everything: hashes, formats, shapes, ids", 0 },
  { "sha256", OPT_SHA256, NULL, 0, "print one digest of each PATH", 0 },
  { "diff", OPT_DIFF, "OTHER", 0, "compare the PATH with OTHER tensor by tensor", 0 },
  { "json", OPT_JSON, NULL, 0, "print one JSON object a line for each PATH", 0 },
  { 0 }
};

/* At most one of the three.  */
static void
set_action (struct argp_state *state, struct inspect_config *c, enum inspect_action action)
{
  if (c->action != INSPECT_SHOW && c->action != action)
    argp_error (state, "give one of --verify, --sha256, --diff");
  c->action = action;
}

static void
check (struct argp_state *state, const struct inspect_config *c)
{
  if (c->n_paths == 0)
    argp_error (state, "give at least one PATH");
  if (c->action == INSPECT_DIFF && c->n_paths != 1)
    argp_error (state, "--diff compares with one PATH, found %zu", c->n_paths);
  if (c->action != INSPECT_SHOW && (c->stats || c->samples >= 0))
    argp_error (state, "--stats and --samples do not go with --verify, --sha256 or --diff");
}

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct inspect_config *c = state->input;

  switch (key)
    {
    case OPT_JSON:
      c->json = true;
      break;
    case OPT_STATS:
      c->stats = true;
      break;
    case OPT_SAMPLES:
      c->samples = mm_cli_integer (state, "samples", arg, 0, INT64_MAX);
      break;
    case OPT_VERIFY:
      set_action (state, c, INSPECT_VERIFY);
      break;
    case OPT_SHA256:
      set_action (state, c, INSPECT_SHA256);
      break;
    case OPT_DIFF:
      set_action (state, c, INSPECT_DIFF);
      c->other = mm_cli_path (state, "diff", arg);
      break;
    case ARGP_KEY_ARGS:
      c->paths = state->argv + state->next;
      c->n_paths = (size_t) (state->argc - state->next);
      break;
    case ARGP_KEY_END:
      check (state, c);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = {
  { &mm_common_argp, 0, NULL, 1 },
  { 0 }
};

static const struct argp parser
  = { options, parse_opt, args_doc, doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct inspect_config c = { .samples = -1 };
  bool different = false;
  int status;

  mm_cli_begin (PROGRAM);
  argp_parse (&parser, argc, argv, 0, NULL, &c);
  status = mm_exit_status (PROGRAM, ckpt_inspect (&c, &different));
  return status == MM_EXIT_OK && different ? MM_EXIT_FAILURE : status;
}

/* minimind-lora-merge -- fold adapters into their base.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct lora_merge_config and calls lora_merge() once.  */

#include <config.h>

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "lora-merge.h"

#define PROGRAM "minimind-lora-merge"

static const char doc[] =
  "Fold LoRA adapters into the weights of their base: W + s B A for each linear layer.  The result is a model "
  "folder that needs no adapter."
  "\v"
  "Sums are made in double and rounded once.  An adapter that was trained on other weights, one that is merged "
  "already and one that changes nothing are refused.";

enum { OPT_BASE = 0x100, OPT_ADAPTER, OPT_DTYPE, OPT_PROBE, OPT_FORCE };

static const char *const dtypes[] = { "f32", "bf16", "f16", NULL };
static const enum mm_dtype dtype_of[] = { MM_F32, MM_BF16, MM_F16 };

static const struct argp_option options[] = {
  { "base", OPT_BASE, "DIR", 0, "the model folder, or a run's newest checkpoint, that is merged into", 0 },
  { "adapter", OPT_ADAPTER, "DIR[:X]", 0, "an adapter folder as PEFT writes it, or a run's newest "
    "checkpoint of one; again for more, each times its weight X [1]", 0 },
  { "output", 'o', "DIR", 0, "write the merged model folder DIR", 0 },
  { "dtype", OPT_DTYPE, "TYPE", 0, "store weights as f32, bf16 or f16 [f32]", 0 },
  { "probe", OPT_PROBE, "TEXT", 0, "tell how far the logits of TEXT are from those of the base, and from the base "
    "with the adapter applied", 0 },
  { "force", OPT_FORCE, NULL, 0, "replace an existing DIR", 0 },
  { 0 }
};

/* DIR or DIR:WEIGHT.  */
static void
add_adapter (struct argp_state *state, struct lora_merge_config *c, char *arg)
{
  char *colon = strrchr (arg, ':'), *end;
  double weight = colon ? strtod (colon + 1, &end) : 1;
  bool has_weight = colon && end != colon + 1 && *end == '\0';

  if (has_weight)
    *colon = '\0';
  c->adapters = realloc (c->adapters, (c->n_adapters + 1) * sizeof *c->adapters);
  if (!c->adapters)
    argp_failure (state, MM_EXIT_FAILURE, 0, "no memory");
  c->adapters[c->n_adapters++] = (struct lora_merge_adapter) {
    mm_cli_path (state, "adapter", arg), has_weight ? weight : 1
  };
  if (has_weight && (!(weight > -1e6) || !(weight < 1e6) || weight == 0))
    argp_error (state, "--adapter: want a weight that is not 0, found %g", weight);
}

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct lora_merge_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &c->compute;
      break;
    case OPT_BASE:
      c->base = mm_cli_path (state, "base", arg);
      break;
    case OPT_ADAPTER:
      add_adapter (state, c, arg);
      break;
    case 'o':
      c->output = mm_cli_path (state, "output", arg);
      break;
    case OPT_DTYPE:
      c->dtype = dtype_of[mm_cli_choice (state, "dtype", arg, dtypes)];
      break;
    case OPT_PROBE:
      c->probe = arg;
      break;
    case OPT_FORCE:
      c->force = true;
      break;
    case ARGP_KEY_ARG:
      argp_error (state, "extra operand '%s'", arg);
      break;
    case ARGP_KEY_END:
      if (!c->base || !c->n_adapters || !c->output)
        argp_error (state, "give --base=DIR, --adapter=DIR and -o DIR");
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
  = { options, parse_opt, "--base=DIR --adapter=DIR -o DIR", doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct lora_merge_config c = { .dtype = MM_F32 };
  mm_status st;

  mm_cli_begin (PROGRAM);
  argp_parse (&parser, argc, argv, 0, NULL, &c);
  st = lora_merge (&c);
  free (c.adapters);
  return mm_exit_status (PROGRAM, st);
}

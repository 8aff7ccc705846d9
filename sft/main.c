/* minimind-sft -- go on training a model: all of it, or a LoRA adapter on it.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct mm_train_config and calls mm_train once: the loop is pretrain's.  */

#include <config.h>

#include <argp.h>
#include <math.h>

#include <minimind/cli.h>
#include <minimind/lora.h>
#include <minimind/train.h>

#define PROGRAM "minimind-sft"

static const double full_rate = 2e-5, lora_rate = 1e-4;

static const char doc[] =
  "Fine-tune the model --model on a dataset folder that minimind-pack made, as of conversations: whole, or, with"
  " --lora-rank, frozen under an adapter of low rank."
  "\v"
  "Checkpoints are HuggingFace model folders; with --lora-rank they are adapter folders as PEFT reads them, which"
  " minimind-lora-merge folds into the model.  Their bytes depend on the model, the data, the options and the seed, and"
  " neither on the number of ranks or threads nor on interruptions: the same command, given again, goes on from the"
  " newest checkpoint and ends in the same bits.";

enum { OPT_RANK = 0x100, OPT_ALPHA, OPT_TARGETS, MAX_RANK = 1 << 16 };

static const struct argp_option options[] = {
  { NULL, 0, NULL, 0, "Adapter:", 1 },
  { "lora-rank", OPT_RANK, "R", 0, "freeze the model and train a LoRA adapter of rank R", 1 },
  { "lora-alpha", OPT_ALPHA, "A", 0, "scale what it adds by A / R [2 R]", 1 },
  { "lora-targets", OPT_TARGETS, "LIST", 0,
    "linear layers that get one, by comma: q, k, v, o, gate, up, down, or all-linear [all of them]", 1 },
  { 0 }
};

struct arguments
{
  struct mm_train_config config;
  const char *targets;          /* NULL: not given */
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct arguments *args = state->input;
  struct mm_train_config *c = &args->config;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[1] = c;
      break;
    case OPT_RANK:
      c->lora_rank = (uint32_t) mm_cli_integer (state, "lora-rank", arg, 1, MAX_RANK);
      break;
    case OPT_ALPHA:
      c->lora_alpha = mm_cli_number (state, "lora-alpha", arg, 1e-6, 1e6);
      break;
    case OPT_TARGETS:
      args->targets = arg;
      if (mm_lora_targets (arg, &c->lora_targets) < 0)
        argp_error (state, "--lora-targets=%s: %s", arg, mm_error_message ());
      break;
    case ARGP_KEY_ARG:
      argp_error (state, "extra operand '%s'", arg);
      break;
    case ARGP_KEY_END:
      if (!c->lora_rank && (c->lora_alpha > 0 || args->targets))
        argp_error (state, "--lora-alpha and --lora-targets are for --lora-rank=R");
      if (c->lora_alpha == 0)
        c->lora_alpha = 2.0 * c->lora_rank;
      if (isnan (c->learning_rate))
        c->learning_rate = c->lora_rank ? lora_rate : full_rate;
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

static const struct argp parser
  = { options, parse_opt, "--model=DIR --data=DIR --output=DIR", doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct arguments args = { .targets = NULL };

  mm_cli_begin (PROGRAM);
  mm_train_defaults (&args.config);
  args.config.fine_tune = true;
  args.config.learning_rate = NAN;
  argp_parse (&parser, argc, argv, 0, NULL, &args);
  return mm_exit_status (PROGRAM, mm_train (&args.config));
}

/* options.c -- the training options: one table for the parser and for --help.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/lora.h>
#include <minimind/thread.h>
#include <minimind/train.h>

#include "state.h"

enum { MANY = 1 << 30 };        /* steps or sequences: beyond any use, far from overflow */

enum
{
  OPT_DATA = 0x200, OPT_MODEL, OPT_GLOBAL_BATCH, OPT_MICRO_BATCH, OPT_LEARNING_RATE,
  OPT_LR_BASE_BATCH, OPT_SCHEDULE, OPT_MIN_LR_RATIO, OPT_WARMUP, OPT_WEIGHT_DECAY, OPT_BETAS,
  OPT_GRAD_CLIP, OPT_STEPS, OPT_EPOCHS, OPT_STOP_AFTER, OPT_SAVE_EVERY, OPT_KEEP, OPT_RESUME,
  OPT_ACCEPT, OPT_EVAL_EVERY, OPT_LOG_EVERY, OPT_SAMPLE_EVERY, OPT_SAMPLE_PROMPT,
  OPT_METRICS_FILE, OPT_DRY_RUN, OPT_TRANSPORT, OPT_TIMEOUT, OPT_ZERO, OPT_REDUCE, OPT_BUCKET_MB,
  OPT_CHECK_REPLICAS, OPT_BALANCE
};

static const struct argp_option options[] = {
  { NULL, 0, NULL, 0, "Data and results:", 10 },
  { "data", OPT_DATA, "DIR", 0, "train on the dataset folder DIR, made by minimind-pack", 10 },
  { "output", 'o', "DIR", 0, "run folder: checkpoints DIR/step-*, logs DIR/log", 10 },
  { "model", OPT_MODEL, "DIR", 0, "start from the weights of the model or run folder DIR", 10 },
  { "dry-run", OPT_DRY_RUN, NULL, 0,
    "print parameters, memory, arithmetic and files of the run; train nothing", 10 },

  { NULL, 0, NULL, 0, "Batch and length:", 11 },
  { "global-batch", OPT_GLOBAL_BATCH, "SEQS", 0, "sequences of one optimizer step [64]", 11 },
  { "micro-batch", OPT_MICRO_BATCH, "SEQS", 0, "sequences that run at a time [4]", 11 },
  { "steps", OPT_STEPS, "N", 0, "length of the whole run in optimizer steps", 11 },
  { "epochs", OPT_EPOCHS, "X", 0, "length of the whole run in passes over the data [1]", 11 },
  { "stop-after", OPT_STOP_AFTER, "N", 0,
    "save and leave with status 75 after N more steps; the next start goes on", 11 },

  { NULL, 0, NULL, 0, "Optimizer:", 12 },
  { "learning-rate", OPT_LEARNING_RATE, "RATE", 0, "peak learning rate [5e-4]", 12 },
  { "lr-base-batch", OPT_LR_BASE_BATCH, "SEQS", 0,
    "the rate is meant for SEQS sequences a step: scale it by global-batch / SEQS", 12 },
  { "schedule", OPT_SCHEDULE, "KIND", 0,
    "cosine, linear, constant or wsd (constant, then linear over the last fifth) [cosine]", 12 },
  { "min-lr-ratio", OPT_MIN_LR_RATIO, "X", 0, "final rate / peak rate [0.1]", 12 },
  { "warmup", OPT_WARMUP, "STEPS", 0, "steps of linear warm-up [0]", 12 },
  { "weight-decay", OPT_WEIGHT_DECAY, "X", 0, "decoupled decay, on matrices only [0.1]", 12 },
  { "betas", OPT_BETAS, "B1,B2", 0, "AdamW's averaging factors [0.9,0.95]", 12 },
  { "grad-clip", OPT_GRAD_CLIP, "NORM", 0, "limit of the gradient's norm, 0: none [1.0]", 12 },

  { NULL, 0, NULL, 0, "Checkpoints:", 13 },
  { "save-every", OPT_SAVE_EVERY, "N", 0,
    "checkpoint each N steps [100]; 0: at the end only", 13 },
  { "keep", OPT_KEEP, "N", 0, "keep the newest N checkpoints [3]; 0: all", 13 },
  { "resume", OPT_RESUME, "auto|never|DIR", 0,
    "go on from the newest checkpoint of the run folder, never, or from DIR [auto]", 13 },
  { "accept", OPT_ACCEPT, "SETTING,...", 0,
    "resume although these settings differ from the checkpoint's", 13 },

  { NULL, 0, NULL, 0, "Reports:", 14 },
  { "log-every", OPT_LOG_EVERY, "N", 0, "a line of metrics each N steps [1]; 0: none", 14 },
  { "eval-every", OPT_EVAL_EVERY, "N", 0,
    "validation loss each N steps and at the end [0: never]", 14 },
  { "sample-every", OPT_SAMPLE_EVERY, "N", 0, "show a sample of text each N steps [0: never]", 14 },
  { "sample-prompt", OPT_SAMPLE_PROMPT, "TEXT", 0, "how the sample begins", 14 },
  { "metrics-file", OPT_METRICS_FILE, "FILE", 0, "write the metrics to FILE, too", 14 },

  { NULL, 0, NULL, 0, "Ranks (started by minimind-launch or mpirun):", 15 },
  { "zero", OPT_ZERO, "0|1", 0, "1: share moments and update out over the ranks; same bits, less memory [0]", 15 },
  { "reduce", OPT_REDUCE, "exact|fast", 0,
    "sum gradients over ranks exactly, as integers, or as float32: half the data, but bits that depend on the number"
    " of ranks [exact]", 15 },
  { "bucket-mb", OPT_BUCKET_MB, "N", 0, "sum gradients in pieces of N MB [25]", 15 },
  { "balance", OPT_BALANCE, NULL, 0,
    "deal micro-batches to ranks by measured speed, where ranks are unequal; same bits", 15 },
  { "timeout", OPT_TIMEOUT, "SECONDS", 0,
    "leave with status 75 when a rank has not come for SECONDS; 0: wait for ever [1800]", 15 },
  { "check-replicas", OPT_CHECK_REPLICAS, "N", 0,
    "compare the ranks' parameters each N steps, beside the start and each save [0: only there]", 15 },
  { "transport", OPT_TRANSPORT, "NAME", 0, "how ranks talk: auto, self (one process), shm, mpi or mpi+shm [auto]", 15 },
  { 0 }
};

void
mm_train_defaults (struct mm_train_config *c)
{
  *c = (struct mm_train_config) {
    .global_batch = 64, .micro_batch = 4, .learning_rate = 5e-4, .schedule = MM_COSINE,
    .min_lr_ratio = 0.1, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95, .adam_eps = 1e-8,
    .grad_clip = 1, .save_every = 100, .log_every = 1, .keep = 3, .resume = "auto",
    .lora_targets = (1u << MM_LORA_TARGETS) - 1, .sample_prompt = "", .transport = "auto", .timeout = 1800,
    .bucket_mb = 25,
    .compute = { .threads = mm_cpus_allowed (), .seed = 42, .backend = "auto" },
  };
}

static uint64_t
parse_count (struct argp_state *state, const char *name, const char *arg, int64_t min)
{
  return (uint64_t) mm_cli_integer (state, name, arg, min, MANY);
}

/* "0.9,0.95": cut at the comma in place of a copy by the first number's length.  */
static void
parse_betas (struct argp_state *state, const char *arg, struct mm_train_config *c)
{
  const double below_one = 0x1.fffffep-1;       /* the largest float32 under 1 */
  const char *comma = strchr (arg, ',');
  char first[32] = "";

  if (!comma || (size_t) (comma - arg) >= sizeof first)
    argp_error (state, "--betas=%s: want two numbers, as in 0.9,0.95", arg);
  else
    {
      memcpy (first, arg, (size_t) (comma - arg));
      c->beta1 = mm_cli_number (state, "betas", first, 0, below_one);
      c->beta2 = mm_cli_number (state, "betas", comma + 1, 0, below_one);
    }
}

static void
check_accept (struct argp_state *state, const char *list)
{
  char text[512];

  if (!mm_state_may_accept (list))
    argp_error (state, "--accept=%s: want some of %s", list,
                mm_state_accept_names (text, sizeof text));
}

static error_t
parse_lengths (int key, char *arg, struct argp_state *state, struct mm_train_config *c)
{
  switch (key)
    {
    case OPT_GLOBAL_BATCH:
      c->global_batch = parse_count (state, "global-batch", arg, 1);
      break;
    case OPT_MICRO_BATCH:
      c->micro_batch = parse_count (state, "micro-batch", arg, 1);
      break;
    case OPT_STEPS:
      c->steps = parse_count (state, "steps", arg, 1);
      break;
    case OPT_EPOCHS:
      c->epochs = mm_cli_number (state, "epochs", arg, 1e-6, 1e6);
      break;
    case OPT_WARMUP:
      c->warmup = parse_count (state, "warmup", arg, 0);
      break;
    case OPT_STOP_AFTER:
      c->stop_after = parse_count (state, "stop-after", arg, 1);
      break;
    case OPT_SAVE_EVERY:
      c->save_every = parse_count (state, "save-every", arg, 0);
      break;
    case OPT_EVAL_EVERY:
      c->eval_every = parse_count (state, "eval-every", arg, 0);
      break;
    case OPT_LOG_EVERY:
      c->log_every = parse_count (state, "log-every", arg, 0);
      break;
    case OPT_SAMPLE_EVERY:
      c->sample_every = parse_count (state, "sample-every", arg, 0);
      break;
    case OPT_KEEP:
      c->keep = (int) parse_count (state, "keep", arg, 0);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static error_t
parse_optimizer (int key, char *arg, struct argp_state *state, struct mm_train_config *c)
{
  switch (key)
    {
    case OPT_LEARNING_RATE:
      c->learning_rate = mm_cli_number (state, "learning-rate", arg, 0, 10);
      break;
    case OPT_LR_BASE_BATCH:
      c->lr_base_batch = parse_count (state, "lr-base-batch", arg, 1);
      break;
    case OPT_SCHEDULE:
      c->schedule = (enum mm_schedule_kind) mm_cli_choice (state, "schedule", arg, mm_schedule_names);
      break;
    case OPT_MIN_LR_RATIO:
      c->min_lr_ratio = mm_cli_number (state, "min-lr-ratio", arg, 0, 1);
      break;
    case OPT_WEIGHT_DECAY:
      c->weight_decay = mm_cli_number (state, "weight-decay", arg, 0, 10);
      break;
    case OPT_BETAS:
      parse_betas (state, arg, c);
      break;
    case OPT_GRAD_CLIP:
      c->grad_clip = mm_cli_number (state, "grad-clip", arg, 0, 1e30);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static error_t
parse_ranks (int key, char *arg, struct argp_state *state, struct mm_train_config *c)
{
  static const char *const reductions[] = { "exact", "fast", NULL };

  switch (key)
    {
    case OPT_TRANSPORT:
      c->transport = arg;
      break;
    case OPT_TIMEOUT:
      c->timeout = mm_cli_number (state, "timeout", arg, 0, 1e9);
      break;
    case OPT_ZERO:
      c->zero = (int) mm_cli_integer (state, "zero", arg, 0, 1);
      break;
    case OPT_REDUCE:
      c->fast = mm_cli_choice (state, "reduce", arg, reductions) == 1;
      break;
    case OPT_BUCKET_MB:
      c->bucket_mb = (uint64_t) mm_cli_integer (state, "bucket-mb", arg, 1, 1 << 20);
      break;
    case OPT_BALANCE:
      c->balance = true;
      break;
    case OPT_CHECK_REPLICAS:
      c->check_replicas = parse_count (state, "check-replicas", arg, 0);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static void
check_end (struct argp_state *state, const struct mm_train_config *c)
{
  if (!c->data)
    argp_error (state, "give --data=DIR, a dataset made by minimind-pack");
  if (c->fine_tune && !c->model)
    argp_error (state, "give --model=DIR, the model to begin with");
  if (!c->output && !c->dry_run)
    argp_error (state, "give --output=DIR or --dry-run");
  if ((c->preset != NULL) + (c->config != NULL) + (c->model != NULL) > 1)
    argp_error (state, "give only one of --preset, --config and --model");
  if (c->steps > 0 && c->epochs > 0)
    argp_error (state, "give only one of --steps and --epochs");
}

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct mm_train_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &c->compute;
      break;
    case OPT_DATA:
      c->data = mm_cli_path (state, "data", arg);
      break;
    case 'o':
      c->output = mm_cli_path (state, "output", arg);
      break;
    case OPT_MODEL:
      c->model = mm_cli_path (state, "model", arg);
      break;
    case OPT_DRY_RUN:
      c->dry_run = true;
      break;
    case OPT_RESUME:
      c->resume = mm_cli_path (state, "resume", arg);
      break;
    case OPT_ACCEPT:
      check_accept (state, arg);
      c->accept = arg;
      break;
    case OPT_SAMPLE_PROMPT:
      c->sample_prompt = arg;
      break;
    case OPT_METRICS_FILE:
      c->metrics_file = mm_cli_path (state, "metrics-file", arg);
      break;
    case ARGP_KEY_END:
      check_end (state, c);
      break;
    default:
      return parse_lengths (key, arg, state, c) == 0 || parse_ranks (key, arg, state, c) == 0
             ? 0 : parse_optimizer (key, arg, state, c);
    }
  return 0;
}

static const struct argp_child children[] = {
  { &mm_compute_argp, 0, NULL, 16 },
  { 0 }
};

/* The trainers' own defaults in --help.  */
static char *
filter_help (int key, const char *text, void *input)
{
  const struct mm_train_config *c = input;

  if (key == OPT_LEARNING_RATE && c && c->fine_tune)
    return strdup ("peak learning rate [2e-5, of an adapter 1e-4]");
  return (char *) text;
}

const struct argp mm_train_argp = { options, parse_opt, NULL, NULL, children, filter_help, NULL };

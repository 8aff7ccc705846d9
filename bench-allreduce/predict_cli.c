/* predict_cli.c -- the options of the prediction.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "bench-allreduce.h"

enum
{
  OPT_PREDICT = 0x200, OPT_RANKS_PER_NODE, OPT_LINK, OPT_LATENCY, OPT_STEP_SECONDS, OPT_GLOBAL_BATCH, OPT_MICRO_BATCH,
  OPT_SEQ_LEN, OPT_PLOT
};

static const struct argp_option options[] = {
  { "predict", OPT_PREDICT, "PRESET", 0, "predict training steps of this model", 0 },
  { "ranks-per-node", OPT_RANKS_PER_NODE, "N", 0, "ranks joined as those of this run are [those of this run, or "
    "without a --link all]", 0 },
  { "link", OPT_LINK, "GBPS", 0, "gigabytes a second between nodes, or between all ranks where this run has one", 0 },
  { "latency", OPT_LATENCY, "US", 0, "microseconds of a message on the link [10]", 0 },
  { "step-seconds", OPT_STEP_SECONDS, "S", 0, "what one rank takes for the whole global batch [measured here]", 0 },
  { "global-batch", OPT_GLOBAL_BATCH, "N", 0, "sequences of a step [64]", 0 },
  { "micro-batch", OPT_MICRO_BATCH, "N", 0, "sequences that a rank runs at a time [4]", 0 },
  { "seq-len", OPT_SEQ_LEN, "N", 0, "tokens of a sequence [512]", 0 },
  { "plot", OPT_PLOT, "FILE", 0, "draw the prediction into the SVG file FILE, by gnuplot", 0 },
  { 0 }
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct bench_config *c = state->input;

  switch (key)
    {
    case OPT_PREDICT:
      c->predict = arg;
      break;
    case OPT_RANKS_PER_NODE:
      c->ranks_per_node = (int) mm_cli_integer (state, "ranks-per-node", arg, 1, 1024);
      break;
    case OPT_LINK:
      c->link = mm_cli_number (state, "link", arg, 1e-6, 1e6);
      break;
    case OPT_LATENCY:
      c->latency = mm_cli_number (state, "latency", arg, 0, 1e6);
      break;
    case OPT_STEP_SECONDS:
      c->step_seconds = mm_cli_number (state, "step-seconds", arg, 1e-9, 1e9);
      break;
    case OPT_GLOBAL_BATCH:
      c->global_batch = (uint64_t) mm_cli_integer (state, "global-batch", arg, 1, 1 << 30);
      break;
    case OPT_MICRO_BATCH:
      c->micro_batch = (uint64_t) mm_cli_integer (state, "micro-batch", arg, 1, 65536);
      break;
    case OPT_SEQ_LEN:
      c->seq_len = (size_t) mm_cli_integer (state, "seq-len", arg, 1, 1 << 20);
      break;
    case OPT_PLOT:
      c->plot = mm_cli_path (state, "plot", arg);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

const struct argp bench_predict_argp = { options, parse_opt, NULL, NULL, NULL, NULL, NULL };

/* minimind-bench-allreduce -- how fast the ranks add up, and what that means for training.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct bench_config and calls bench_allreduce() once.  */

#include <config.h>

#include <argp.h>
#include <string.h>

#include <minimind/thread.h>

#include "bench-allreduce.h"

#define PROGRAM "minimind-bench-allreduce"

static const char doc[] =
  "Measure the all-reduce among the ranks that minimind-launch or mpirun started: every size, type and algorithm, each "
  "result checked, beside the limit of the machine."
  "\v"
  "With --predict: from what was measured, or a link that you name, what a training step takes on 1 to 1,024 ranks.";

enum
{
  OPT_MIN_BYTES = 0x100, OPT_MAX_BYTES, OPT_FACTOR, OPT_DTYPE, OPT_ALGORITHM, OPT_ITERATIONS, OPT_JSON, OPT_TRANSPORT,
  OPT_TIMEOUT
};

static const struct argp_option options[] = {
  { "min-bytes", OPT_MIN_BYTES, "SIZE", 0, "smallest buffer of a rank; K, M, G are understood [1K]", 0 },
  { "max-bytes", OPT_MAX_BYTES, "SIZE", 0, "largest buffer of a rank [128M]", 0 },
  { "factor", OPT_FACTOR, "X", 0, "each size is X times the one before, the last --max-bytes [8]", 0 },
  { "dtype", OPT_DTYPE, "LIST", 0, "of float32, bfloat16, int64 [all]", 0 },
  { "algorithm", OPT_ALGORITHM, "LIST", 0, "of sum, copy, scatter-gather, mpi, limit, memcpy [all]", 0 },
  { "iterations", OPT_ITERATIONS, "N", 0, "time each size N times [half a second's worth]", 0 },
  { "transport", OPT_TRANSPORT, "NAME", 0, "auto, or one that --version lists [auto]", 0 },
  { "timeout", OPT_TIMEOUT, "SECONDS", 0, "give up when a rank does not answer [60]", 0 },
  { "json", OPT_JSON, NULL, 0, "print a JSON object in place of the table", 0 },
  { 0 }
};

/* The set that LIST, words by comma, takes of NAMES.  */
static unsigned
parse_set (struct argp_state *state, const char *option, char *list, const char *const *names)
{
  unsigned set = 0;

  for (char *save, *word = strtok_r (list, ",", &save); word; word = strtok_r (NULL, ",", &save))
    set |= 1u << mm_cli_choice (state, option, word, names);
  if (!set)
    argp_error (state, "--%s: want a name", option);
  return set;
}

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct bench_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = c;
      state->child_inputs[1] = &c->compute;
      break;
    case OPT_MIN_BYTES:
      c->min_bytes = mm_cli_size (state, "min-bytes", arg, 1, UINT64_C (1) << 40);
      break;
    case OPT_MAX_BYTES:
      c->max_bytes = mm_cli_size (state, "max-bytes", arg, 1, UINT64_C (1) << 40);
      break;
    case OPT_FACTOR:
      c->factor = mm_cli_number (state, "factor", arg, 1.1, 1e6);
      break;
    case OPT_DTYPE:
      c->dtypes = parse_set (state, "dtype", arg, bench_dtype_names);
      break;
    case OPT_ALGORITHM:
      c->algorithms = parse_set (state, "algorithm", arg, bench_algorithm_names);
      break;
    case OPT_ITERATIONS:
      c->iterations = (int) mm_cli_integer (state, "iterations", arg, 1, BENCH_MAX_ITERATIONS);
      break;
    case OPT_TRANSPORT:
      c->transport = arg;
      break;
    case OPT_TIMEOUT:
      c->timeout = mm_cli_number (state, "timeout", arg, 1, 1e6);
      break;
    case OPT_JSON:
      c->json = true;
      break;
    case ARGP_KEY_ARG:
      argp_error (state, "extra operand '%s'", arg);
      break;
    case ARGP_KEY_END:
      if (c->min_bytes > c->max_bytes)
        argp_error (state, "--min-bytes is more than --max-bytes");
      if (!c->predict && (c->link > 0 || c->plot || c->step_seconds > 0))
        argp_error (state, "--link, --step-seconds and --plot go with --predict");
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = {
  { &bench_predict_argp, 0, "Prediction:", 1 },
  { &mm_compute_argp, 0, NULL, 2 },
  { &mm_common_argp, 0, NULL, 3 },
  { 0 }
};

static const struct argp parser = { options, parse_opt, NULL, doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct bench_config c = { .transport = "auto", .timeout = 60, .min_bytes = 1 << 10, .max_bytes = 128 << 20,
                            .factor = 8, .dtypes = BENCH_ALL, .algorithms = BENCH_ALL, .latency = 10,
                            .global_batch = 64, .micro_batch = 4, .seq_len = 512 };

  mm_cli_begin (PROGRAM);
  argp_parse (&parser, argc, argv, 0, NULL, &c);
  return mm_exit_status (PROGRAM, bench_allreduce (&c));
}

/* minimind-pack -- token files into a dataset folder, rows ready to train on.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct pack_config and calls pack() once.  What becomes of a document is
   decided in survey.c and plan.c, the order of the rows in mix.c, and rows are filled in rows.c.  */

#include <config.h>

#include <argp.h>

#include <minimind/cli.h>
#include <minimind/dataset.h>
#include <minimind/thread.h>

#include "pack.h"
#include "sources.h"

#define PROGRAM "minimind-pack"

static const char doc[] =
  "Make a dataset folder of token files: rows of --seq-len tokens with document boundaries, "
  "split into a training and a validation part."
  "\v"
  "Strategies: concat lays documents end to end and cuts rows from the stream, so that no token "
  "is lost but a short last row; fit keeps documents whole, as many in a row as fit best; pad "
  "gives each document a row of its own.  Attention and positions restart at each document under "
  "all three.\n\n"
  "Token files come from minimind-tokenize and may be larger than memory; those that are not part of a mix are "
  "one stream, in their order.  Shards of other trainers are read too: NumPy's .npy, llm.c's and nanoGPT's "
  ".bin; they need --tokenizer.  All must have been made with the same tokenizer.";

static const char args_doc[] = "TOKENS... -o DIR\n--mix=FILE:WEIGHT... [TOKENS...] -o DIR";

enum { OPT_SEQ_LEN = 0x100, OPT_STRATEGY, OPT_VALIDATION, OPT_SHARD_ROWS, OPT_SEED, OPT_FORCE,
       OPT_JSON, OPT_MIX, OPT_DEDUPE, OPT_TOKENIZER, OPT_SPLIT, OPT_FORMAT, OPT_DRY_RUN, OPT_THREADS };

static const char *const dedupe_names[] = { "exact", "none", NULL };

static const struct argp_option options[] = {
  { "output", 'o', "DIR", 0, "make the dataset folder DIR", 0 },
  { "seq-len", OPT_SEQ_LEN, "N", 0, "train on N tokens a row [512]", 0 },
  { "strategy", OPT_STRATEGY, "NAME", 0,
    "fill rows by concat, fit or pad [fit for conversations, else concat]", 0 },
  { "mix", OPT_MIX, "FILE:WEIGHT", 0, "let FILE's share of the targets be WEIGHT by the sum of all weights; TOKENS "
    "beside it have weight 1 together; smaller inputs are repeated", 0 },
  { "dedupe", OPT_DEDUPE, "HOW", 0, "exact: of equal documents keep the first; none [none]", 0 },
  { "validation", OPT_VALIDATION, "SHARE", 0, "hold out SHARE, 0 to 0.5, for validation [0.01]", 0 },
  { "shard-rows", OPT_SHARD_ROWS, "N", 0, "begin a new file every N rows [one file a split]", 0 },
  { "tokenizer", OPT_TOKENIZER, "FILE", 0,
    "the tokenizer.json, or a folder with one, of inputs that do not hold theirs", 0 },
  { "split-at-eos", OPT_SPLIT, NULL, 0,
    "documents of such inputs end at the tokenizer's eos [a file is one document]", 0 },
  { "output-format", OPT_FORMAT, "NAME", 0, "write a dataset, or the .bin files of llmc [dataset]", 0 },
  { "seed", OPT_SEED, "N", 0, "choose the documents held out by N [42]", 0 },
  { "threads", OPT_THREADS, "N", 0, "hash with N threads [the CPUs allowed]", 0 },
  { "force", OPT_FORCE, NULL, 0, "replace DIR if it exists", 0 },
  { "dry-run", OPT_DRY_RUN, NULL, 0, "say what would be made, and write nothing", 0 },
  { "json", OPT_JSON, NULL, 0, "print the report as a JSON object", 0 },
  { 0 }
};

/* Everything was read.  */
static void
check_config (struct argp_state *state, const struct pack_config *c)
{
  if (c->n_inputs == 0)
    argp_error (state, "give at least one token file");
  if (!c->output && !c->dry_run)
    argp_error (state, "give --output=DIR");
  if (c->format == PACK_LLMC && c->strategy != PACK_BY_INPUT && c->strategy != PACK_CONCAT)
    argp_error (state, "llm.c's files have no rows: --strategy does not go with --output-format=llmc");
  if (c->split_at_eos && !c->tokenizer)
    argp_error (state, "--split-at-eos needs --tokenizer=FILE");
}

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
    case OPT_MIX:
      sources_add_mix (state, c, arg);
      break;
    case OPT_DEDUPE:
      c->dedupe = mm_cli_choice (state, "dedupe", arg, dedupe_names) == 0;
      break;
    case OPT_TOKENIZER:
      c->tokenizer = mm_cli_path (state, "tokenizer", arg);
      break;
    case OPT_SPLIT:
      c->split_at_eos = true;
      break;
    case OPT_FORMAT:
      c->format = (enum pack_format) mm_cli_choice (state, "output-format", arg, pack_format_names);
      break;
    case OPT_THREADS:
      c->threads = (int) mm_cli_integer (state, "threads", arg, 1, 1024);
      break;
    case OPT_FORCE:
      c->force = true;
      break;
    case OPT_DRY_RUN:
      c->dry_run = true;
      break;
    case OPT_JSON:
      c->json = true;
      break;
    case ARGP_KEY_ARGS:
      sources_add_args (c, state->argv + state->next, (size_t) (state->argc - state->next));
      break;
    case ARGP_KEY_END:
      check_config (state, c);
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
  struct pack_config c = { .seq_len = 512, .strategy = PACK_BY_INPUT, .validation = 0.01, .seed = 42,
                           .threads = mm_cpus_allowed () };
  mm_status st;

  mm_cli_begin (PROGRAM);
  st = sources_new (&c, (size_t) argc);
  if (st >= 0)
    {
      argp_parse (&parser, argc, argv, 0, NULL, &c);
      st = pack (&c);
    }
  sources_free (&c);
  return mm_exit_status (PROGRAM, st);
}

/* minimind-generate -- a model continues a text, or answers in a conversation.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct generate_config and calls generate() once.  How a token is
   chosen is mm_sample's.  */

#include <config.h>

#include <argp.h>
#include <string.h>

#include "generate.h"
#include "options.h"

#define PROGRAM "minimind-generate"

static const char doc[] =
  "Continue PROMPT, or standard input, with a model; print the text as it comes.  With --chat or --messages answer "
  "in a conversation."
  "\v"
  "The same prompt, options and --seed give the same text on every machine.  Generation stops at "
  "the end of a document, after --max-tokens or when the model's positions are used up.";

static const char args_doc[] = "--model=DIR [PROMPT]";

enum { OPT_MODEL = 0x100, OPT_ADAPTER, OPT_TEMPERATURE, OPT_TOP_K, OPT_TOP_P, OPT_MAX_TOKENS, OPT_IGNORE_EOS,
       OPT_BOS, OPT_PARSE_SPECIAL, OPT_ECHO, OPT_JSON, OPT_SCORE };

#define DEFAULT_TOKENS SIZE_MAX /* what --max-tokens is until it is known what for */

static const struct argp_option options[] = {
  { "model", OPT_MODEL, "DIR", 0, "use this model folder, or a run's newest checkpoint", 0 },
  { "adapter", OPT_ADAPTER, "DIR", 0, "with this LoRA adapter's folder, or a run's newest adapter, applied to it", 0 },
  { "temperature", OPT_TEMPERATURE, "X", 0,
    "divide logits by X: below 1 more likely, above 1 more varied; 0: the likeliest token [0.8]", 0 },
  { "top-k", OPT_TOP_K, "N", 0, "choose among the N likeliest tokens; 0: all [0]", 0 },
  { "top-p", OPT_TOP_P, "P", 0, "choose among the likeliest that together have probability P [0.95]", 0 },
  { "max-tokens", OPT_MAX_TOKENS, "N", 0, "generate at most N tokens [256; in a conversation 1024]", 0 },
  { "ignore-eos", OPT_IGNORE_EOS, NULL, 0, "go on after the end of a document", 0 },
  { "bos", OPT_BOS, NULL, 0, "put the tokenizer's bos in front, as tokenize --bos does", 0 },
  { "parse-special", OPT_PARSE_SPECIAL, NULL, 0, "special-token strings in the prompt are tokens", 0 },
  { "echo", OPT_ECHO, NULL, 0, "print the prompt too", 0 },
  { "json", OPT_JSON, NULL, 0, "print a JSON object at the end instead", 0 },
  { "score", OPT_SCORE, NULL, 0,
    "generate nothing: print position, id and loss of the prompt's tokens, as eval --losses does", 0 },
  { 0 }
};

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct generate_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &c->talk;
      state->child_inputs[1] = &c->compute;
      c->max_tokens = DEFAULT_TOKENS;
      break;
    case OPT_MODEL:
      c->model = mm_cli_path (state, "model", arg);
      break;
    case OPT_ADAPTER:
      c->adapter = mm_cli_path (state, "adapter", arg);
      break;
    case OPT_TEMPERATURE:
      c->sampling.temperature = mm_cli_number (state, "temperature", arg, 0, 1000);
      break;
    case OPT_TOP_K:
      c->sampling.top_k = (int) mm_cli_integer (state, "top-k", arg, 0, INT32_MAX);
      break;
    case OPT_TOP_P:
      c->sampling.top_p = mm_cli_number (state, "top-p", arg, 0, 1);
      break;
    case OPT_MAX_TOKENS:
      c->max_tokens = (size_t) mm_cli_integer (state, "max-tokens", arg, 0, INT32_MAX);
      break;
    case OPT_IGNORE_EOS:
      c->ignore_eos = true;
      break;
    case OPT_BOS:
      c->bos = true;
      break;
    case OPT_PARSE_SPECIAL:
      c->parse_special = true;
      break;
    case OPT_ECHO:
      c->echo = true;
      break;
    case OPT_JSON:
      c->json = true;
      break;
    case OPT_SCORE:
      c->score = true;
      break;
    case ARGP_KEY_ARG:
      if (state->arg_num > 0)
        argp_error (state, "extra operand '%s': quote the prompt", arg);
      c->prompt = strcmp (arg, "-") == 0 ? NULL : arg;
      break;
    case ARGP_KEY_END:
      if (!c->model)
        argp_error (state, "give --model=DIR");
      if (c->score && c->json)
        argp_error (state, "--score and --json exclude each other");
      if (generate_talks (&c->talk) && (c->score || c->bos || c->parse_special))
        argp_error (state, "--score, --bos and --parse-special are for a prompt, not for a conversation");
      if (c->talk.messages && (c->prompt || c->echo))
        argp_error (state, "--messages goes with neither PROMPT nor --echo");
      if (c->talk.chat && c->json)
        argp_error (state, "--json goes with --messages, not with --chat");
      if (c->max_tokens == DEFAULT_TOKENS)
        c->max_tokens = generate_talks (&c->talk) ? 1024 : 256;
      c->sampling.seed = c->compute.seed;
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = {
  { &generate_talk_argp, 0, "In a conversation:", 1 },
  { &mm_compute_argp, 0, NULL, 2 },
  { &mm_common_argp, 0, NULL, 3 },
  { 0 }
};

static const struct argp parser
  = { options, parse_opt, args_doc, doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  struct generate_config c = {
    .sampling = { .temperature = 0.8, .top_p = 0.95 },
  };

  mm_cli_begin (PROGRAM);
  argp_parse (&parser, argc, argv, 0, NULL, &c);
  return mm_exit_status (PROGRAM, generate (&c));
}

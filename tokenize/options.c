/* options.c -- the command line of minimind-tokenize.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/cli.h>

#include "tokenize.h"

static const char doc[] =
  "Encode the documents of INPUTS into a token file, by a byte-level BPE tokenizer.json; or count, "
  "show or decode tokens."
  "\v"
  "Inputs are texts, JSON, CSV and TSV, compressed or in archives too; \"-\" is standard input.  Ids are "
  "those of HuggingFace tokenizers.  Special tokens that stand in a text are text unless "
  "--parse-special asks otherwise.  Each text ends with the tokenizer's eos.  Conversations (of MiniMind, OpenAI, "
  "ShareGPT and Alpaca) are rendered by a chat template, and what the assistant says is marked as the target of "
  "training.";

static const char args_doc[] = "--tokenizer=FILE INPUT... -o FILE\n--decode TOKENS... [-o FILE]";

enum { OPT_TOKENIZER = 0x100, OPT_NO_EOS, OPT_BOS, OPT_EOS, OPT_PARSE_SPECIAL, OPT_DECODE,
       OPT_COUNT, OPT_DUMP_SAMPLE, OPT_JSON, OPT_THREADS, OPT_FORCE, OPT_OUTPUT_FORMAT,
       OPT_PART, OPT_CHAT_TEMPLATE, OPT_MINIMIND_COMPATIBLE };

static const struct argp_option options[] = {
  { "tokenizer", OPT_TOKENIZER, "FILE", 0, "use this tokenizer.json, or the one in folder FILE", 0 },
  { "output", 'o', "FILE", 0, "write the token file FILE; with --decode a text; \"-\" is standard output", 0 },
  { "output-format", OPT_OUTPUT_FORMAT, "NAME", 0,
    "write tokens, a token file; text, a line of ids for each document; or raw, little-endian integers "
    "of 16 bits, or 32 where the vocabulary needs them [tokens; to \"-\" text]", 0 },
  { "bos", OPT_BOS, NULL, 0, "begin each document with the tokenizer's bos", 0 },
  { "no-eos", OPT_NO_EOS, NULL, 0, "do not end documents with eos", 0 },
  { "eos", OPT_EOS, "TOKEN", 0, "end documents with TOKEN [the tokenizer's eos]", 0 },
  { "parse-special", OPT_PARSE_SPECIAL, NULL, 0, "make tokens of special tokens in texts", 0 },
  { "chat-template", OPT_CHAT_TEMPLATE, "NAME", 0,
    "render conversations by chatml, minimind2 or minimind-3 [auto: the one in tokenizer_config.json]", 0 },
  { "minimind-compatible", OPT_MINIMIND_COMPATIBLE, NULL, 0,
    "encode and label conversations exactly as MiniMind's SFTDataset does, for comparison", 0 },
  { "decode", OPT_DECODE, "KIND", OPTION_ARG_OPTIONAL,
    "turn INPUTS into text, or with --format=jsonl into lines: token files, or what --output-format=KIND made, "
    "text or raw, of which --tokenizer tells the vocabulary", 0 },
  { "count", OPT_COUNT, NULL, 0, "print the number of documents, tokens, targets and bytes; write nothing", 0 },
  { "dump-sample", OPT_DUMP_SAMPLE, "N", 0,
    "show the tokens of the first N documents, of conversations with targets; write nothing", 0 },
  { "json", OPT_JSON, NULL, 0, "print --count as a JSON object", 0 },
  { "part", OPT_PART, "K/N", 0,
    "only part K of N, for restarts and several machines; the parts in order are the whole", 0 },
  { "threads", OPT_THREADS, "N", 0, "use N threads [those this process may use]", 0 },
  { "force", OPT_FORCE, NULL, 0, "replace FILE if it exists", 0 },
  { 0 }
};

/* Options that only conversations have ask for them.  */
static void
check_chat (struct tokenize_config *c, struct argp_state *state)
{
  struct mm_document_options *o = &c->documents;

  if (!c->chat_template && !c->minimind_compatible)
    return;
  if (c->decode || (o->format != MM_DOCUMENTS_AUTO && o->format != MM_DOCUMENTS_VALUES))
    argp_error (state, "--chat-template and --minimind-compatible are for conversations, --format=chat");
  o->format = MM_DOCUMENTS_VALUES;
}

static void
check_mode (struct tokenize_config *c, struct argp_state *state)
{
  if (c->n_inputs == 0 && !c->documents.files_from)
    argp_error (state, "give at least one input");
  if (c->decode + c->count + (c->sample > 0) > 1)
    argp_error (state, "--decode, --count and --dump-sample exclude each other");
  if (c->no_eos && c->eos)
    argp_error (state, "--eos and --no-eos exclude each other");
  if (c->output_kind_given && (c->decode || c->count || c->sample))
    argp_error (state, "--output-format is for ids that are written");
  check_chat (c, state);
  if (c->json && !c->count)
    argp_error (state, "--json goes with --count");
  if (c->decode && c->documents.parts)
    argp_error (state, "--part is for texts");
  if (c->decode && c->documents.files_from)
    argp_error (state, "--files-from is for texts");
  if (!c->tokenizer && !(c->decode && c->decode_kind == OUTPUT_TOKENS))
    argp_error (state, "give --tokenizer=FILE");
  if (c->decode)
    return;
  if (c->output && (c->count || c->sample))
    argp_error (state, "--count and --dump-sample write nothing: leave --output out");
  if (!c->output && !c->count && !c->sample)
    argp_error (state, "give --output=FILE");
  if (c->output && strcmp (c->output, "-") == 0)
    {
      if (!c->output_kind_given)
        c->output_kind = OUTPUT_TEXT;
      else if (c->output_kind == OUTPUT_TOKENS)
        argp_error (state, "a token file is no stream: --output-format=text or raw goes to standard output");
    }
}

static void
parse_part (struct argp_state *state, const char *arg, struct mm_document_options *o)
{
  char *slash = strchr (arg, '/'), *end = NULL;
  uint64_t part, parts;

  errno = 0;
  part = isdigit ((unsigned char) *arg) ? strtoull (arg, &end, 10) : 0;
  parts = slash && end == slash && isdigit ((unsigned char) slash[1]) ? strtoull (slash + 1, &end, 10) : 0;
  if (errno || part < 1 || part > parts || parts > UINT_MAX || *end != '\0')
    argp_error (state, "--part=%s: want K/N, as in 1/8 to 8/8", arg);
  o->part = (unsigned) part;
  o->parts = (unsigned) parts;
}

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  static const char *const kinds[] = { "tokens", "text", "raw", NULL };
  struct tokenize_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &c->documents;
      break;
    case 'o':
      c->output = mm_cli_path (state, "output", arg);
      break;
    case OPT_OUTPUT_FORMAT:
      c->output_kind = (enum tokenize_output) mm_cli_choice (state, "output-format", arg, kinds);
      c->output_kind_given = true;
      break;
    case OPT_PART:
      parse_part (state, arg, &c->documents);
      break;
    case OPT_TOKENIZER:
      c->tokenizer = mm_cli_path (state, "tokenizer", arg);
      break;
    case OPT_BOS:
      c->bos = true;
      break;
    case OPT_NO_EOS:
      c->no_eos = true;
      break;
    case OPT_EOS:
      c->eos = arg;
      break;
    case OPT_PARSE_SPECIAL:
      c->parse_special = true;
      break;
    case OPT_CHAT_TEMPLATE:
      c->chat_template = arg;
      break;
    case OPT_MINIMIND_COMPATIBLE:
      c->minimind_compatible = true;
      break;
    case OPT_DECODE:
      c->decode = true;
      c->decode_kind = arg ? (enum tokenize_output) mm_cli_choice (state, "decode", arg, kinds) : OUTPUT_TOKENS;
      break;
    case OPT_COUNT:
      c->count = true;
      break;
    case OPT_DUMP_SAMPLE:
      c->sample = (uint64_t) mm_cli_integer (state, "dump-sample", arg, 1, INT64_MAX);
      break;
    case OPT_JSON:
      c->json = true;
      break;
    case OPT_THREADS:
      c->n_threads = (int) mm_cli_integer (state, "threads", arg, 1, 1024);
      break;
    case OPT_FORCE:
      c->force = true;
      break;
    case ARGP_KEY_ARGS:
      c->inputs = (const char *const *) (state->argv + state->next);
      c->n_inputs = (size_t) (state->argc - state->next);
      break;
    case ARGP_KEY_END:
      check_mode (c, state);
      break;
    default:
      return ARGP_ERR_UNKNOWN;
    }
  return 0;
}

static const struct argp_child children[] = {
  { &mm_documents_argp, 0, "Inputs:", 1 },
  { &mm_common_argp, 0, NULL, 2 },
  { 0 }
};

const struct argp tokenize_argp
  = { options, parse_opt, args_doc, doc, children, NULL, NULL };

/* minimind-train-tokenizer -- learn a byte-level BPE vocabulary from documents.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line into a struct train_tokenizer_config and calls train_tokenizer() once.
   The learning itself is in lib/text.  */

#include <config.h>

#include <argp.h>

#include <minimind/cli.h>
#include <minimind/memory.h>
#include <minimind/thread.h>

#include "train-tokenizer.h"

#define PROGRAM "minimind-train-tokenizer"

static const char doc[] =
  "Learn a byte-level BPE vocabulary from INPUTS and write tokenizer.json, with "
  "tokenizer_config.json beside it."
  "\v"
  "Inputs are texts, JSON, CSV and TSV, compressed or in archives too; \"-\" is standard input.  The "
  "vocabulary holds the special tokens, all 256 bytes, and merges; it is the one that HuggingFace's "
  "BpeTrainer learns when it is given one document as one sequence, and depends on nothing but the "
  "documents and these options: not on threads, memory or the order of documents.  With --from, TOKENIZER "
  "keeps all it has, ids included, and gets new merges behind its own and new tokens behind its last id.";

static const char args_doc[] = "INPUT... -o FILE\n--from=TOKENIZER INPUT... -o FILE";

enum { OPT_VOCAB_SIZE = 0x100, OPT_FROM, OPT_EXTEND_TO, OPT_PATTERN, OPT_SPECIAL, OPT_BOS, OPT_EOS, OPT_PAD,
       OPT_UNK, OPT_THREADS, OPT_MAX_MEMORY, OPT_JSON, OPT_FORCE };

static const struct argp_option options[] = {
  { "output", 'o', "FILE", 0,
    "write FILE, whose name ends in tokenizer.json, or into the folder FILE", 0 },
  { "vocab-size", OPT_VOCAB_SIZE, "N", 0, "learn until there are N tokens [6400]", 0 },
  { "from", OPT_FROM, "TOKENIZER", 0,
    "extend TOKENIZER, a file or folder, to --extend-to instead of beginning anew", 0 },
  { "extend-to", OPT_EXTEND_TO, "N", 0, "with --from: learn until the largest id is N - 1", 0 },
  { "pattern", OPT_PATTERN, "NAME", 0,
    "cut text into words as gpt2, qwen2, llama3, cl100k, o200k or qwen3.5 do [gpt2]", 0 },
  { "special", OPT_SPECIAL, "TOKEN", 0,
    "give TOKEN the next id from 0; may be repeated [<|endoftext|> <|im_start|> <|im_end|>]", 0 },
  { "bos", OPT_BOS, "TOKEN", 0, "begin documents with this special token [none; <|im_start|>]", 0 },
  { "eos", OPT_EOS, "TOKEN", 0, "end documents with it [the first one; <|im_end|>]", 0 },
  { "pad", OPT_PAD, "TOKEN", 0, "fill rows with it [the first one]", 0 },
  { "unk", OPT_UNK, "TOKEN", 0, "name it as the unknown token [none; <|endoftext|>]", 0 },
  { "threads", OPT_THREADS, "N", 0, "use N threads [those this process may use]", 0 },
  { "max-memory", OPT_MAX_MEMORY, "SIZE", 0,
    "use no more than SIZE bytes of memory (suffixes K, M, G); what does not fit goes to a temporary file in "
    "$TMPDIR, or else beside FILE [no limit]", 0 },
  { "json", OPT_JSON, NULL, 0, "print the report as JSON on standard output", 0 },
  { "force", OPT_FORCE, NULL, 0, "replace FILE if it exists", 0 },
  { 0 }
};

static void
add_special (struct train_tokenizer_config *c, const char *token, struct argp_state *state)
{
  if (mm_grow ("special tokens", &c->special, &c->special_capacity, c->n_special + 1,
               sizeof *c->special) < 0)
    argp_failure (state, MM_EXIT_FAILURE, 0, "%s", mm_error_message ());
  c->special[c->n_special++] = token;
}

static error_t
parse_opt (int key, char *arg, struct argp_state *state)
{
  struct train_tokenizer_config *c = state->input;

  switch (key)
    {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &c->documents;
      break;
    case 'o':
      c->output = mm_cli_path (state, "output", arg);
      break;
    case OPT_VOCAB_SIZE:
      c->vocab_size = (uint32_t) mm_cli_integer (state, "vocab-size", arg, 256, 1 << 22);
      break;
    case OPT_FROM:
      c->from = mm_cli_path (state, "from", arg);
      break;
    case OPT_EXTEND_TO:
      c->extend_to = (uint32_t) mm_cli_integer (state, "extend-to", arg, 256, 1 << 22);
      break;
    case OPT_PATTERN:
      c->bpe.pattern = mm_bpe_patterns[mm_cli_choice (state, "pattern", arg, mm_bpe_patterns)];
      break;
    case OPT_SPECIAL:
      add_special (c, arg, state);
      break;
    case OPT_BOS:
      c->bpe.bos = arg;
      break;
    case OPT_EOS:
      c->bpe.eos = arg;
      break;
    case OPT_PAD:
      c->bpe.pad = arg;
      break;
    case OPT_UNK:
      c->bpe.unk = arg;
      break;
    case OPT_THREADS:
      c->bpe.n_threads = (int) mm_cli_integer (state, "threads", arg, 1, 1024);
      break;
    case OPT_MAX_MEMORY:
      c->bpe.max_memory = mm_cli_size (state, "max-memory", arg, 1, INT64_MAX);
      break;
    case OPT_JSON:
      c->json = true;
      break;
    case OPT_FORCE:
      c->force = true;
      break;
    case ARGP_KEY_ARGS:
      c->inputs = (const char *const *) (state->argv + state->next);
      c->n_inputs = (size_t) (state->argc - state->next);
      break;
    case ARGP_KEY_END:
      if (c->n_inputs == 0 && !c->documents.files_from)
        argp_error (state, "give at least one input");
      if (!c->output)
        argp_error (state, "give --output=FILE");
      if (c->documents.format == MM_DOCUMENTS_VALUES)
        argp_error (state, "--format=chat: a vocabulary is learnt from texts; take conversations as --format=text");
      if (!c->from != !c->extend_to)
        argp_error (state, "--from and --extend-to go together");
      if (c->from && (c->vocab_size || c->n_special || c->bpe.bos || c->bpe.eos || c->bpe.pad || c->bpe.unk
                      || c->bpe.pattern))
        argp_error (state, "--from keeps special tokens, their roles and the pattern, and the size is --extend-to");
      c->bpe.vocab_size = c->from ? c->extend_to : c->vocab_size ? c->vocab_size : 6400;
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

static const struct argp parser
  = { options, parse_opt, args_doc, doc, children, NULL, NULL };

int
main (int argc, char **argv)
{
  static struct train_tokenizer_config c;

  mm_cli_begin (PROGRAM);
  c.bpe.n_threads = mm_cpus_allowed ();
  argp_parse (&parser, argc, argv, 0, NULL, &c);
  return mm_exit_status (PROGRAM, train_tokenizer (&c));
}

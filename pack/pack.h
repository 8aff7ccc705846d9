/* pack.h -- token files into a dataset folder.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_H
#define PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

enum pack_strategy
{
  PACK_CONCAT,                  /* documents end to end, rows cut from the stream */
  PACK_FIT,                     /* documents whole, as many in a row as fit best */
  PACK_PAD,                     /* documents whole, one a row */
  PACK_BY_INPUT                 /* fit for conversations, else concat */
};

extern const char *const pack_strategy_names[]; /* by enum pack_strategy, but for the last; NULL at the end */

enum pack_format
{
  PACK_DATASET,                 /* the folder that pretrain reads */
  PACK_LLMC                     /* llm.c's .bin files: documents end to end, no rows */
};

extern const char *const pack_format_names[];   /* by enum pack_format; NULL at the end */

/* A file to read.  Those of one source are one stream, in their order; sources are mixed.  */
struct pack_input
{
  const char *path;
  size_t source;                /* ascending from 0 over the inputs, none left out */
};

struct pack_config
{
  struct pack_input *inputs;
  size_t n_inputs;
  double *weights;              /* of the sources: their shares of the targets, > 0, in any unit */
  size_t n_sources;
  const char *tokenizer;        /* of inputs that are no token files, or NULL */
  bool split_at_eos;            /* their documents end behind eos */

  const char *output;           /* the dataset folder */
  bool force;                   /* replace it */
  bool json;                    /* print the report on standard output */
  bool dry_run;                 /* only say what would be made */
  enum pack_format format;
  uint32_t seq_len;             /* T, tokens; rows hold T + 1 */
  enum pack_strategy strategy;
  double validation;            /* share held out, 0 to 0.5 */
  uint64_t shard_rows;          /* rows a part; 0: one part a split */
  uint64_t seed;                /* chooses the documents held out */
  bool dedupe;                  /* keep the first of equal documents only */
  int threads;                  /* >= 1; no trace of it in what is made */
};

/* Make the dataset.  MM_EUSAGE when there is too little text for seq_len, with values that fit, or
   the tokenizer is not told; MM_EFORMAT when the inputs' tokenizers differ or nothing in them can be
   trained on; the statuses of tokens.h, dataset.h and files.h.  */
mm_status pack (const struct pack_config *c) MM_NODISCARD;

#endif /* PACK_H */

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
  PACK_PAD                      /* documents whole, one a row */
};

extern const char *const pack_strategy_names[]; /* by enum pack_strategy; NULL at the end */

struct pack_config
{
  char *const *inputs;          /* token files */
  size_t n_inputs;
  const char *output;           /* the dataset folder */
  bool force;                   /* replace it */
  bool json;                    /* print the report on standard output */
  uint32_t seq_len;             /* T, tokens; rows hold T + 1 */
  enum pack_strategy strategy;
  double validation;            /* share held out, 0 to 0.5 */
  uint64_t shard_rows;          /* rows a part; 0: one part a split */
  uint64_t seed;                /* chooses the documents held out */
};

/* Make the dataset.  MM_EUSAGE when there is too little text for seq_len, with values that fit;
   MM_EFORMAT when the inputs' tokenizers differ or nothing in them can be trained on; the
   statuses of tokens.h, dataset.h and files.h.  */
mm_status pack (const struct pack_config *c) MM_NODISCARD;

#endif /* PACK_H */

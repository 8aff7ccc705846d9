/* plan.h -- what the inputs hold, and which part of it is held out for validation.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_PLAN_H
#define PACK_PLAN_H

#include <minimind/dataset.h>
#include <minimind/hash.h>
#include <minimind/tokens.h>

#include "pack.h"

enum { FEW_DOCUMENTS = 100 };   /* below this, whole documents are too coarse a share */

enum held_out
{
  HELD_NOTHING,
  HELD_DOCUMENTS,               /* whole ones, by a hash of seed, input and number */
  HELD_TAIL                     /* the last part of the token stream */
};

struct input_facts
{
  uint64_t documents, tokens;
  char sha256[MM_SHA256_TEXT];  /* of the file */
};

struct plan
{
  struct input_facts *inputs;   /* n_inputs of the configuration */
  struct mm_tokens *first;      /* the first input, open: its tokenizer is everybody's */
  bool with_mask;               /* some input has a loss mask */
  uint64_t documents, tokens;   /* of all inputs */
  uint64_t last_length;         /* tokens of the last document that has any */

  enum held_out held_out;
  uint64_t tail;                /* HELD_TAIL: tokens held out */
  uint64_t train_tokens;
};

/* Read lengths and hashes of all inputs, then decide.  Free with plan_free whatever the result.  */
mm_status plan_make (const struct pack_config *c, struct plan *p) MM_NODISCARD;
void plan_free (struct plan *p);

/* Is document DOC of input INPUT among those held out by the hash?  */
bool plan_hash_holds (const struct pack_config *c, size_t input, uint64_t doc);

#endif /* PACK_PLAN_H */

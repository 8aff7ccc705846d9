/* plan.h -- which part of the inputs is held out for validation.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_PLAN_H
#define PACK_PLAN_H

#include "corpus.h"

enum { FEW_DOCUMENTS = 100 };   /* below this, whole documents are too coarse a share */

enum held_out
{
  HELD_NOTHING,
  HELD_DOCUMENTS,               /* whole ones, by a hash of seed and text */
  HELD_TAIL                     /* the last part of each source's token stream */
};

struct plan
{
  enum pack_strategy strategy;
  enum held_out held_out;
  uint64_t *tails;              /* HELD_TAIL: tokens held out, by source; else zeros */
  uint64_t documents, tokens;   /* kept, of all sources */
  uint64_t validation_tokens, train_tokens;
};

/* Decide for C, which was surveyed.  Free with plan_free whatever the result.  */
mm_status plan_make (const struct corpus *c, struct plan *p) MM_NODISCARD;
void plan_free (struct plan *p);

/* Tokens of source I that are trained on, each time it is read.  */
uint64_t plan_train_tokens (const struct corpus *c, const struct plan *p, size_t i);

#endif /* PACK_PLAN_H */

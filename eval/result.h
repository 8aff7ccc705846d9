/* result.h -- what an evaluation adds up, and how it is told.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef EVAL_RESULT_H
#define EVAL_RESULT_H

#include <minimind/batch.h>
#include <minimind/model.h>

#include "eval.h"

struct result
{
  __int128 sum;                 /* of losses, steps of 2^-34 nats: an integer of any batch size */
  uint64_t targets;
  uint64_t bytes;               /* of the targets' text; special tokens have none */
  uint64_t rows;
};

/* Add the loss of batch B, which must not have overflowed.  SIZES are bytes by id.  */
void result_add (struct result *r, const struct mm_batch *b, const struct mm_loss *loss,
                 const uint32_t *sizes);

/* Print each target of B: row, position in the row, id, loss in nats as a hexadecimal float.  */
void result_print_losses (const struct mm_batch *b, const float *losses);

/* Print the summary, or the JSON object.  */
mm_status result_print (const struct result *r, const struct eval_config *c) MM_NODISCARD;

#endif /* EVAL_RESULT_H */

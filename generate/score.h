/* score.h -- the losses of the prompt's tokens, by way of generation's logits.
   SPDX-License-Identifier: Apache-2.0

   They have the bits that minimind-eval --losses prints for the same tokens: cached keys and
   values, fed token by token, change nothing.  */

#ifndef GENERATE_SCORE_H
#define GENERATE_SCORE_H

#include "engine.h"
#include "prompt.h"

/* Print position, id and loss in nats (a hexadecimal float) of each token of P but the first.  */
mm_status score (struct engine *e, const struct prompt *p) MM_NODISCARD;

#endif /* GENERATE_SCORE_H */

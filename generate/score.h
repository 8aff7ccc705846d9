/* score.h -- the losses of the prompt's tokens, by way of generation's logits.
   SPDX-License-Identifier: Apache-2.0

   They have the bits that minimind-eval --losses prints for the same tokens: cached keys and
   values, fed token by token, change nothing.  */

#ifndef GENERATE_SCORE_H
#define GENERATE_SCORE_H

#include <minimind/model.h>

#include "prompt.h"

/* Print position, id and loss in nats (a hexadecimal float) of each token but the first.  LOGITS
   has room for VOCAB_SIZE.  */
mm_status score (struct mm_session *s, const struct prompt *p, size_t vocab_size,
                 float *logits) MM_NODISCARD;

#endif /* GENERATE_SCORE_H */

/* bpe_train.h -- learning merges from counted pieces.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  */

#ifndef TEXT_BPE_TRAIN_H
#define TEXT_BPE_TRAIN_H

#include <stddef.h>

#include <minimind/error.h>

#include "bpe_count.h"
#include "bpe_learnt.h"

/* Learn until there are VOCAB_SIZE tokens or no pair is left.  COUNTER has finished and is released; *DISTINCT are the
   pieces it had.  What does not fit in MAX_MEMORY bytes, if that is not 0, lies in its temporary file.  */
mm_status mm_bpe_train (struct mm_learnt *learnt, struct mm_counter *counter, uint64_t max_memory, size_t vocab_size,
                        uint64_t *distinct) MM_NODISCARD;

#endif /* TEXT_BPE_TRAIN_H */

/* bpe_train.h -- learning merges from counted pieces.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  */

#ifndef TEXT_BPE_TRAIN_H
#define TEXT_BPE_TRAIN_H

#include <stddef.h>

#include <minimind/error.h>

#include "bpe_learnt.h"
#include "word_count.h"

/* Learn until there are VOCAB_SIZE tokens or no pair is left.  */
mm_status mm_bpe_train (struct mm_learnt *learnt, const struct mm_words *words,
                        size_t vocab_size) MM_NODISCARD;

#endif /* TEXT_BPE_TRAIN_H */

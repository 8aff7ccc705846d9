/* bpe_write.h -- a learnt vocabulary as the files that HF loads.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  */

#ifndef TEXT_BPE_WRITE_H
#define TEXT_BPE_WRITE_H

#include <minimind/bpe_trainer.h>

#include "bpe_learnt.h"
#include "pretokenize.h"

/* Texts of tokenizer.json and tokenizer_config.json; the caller frees both.  The special tokens
   of O have the ids from 0 on.  */
mm_status mm_bpe_write (const struct mm_learnt *l, const struct mm_bpe_options *o, enum mm_pattern pattern,
                        char **json, char **config) MM_NODISCARD;

/* The same for L's base: its files, with the tokens and merges that were learnt.  Its added tokens join the
   vocabulary with the ids they have: HF would give those that are not in it ids behind it, which are taken now.
   *CONFIG is NULL if it has none.  */
mm_status mm_bpe_write_extended (const struct mm_learnt *l, char **json, char **config) MM_NODISCARD;

#endif /* TEXT_BPE_WRITE_H */

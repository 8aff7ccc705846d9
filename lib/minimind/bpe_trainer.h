/* bpe_trainer.h -- learn a byte-level BPE vocabulary, exactly as HF's BpeTrainer.
   SPDX-License-Identifier: Apache-2.0

   Source: huggingface/tokenizers models/bpe/trainer.rs: ties by count descending, then pair of
   ids ascending; an existing string's id is reused; 64-bit counts here.  */

#ifndef MINIMIND_BPE_TRAINER_H
#define MINIMIND_BPE_TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_bpe_trainer;          /* opaque */

struct mm_bpe_options
{
  uint32_t vocab_size;          /* total: special tokens, 256 bytes, merges */
  const char *const *special;   /* in order of their ids, from 0 */
  size_t n_special;
  const char *bos, *eos, *pad, *unk;    /* which of them have roles; NULL for none */
  int n_threads;
};

mm_status mm_bpe_trainer_open (const struct mm_bpe_options *o, struct mm_bpe_trainer **t) MM_NODISCARD;
void mm_bpe_trainer_close (struct mm_bpe_trainer *t);   /* accepts NULL */

/* Count the pre-tokens of one document (one sequence for HF; GPT-2 pattern).  Memory grows
   with distinct pre-tokens only.  Valid UTF-8 required: MM_EFORMAT.  A long document may be
   added in pieces cut by mm_bpe_trainer_cut.  */
mm_status mm_bpe_trainer_add (struct mm_bpe_trainer *t, const char *text, size_t size) MM_NODISCARD;

/* Run the merges and make the texts of tokenizer.json and tokenizer_config.json; the caller
   frees both.  *REACHED is the vocabulary's size: below vocab_size when the corpus ran dry,
   which the caller reports.  MM_EUSAGE if vocab_size < n_special + 256.  */
mm_status mm_bpe_trainer_finish (struct mm_bpe_trainer *t, char **json, char **config,
                                 uint32_t *reached) MM_NODISCARD;

#endif /* MINIMIND_BPE_TRAINER_H */

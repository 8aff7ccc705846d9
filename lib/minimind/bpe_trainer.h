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

/* Copies what O points to.  MM_EUSAGE if vocab_size < n_special + 256 or is beyond 4 million, or
   for a special token that is empty, given twice, longer than 4096 bytes, not UTF-8 or spelt like
   other bytes of the vocabulary, or a role for what is no special token.  */
mm_status mm_bpe_trainer_open (const struct mm_bpe_options *o, struct mm_bpe_trainer **t) MM_NODISCARD;
void mm_bpe_trainer_close (struct mm_bpe_trainer *t);   /* accepts NULL */

/* Count the pre-tokens of one document (one sequence for HF; GPT-2 pattern).  Memory grows
   with distinct pre-tokens only.  Valid UTF-8 required: MM_EFORMAT, naming the byte.  A long
   document may be added in pieces cut by mm_bpe_trainer_cut.  */
mm_status mm_bpe_trainer_add (struct mm_bpe_trainer *t, const char *text, size_t size) MM_NODISCARD;

/* The last place at or before LIMIT where TEXT may be cut, whatever follows the SIZE bytes; 0 if
   none is found.  TEXT is valid UTF-8 but for a character cut off by its end.  */
size_t mm_bpe_trainer_cut (const char *text, size_t size, size_t limit);

/* Pre-tokens counted so far, and distinct ones among them (counted once for each thread before
   mm_bpe_trainer_finish adds them up); a document just added may not be counted yet.  */
void mm_bpe_trainer_counts (const struct mm_bpe_trainer *t, uint64_t *pieces, uint64_t *distinct);

/* Run the merges and make the texts of tokenizer.json and tokenizer_config.json; the caller
   frees both.  *REACHED is the vocabulary's size: below vocab_size when the corpus ran dry,
   which the caller reports.  The result depends on the documents and options alone, not on
   threads or the order of documents.  Once only: MM_EINVAL after that.  */
mm_status mm_bpe_trainer_finish (struct mm_bpe_trainer *t, char **json, char **config,
                                 uint32_t *reached) MM_NODISCARD;

#endif /* MINIMIND_BPE_TRAINER_H */

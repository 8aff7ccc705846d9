/* bpe_trainer.h -- learn a byte-level BPE vocabulary, exactly as HF's BpeTrainer; or more of one.
   SPDX-License-Identifier: Apache-2.0

   Source: huggingface/tokenizers models/bpe/trainer.rs: ties by count descending, then pair of
   ids ascending; an existing string's id is reused; 64-bit counts here.

   A tokenizer may be extended: the corpus is encoded by it, and merges are learnt of what its pieces
   then consist of.  They stand behind its merges and make tokens behind all its ids; nothing of it
   changes.  A pair whose text is a token's already is left alone: it would add none.  So the ids of
   any text under the new tokenizer are those under the old one with the new merges done on them.
   (HF has no such thing.)  */

#ifndef MINIMIND_BPE_TRAINER_H
#define MINIMIND_BPE_TRAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_bpe_trainer;          /* opaque */
struct mm_tokenizer;

struct mm_bpe_options
{
  uint32_t vocab_size;          /* total: special tokens, 256 bytes, merges */
  const char *const *special;   /* in order of their ids, from 0 */
  size_t n_special;
  const char *bos, *eos, *pad, *unk;    /* which of them have roles; NULL for none */
  const char *pattern;          /* how text is cut: one of mm_bpe_patterns; NULL: the first */
  const struct mm_tokenizer *base;      /* the tokenizer to extend, borrowed until the end; SPECIAL, the roles and
                                           PATTERN are then its own and may not be given; or NULL */
  bool checked;                 /* documents are known to be valid UTF-8 and not looked at again */
  int n_threads;
  uint64_t max_memory;          /* bytes of the process, if not 0: what is beyond lies in a temporary file */
  const char *temp_folder;      /* for that file; NULL: the current one */
};

/* The names of patterns, up to a NULL: gpt2, qwen2, ...  */
extern const char *const mm_bpe_patterns[];

/* Copies what O points to, but for BASE.  MM_EUSAGE if vocab_size < n_special + 256 or is beyond 4 million, or
   for a special token that is empty, given twice, longer than 4096 bytes, not UTF-8 or spelt like
   other bytes of the vocabulary, a role for what is no special token, another pattern, a
   vocab_size that a BASE has already, or max_memory too little for the threads; MM_EUNSUP for a BASE
   that cannot be extended; MM_EINVAL unless 1 <= n_threads <= 1024.  */
mm_status mm_bpe_trainer_open (const struct mm_bpe_options *o, struct mm_bpe_trainer **t) MM_NODISCARD;
void mm_bpe_trainer_close (struct mm_bpe_trainer *t);   /* accepts NULL */

/* Count the pre-tokens of one document (one sequence for HF).  Memory grows
   with distinct pre-tokens only, up to max_memory (but the longest pre-token has to fit).  Valid UTF-8
   required: MM_EFORMAT, naming the byte, unless it is checked.  A long document may be added in pieces cut by
   mm_bpe_trainer_cut.  MM_EIO from the temporary file; a failure may be that of a document before.  */
mm_status mm_bpe_trainer_add (struct mm_bpe_trainer *t, const char *text, size_t size) MM_NODISCARD;

/* The last place at or before LIMIT where TEXT may be cut, whatever follows the SIZE bytes; 0 if
   none is found.  T may be NULL: then for the pattern gpt2 and no BASE.  TEXT is valid UTF-8 but for a
   character cut off by its end.  */
size_t mm_bpe_trainer_cut (const struct mm_bpe_trainer *t, const char *text, size_t size, size_t limit);

/* Once finished: pre-tokens counted, and distinct ones among them.  */
void mm_bpe_trainer_counts (const struct mm_bpe_trainer *t, uint64_t *pieces, uint64_t *distinct);

/* Once finished: bytes counted, and how often the corpus, as merged, has each token, by id up to
   *REACHED; owned by T.  Of HF's own rules it follows that a text encoded may have other tokens in rare places,
   where two merges make one text.  */
const uint64_t *mm_bpe_trainer_uses (const struct mm_bpe_trainer *t, uint64_t *bytes);

/* Run the merges and make the texts of tokenizer.json and tokenizer_config.json; the caller
   frees both.  *CONFIG is NULL for a BASE without one.  *REACHED is the vocabulary's size: below
   vocab_size when the corpus ran dry, which the caller reports.  The result depends on the documents
   and options alone, not on threads, memory or the order of documents.  Once only: MM_EINVAL after
   that.  */
mm_status mm_bpe_trainer_finish (struct mm_bpe_trainer *t, char **json, char **config,
                                 uint32_t *reached) MM_NODISCARD;

#endif /* MINIMIND_BPE_TRAINER_H */

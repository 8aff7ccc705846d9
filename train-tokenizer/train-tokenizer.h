/* train-tokenizer.h -- what the command line asks of minimind-train-tokenizer.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TRAIN_TOKENIZER_H
#define TRAIN_TOKENIZER_H

#include <stdbool.h>

#include <minimind/bpe_trainer.h>
#include <minimind/documents.h>

struct train_tokenizer_config
{
  const char *const *inputs;
  size_t n_inputs;
  const char *output;           /* ends in tokenizer.json, or is a folder */
  bool force, json;
  const char *from;             /* the tokenizer to extend, or NULL */
  uint32_t vocab_size, extend_to;       /* as given, or 0 */
  struct mm_document_options documents;
  const char **special;         /* those given; none: the default three */
  size_t n_special, special_capacity;
  struct mm_bpe_options bpe;    /* special tokens are taken from above */
};

mm_status train_tokenizer (struct train_tokenizer_config *c);

#endif /* TRAIN_TOKENIZER_H */

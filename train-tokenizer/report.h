/* report.h -- what a trained tokenizer makes of its inputs.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TRAIN_TOKENIZER_REPORT_H
#define TRAIN_TOKENIZER_REPORT_H

#include "train-tokenizer.h"

/* The beginnings of inputs, kept while they are read: those of the first few.  */
struct samples
{
  struct sample *each;
  size_t n;
};

/* PART is read.  */
mm_status samples_add (struct samples *s, const struct mm_bpe_trainer *t,
                       const struct mm_document_part *part) MM_NODISCARD;
void samples_free (struct samples *s);

/* T has finished and made the files JSON and CONFIG (NULL if there is none), with REACHED tokens.  Tell what they are,
   on stderr, and on stdout too with --json.  */
mm_status report (const struct train_tokenizer_config *c, const struct mm_bpe_trainer *t, const char *json,
                  const char *config, uint32_t reached, const struct mm_document_counts *n,
                  const struct samples *s) MM_NODISCARD;

#endif /* TRAIN_TOKENIZER_REPORT_H */

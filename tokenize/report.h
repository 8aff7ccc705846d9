/* report.h -- what the user is told while documents are encoded, and at the end.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TOKENIZE_REPORT_H
#define TOKENIZE_REPORT_H

#include "tokenize.h"

struct report
{
  const struct tokenize_config *c;
  const struct mm_tokenizer *t;
  struct tokenize_frame frame;
  double start;                 /* of mm_now, s */
  bool special_seen, eos_seen;  /* the user was told */
};

/* Warn, once each, of special tokens and of eos that stand in the text of PART.  */
void report_text (struct report *r, const struct mm_document_part *part);

/* The progress line, when it is due: bytes read, tokens, speed, time left.  */
void report_progress (const struct report *r, const struct mm_documents *d, uint64_t tokens);

/* The counts at the end; with --count they are the result, on standard output.  */
mm_status report_end (const struct report *r, const struct mm_document_counts *n,
                      uint64_t tokens) MM_NODISCARD;

#endif /* TOKENIZE_REPORT_H */

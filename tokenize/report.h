/* report.h -- what the user is told while documents are encoded, and at the end.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TOKENIZE_REPORT_H
#define TOKENIZE_REPORT_H

#include "batch.h"
#include "source.h"
#include "tokenize.h"

struct report
{
  const struct tokenize_config *c;
  const struct source *source;
  double start;                 /* of mm_now, s */
  bool special_seen, eos_seen;  /* the user was told */

  /* Of conversations.  */
  uint64_t conversations, turns, targets, bytes;        /* bytes: rendered */
  uint64_t untargeted;          /* conversations without a target */
  uint64_t skipped;             /* rows that could not be read as one */
};

/* Warn, once each, of special tokens and of eos that stand in the text of PART.  */
void report_text (struct report *r, const struct mm_document_part *part);

/* Count a conversation; a row that is left out, with what is wrong with it.  */
void report_conversation (struct report *r, const struct batch_ids *x);
void report_skipped (struct report *r, const char *problem);

/* The progress line, when it is due: bytes read, tokens, speed, time left.  */
void report_progress (const struct report *r, const struct mm_documents *d, uint64_t tokens);

/* The counts at the end, TOKENS of them; with --count they are the result, on standard output.  */
mm_status report_end (const struct report *r, uint64_t tokens) MM_NODISCARD;

#endif /* TOKENIZE_REPORT_H */

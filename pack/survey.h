/* survey.h -- a first pass over the documents: which are equal, which are chosen for validation.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_SURVEY_H
#define PACK_SURVEY_H

#include "corpus.h"

enum { SURVEY_DIGEST = 16 };    /* bytes of XXH3-128 in its canonical form */

/* Read all of C, set the fates of its documents and the facts of its sources.  A document is its ids: its digest, made
   where some are held out, is the XXH3-128 of them as token files keep them.  Equal documents, under dedupe, are those
   whose SHA-256 begins with the same 16 bytes; the table of them takes 22 bytes a document.  */
mm_status survey (struct corpus *c) MM_NODISCARD;

/* Does a document with this digest belong to the share held out?  */
bool survey_holds (const struct pack_config *c, const uint8_t digest[SURVEY_DIGEST]);

#endif /* PACK_SURVEY_H */

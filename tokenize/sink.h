/* sink.h -- where ids go: a token file, lines of numbers, raw integers, or only into a count.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TOKENIZE_SINK_H
#define TOKENIZE_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "batch.h"
#include "source.h"
#include "tokenize.h"

struct sink;                    /* opaque */

/* What C asks for, of the documents of SOURCE: nothing is written with --count.  MM_EUSAGE for a token file on a
   stream, whose header is written last.  */
mm_status sink_open (const struct tokenize_config *c, const struct source *source,
                     struct sink **s) MM_NODISCARD;

/* So many documents will probably come, or UINT64_MAX: a token file is written faster if they do.  Before the first
   id.  */
void sink_expect (struct sink *s, uint64_t documents);

/* Append packed ids to the document under way, or one; end it.  */
mm_status sink_add (struct sink *s, const void *ids, size_t count) MM_NODISCARD;
mm_status sink_add_one (struct sink *s, uint32_t id) MM_NODISCARD;
mm_status sink_end_document (struct sink *s) MM_NODISCARD;

/* A conversation, a document of its own; targets and turns are kept in token files.  */
mm_status sink_add_conversation (struct sink *s, const struct batch_ids *x) MM_NODISCARD;

/* Ids so far.  */
uint64_t sink_count (const struct sink *s);

/* Complete, or give up: frees S.  */
mm_status sink_commit (struct sink *s) MM_NODISCARD;
void sink_abort (struct sink *s);       /* accepts NULL */

#endif /* TOKENIZE_SINK_H */

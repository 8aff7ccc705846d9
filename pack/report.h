/* report.h -- what is made of the inputs, for people and for dataset.json.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_REPORT_H
#define PACK_REPORT_H

#include <minimind/json.h>

#include "mix.h"

/* The caller frees *TEXT, a JSON object on one line.  No path and no time stands in it, nor how the documents of a
   source are cut into files: equal documents and options give equal datasets.  */
mm_status report_json (const struct corpus *c, const struct plan *p, const struct mix_counts *counts,
                       char **text) MM_NODISCARD;

/* The same in words, through log.h.  */
void report_print (const struct corpus *c, const struct plan *p, const struct mix_counts *counts);

/* What llm.c's files lose; FILES as from llmc_commit.  */
void report_llmc (const json_t *files);

#endif /* PACK_REPORT_H */

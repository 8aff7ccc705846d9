/* report.h -- what was made of the inputs, for people and for dataset.json.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_REPORT_H
#define PACK_REPORT_H

#include "plan.h"
#include "rows.h"

/* COUNTS by enum mm_split.  The caller frees *TEXT, a JSON object on one line.  No path and no
   time stands in it: equal inputs and options give equal datasets.  */
mm_status report_json (const struct pack_config *c, const struct plan *p,
                       const struct rows_counts counts[2], char **text) MM_NODISCARD;

/* The same in words, through log.h.  */
void report_print (const struct pack_config *c, const struct plan *p,
                   const struct rows_counts counts[2]);

#endif /* PACK_REPORT_H */

/* telemetry.h -- the run's log: metrics.jsonl, events.jsonl, TensorBoard event files.
   SPDX-License-Identifier: Apache-2.0

   A log that cannot be written never stops training: it warns once and counts.  */

#ifndef MINIMIND_TELEMETRY_H
#define MINIMIND_TELEMETRY_H

#include <stdint.h>
#include <jansson.h>

#include <minimind/error.h>

struct mm_runlog;               /* opaque */

/* OUT/log/ is made if need be; files are appended to.  EXTRA is one more metrics file, or NULL.  */
mm_status mm_runlog_open (const char *out, const char *extra, struct mm_runlog **log) MM_NODISCARD;
void mm_runlog_close (struct mm_runlog *log);   /* accepts NULL */

/* One line each; the reference to OBJECT is taken.  metrics: keys of design.md, "step" among them; numbers
   also go to the TensorBoard file as scalars of that step.  event: "event" names it, time is added.  */
void mm_runlog_metrics (struct mm_runlog *log, uint64_t step, json_t *object);
void mm_runlog_event (struct mm_runlog *log, const char *event, json_t *object);

#endif /* MINIMIND_TELEMETRY_H */

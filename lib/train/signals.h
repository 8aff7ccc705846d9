/* signals.h -- a signal asks a run to save and leave.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_TRAIN_SIGNALS_H
#define MM_TRAIN_SIGNALS_H

#include <stdbool.h>

/* From now on the first SIGTERM, SIGINT, SIGHUP or SIGUSR1 only sets a flag, and the next one does what it
   would have done before.  One that the parent told us to ignore stays ignored.  */
void mm_signals_catch (void);

/* Back to what was before mm_signals_catch.  */
void mm_signals_release (void);

/* The signal that came since mm_signals_catch, or 0.  */
int mm_signals_caught (void);

#endif /* MM_TRAIN_SIGNALS_H */

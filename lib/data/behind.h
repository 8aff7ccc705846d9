/* behind.h -- a thread that does one piece of work at a time behind its caller.  Internal to lib/data.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef DATA_BEHIND_H
#define DATA_BEHIND_H

#include <minimind/error.h>

struct behind;                  /* opaque */

typedef mm_status behind_fn (void *arg);

/* MM_ENOMEM where a thread cannot be had.  */
mm_status behind_open (struct behind **b) MM_NODISCARD;

/* Let FN (ARG) be done; all that was to be done before has been waited for.  Where B is NULL it is done now.  */
mm_status behind_do (struct behind *b, behind_fn *fn, void *arg) MM_NODISCARD;

/* Wait until it is done; its result, and its message if that is a failure.  MM_OK where there is none to wait for.  */
mm_status behind_wait (struct behind *b) MM_NODISCARD;

/* Waits.  Accepts NULL.  */
void behind_close (struct behind *b);

#endif /* DATA_BEHIND_H */

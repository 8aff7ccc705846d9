/* comm.h -- what ranks say to each other.
   SPDX-License-Identifier: Apache-2.0

   One table of operations behind which transports stand: self (one process) here; shared memory, MPI and
   NCCL have the same shape.  Calls are collective: every rank makes them in the same order.  */

#ifndef MINIMIND_COMM_H
#define MINIMIND_COMM_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_comm;                 /* opaque */

/* Open the transport NAME: "auto" or "self".  MM_EUNSUP if this build lacks it.  */
mm_status mm_comm_open (const char *name, struct mm_comm **c) MM_NODISCARD;
void mm_comm_close (struct mm_comm *c);         /* accepts NULL */

const char *mm_comm_name (const struct mm_comm *c);
int mm_comm_rank (const struct mm_comm *c);
int mm_comm_size (const struct mm_comm *c);

mm_status mm_comm_barrier (struct mm_comm *c) MM_NODISCARD;

/* BYTES from rank ROOT to all; MM_EINVAL if there is no such rank.  */
mm_status mm_comm_broadcast (struct mm_comm *c, void *data, size_t bytes, int root) MM_NODISCARD;

/* data[i] = sum over ranks, on all ranks: integers, so exact in any order.  */
mm_status mm_comm_sum_i64 (struct mm_comm *c, int64_t *data, size_t count) MM_NODISCARD;

/* All ranks learn the worst status of any (the message of the lowest such rank with it): so that none
   waits for a peer that failed.  Returns it.  */
mm_status mm_comm_agree (struct mm_comm *c, mm_status st) MM_NODISCARD;

#endif /* MINIMIND_COMM_H */

/* comm.h -- what ranks say to each other.
   SPDX-License-Identifier: Apache-2.0

   One table of operations behind which transports stand: self (one process); shm (ranks of one host, through
   shared memory); mpi+shm (several hosts, by MPI, and shm inside each); mpi (messages of MPI only).

   Calls are collective: every rank makes them in the same order, with the same counts; where ranks are seen to
   differ, the call is MM_EINVAL and says who does what.  Counts are of elements, in size_t.  One thread owns a
   communicator.

   Every call has a deadline, the communicator's timeout.  A peer that has ended, or has not come when the
   deadline passes, is named, and the call returns MM_ESTOPPED; the communicator is then good for closing
   only, and further calls return that status at once and leave the message.  A peer that has ended is noticed
   within a second whatever the timeout.  */

#ifndef MINIMIND_COMM_H
#define MINIMIND_COMM_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_comm;                 /* opaque */

/* ---- joining ---- */

/* Join the ranks that a launcher started, through the transport NAME: "auto" or one of mm_comm_list.  "auto" takes
   what the environment asks for: shm under minimind-launch, mpi+shm under mpirun or srun, and self without any.
   TIMEOUT: seconds that a call waits for a peer, 0 for ever; here at most 60, within which all ranks must have come and
   mm_comm_check must have passed.

   MM_EUSAGE if this build lacks the transport, or if the environment tells of more than one rank but not how
   to reach them, or contradicts itself (MM_WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_NTASKS,
   WORLD_SIZE); MM_ESTOPPED naming the ranks that have not come; MM_ECONFLICT naming a rank of another
   version; MM_EIO without memory to share.  "self" is always one rank, whatever the environment.  */
mm_status mm_comm_open (const char *name, double timeout, struct mm_comm **c) MM_NODISCARD;
void mm_comm_close (struct mm_comm *c);         /* accepts NULL; waits for nobody */

/* For a TOOL that works as one process: MM_EUSAGE, naming the launcher, if one started this process among several
   ranks.  That a scheduler gives a job several tasks is nothing by itself.  */
mm_status mm_comm_alone (const char *tool) MM_NODISCARD;

/* Names of the transports in this build, for --version and messages: "self, shm, mpi, mpi+shm".  */
const char *mm_comm_list (void);

const char *mm_comm_name (const struct mm_comm *c);     /* the transport in use */
int mm_comm_rank (const struct mm_comm *c);
int mm_comm_size (const struct mm_comm *c);
int mm_comm_local_rank (const struct mm_comm *c);       /* among the ranks of this host */
int mm_comm_local_size (const struct mm_comm *c);

/* ---- memory that peers reach ---- */

/* Bytes of memory that each rank of a host gives for data elsewhere than in such memory; the others map it.  */
enum { MM_COMM_STAGING = 1 << 20 };

/* Collective.  *P = zeroed memory of BYTES, the same on all ranks, in which the operations below work without
   copies; elsewhere they work too, but slower.  NULL where the transport has no such memory (or BYTES is 0):
   take any other.  Stays until the communicator is closed.  MM_EIO naming the rank that lacks memory.  */
mm_status mm_comm_alloc (struct mm_comm *c, const char *what, size_t bytes, void **p) MM_NODISCARD;

/* ---- operations ---- */

mm_status mm_comm_barrier (struct mm_comm *c) MM_NODISCARD;

/* BYTES from rank ROOT to all; MM_EINVAL if there is no such rank.  */
mm_status mm_comm_broadcast (struct mm_comm *c, void *data, size_t bytes, int root) MM_NODISCARD;

/* data[i] = sum over ranks, on all ranks.  Integers (which wrap) are exact in any order.  Floats are added in
   the order of ranks, or of hosts and the ranks in each: the same bits on all ranks and at each call, but
   others for another number of ranks.  */
mm_status mm_comm_sum_i64 (struct mm_comm *c, int64_t *data, size_t count) MM_NODISCARD;
mm_status mm_comm_sum_f32 (struct mm_comm *c, float *data, size_t count) MM_NODISCARD;

/* bfloat16, the upper half of a float32's bits: added in float32 in that order and rounded to the nearest, ties to
   even, once; with mpi+shm on several hosts twice, since what goes between hosts is each host's rounded sum.  */
mm_status mm_comm_sum_bf16 (struct mm_comm *c, uint16_t *data, size_t count) MM_NODISCARD;

/* The part [*FROM, *TO) of COUNT elements that is rank RANK's, cut at multiples of GRAIN (> 0).  */
void mm_comm_part (const struct mm_comm *c, int rank, size_t count, size_t grain, size_t *from, size_t *to);

/* As sum, but only this rank's part of DATA holds it afterwards; the rest is unspecified.  */
mm_status mm_comm_reduce_scatter_i64 (struct mm_comm *c, int64_t *data, size_t count,
                                      size_t grain) MM_NODISCARD;
mm_status mm_comm_reduce_scatter_f32 (struct mm_comm *c, float *data, size_t count,
                                      size_t grain) MM_NODISCARD;
mm_status mm_comm_reduce_scatter_bf16 (struct mm_comm *c, uint16_t *data, size_t count,
                                       size_t grain) MM_NODISCARD;

/* ---- a sum under way ----

   The same sums, in pieces, while the caller still makes the data: begin, hand over what is ready from the end of DATA
   on, end.  Other calls may come in between, but no second such sum (MM_EINVAL).  */

/* Begin the sum over ranks of DATA; GRAIN 0: on all ranks, else this rank's part only, as reduce-scatter.  PIECE (> 0):
   elements that are handed over together, the same on all ranks.  Touches nothing yet.  */
mm_status mm_comm_begin_i64 (struct mm_comm *c, int64_t *data, size_t count, size_t grain, size_t piece) MM_NODISCARD;
mm_status mm_comm_begin_f32 (struct mm_comm *c, float *data, size_t count, size_t grain, size_t piece) MM_NODISCARD;

/* All from element FROM on is this rank's last word, and is no longer the caller's until the end.  Adds up whole pieces
   that all ranks have handed over, as far as that goes without waiting for any: in memory of mm_comm_alloc, and where
   messages alone are sent; elsewhere the end does it all.  Another call with the same FROM goes on with it.  */
mm_status mm_comm_hand_over (struct mm_comm *c, size_t from) MM_NODISCARD;

/* The rest is handed over, too; wait until all of it is summed.  */
mm_status mm_comm_end (struct mm_comm *c) MM_NODISCARD;

/* ---- parts ---- */

/* Every rank has made its own part of DATA, COUNT elements of SIZE bytes: afterwards all hold all of it.  */
mm_status mm_comm_all_gather (struct mm_comm *c, void *data, size_t count, size_t size,
                              size_t grain) MM_NODISCARD;

/* All ranks learn whether any failed, so that none waits for a peer that did: MM_OK if every ST is, else the
   status of the lowest rank that failed.  Its message, which names that rank unless all failed alike, is
   rank 0's last one; on the others the message is empty: one rank tells.  */
mm_status mm_comm_agree (struct mm_comm *c, mm_status st) MM_NODISCARD;

/* Known sums of data that differ by rank and position, by every operation: MM_EDEVICE saying what came out
   wrong.  */
mm_status mm_comm_check (struct mm_comm *c) MM_NODISCARD;

/* ---- for launchers ---- */

/* Make the shared window of SIZE ranks on this host: *FD is to be inherited by them, and can be closed when
   they are started.  It has no name in any file system.  MM_EIO, MM_ENOMEM; MM_EINVAL unless 1 <= SIZE <=
   MM_COMM_MAX_LOCAL.  */
enum { MM_COMM_MAX_LOCAL = 1024 };
mm_status mm_comm_window (int size, int *fd) MM_NODISCARD;

/* Set the variables from which mm_comm_open learns what it is, in the calling process: MM_RANK, MM_WORLD_SIZE,
   MM_LOCAL_RANK, MM_LOCAL_SIZE, MM_WINDOW (a descriptor).  */
mm_status mm_comm_set_environment (int rank, int size, int fd) MM_NODISCARD;

#endif /* MINIMIND_COMM_H */

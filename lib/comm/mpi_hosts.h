/* mpi_hosts.h -- the same operations between hosts, by messages of MPI.
   SPDX-License-Identifier: Apache-2.0

   One rank of each host takes part, its leader.  Everything is a direct exchange: each leader sends to each
   other what is his, so that a message that does not come names who has not sent it.  Messages are far smaller
   than 2^31 bytes.  */

#ifndef MM_COMM_MPI_HOSTS_H
#define MM_COMM_MPI_HOSTS_H

#include <mpi.h>

#include "impl.h"

struct mm_hosts
{
  MPI_Comm comm;                /* of the leaders */
  int host, n;                  /* this one, of how many */
  int *leaders;                 /* the rank of each host's leader among all ranks */
  double timeout;               /* seconds; 0: none */

  /* The module's own.  */
  char *scratch;                /* what other hosts sent */
  MPI_Request *requests;
  int *peers;                   /* the host of each request */
  int n_requests;
  void **in;
  struct mm_range *pieces;      /* of the round in flight */
  enum { MM_HOSTS_IDLE, MM_HOSTS_REDUCING, MM_HOSTS_GATHERING } phase;  /* of a sum under way */
  size_t done, at;              /* its pieces that are summed; elements of the next one that are */
};

/* Make room for N hosts; COMM is borrowed.  */
mm_status mm_hosts_open (struct mm_hosts *h, MPI_Comm comm, int host, int n, int *leaders) MM_NODISCARD;
void mm_hosts_close (struct mm_hosts *h);

mm_status mm_hosts_barrier (struct mm_hosts *h) MM_NODISCARD;
mm_status mm_hosts_broadcast (struct mm_hosts *h, void *data, size_t bytes, int root) MM_NODISCARD;

/* DATA = sum over hosts, in their order.  */
mm_status mm_hosts_sum (struct mm_hosts *h, enum mm_sum_type type, void *data, size_t count) MM_NODISCARD;

/* The same for PARTS[host] of DATA only.  */
mm_status mm_hosts_reduce (struct mm_hosts *h, enum mm_sum_type type, void *data,
                           const struct mm_range *parts) MM_NODISCARD;

/* The sum under way F: advance as far as READY pieces have been handed over and messages have come; finish it.  H, and
   its communicator, is for such sums alone.  */
mm_status mm_hosts_advance (struct mm_hosts *h, const struct mm_flow *f, size_t ready) MM_NODISCARD;
mm_status mm_hosts_finish (struct mm_hosts *h, const struct mm_flow *f) MM_NODISCARD;

/* Each of the N_PARTS of DATA has been made by host OWNERS[part]: afterwards all hold all.  */
mm_status mm_hosts_exchange (struct mm_hosts *h, void *data, const struct mm_range *parts, const int *owners,
                             int n_parts) MM_NODISCARD;

#endif /* MM_COMM_MPI_HOSTS_H */

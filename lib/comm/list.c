/* list.c -- the names of the transports in this build.
   SPDX-License-Identifier: Apache-2.0

   Apart from the transports themselves, so that tools which only name them do not load MPI.  */

#include <config.h>

#include <minimind/comm.h>

const char *
mm_comm_list (void)
{
#if HAVE_MPI
  return "self, shm, mpi, mpi+shm";
#else
  return "self, shm";
#endif
}

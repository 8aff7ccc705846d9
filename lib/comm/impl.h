/* impl.h -- the shape of a transport, inside lib/comm only.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_COMM_IMPL_H
#define MM_COMM_IMPL_H

#include <minimind/comm.h>

/* One transport.  Each call is what comm.h says of the function of its name; comm.c checks the
   arguments.  */
struct mm_transport
{
  const char *name;

  /* Fill rank, size and state of *C, whose transport is set.  */
  mm_status (*open) (struct mm_comm *c);
  void (*close) (struct mm_comm *c);

  mm_status (*barrier) (struct mm_comm *c);
  mm_status (*broadcast) (struct mm_comm *c, void *data, size_t bytes, int root);
  mm_status (*sum_i64) (struct mm_comm *c, int64_t *data, size_t count);
  mm_status (*agree) (struct mm_comm *c, mm_status st);
};

struct mm_comm
{
  const struct mm_transport *transport;
  int rank, size;
  void *state;                  /* the transport's own */
};

extern const struct mm_transport mm_transport_self;

#endif /* MM_COMM_IMPL_H */

/* self.c -- the transport of one process: everything has arrived already.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "impl.h"

static mm_status
self_open (struct mm_comm *c, const struct mm_ranks *ranks)
{
  (void) ranks;
  c->size = c->local_size = 1;
  return MM_OK;
}

static void
self_close (struct mm_comm *c)
{
  (void) c;
}

static mm_status
self_alloc (struct mm_comm *c, const char *what, size_t bytes, void **p)
{
  (void) c, (void) what, (void) bytes;
  *p = NULL;
  return MM_OK;
}

static mm_status
self_barrier (struct mm_comm *c)
{
  (void) c;
  return MM_OK;
}

static mm_status
self_broadcast (struct mm_comm *c, void *data, size_t bytes, int root)
{
  (void) c, (void) data, (void) bytes, (void) root;
  return MM_OK;
}

static mm_status
self_sum (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count)
{
  (void) c, (void) type, (void) data, (void) count;
  return MM_OK;
}

static mm_status
self_reduce_scatter (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count, size_t grain)
{
  (void) c, (void) type, (void) data, (void) count, (void) grain;
  return MM_OK;
}

static mm_status
self_all_gather (struct mm_comm *c, void *data, size_t count, size_t size, size_t grain)
{
  (void) c, (void) data, (void) count, (void) size, (void) grain;
  return MM_OK;
}

static mm_status
self_nothing (struct mm_comm *c)
{
  (void) c;
  return MM_OK;
}

const struct mm_transport mm_transport_self = {
  .name = "self", .open = self_open, .close = self_close, .alloc = self_alloc, .barrier = self_barrier,
  .broadcast = self_broadcast, .sum = self_sum, .reduce_scatter = self_reduce_scatter,
  .all_gather = self_all_gather, .advance = self_nothing, .finish = self_nothing
};

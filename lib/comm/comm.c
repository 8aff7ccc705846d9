/* comm.c -- choose a transport, check arguments, call through its table.
   SPDX-License-Identifier: Apache-2.0

   No transport stands here: self.c holds that of a single process.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "impl.h"

/* In the order in which "auto" tries them.  */
static const struct mm_transport *const transports[] = { &mm_transport_self };

static const struct mm_transport *
find_transport (const char *name)
{
  size_t n = sizeof transports / sizeof *transports;

  if (strcmp (name, "auto") == 0)
    return transports[0];
  for (size_t i = 0; i < n; i++)
    if (strcmp (name, transports[i]->name) == 0)
      return transports[i];
  return NULL;
}

mm_status
mm_comm_open (const char *name, struct mm_comm **out)
{
  const struct mm_transport *transport = find_transport (name);
  struct mm_comm *c;
  mm_status st;

  *out = NULL;
  if (!transport)
    return mm_fail (MM_EUNSUP, "transport '%s': this build has auto, self", name);
  st = mm_alloc ("communicator", 1, sizeof *c, &c);
  if (st < 0)
    return st;
  c->transport = transport;
  st = transport->open (c);
  if (st < 0)
    {
      free (c);
      return st;
    }
  *out = c;
  return MM_OK;
}

void
mm_comm_close (struct mm_comm *c)
{
  if (!c)
    return;
  c->transport->close (c);
  free (c);
}

const char *
mm_comm_name (const struct mm_comm *c)
{
  return c->transport->name;
}

int
mm_comm_rank (const struct mm_comm *c)
{
  return c->rank;
}

int
mm_comm_size (const struct mm_comm *c)
{
  return c->size;
}

mm_status
mm_comm_barrier (struct mm_comm *c)
{
  return c->transport->barrier (c);
}

mm_status
mm_comm_broadcast (struct mm_comm *c, void *data, size_t bytes, int root)
{
  if (root < 0 || root >= c->size)
    return mm_fail (MM_EINVAL, "broadcast: root is rank %d of %d", root, c->size);
  return c->transport->broadcast (c, data, bytes, root);
}

mm_status
mm_comm_sum_i64 (struct mm_comm *c, int64_t *data, size_t count)
{
  return c->transport->sum_i64 (c, data, count);
}

mm_status
mm_comm_agree (struct mm_comm *c, mm_status st)
{
  return c->transport->agree (c, st);
}

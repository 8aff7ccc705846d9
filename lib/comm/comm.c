/* comm.c -- choose a transport, check arguments, call through its table; what all transports have alike.
   SPDX-License-Identifier: Apache-2.0

   No transport stands here: self.c holds that of a single process, shm.c that of one host.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/thread.h>

#include "impl.h"

static const struct mm_transport *const transports[] = {
  &mm_transport_self, &mm_transport_shm,
#if HAVE_MPI
  &mm_transport_mpi_flat, &mm_transport_mpi,
#endif
};
enum { N_TRANSPORTS = sizeof transports / sizeof *transports };

static const double open_timeout = 60;  /* seconds, unless the caller's is shorter */

/* ---- joining ---- */

/* What "auto" is here.  */
static const struct mm_transport *
choose_transport (const struct mm_ranks *ranks)
{
  if (ranks->size > 1)
    return &mm_transport_shm;
#if HAVE_MPI
  if (mm_ranks_by_mpi ())
    return &mm_transport_mpi;
#endif
  return &mm_transport_self;
}

/* Which transport NAME means here.  */
static mm_status
find_transport (const char *name, const struct mm_ranks *ranks, const struct mm_transport **found)
{
  *found = strcmp (name, "auto") == 0 ? choose_transport (ranks) : NULL;
  for (int i = 0; i < N_TRANSPORTS && !*found; i++)
    if (strcmp (name, transports[i]->name) == 0)
      *found = transports[i];
  if (!*found)
    return mm_fail (MM_EUSAGE, "transport '%s': this build has auto, %s", name, mm_comm_list ());
  return MM_OK;
}

mm_status
mm_comm_open (const char *name, double timeout, struct mm_comm **out)
{
  const struct mm_transport *transport = NULL;
  struct mm_ranks ranks;
  struct mm_comm *c;
  mm_status st = mm_ranks_read (&ranks);

  *out = NULL;
  if (st == MM_OK)
    st = find_transport (name, &ranks, &transport);
  if (st == MM_OK)
    st = mm_alloc ("communicator", 1, sizeof *c, &c);
  if (st < 0)
    return st;
  c->transport = transport;
  c->timeout = timeout > 0 && timeout < open_timeout ? timeout : open_timeout;
  st = transport->open (c, &ranks);
  /* Only "self" is free to differ from what launchers say.  */
  if (st == MM_OK && strcmp (name, "self") != 0)
    st = mm_ranks_compare (c->size);
  if (st == MM_OK && c->size > 1)
    st = mm_comm_check (c);
  c->timeout = timeout;
  if (st < 0)
    {
      mm_comm_close (c);
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

int
mm_comm_local_rank (const struct mm_comm *c)
{
  return c->local_rank;
}

int
mm_comm_local_size (const struct mm_comm *c)
{
  return c->local_size;
}

/* ---- operations ---- */

/* After a failed call ranks have lost each other: all that follows fails at once, with the same status, and
   leaves the message.  */
static mm_status
keep (struct mm_comm *c, mm_status st)
{
  if (st < 0 && c->broken == MM_OK)
    c->broken = st;
  return st;
}

mm_status
mm_comm_alloc (struct mm_comm *c, const char *what, size_t bytes, void **p)
{
  *p = NULL;
  if (c->broken < 0)
    return c->broken;
  return bytes ? c->transport->alloc (c, what, bytes, p) : MM_OK;
}

mm_status
mm_comm_barrier (struct mm_comm *c)
{
  return c->broken < 0 ? c->broken : keep (c, c->transport->barrier (c));
}

mm_status
mm_comm_broadcast (struct mm_comm *c, void *data, size_t bytes, int root)
{
  if (root < 0 || root >= c->size)
    return mm_fail (MM_EINVAL, "broadcast: root is rank %d of %d", root, c->size);
  if (c->broken < 0)
    return c->broken;
  return bytes ? keep (c, c->transport->broadcast (c, data, bytes, root)) : MM_OK;
}

/* The bytes of COUNT elements of SIZE are to fit in memory at all.  */
static mm_status
check_count (const char *what, size_t count, size_t size)
{
  size_t bytes;

  if (__builtin_mul_overflow (count, size, &bytes) || bytes > PTRDIFF_MAX)
    return mm_fail (MM_EINVAL, "%s: %zu elements of %zu bytes", what, count, size);
  return MM_OK;
}

static mm_status
sum (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count)
{
  mm_status st = c->broken < 0 ? c->broken : check_count ("sum", count, mm_sum_size (type));

  return st < 0 || count == 0 ? st : keep (c, c->transport->sum (c, type, data, count));
}

mm_status
mm_comm_sum_i64 (struct mm_comm *c, int64_t *data, size_t count)
{
  return sum (c, MM_SUM_I64, data, count);
}

mm_status
mm_comm_sum_f32 (struct mm_comm *c, float *data, size_t count)
{
  return sum (c, MM_SUM_F32, data, count);
}

mm_status
mm_comm_sum_bf16 (struct mm_comm *c, uint16_t *data, size_t count)
{
  return sum (c, MM_SUM_BF16, data, count);
}

void
mm_comm_part (const struct mm_comm *c, int rank, size_t count, size_t grain, size_t *from, size_t *to)
{
  mm_share (count, grain, rank, c->size, from, to);
}

static mm_status
check_parts (const struct mm_comm *c, const char *what, size_t count, size_t size, size_t grain)
{
  if (c->broken < 0)
    return c->broken;
  if (grain == 0)
    return mm_fail (MM_EINVAL, "%s: parts cut at multiples of 0", what);
  return check_count (what, count, size);
}

static mm_status
reduce_scatter (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count, size_t grain)
{
  mm_status st = check_parts (c, "reduce-scatter", count, mm_sum_size (type), grain);

  return st < 0 || count == 0 ? st : keep (c, c->transport->reduce_scatter (c, type, data, count, grain));
}

mm_status
mm_comm_reduce_scatter_i64 (struct mm_comm *c, int64_t *data, size_t count, size_t grain)
{
  return reduce_scatter (c, MM_SUM_I64, data, count, grain);
}

mm_status
mm_comm_reduce_scatter_f32 (struct mm_comm *c, float *data, size_t count, size_t grain)
{
  return reduce_scatter (c, MM_SUM_F32, data, count, grain);
}

mm_status
mm_comm_reduce_scatter_bf16 (struct mm_comm *c, uint16_t *data, size_t count, size_t grain)
{
  return reduce_scatter (c, MM_SUM_BF16, data, count, grain);
}

/* ---- a sum under way ---- */

static mm_status
begin (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count, size_t grain, size_t piece)
{
  mm_status st = c->broken < 0 ? c->broken : check_count ("sum", count, mm_sum_size (type));

  if (st == MM_OK && (c->flow.on || piece == 0))
    st = mm_fail (MM_EINVAL, c->flow.on ? "a sum is under way" : "a sum in pieces of no elements");
  if (st == MM_OK)
    c->flow = (struct mm_flow) { .on = true, .type = type, .data = data, .count = count, .grain = grain,
                                 .piece = piece, .n = count / piece + (count % piece != 0) };
  return st;
}

mm_status
mm_comm_begin_i64 (struct mm_comm *c, int64_t *data, size_t count, size_t grain, size_t piece)
{
  return begin (c, MM_SUM_I64, data, count, grain, piece);
}

mm_status
mm_comm_begin_f32 (struct mm_comm *c, float *data, size_t count, size_t grain, size_t piece)
{
  return begin (c, MM_SUM_F32, data, count, grain, piece);
}

mm_status
mm_comm_hand_over (struct mm_comm *c, size_t from)
{
  struct mm_flow *f = &c->flow;

  if (c->broken < 0)
    return c->broken;
  if (!f->on || from > f->count)
    return mm_fail (MM_EINVAL, "no sum of so many elements is under way");

  size_t handed = f->n - (from / f->piece + (from % f->piece != 0));

  if (handed > f->handed)
    f->handed = handed;
  return keep (c, c->transport->advance (c));
}

mm_status
mm_comm_end (struct mm_comm *c)
{
  struct mm_flow *f = &c->flow;
  mm_status st;

  if (c->broken < 0)
    return c->broken;
  if (!f->on)
    return mm_fail (MM_EINVAL, "no sum is under way");
  f->handed = f->n;
  st = f->n ? keep (c, c->transport->finish (c)) : MM_OK;
  f->on = false;
  return st;
}

mm_status
mm_comm_all_gather (struct mm_comm *c, void *data, size_t count, size_t size, size_t grain)
{
  mm_status st = check_parts (c, "all-gather", count, size, grain);

  if (st < 0 || count == 0 || size == 0)
    return st;
  return keep (c, c->transport->all_gather (c, data, count, size, grain));
}

/* ---- agreement ---- */

enum { MESSAGE = 2048 };

/* The lowest rank whose status is a failure, -1 if none; *ALIKE if all have the same.  */
static int
first_failed (const int *status, int n, bool *alike)
{
  int failed = -1;

  *alike = true;
  for (int i = n - 1; i >= 0; i--)
    {
      *alike = *alike && status[i] == status[0];
      if (status[i] < 0)
        failed = i;
    }
  return failed;
}

mm_status
mm_comm_agree (struct mm_comm *c, mm_status mine)
{
  int *status, failed;
  bool alike;
  char message[MESSAGE] = "";
  mm_status st;

  if (c->size == 1 || c->broken < 0)
    return c->broken < 0 ? c->broken : mine;
  snprintf (message, sizeof message, "%s", mine < 0 ? mm_error_message () : "");
  st = mm_alloc ("statuses", (size_t) c->size, sizeof *status, &status);
  if (st < 0)
    return st;
  status[c->rank] = mine;
  st = mm_comm_all_gather (c, status, (size_t) c->size, sizeof *status, 1);
  failed = st == MM_OK ? first_failed (status, c->size, &alike) : -1;
  mine = failed >= 0 ? (mm_status) status[failed] : MM_OK;
  free (status);
  if (st < 0 || failed < 0)
    return st;
  c->failed = true;
  st = mm_comm_broadcast (c, message, sizeof message, failed);
  if (st < 0)
    return st;
  if (c->rank > 0)
    return mm_fail (mine, "%s", "");
  return alike ? mm_fail (mine, "%s", message) : mm_fail (mine, "rank %d: %s", failed, message);
}

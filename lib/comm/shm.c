/* shm.c -- ranks of one host, through memory that they share.
   SPDX-License-Identifier: Apache-2.0

   Data that lies in memory of mm_comm_alloc is worked on in place: for a sum, each rank adds up its part of
   all ranks' buffers and writes it to all of them, so that main memory sees each element read once and written
   once for each rank.  Other data goes through the window's staging, piece by piece, in two halves by turns:
   when the ranks meet over one half, all are done with the other.

   Of a sum under way, each rank counts the pieces that it has handed over and those that it has added up its part of:
   nobody waits before the end, where the ranks meet.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/memory.h>
#include <minimind/thread.h>

#include "window.h"

enum
{
  GRAIN = 4096,                 /* elements at whose multiples sums are shared out: whole pages */
  SMALL = 16 << 10              /* bytes up to which each rank adds up all of a piece, and spares a meeting */
};

/* Memory of mm_comm_alloc: STRIDE bytes a rank from OFFSET of the window's file, mapped here from BASE.  */
struct shared
{
  char *base;
  size_t offset, stride, bytes;
};

struct shm
{
  struct mm_hold hold;
  size_t end;                   /* of the file, as far as it is taken */
  struct shared *shared;
  size_t n_shared, capacity;
  int half;                     /* of the staging, used last */
  uint64_t pieces;              /* of all sums under way before this one */
  void **in;                    /* a buffer for each rank */
  struct mm_range *parts;
};

enum kind { BARRIER = 1, BROADCAST, SUM, REDUCE_SCATTER, ALL_GATHER };

static const char *const names[]
  = { [BARRIER] = "barrier", [BROADCAST] = "broadcast", [SUM] = "sum", [REDUCE_SCATTER] = "reduce-scatter",
      [ALL_GATHER] = "all-gather" };

static mm_status
meet (struct mm_comm *c, enum kind kind, size_t bytes, uint64_t place)
{
  struct shm *s = c->state;
  struct mm_call call = { .name = names[kind], .kind = kind, .bytes = bytes, .place = place };

  return mm_hold_meet (&s->hold, &call, c->timeout);
}

/* ---- memory ---- */

/* DATA of BYTES as it stands in RANK's buffer; *PLACE tells where, the same on all ranks; NULL and 0 if it is
   this rank's own memory.  */
static char *
find_shared (const struct mm_comm *c, const void *data, size_t bytes, uint64_t *place, struct shared *found)
{
  const struct shm *s = c->state;

  *place = 0;
  for (size_t i = 0; i < s->n_shared; i++)
    {
      const struct shared *m = &s->shared[i];
      char *mine = m->base + (size_t) c->rank * m->stride;

      if ((const char *) data < mine || (const char *) data + bytes > mine + m->bytes)
        continue;
      *found = *m;
      found->base += (const char *) data - mine;
      *place = m->offset + (uint64_t) ((const char *) data - mine) + 1;
      return found->base;
    }
  return NULL;
}

/* All ranks' buffers of what lies at M in this rank's.  */
static void **
buffers (const struct mm_comm *c, const struct shared *m)
{
  struct shm *s = c->state;

  for (int r = 0; r < c->size; r++)
    s->in[r] = m->base + (size_t) r * m->stride;
  return s->in;
}

/* Rank 0 makes the file long enough; it is never cut, since a tool before this one may have left it longer.  */
static mm_status
lengthen (struct mm_comm *c, const char *what, size_t end)
{
  struct shm *s = c->state;
  struct stat status;

  if (c->rank > 0)
    return MM_OK;
  if (fstat (s->hold.fd, &status) == 0
      && ((size_t) status.st_size >= end || ftruncate (s->hold.fd, (off_t) end) == 0))
    return MM_OK;
  return mm_window_fail_memory (s->hold.fd, what, end);
}

/* Take this rank's part, zeroed, now: later there would be no way to say that memory is short.  */
static mm_status
take_part (struct mm_comm *c, const char *what, const struct shared *m)
{
  struct shm *s = c->state;
  off_t at = (off_t) (m->offset + (size_t) c->rank * m->stride);

  fallocate (s->hold.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, (off_t) m->stride);
  if (fallocate (s->hold.fd, 0, at, (off_t) m->stride) == 0 || errno == EOPNOTSUPP)
    return MM_OK;
  return mm_window_fail_memory (s->hold.fd, what, m->stride);
}

static mm_status
shm_alloc (struct mm_comm *c, const char *what, size_t bytes, void **p)
{
  enum { HUGE_PAGE = 2 << 20 };
  struct shm *s = c->state;
  size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
  struct shared m = { .bytes = bytes };
  size_t total = 0;
  mm_status st = mm_grow ("shared memory", &s->shared, &s->capacity, s->n_shared + 1, sizeof *s->shared);

  m.stride = (bytes + align - 1) / align * align;
  m.offset = (s->end + align - 1) / align * align;
  if (st == MM_OK && (m.stride < bytes || __builtin_mul_overflow (m.stride, (size_t) c->size, &total)
                      || total > (size_t) PTRDIFF_MAX - m.offset))
    st = mm_fail (MM_ENOMEM, "%s: %zu bytes for each of %d ranks", what, bytes, c->size);
  if (st == MM_OK)
    st = lengthen (c, what, m.offset + total);
  st = mm_comm_agree (c, st);
  if (st < 0)
    return st;
  st = take_part (c, what, &m);
  m.base = mmap (NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, s->hold.fd, (off_t) m.offset);
  if (st == MM_OK && m.base == MAP_FAILED)
    st = mm_window_fail_memory (s->hold.fd, what, total);
  st = mm_comm_agree (c, st);
  if (st < 0)
    {
      if (m.base != MAP_FAILED)
        munmap (m.base, total);
      return st;
    }
  madvise (m.base, total, MADV_HUGEPAGE);
  s->end = m.offset + total;
  s->shared[s->n_shared++] = m;
  *p = m.base + (size_t) c->rank * m.stride;
  return MM_OK;
}

/* ---- staging ---- */

/* Take the other half: this rank's own.  */
static char *
next_stage (struct mm_comm *c)
{
  struct shm *s = c->state;

  s->half ^= 1;
  return mm_hold_stage (&s->hold, c->rank, s->half);
}

static char *
stage_of (struct mm_comm *c, int rank)
{
  struct shm *s = c->state;

  return mm_hold_stage (&s->hold, rank, s->half);
}

static void **
stages (struct mm_comm *c)
{
  struct shm *s = c->state;

  for (int r = 0; r < c->size; r++)
    s->in[r] = stage_of (c, r);
  return s->in;
}

static size_t
least (size_t a, size_t b)
{
  return a < b ? a : b;
}

/* ---- operations ---- */

static mm_status
shm_barrier (struct mm_comm *c)
{
  return meet (c, BARRIER, 0, 0);
}

static mm_status
broadcast_staged (struct mm_comm *c, void *data, size_t bytes, int root)
{
  mm_status st = MM_OK;

  for (size_t at = 0; at < bytes && st == MM_OK; at += MM_STAGE)
    {
      size_t n = least (bytes - at, MM_STAGE);
      char *mine = next_stage (c);

      if (c->rank == root)
        memcpy (mine, (char *) data + at, n);
      st = meet (c, BROADCAST, bytes, 0);
      if (st == MM_OK && c->rank != root)
        memcpy ((char *) data + at, stage_of (c, root), n);
    }
  return st;
}

static mm_status
shm_broadcast (struct mm_comm *c, void *data, size_t bytes, int root)
{
  struct shared m;
  uint64_t place;
  mm_status st;

  if (!find_shared (c, data, bytes, &place, &m))
    return broadcast_staged (c, data, bytes, root);
  st = meet (c, BROADCAST, bytes, place);
  if (st == MM_OK && c->rank != root)
    memcpy (data, m.base + (size_t) root * m.stride, bytes);
  return st == MM_OK ? meet (c, BROADCAST, bytes, place) : st;
}

/* One piece of N elements: it stands in all ranks' stages.  */
static mm_status
sum_stages (struct mm_comm *c, enum mm_sum_type type, void *data, size_t n, size_t bytes)
{
  size_t size = mm_sum_size (type), from, to;
  void **in = stages (c), *mine = in[c->rank];
  mm_status st;

  if (n * size <= SMALL)
    {
      mm_sum_buffers (type, in, c->size, &data, 1, 0, n);
      return MM_OK;
    }
  mm_share (n, GRAIN, c->rank, c->size, &from, &to);
  mm_sum_buffers (type, in, c->size, &mine, 1, from, to);
  st = meet (c, SUM, bytes, 0);
  for (int r = 0; r < c->size && st == MM_OK; r++)
    {
      mm_share (n, GRAIN, r, c->size, &from, &to);
      memcpy ((char *) data + from * size, (char *) in[r] + from * size, (to - from) * size);
    }
  return st;
}

static mm_status
sum_staged (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count)
{
  size_t size = mm_sum_size (type), most = MM_STAGE / size;
  mm_status st = MM_OK;

  for (size_t at = 0; at < count && st == MM_OK; at += most)
    {
      size_t n = least (count - at, most);
      char *piece = (char *) data + at * size;

      memcpy (next_stage (c), piece, n * size);
      st = meet (c, SUM, count * size, 0);
      if (st == MM_OK)
        st = sum_stages (c, type, piece, n, count * size);
    }
  return st;
}

static mm_status
shm_sum (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count)
{
  size_t bytes = count * mm_sum_size (type), from, to;
  struct shared m;
  uint64_t place;
  void **all;
  mm_status st;

  if (!find_shared (c, data, bytes, &place, &m))
    return sum_staged (c, type, data, count);
  st = meet (c, SUM, bytes, place);
  if (st < 0)
    return st;
  mm_share (count, GRAIN, c->rank, c->size, &from, &to);
  all = buffers (c, &m);
  mm_sum_buffers (type, all, c->size, all, c->size, from, to);
  return meet (c, SUM, bytes, place);
}

/* Of each piece, a rank adds up what is of its part.  */
static mm_status
reduce_scatter_staged (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count, size_t from, size_t to)
{
  size_t size = mm_sum_size (type), most = MM_STAGE / size;
  mm_status st = MM_OK;

  for (size_t at = 0; at < count && st == MM_OK; at += most)
    {
      size_t n = least (count - at, most);
      void *piece = (char *) data + at * size;
      size_t a = from > at ? from - at : 0, b = to > at ? least (to - at, n) : 0;

      memcpy (next_stage (c), piece, n * size);
      st = meet (c, REDUCE_SCATTER, count * size, 0);
      if (st == MM_OK && a < b)
        mm_sum_buffers (type, stages (c), c->size, &piece, 1, a, b);
    }
  return st;
}

static mm_status
shm_reduce_scatter (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count, size_t grain)
{
  size_t bytes = count * mm_sum_size (type), from, to;
  struct shared m;
  uint64_t place;
  void **in;
  mm_status st;

  mm_comm_part (c, c->rank, count, grain, &from, &to);
  if (!find_shared (c, data, bytes, &place, &m))
    return reduce_scatter_staged (c, type, data, count, from, to);
  st = meet (c, REDUCE_SCATTER, bytes, place);
  if (st < 0)
    return st;
  in = buffers (c, &m);
  mm_sum_buffers (type, in, c->size, &in[c->rank], 1, from, to);
  return meet (c, REDUCE_SCATTER, bytes, place);
}

/* ---- a sum under way ---- */

/* The least of all ranks' counts, of this sum, of pieces handed over, or SUMMED.  */
static size_t
least_count (const struct mm_comm *c, bool summed)
{
  const struct shm *s = c->state;
  uint64_t count = UINT64_MAX;

  for (int r = 0; r < c->size; r++)
    {
      const struct mm_window_rank *rank = &s->hold.window->ranks[r];
      uint64_t theirs = atomic_load_explicit (summed ? &rank->summed : &rank->handed, memory_order_acquire);

      count = theirs < count ? theirs : count;
    }
  return count > s->pieces ? (size_t) (count - s->pieces) : 0;
}

size_t
mm_shm_summed (const struct mm_comm *c)
{
  return least_count (c, true);
}

/* Add up this rank's part of piece K.  */
static void
add_piece (struct mm_comm *c, const struct shared *m, size_t k)
{
  const struct mm_flow *f = &c->flow;
  void **all = buffers (c, m);
  size_t from, to, mine_from, mine_to;

  mm_flow_piece (f, k, &from, &to);
  if (f->grain == 0)
    {
      mm_share (to - from, GRAIN, c->rank, c->size, &mine_from, &mine_to);
      mm_sum_buffers (f->type, all, c->size, all, c->size, from + mine_from, from + mine_to);
      return;
    }
  mm_comm_part (c, c->rank, f->count, f->grain, &mine_from, &mine_to);
  from = from > mine_from ? from : mine_from;
  to = to < mine_to ? to : mine_to;
  if (from < to)
    mm_sum_buffers (f->type, all, c->size, &all[c->rank], 1, from, to);
}

static mm_status
shm_advance (struct mm_comm *c)
{
  struct shm *s = c->state;
  struct mm_window_rank *me = &s->hold.window->ranks[c->rank];
  const struct mm_flow *f = &c->flow;
  size_t done = (size_t) (atomic_load_explicit (&me->summed, memory_order_relaxed) - s->pieces), ready;
  struct shared m;
  uint64_t place;

  if (!find_shared (c, f->data, f->count * mm_sum_size (f->type), &place, &m))
    return MM_OK;
  atomic_store_explicit (&me->handed, s->pieces + f->handed, memory_order_release);
  ready = done < f->handed ? least_count (c, false) : 0;
  for (; done < ready; done++)
    {
      add_piece (c, &m, done);
      atomic_store_explicit (&me->summed, s->pieces + done + 1, memory_order_release);
    }
  return MM_OK;
}

static mm_status
shm_finish (struct mm_comm *c)
{
  struct shm *s = c->state;
  const struct mm_flow *f = &c->flow;
  size_t bytes = f->count * mm_sum_size (f->type);
  struct shared m;
  uint64_t place;
  mm_status st;

  if (!find_shared (c, f->data, bytes, &place, &m))
    return f->grain ? shm_reduce_scatter (c, f->type, f->data, f->count, f->grain)
                    : shm_sum (c, f->type, f->data, f->count);
  /* Whoever is early begins with what is there.  */
  st = shm_advance (c);
  if (st == MM_OK)
    st = meet (c, SUM, bytes, place);
  if (st == MM_OK)
    st = shm_advance (c);
  if (st == MM_OK)
    st = meet (c, SUM, bytes, place);
  s->pieces += f->n;
  return st;
}

/* ---- parts ---- */

/* Through the staging, piece by piece.  */
static mm_status
exchange_staged (struct mm_comm *c, char *data, size_t bytes, const struct mm_range *parts)
{
  size_t largest = 0;
  mm_status st = MM_OK;

  for (int r = 0; r < c->size; r++)
    if (parts[r].to - parts[r].from > largest)
      largest = parts[r].to - parts[r].from;
  for (size_t done = 0; done < largest && st == MM_OK; done += MM_STAGE)
    {
      struct mm_range p = mm_range_piece (parts[c->rank], done, MM_STAGE);

      memcpy (next_stage (c), data + p.from, p.to - p.from);
      st = meet (c, ALL_GATHER, bytes, 0);
      for (int r = 0; r < c->size && st == MM_OK; r++)
        {
          p = mm_range_piece (parts[r], done, MM_STAGE);
          if (r != c->rank)
            memcpy (data + p.from, stage_of (c, r), p.to - p.from);
        }
    }
  return st;
}

mm_status
mm_shm_exchange (struct mm_comm *c, void *data, size_t bytes, const struct mm_range *parts)
{
  struct shared m;
  uint64_t place;
  mm_status st;

  if (!find_shared (c, data, bytes, &place, &m))
    return exchange_staged (c, data, bytes, parts);
  st = meet (c, ALL_GATHER, bytes, place);
  for (int r = 0; r < c->size && st == MM_OK; r++)
    if (r != c->rank)
      memcpy ((char *) data + parts[r].from, m.base + (size_t) r * m.stride + parts[r].from,
              parts[r].to - parts[r].from);
  return st == MM_OK ? meet (c, ALL_GATHER, bytes, place) : st;
}

static mm_status
shm_all_gather (struct mm_comm *c, void *data, size_t count, size_t size, size_t grain)
{
  struct shm *s = c->state;

  for (int r = 0; r < c->size; r++)
    s->parts[r] = mm_range_of (c, r, count, size, grain);
  return mm_shm_exchange (c, data, count * size, s->parts);
}

/* ---- joining ---- */

mm_status
mm_shm_join (struct mm_comm *c, const struct mm_ranks *ranks)
{
  struct shm *s;
  mm_status st = mm_alloc ("shared window", 1, sizeof *s, &s);

  if (st < 0)
    return st;
  c->state = s;
  s->hold.fd = -1;
  c->rank = c->local_rank = ranks->local_rank;
  c->size = c->local_size = ranks->local_size;
  st = mm_alloc ("shared window", (size_t) c->size, sizeof *s->in, &s->in);
  if (st == MM_OK)
    st = mm_alloc ("shared window", (size_t) c->size, sizeof *s->parts, &s->parts);
  if (st == MM_OK)
    st = mm_hold_open (&s->hold, ranks->window, ranks, c->timeout);
  if (st == MM_OK)
    s->end = s->hold.window->bytes;
  return st;
}

void
mm_shm_tell (struct mm_comm *c)
{
  struct shm *s = c->state;

  mm_hold_tell (&s->hold);
}

static mm_status
shm_open_window (struct mm_comm *c, const struct mm_ranks *ranks)
{
  if (ranks->size < 1 || ranks->window < 0)
    return mm_fail (MM_EUSAGE, "transport shm: nothing to join: ranks of one host are started by minimind-launch -n"
                    " RANKS -- TOOL ...");
  if (ranks->local_size != ranks->size)
    return mm_fail (MM_EUSAGE, "transport shm: %d of %d ranks are on this host: it is for one host",
                    ranks->local_size, ranks->size);
  return mm_shm_join (c, ranks);
}

static void
shm_close (struct mm_comm *c)
{
  struct shm *s = c->state;

  if (!s)
    return;
  for (size_t i = 0; i < s->n_shared; i++)
    munmap (s->shared[i].base, s->shared[i].stride * (size_t) c->size);
  mm_hold_close (&s->hold);
  free (s->shared);
  free (s->in);
  free (s->parts);
  free (s);
}

const struct mm_transport mm_transport_shm = {
  .name = "shm", .open = shm_open_window, .close = shm_close, .alloc = shm_alloc, .barrier = shm_barrier,
  .broadcast = shm_broadcast, .sum = shm_sum, .reduce_scatter = shm_reduce_scatter,
  .all_gather = shm_all_gather, .advance = shm_advance, .finish = shm_finish
};

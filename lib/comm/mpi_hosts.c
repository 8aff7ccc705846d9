/* mpi_hosts.c -- direct exchanges between the leaders of hosts, with a deadline.
   SPDX-License-Identifier: Apache-2.0

   Messages are posted for a whole round and then waited for.  Waiting polls: MPI offers no other way that has
   a deadline; it sleeps between polls once a message is late, because ranks may outnumber processors.  */

#include <config.h>

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/thread.h>

#include "mpi_hosts.h"

enum
{
  ROUND = 8 << 20,              /* bytes of data that a round works on */
  GRAIN = 1024,                 /* elements at whose multiples a sum is shared out */
  POLLS = 200                   /* before sleeping between them */
};

/* Bytes that N hosts have for one of them in a round: whole grains make its part longer than an even one.  */
static size_t
scratch_size (int n)
{
  return ROUND + (size_t) n * GRAIN * sizeof (int64_t);
}

/* Messages of a kind have a tag of their own, so that ranks which have lost each other don't mix them up.  */
enum tag { BARRIER = 1, BROADCAST, SUM, PARTS };

static const char *const names[]
  = { [BARRIER] = "barrier", [BROADCAST] = "broadcast", [SUM] = "sum", [PARTS] = "all-gather" };

mm_status
mm_hosts_open (struct mm_hosts *h, MPI_Comm comm, int host, int n, int *leaders)
{
  mm_status st;

  *h = (struct mm_hosts) { .comm = comm, .host = host, .n = n, .leaders = leaders };
  st = mm_alloc ("messages of hosts", scratch_size (n), 1, &h->scratch);
  if (st == MM_OK)
    st = mm_alloc ("messages of hosts", 2 * (size_t) n, sizeof *h->requests, &h->requests);
  if (st == MM_OK)
    st = mm_alloc ("messages of hosts", 2 * (size_t) n, sizeof *h->peers, &h->peers);
  if (st == MM_OK)
    st = mm_alloc ("messages of hosts", (size_t) n, sizeof *h->pieces, &h->pieces);
  return st == MM_OK ? mm_alloc ("messages of hosts", (size_t) n, sizeof *h->in, &h->in) : st;
}

void
mm_hosts_close (struct mm_hosts *h)
{
  free (h->scratch);
  free (h->requests);
  free (h->peers);
  free (h->pieces);
  free (h->in);
}

/* ---- messages ---- */

static mm_status
fail_mpi (const struct mm_hosts *h, int code, enum tag tag, int peer)
{
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;

  MPI_Error_string (code, text, &length);
  return mm_fail (MM_ESTOPPED, "rank %d is lost: a message of a %s: %s", h->leaders[peer], names[tag], text);
}

/* Post one message of BYTES from or to PEER; none for no bytes, which both sides know.  */
static mm_status
post (struct mm_hosts *h, bool send, void *data, size_t bytes, int peer, enum tag tag)
{
  MPI_Request *request = &h->requests[h->n_requests];
  int code;

  if (bytes == 0)
    return MM_OK;
  code = send ? MPI_Isend (data, (int) bytes, MPI_BYTE, peer, tag, h->comm, request)
              : MPI_Irecv (data, (int) bytes, MPI_BYTE, peer, tag, h->comm, request);
  if (code != MPI_SUCCESS)
    return fail_mpi (h, code, tag, peer);
  h->peers[h->n_requests++] = peer;
  return MM_OK;
}

/* The ranks whose messages have not come, or that have not taken ours.  */
static mm_status
fail_late (const struct mm_hosts *h, enum tag tag)
{
  char who[160] = "";
  size_t used = 0;
  int n = 0;

  for (int host = 0; host < h->n && used < sizeof who; host++)
    for (int i = 0; i < h->n_requests; i++)
      if (h->peers[i] == host && h->requests[i] != MPI_REQUEST_NULL)
        {
          used += (size_t) snprintf (who + used, sizeof who - used, "%s%d", n++ ? ", " : "", h->leaders[host]);
          break;
        }
  return mm_fail (MM_ESTOPPED, "rank%s %s %s not answered in the %s within %.0f s (--timeout): its host or the link to"
                  " it may be down", n == 1 ? "" : "s", who, n == 1 ? "has" : "have", names[tag], h->timeout);
}

/* Testall leaves what has come posted until all has: look at each message.  */
static bool
none_missing (struct mm_hosts *h)
{
  bool all = true;
  int done;

  for (int i = 0; i < h->n_requests; i++)
    {
      MPI_Test (&h->requests[i], &done, MPI_STATUS_IGNORE);
      all = all && done;
    }
  return all;
}

/* Wait for all that is posted.  */
static mm_status
wait_all (struct mm_hosts *h, enum tag tag)
{
  static const struct timespec nap = { .tv_nsec = 100000 };
  struct mm_patience patience;
  int all = 0;

  mm_patience_begin (&patience, h->timeout);
  for (int polls = 0; !all; polls++)
    {
      int code = MPI_Testall (h->n_requests, h->requests, &all, MPI_STATUSES_IGNORE);

      if (code != MPI_SUCCESS)
        return fail_mpi (h, code, tag, h->peers[0]);
      if (all || polls < POLLS)
        continue;
      if (mm_patience_over (&patience))
        {
          all = none_missing (h);
          if (!all)
            return fail_late (h, tag);
        }
      else
        nanosleep (&nap, NULL);
    }
  h->n_requests = 0;
  return MM_OK;
}

/* ---- operations ---- */

mm_status
mm_hosts_barrier (struct mm_hosts *h)
{
  char token = 0;
  mm_status st = MM_OK;

  for (int peer = 0; peer < h->n && st == MM_OK; peer++)
    if (peer != h->host)
      {
        st = post (h, false, &h->scratch[peer], 1, peer, BARRIER);
        if (st == MM_OK)
          st = post (h, true, &token, 1, peer, BARRIER);
      }
  return st == MM_OK ? wait_all (h, BARRIER) : st;
}

mm_status
mm_hosts_broadcast (struct mm_hosts *h, void *data, size_t bytes, int root)
{
  mm_status st = MM_OK;

  for (size_t at = 0; at < bytes && st == MM_OK; at += ROUND)
    {
      size_t n = bytes - at < ROUND ? bytes - at : ROUND;

      if (h->host != root)
        st = post (h, false, (char *) data + at, n, root, BROADCAST);
      for (int peer = 0; peer < h->n && h->host == root && st == MM_OK; peer++)
        if (peer != root)
          st = post (h, true, (char *) data + at, n, peer, BROADCAST);
      if (st == MM_OK)
        st = wait_all (h, BROADCAST);
    }
  return st;
}

/* A round has two halves, each of messages to be waited for.  The first: PIECES[host] of DATA goes to its host,
   which ...  */
static mm_status
post_pieces (struct mm_hosts *h, char *data, const struct mm_range *pieces)
{
  struct mm_range mine = pieces[h->host];
  size_t bytes = mine.to - mine.from;
  mm_status st = MM_OK;

  assert ((size_t) h->n * bytes <= scratch_size (h->n));
  for (int peer = 0; peer < h->n && st == MM_OK; peer++)
    {
      h->in[peer] = peer == h->host ? data + mine.from : h->scratch + (size_t) peer * bytes;
      if (peer != h->host)
        st = post (h, false, h->in[peer], bytes, peer, SUM);
    }
  for (int peer = 0; peer < h->n && st == MM_OK; peer++)
    if (peer != h->host)
      st = post (h, true, data + pieces[peer].from, pieces[peer].to - pieces[peer].from, peer, SUM);
  return st;
}

/* ... adds it up.  */
static void
add_up (struct mm_hosts *h, enum mm_sum_type type, const struct mm_range *pieces)
{
  size_t bytes = pieces[h->host].to - pieces[h->host].from;

  if (bytes > 0)
    mm_sum_buffers (type, h->in, h->n, &h->in[h->host], 1, 0, bytes / mm_sum_size (type));
}

static mm_status
reduce_round (struct mm_hosts *h, enum mm_sum_type type, char *data, const struct mm_range *pieces)
{
  mm_status st = post_pieces (h, data, pieces);

  if (st == MM_OK)
    st = wait_all (h, SUM);
  if (st == MM_OK)
    add_up (h, type, pieces);
  return st;
}

/* The second half: PIECES[host] of DATA goes from each host to all.  */
static mm_status
post_sums (struct mm_hosts *h, char *data, const struct mm_range *pieces)
{
  struct mm_range mine = pieces[h->host];
  mm_status st = MM_OK;

  for (int peer = 0; peer < h->n && st == MM_OK; peer++)
    if (peer != h->host)
      {
        st = post (h, false, data + pieces[peer].from, pieces[peer].to - pieces[peer].from, peer, PARTS);
        if (st == MM_OK)
          st = post (h, true, data + mine.from, mine.to - mine.from, peer, PARTS);
      }
  return st;
}

static mm_status
gather_round (struct mm_hosts *h, char *data, const struct mm_range *pieces)
{
  mm_status st = post_sums (h, data, pieces);

  return st == MM_OK ? wait_all (h, PARTS) : st;
}

/* The PIECES of a round on N elements of SIZE from element AT on.  */
static void
cut_round (const struct mm_hosts *h, size_t at, size_t n, size_t size, struct mm_range *pieces)
{
  for (int host = 0; host < h->n; host++)
    {
      mm_share (n, GRAIN, host, h->n, &pieces[host].from, &pieces[host].to);
      pieces[host].from = (at + pieces[host].from) * size;
      pieces[host].to = (at + pieces[host].to) * size;
    }
}

mm_status
mm_hosts_sum (struct mm_hosts *h, enum mm_sum_type type, void *data, size_t count)
{
  size_t size = mm_sum_size (type), most = ROUND / size;
  struct mm_range *pieces;
  mm_status st = mm_alloc ("pieces of a sum", (size_t) h->n, sizeof *pieces, &pieces);

  for (size_t at = 0; at < count && st == MM_OK; at += most)
    {
      size_t n = count - at < most ? count - at : most;

      cut_round (h, at, n, size, pieces);
      st = reduce_round (h, type, data, pieces);
      if (st == MM_OK)
        st = gather_round (h, data, pieces);
    }
  free (pieces);
  return st;
}

/* ---- a sum under way ---- */

/* Post the next round of the piece at hand.  */
static mm_status
begin_round (struct mm_hosts *h, const struct mm_flow *f)
{
  size_t size = mm_sum_size (f->type), most = ROUND / size, from, to, n;

  mm_flow_piece (f, h->done, &from, &to);
  n = to - from - h->at < most ? to - from - h->at : most;
  cut_round (h, from + h->at, n, size, h->pieces);
  h->at += n;
  if (h->at == to - from)
    {
      h->at = 0;
      h->done++;
    }
  h->phase = MM_HOSTS_REDUCING;
  return post_pieces (h, f->data, h->pieces);
}

/* The messages of one half have come: go on to the other, or to the end of the round.  */
static mm_status
turn_round (struct mm_hosts *h, const struct mm_flow *f)
{
  if (h->phase == MM_HOSTS_GATHERING)
    {
      h->phase = MM_HOSTS_IDLE;
      return MM_OK;
    }
  add_up (h, f->type, h->pieces);
  h->phase = MM_HOSTS_GATHERING;
  return post_sums (h, f->data, h->pieces);
}

mm_status
mm_hosts_advance (struct mm_hosts *h, const struct mm_flow *f, size_t ready)
{
  for (;;)
    {
      int all = 1, code = MPI_SUCCESS;
      mm_status st;

      if (h->phase == MM_HOSTS_IDLE && h->done >= ready)
        return MM_OK;
      if (h->phase != MM_HOSTS_IDLE)
        code = MPI_Testall (h->n_requests, h->requests, &all, MPI_STATUSES_IGNORE);
      if (code != MPI_SUCCESS)
        return fail_mpi (h, code, SUM, h->peers[0]);
      if (!all)
        return MM_OK;
      h->n_requests = 0;
      st = h->phase == MM_HOSTS_IDLE ? begin_round (h, f) : turn_round (h, f);
      if (st < 0)
        return st;
    }
}

mm_status
mm_hosts_finish (struct mm_hosts *h, const struct mm_flow *f)
{
  mm_status st = mm_hosts_advance (h, f, f->n);

  while (st == MM_OK && h->phase != MM_HOSTS_IDLE)
    {
      st = wait_all (h, SUM);
      if (st == MM_OK)
        st = mm_hosts_advance (h, f, f->n);
    }
  h->done = 0;
  return st;
}

/* ---- parts ---- */

/* The longest of PARTS.  */
static size_t
longest (const struct mm_range *parts, int n)
{
  size_t most = 0;

  for (int i = 0; i < n; i++)
    if (parts[i].to - parts[i].from > most)
      most = parts[i].to - parts[i].from;
  return most;
}

mm_status
mm_hosts_reduce (struct mm_hosts *h, enum mm_sum_type type, void *data, const struct mm_range *parts)
{
  size_t all = longest (parts, h->n), size = mm_sum_size (type);
  size_t most = ROUND / (size_t) h->n / size * size;
  struct mm_range *pieces;
  mm_status st = mm_alloc ("pieces of a sum", (size_t) h->n, sizeof *pieces, &pieces);

  for (size_t done = 0; done < all && st == MM_OK; done += most)
    {
      for (int host = 0; host < h->n; host++)
        pieces[host] = mm_range_piece (parts[host], done, most);
      st = reduce_round (h, type, data, pieces);
    }
  free (pieces);
  return st;
}

/* The I-th part of a host, in the order of parts; empty behind its last.  */
static struct mm_range
part_of (const struct mm_range *parts, const int *owners, int n_parts, int host, int i)
{
  for (int p = 0; p < n_parts; p++)
    if (owners[p] == host && i-- == 0)
      return parts[p];
  return (struct mm_range) { 0, 0 };
}

mm_status
mm_hosts_exchange (struct mm_hosts *h, void *data, const struct mm_range *parts, const int *owners, int n_parts)
{
  size_t all = longest (parts, n_parts);
  struct mm_range *pieces;
  mm_status st = mm_alloc ("pieces of hosts", (size_t) h->n, sizeof *pieces, &pieces);
  bool more = true;

  for (int i = 0; more && st == MM_OK; i++)
    {
      more = false;
      for (size_t done = 0; done < all && st == MM_OK; done += ROUND)
        {
          bool any = false;

          for (int host = 0; host < h->n; host++)
            {
              pieces[host] = mm_range_piece (part_of (parts, owners, n_parts, host, i), done, ROUND);
              any |= pieces[host].from < pieces[host].to;
            }
          if (any)
            st = gather_round (h, data, pieces);
          more |= any;
        }
    }
  free (pieces);
  return st;
}

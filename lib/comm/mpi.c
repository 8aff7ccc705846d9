/* mpi.c -- ranks that mpirun or srun started, on any number of hosts.
   SPDX-License-Identifier: Apache-2.0

   Ranks of one host work through memory that they share (shm.c), and one of them, the host's leader, exchanges
   messages with the others' (mpi_hosts.c).  The flat transport takes each rank for a host of its own: for hosts
   whose ranks cannot share memory.  MPI's own collectives serve to get acquainted only: they have no
   deadline, and sum in an order that depends on the library.  */

#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <minimind/cli.h>
#include <minimind/memory.h>

#include "mpi_hosts.h"
#include "window.h"

struct mpi
{
  bool flat;
  MPI_Comm leaders, leaders_again;      /* MPI_COMM_NULL on other ranks; the other is for sums under way */
  struct mm_hosts hosts, flow;  /* on leaders */
  int n_hosts;
  int *host_of, *local_of;      /* of each rank: its host, its place among the ranks of that */
  int *leader_of;               /* of each host */
  struct mm_comm *local;        /* the ranks of this host; NULL: this one is alone */
  struct mm_range *parts, *local_parts;
  bool silent;                  /* it could not be opened, and another rank has the message */
};

/* ---- getting acquainted ---- */

/* Nothing interrupts MPI_Init when a peer never comes.  */
static void
give_up (int signo)
{
  static const char text[] = "the ranks that mpirun started have not found each other within a minute\n";

  (void) signo;
  if (write (STDERR_FILENO, text, sizeof text - 1) < 0)
    _exit (MM_EXIT_FAILURE);
  _exit (MM_EXIT_RESUME);
}

static mm_status
start_mpi (struct mm_comm *c)
{
  struct sigaction before, now = { .sa_handler = give_up };
  int thread_level, initialized;

  MPI_Initialized (&initialized);
  if (!initialized)
    {
      sigaction (SIGALRM, &now, &before);
      alarm ((unsigned) c->timeout + 1);
      MPI_Init_thread (NULL, NULL, MPI_THREAD_FUNNELED, &thread_level);
      alarm (0);
      sigaction (SIGALRM, &before, NULL);
    }
  prctl (PR_SET_PDEATHSIG, SIGKILL);    /* nobody is left behind when mpirun's daemon is killed */
  MPI_Comm_set_errhandler (MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank (MPI_COMM_WORLD, &c->rank);
  MPI_Comm_size (MPI_COMM_WORLD, &c->size);
  return MM_OK;
}

static mm_status
make_room (struct mm_comm *c, struct mpi *m)
{
  size_t n = (size_t) c->size;
  mm_status st = mm_alloc ("ranks", n, sizeof *m->host_of, &m->host_of);

  if (st == MM_OK)
    st = mm_alloc ("ranks", n, sizeof *m->local_of, &m->local_of);
  if (st == MM_OK)
    st = mm_alloc ("ranks", n, sizeof *m->leader_of, &m->leader_of);
  if (st == MM_OK)
    st = mm_alloc ("parts of ranks", n, sizeof *m->parts, &m->parts);
  return st == MM_OK ? mm_alloc ("parts of ranks", n, sizeof *m->local_parts, &m->local_parts) : st;
}

/* Who is on which host, and who leads there.  HERE: the ranks of this one.  */
static mm_status
find_hosts (struct mm_comm *c, struct mpi *m, MPI_Comm here)
{
  int host = 0;
  mm_status st;

  MPI_Comm_rank (here, &c->local_rank);
  MPI_Comm_size (here, &c->local_size);
  MPI_Comm_split (MPI_COMM_WORLD, c->local_rank == 0 ? 0 : MPI_UNDEFINED, c->rank, &m->leaders);
  if (m->leaders != MPI_COMM_NULL)
    {
      MPI_Comm_rank (m->leaders, &host);
      MPI_Comm_size (m->leaders, &m->n_hosts);
      MPI_Comm_set_errhandler (m->leaders, MPI_ERRORS_RETURN);
      MPI_Comm_dup (m->leaders, &m->leaders_again);
    }
  MPI_Bcast (&host, 1, MPI_INT, 0, here);
  MPI_Bcast (&m->n_hosts, 1, MPI_INT, 0, here);
  MPI_Allgather (&host, 1, MPI_INT, m->host_of, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgather (&c->local_rank, 1, MPI_INT, m->local_of, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < c->size; r++)
    if (m->local_of[r] == 0)
      m->leader_of[m->host_of[r]] = r;
  if (m->leaders == MPI_COMM_NULL)
    return MM_OK;
  st = mm_hosts_open (&m->hosts, m->leaders, host, m->n_hosts, m->leader_of);
  return st == MM_OK ? mm_hosts_open (&m->flow, m->leaders_again, host, m->n_hosts, m->leader_of) : st;
}

/* The worst status of the ranks of HERE, before they have a window to agree in.  */
static mm_status
agree_here (MPI_Comm here, mm_status st)
{
  int mine = st, worst = st;

  MPI_Allreduce (&mine, &worst, 1, MPI_INT, MPI_MIN, here);
  return st == MM_OK && worst < 0 ? mm_fail ((mm_status) worst, "%s", "") : st;
}

/* The leader makes the window, the others find it by its name, which then goes.  */
static mm_status
share_window (struct mm_comm *c, struct mpi *m, MPI_Comm here)
{
  char name[MM_WINDOW_NAME] = "";
  struct mm_ranks ranks = { .rank = c->rank, .size = c->size, .local_rank = c->local_rank,
                            .local_size = c->local_size, .window = -1 };
  mm_status st = mm_alloc ("communicator", 1, sizeof *m->local, &m->local);

  if (st == MM_OK)
    *m->local = (struct mm_comm) { .transport = &mm_transport_shm, .timeout = c->timeout };
  if (st == MM_OK && c->local_rank == 0)
    st = mm_window_named (c->local_size, name, &ranks.window);
  MPI_Bcast (name, sizeof name, MPI_CHAR, 0, here);
  st = agree_here (here, st);
  if (st == MM_OK && c->local_rank > 0)
    st = mm_window_find (name, &ranks.window);
  st = agree_here (here, st);
  if (c->local_rank == 0)
    mm_window_unname (name);
  if (st < 0)
    {
      if (ranks.window >= 0)
        close (ranks.window);
      return st;
    }
  return mm_shm_join (m->local, &ranks);
}

static mm_status
open_mpi (struct mm_comm *c, bool flat)
{
  struct mpi *m;
  MPI_Comm here;
  mm_status st = mm_alloc ("communicator", 1, sizeof *m, &m);

  if (st < 0)
    return st;
  m->flat = flat;
  m->leaders = m->leaders_again = MPI_COMM_NULL;
  c->state = m;
  st = start_mpi (c);
  if (st == MM_OK)
    st = make_room (c, m);
  if (st < 0)
    return st;
  if (flat)
    MPI_Comm_dup (MPI_COMM_SELF, &here);
  else
    MPI_Comm_split_type (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &here);
  st = find_hosts (c, m, here);
  st = agree_here (MPI_COMM_WORLD, st);
  if (st == MM_OK && c->local_size > 1)
    st = share_window (c, m, here);
  st = agree_here (MPI_COMM_WORLD, st);
  MPI_Comm_free (&here);
  m->silent = st < 0 && !*mm_error_message ();
  return st;
}

static mm_status
mpi_open (struct mm_comm *c, const struct mm_ranks *ranks)
{
  (void) ranks;
  return open_mpi (c, false);
}

static mm_status
mpi_open_flat (struct mm_comm *c, const struct mm_ranks *ranks)
{
  (void) ranks;
  return open_mpi (c, true);
}

static void
mpi_close (struct mm_comm *c)
{
  static const struct timespec while_another_tells = { .tv_sec = 5 };
  struct mpi *m = c->state;
  bool silent = m && m->silent;

  if (!m)
    return;
  mm_comm_close (m->local);
  mm_hosts_close (&m->hosts);
  mm_hosts_close (&m->flow);
  if (m->leaders_again != MPI_COMM_NULL && c->broken == MM_OK)
    MPI_Comm_free (&m->leaders_again);
  if (m->leaders != MPI_COMM_NULL && c->broken == MM_OK)
    MPI_Comm_free (&m->leaders);
  free (m->host_of);
  free (m->local_of);
  free (m->leader_of);
  free (m->parts);
  free (m->local_parts);
  free (m);
  /* With a peer lost it would wait for ever; mpirun then ends the others by itself.  */
  if (c->broken == MM_OK)
    MPI_Finalize ();
  /* mpirun ends all when the first leaves with a failure: that is to be who tells it, rank 0 where all have agreed.  */
  if (silent || (c->failed && c->rank > 0))
    nanosleep (&while_another_tells, NULL);
}

/* ---- operations ---- */

static bool
is_leader (const struct mpi *m)
{
  return m->leaders != MPI_COMM_NULL;
}

/* This rank's part between hosts failed: those of its host would wait in vain.  */
static mm_status
tell_host (struct mpi *m, mm_status st)
{
  if (st < 0 && m->local)
    mm_shm_tell (m->local);
  return st;
}

static void
set_timeouts (struct mm_comm *c, struct mpi *m)
{
  m->hosts.timeout = m->flow.timeout = c->timeout;
  /* A leader that waits for another host is the first to lose patience, and tells.  */
  if (m->local)
    m->local->timeout = m->n_hosts > 1 && c->timeout > 0 ? 2 * c->timeout + 10 : c->timeout;
}

/* Across hosts, where there are several, by leaders.  */
#define AMONG_HOSTS(m, call) \
  ((m)->n_hosts > 1 && is_leader (m) ? tell_host (m, call) : MM_OK)

static mm_status
mpi_alloc (struct mm_comm *c, const char *what, size_t bytes, void **p)
{
  struct mpi *m = c->state;
  mm_status st = MM_OK;

  set_timeouts (c, m);
  *p = NULL;
  if (m->local)
    st = m->local->transport->alloc (m->local, what, bytes, p);
  return m->n_hosts > 1 ? mm_comm_agree (c, st) : st;
}

static mm_status
mpi_barrier (struct mm_comm *c)
{
  struct mpi *m = c->state;
  mm_status st = MM_OK;

  set_timeouts (c, m);
  if (m->local)
    st = mm_comm_barrier (m->local);
  if (st == MM_OK)
    st = AMONG_HOSTS (m, mm_hosts_barrier (&m->hosts));
  return st == MM_OK && m->local && m->n_hosts > 1 ? mm_comm_barrier (m->local) : st;
}

/* To the ranks of this host from its leader.  */
static mm_status
spread (struct mpi *m, void *data, size_t bytes)
{
  return m->local && m->n_hosts > 1 ? mm_comm_broadcast (m->local, data, bytes, 0) : MM_OK;
}

static mm_status
mpi_broadcast (struct mm_comm *c, void *data, size_t bytes, int root)
{
  struct mpi *m = c->state;
  int home = m->host_of[root];
  mm_status st = MM_OK;

  set_timeouts (c, m);
  if (m->local && m->host_of[c->rank] == home)
    st = mm_comm_broadcast (m->local, data, bytes, m->local_of[root]);
  if (st == MM_OK)
    st = AMONG_HOSTS (m, mm_hosts_broadcast (&m->hosts, data, bytes, home));
  return st == MM_OK && m->host_of[c->rank] != home ? spread (m, data, bytes) : st;
}

static mm_status
mpi_sum (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count)
{
  struct mpi *m = c->state;
  mm_status st = MM_OK;

  set_timeouts (c, m);
  if (m->local)
    st = m->local->transport->sum (m->local, type, data, count);
  if (st == MM_OK)
    st = AMONG_HOSTS (m, mm_hosts_sum (&m->hosts, type, data, count));
  return st == MM_OK ? spread (m, data, count * mm_sum_size (type)) : st;
}

/* The I-th part of each host's ranks between hosts: of the leader's sum over its host.  */
static mm_status
reduce_parts (struct mm_comm *c, struct mpi *m, enum mm_sum_type type, void *data, int i)
{
  for (int host = 0; host < m->n_hosts; host++)
    m->local_parts[host] = (struct mm_range) { 0, 0 };
  for (int r = 0; r < c->size; r++)
    if (m->local_of[r] == i)
      m->local_parts[m->host_of[r]] = m->parts[r];
  return mm_hosts_reduce (&m->hosts, type, data, m->local_parts);
}

/* Leaders exchange only what is of their ranks' parts, half of the messages of a sum.  */
static mm_status
mpi_reduce_scatter (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count, size_t grain)
{
  struct mpi *m = c->state;
  mm_status st = MM_OK;
  int most = 0;                 /* ranks of a host */

  if (m->n_hosts == 1)
    {
      set_timeouts (c, m);
      return m->local ? m->local->transport->reduce_scatter (m->local, type, data, count, grain) : MM_OK;
    }
  set_timeouts (c, m);
  for (int r = 0; r < c->size; r++)
    {
      m->parts[r] = mm_range_of (c, r, count, mm_sum_size (type), grain);
      most = m->local_of[r] >= most ? m->local_of[r] + 1 : most;
    }
  if (m->local)
    st = m->local->transport->sum (m->local, type, data, count);
  for (int i = 0; i < most && st == MM_OK && is_leader (m); i++)
    st = tell_host (m, reduce_parts (c, m, type, data, i));
  for (int r = 0; r < c->size && st == MM_OK; r++)
    if (m->host_of[r] == m->host_of[c->rank] && m->parts[r].from < m->parts[r].to)
      st = spread (m, (char *) data + m->parts[r].from, m->parts[r].to - m->parts[r].from);
  return st;
}

/* ---- a sum under way ---- */

/* The same sum on the ranks of this host.  */
static void
set_local_flow (struct mm_comm *c, struct mpi *m)
{
  set_timeouts (c, m);
  if (m->local)
    m->local->flow = c->flow;
}

/* Leaders send a piece when it is summed on their host.  Where hosts share the sum out, the end does it all.  */
static mm_status
mpi_advance (struct mm_comm *c)
{
  struct mpi *m = c->state;
  size_t ready = c->flow.handed;
  mm_status st = MM_OK;

  if (m->n_hosts > 1 && c->flow.grain)
    return MM_OK;
  set_local_flow (c, m);
  if (m->local)
    {
      st = m->local->transport->advance (m->local);
      ready = mm_shm_summed (m->local);
    }
  return st == MM_OK ? AMONG_HOSTS (m, mm_hosts_advance (&m->flow, &c->flow, ready)) : st;
}

static mm_status
mpi_finish (struct mm_comm *c)
{
  struct mpi *m = c->state;
  struct mm_flow *f = &c->flow;
  mm_status st = MM_OK;

  if (m->n_hosts > 1 && f->grain)
    return mpi_reduce_scatter (c, f->type, f->data, f->count, f->grain);
  set_local_flow (c, m);
  if (m->local)
    st = m->local->transport->finish (m->local);
  if (st == MM_OK)
    st = AMONG_HOSTS (m, mm_hosts_finish (&m->flow, f));
  return st == MM_OK ? spread (m, f->data, f->count * mm_sum_size (f->type)) : st;
}

/* ---- parts ---- */

static mm_status
mpi_all_gather (struct mm_comm *c, void *data, size_t count, size_t size, size_t grain)
{
  struct mpi *m = c->state;
  mm_status st = MM_OK;

  set_timeouts (c, m);
  for (int r = 0; r < c->size; r++)
    {
      m->parts[r] = mm_range_of (c, r, count, size, grain);
      if (m->host_of[r] == m->host_of[c->rank])
        m->local_parts[m->local_of[r]] = m->parts[r];
    }
  if (m->local)
    st = mm_shm_exchange (m->local, data, count * size, m->local_parts);
  if (st == MM_OK)
    st = AMONG_HOSTS (m, mm_hosts_exchange (&m->hosts, data, m->parts, m->host_of, c->size));
  return st == MM_OK ? spread (m, data, count * size) : st;
}

const struct mm_transport mm_transport_mpi = {
  .name = "mpi+shm", .open = mpi_open, .close = mpi_close, .alloc = mpi_alloc, .barrier = mpi_barrier,
  .broadcast = mpi_broadcast, .sum = mpi_sum, .reduce_scatter = mpi_reduce_scatter,
  .all_gather = mpi_all_gather, .advance = mpi_advance, .finish = mpi_finish
};

const struct mm_transport mm_transport_mpi_flat = {
  .name = "mpi", .open = mpi_open_flat, .close = mpi_close, .alloc = mpi_alloc, .barrier = mpi_barrier,
  .broadcast = mpi_broadcast, .sum = mpi_sum, .reduce_scatter = mpi_reduce_scatter,
  .all_gather = mpi_all_gather, .advance = mpi_advance, .finish = mpi_finish
};

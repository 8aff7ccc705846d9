/* impl.h -- the shape of a transport, inside lib/comm only.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_COMM_IMPL_H
#define MM_COMM_IMPL_H

#include <stdbool.h>

#include <minimind/comm.h>

enum mm_sum_type { MM_SUM_I64, MM_SUM_F32, MM_SUM_BF16, MM_SUM_TYPES };

/* What the environment says of this process; -1 where it says nothing.  */
struct mm_ranks
{
  int rank, size;
  int local_rank, local_size;
  int window;                   /* descriptor of minimind-launch's window */
};

/* A sum under way.  */
struct mm_flow
{
  bool on;
  enum mm_sum_type type;
  char *data;
  size_t count, grain, piece;   /* elements; grain 0: the sum of all on all ranks */
  size_t n, handed;             /* pieces; handed over by this rank, the last of DATA first */
};

/* One transport.  Each call is what comm.h says of the function of its name; comm.c checks the
   arguments and leaves out calls for nothing.  */
struct mm_transport
{
  const char *name;

  /* Fill rank, size, local_rank, local_size and state of *C, whose transport and timeout are set.  After a
     failure close is called.  */
  mm_status (*open) (struct mm_comm *c, const struct mm_ranks *ranks);
  void (*close) (struct mm_comm *c);

  mm_status (*alloc) (struct mm_comm *c, const char *what, size_t bytes, void **p);
  mm_status (*barrier) (struct mm_comm *c);
  mm_status (*broadcast) (struct mm_comm *c, void *data, size_t bytes, int root);
  mm_status (*sum) (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count);
  mm_status (*reduce_scatter) (struct mm_comm *c, enum mm_sum_type type, void *data, size_t count,
                               size_t grain);
  mm_status (*all_gather) (struct mm_comm *c, void *data, size_t count, size_t size, size_t grain);

  /* Of c->flow: what can be done without waiting; all of it, now that this rank has handed over all.  */
  mm_status (*advance) (struct mm_comm *c);
  mm_status (*finish) (struct mm_comm *c);
};

struct mm_comm
{
  const struct mm_transport *transport;
  int rank, size;
  int local_rank, local_size;
  double timeout;               /* seconds; 0: none */
  mm_status broken;             /* what a call failed with: no peer can be reached any more */
  bool failed;                  /* the ranks have agreed on a failure, which rank 0 is to tell */
  struct mm_flow flow;
  void *state;                  /* the transport's own */
};

extern const struct mm_transport mm_transport_self;
extern const struct mm_transport mm_transport_shm;
#if HAVE_MPI
extern const struct mm_transport mm_transport_mpi;      /* shm inside a host, MPI between hosts */
extern const struct mm_transport mm_transport_mpi_flat; /* MPI between all ranks */
#endif

/* ---- parts.c ---- */

struct mm_range
{
  size_t from, to;              /* bytes */
};

/* RANK's part of COUNT elements of SIZE bytes.  */
struct mm_range mm_range_of (const struct mm_comm *c, int rank, size_t count, size_t size, size_t grain);

/* What of PART comes after DONE bytes of it, at most MOST; empty at its end.  */
struct mm_range mm_range_piece (struct mm_range part, size_t done, size_t most);

/* Elements of piece K of F, in the order of handing over.  */
void mm_flow_piece (const struct mm_flow *f, size_t k, size_t *from, size_t *to);

/* ---- shm.c ---- */

/* Pieces of c->flow that the ranks of this host have summed.  */
size_t mm_shm_summed (const struct mm_comm *c);

/* Become local_rank of RANKS in its window, whose descriptor is taken over.  */
mm_status mm_shm_join (struct mm_comm *c, const struct mm_ranks *ranks) MM_NODISCARD;

/* Every rank has made PARTS[rank] of DATA of BYTES: afterwards all hold all parts.  */
mm_status mm_shm_exchange (struct mm_comm *c, void *data, size_t bytes, const struct mm_range *parts) MM_NODISCARD;

/* Let the other ranks of this host know of the calling thread's failure.  */
void mm_shm_tell (struct mm_comm *c);

/* ---- environment.c ---- */

/* What minimind-launch's variables say.  MM_EUSAGE if they are not its own.  */
mm_status mm_ranks_read (struct mm_ranks *ranks) MM_NODISCARD;

/* Has an MPI launcher started this process with others?  */
bool mm_ranks_by_mpi (void);

/* MM_EUSAGE when a launcher's variable tells of another number of ranks than SIZE.  */
mm_status mm_ranks_compare (int size) MM_NODISCARD;

/* ---- sum.c ---- */

size_t mm_sum_size (enum mm_sum_type type);     /* bytes of an element */

/* Elements [FROM, TO) of the N_IN buffers IN, added in their order, to those of each of the N_OUT buffers OUT,
   which may be among IN.  */
void mm_sum_buffers (enum mm_sum_type type, void *const *in, int n_in, void *const *out, int n_out,
                     size_t from, size_t to);

/* ---- patience.c ---- */

/* A wait with a deadline.  Time that passes while this process itself is stopped does not count.  */
struct mm_patience
{
  double limit;                 /* seconds; 0: none */
  double waited, last;          /* so far; when last looked at */
};

void mm_patience_begin (struct mm_patience *p, double limit);
bool mm_patience_over (struct mm_patience *p);  /* call at least every second */

#endif /* MM_COMM_IMPL_H */

/* window.h -- the memory that the ranks of one host share, and how they wait for each other in it.
   SPDX-License-Identifier: Apache-2.0

   A window is a file in memory: this header's structure, then two halves of staging for each rank, then
   what ranks allocate, each in a part of its own.  Ranks map it at addresses of their own, so it holds no
   pointers.

   A rank shows that it lives by a record lock on the byte of its number, which the kernel releases when the
   process ends however it ends, and which needs neither a common process namespace nor permission to look at
   each other.  */

#ifndef MM_COMM_WINDOW_H
#define MM_COMM_WINDOW_H

#include <stdatomic.h>

#include "impl.h"

enum
{
  MM_STAGE = MM_COMM_STAGING / 2,       /* bytes of one half of a rank's staging */
  MM_WINDOW_LINE = 64           /* bytes of a cache line: words that ranks write apart */
};

/* What a rank is calling: compared, so that ranks that have lost each other are told.  */
struct mm_call
{
  const char *name;             /* for messages */
  uint32_t kind;
  uint64_t bytes, place;        /* place in the window plus one; 0: the rank's own memory */
};

struct mm_window_rank
{
  _Alignas (MM_WINDOW_LINE) atomic_uint sequence;       /* meetings this rank has come to */
  atomic_int pid;               /* 0: it has not joined yet */
  atomic_int world;             /* its rank among those of all hosts */
  struct
  {
    uint32_t kind;
    uint64_t bytes, place;
  } calls[2];                   /* by the last bit of sequence: a rank is one meeting ahead at most */
  _Alignas (MM_WINDOW_LINE) _Atomic uint64_t handed;    /* pieces of sums under way, since the ranks joined: that */
  _Atomic uint64_t summed;                              /* this rank has handed over, has added up its part of */
};

struct mm_window
{
  char version[32];             /* of the launcher */
  uint32_t size;                /* ranks */
  uint64_t bytes;               /* of the header and the staging */
  _Alignas (MM_WINDOW_LINE) atomic_uint arrived;        /* ranks at the meeting */
  _Alignas (MM_WINDOW_LINE) atomic_uint round;          /* meetings held; ranks sleep on it */
  _Alignas (MM_WINDOW_LINE) atomic_uint sleepers;
  atomic_uint trouble;          /* the first seen: kind and rank, see window.c; 0: none */
  char told[512];               /* what a rank told of trouble with other hosts */
  struct mm_window_rank ranks[];
};

/* One rank's hold on a window.  */
struct mm_hold
{
  struct mm_window *window;
  int fd;
  int rank, size;               /* on this host */
  int world_size;               /* of all hosts */
  unsigned sequence;
  int spins;                    /* before sleeping */
  bool joined;                  /* all ranks have been here */
};

/* Take the descriptor FD of a window as RANKS says, and wait for the others of this host.  FD is closed with
   the hold, also after a failure.  */
mm_status mm_hold_open (struct mm_hold *h, int fd, const struct mm_ranks *ranks, double timeout) MM_NODISCARD;
void mm_hold_close (struct mm_hold *h);

/* A window that has a NAME until mm_window_unname, for ranks that do not inherit it; with as much memory as they
   need to begin with.  MM_EIO telling how much there is.  */
enum { MM_WINDOW_NAME = 48 };
mm_status mm_window_named (int size, char name[MM_WINDOW_NAME], int *fd) MM_NODISCARD;
mm_status mm_window_find (const char *name, int *fd) MM_NODISCARD;
void mm_window_unname (const char *name);

/* Record the calling thread's failure for the ranks of this host, who would wait in vain for this one.  */
void mm_hold_tell (struct mm_hold *h);

/* Record that BYTES of shared memory of FD, for WHAT, could not be had; errno says why.  */
mm_status mm_window_fail_memory (int fd, const char *what, size_t bytes);

/* Half HALF of the staging of RANK.  */
char *mm_hold_stage (const struct mm_hold *h, int rank, int half);

/* Wait until all ranks are here, each with CALL.  What they wrote before is seen after.  MM_ESTOPPED naming
   ranks that ended or did not come within TIMEOUT seconds; MM_EINVAL naming one with another call.  */
mm_status mm_hold_meet (struct mm_hold *h, const struct mm_call *call, double timeout) MM_NODISCARD;

#endif /* MM_COMM_WINDOW_H */

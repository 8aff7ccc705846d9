/* launch.h -- start the ranks of a job, keep them together, pass their status on.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>

#include <minimind/error.h>

struct launch_config
{
  int ranks;
  const char *hosts;            /* mpirun's --host list, or NULL: all ranks here */
  bool pin, prefix;
  int max_restarts;             /* on status 75 */
  double grace;                 /* seconds between SIGTERM and SIGKILL when ranks are ended */
  char **command;               /* NULL-terminated */
};

/* Run the job, again on status 75 as often as allowed.  *STATUS is the job's exit status: 0 when all ranks
   ended with 0; the status of the first rank that failed with another than 75; else 75, for a rank that was
   killed by a signal, too.  A failure of the launcher itself is returned.  */
mm_status launch (const struct launch_config *c, int *status) MM_NODISCARD;

/* ---- ranks.c ---- */

struct launch_rank
{
  int pid;                      /* 0: ended */
  int streams[2];               /* what it writes to standard output and error, to be relayed; or -1 */
};

/* Start rank RANK of C in process group *GROUP (0: it founds it), with the ranks' WINDOW or -1.  REPORT: a
   descriptor to which errno is written if the command can't be run; it is closed otherwise.  */
mm_status launch_rank_start (const struct launch_config *c, int rank, int window, int report, int *group,
                             struct launch_rank *r) MM_NODISCARD;

/* ---- relay.c ---- */

/* Lines on their way from a rank to the launcher's own output.  */
struct launch_relay
{
  int from, to;                 /* descriptors; from -1: ended */
  char prefix[24];
  char *data;                   /* of a line that has not ended */
  size_t used, capacity;
};

void launch_relay_open (struct launch_relay *r, int rank, int from, int to);

/* Pass on what is there; at its end, also a last line without an end, and FROM is closed.  */
mm_status launch_relay_move (struct launch_relay *r) MM_NODISCARD;
void launch_relay_close (struct launch_relay *r);

/* ---- processes.c ---- */

/* How many children of process MPIRUN are ranks.  */
int launch_ranks_below (int mpirun);

/* Kill and wait for all children of this process, and what they leave to it.  */
void launch_end_children (void);

/* ---- hosts.c ---- */

/* The mpirun command, NULL-terminated, that runs C's across its hosts; the caller frees the array only.
   TEXT is its room.  */
enum { LAUNCH_HOSTS_TEXT = 64 };
mm_status launch_hosts_command (const struct launch_config *c, char text[LAUNCH_HOSTS_TEXT],
                                char ***command) MM_NODISCARD;

#endif /* LAUNCH_H */

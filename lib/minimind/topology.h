/* topology.h -- the processors of this host, and which of them a process may use; by hwloc.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_TOPOLOGY_H
#define MINIMIND_TOPOLOGY_H

#include <stddef.h>

#include <minimind/error.h>

struct mm_topology;             /* opaque */

/* What the calling process may use of its host.  MM_EIO if the system does not tell.  */
mm_status mm_topology_open (struct mm_topology **t) MM_NODISCARD;
void mm_topology_close (struct mm_topology *t); /* accepts NULL */

/* "1 package, 2 cores, 2 processors, 1 NUMA node, 300 MB of L3 cache".  Returns TEXT.  */
char *mm_topology_text (const struct mm_topology *t, char *text, size_t size);

/* Bind the calling process, and what it starts, to the share of those processors that falls to RANK of SIZE:
   whole packages and cores as long as there are enough, one shared by several ranks otherwise.  MM_EIO if the
   system refuses.  */
mm_status mm_topology_pin (const struct mm_topology *t, int rank, int size) MM_NODISCARD;

/* The processors that the calling process may use, as "0-3,8".  Returns TEXT, "?" if the system does not tell.  */
char *mm_topology_cpus (char *text, size_t size);

#endif /* MINIMIND_TOPOLOGY_H */

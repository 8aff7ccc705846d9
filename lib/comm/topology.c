/* topology.c -- ask hwloc about this host, bind a rank to its share.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include <hwloc.h>

#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/topology.h>

struct mm_topology
{
  hwloc_topology_t all;
};

/* What is not in the affinity mask is left out.  */
static int
restrict_to_mask (hwloc_topology_t all)
{
  hwloc_bitmap_t mask = hwloc_bitmap_alloc ();
  int result = -1;

  if (mask && hwloc_get_cpubind (all, mask, HWLOC_CPUBIND_PROCESS) == 0)
    result = hwloc_topology_restrict (all, mask, 0);
  hwloc_bitmap_free (mask);
  return result;
}

mm_status
mm_topology_open (struct mm_topology **out)
{
  struct mm_topology *t;
  mm_status st = mm_alloc ("topology", 1, sizeof *t, &t);

  *out = NULL;
  if (st < 0)
    return st;
  if (hwloc_topology_init (&t->all) < 0)
    {
      free (t);
      return mm_fail (MM_EIO, "hwloc: %s", strerror (errno));
    }
  if (hwloc_topology_load (t->all) < 0 || restrict_to_mask (t->all) < 0)
    {
      st = mm_fail (MM_EIO, "hwloc: the processors of this host: %s", strerror (errno));
      mm_topology_close (t);
      return st;
    }
  *out = t;
  return MM_OK;
}

void
mm_topology_close (struct mm_topology *t)
{
  if (!t)
    return;
  hwloc_topology_destroy (t->all);
  free (t);
}

/* Append ", N WHATs".  */
static void
append_count (char *text, size_t size, int n, const char *what)
{
  size_t used = strlen (text);

  if (n > 0 && used < size)
    snprintf (text + used, size - used, "%s%d %s%s", used ? ", " : "", n, what, n == 1 ? "" : "s");
}

char *
mm_topology_text (const struct mm_topology *t, char *text, size_t size)
{
  hwloc_obj_t cache = hwloc_get_obj_by_type (t->all, HWLOC_OBJ_L3CACHE, 0);
  char bytes[32];
  size_t used;

  text[0] = '\0';
  append_count (text, size, hwloc_get_nbobjs_by_type (t->all, HWLOC_OBJ_PACKAGE), "package");
  append_count (text, size, hwloc_get_nbobjs_by_type (t->all, HWLOC_OBJ_CORE), "core");
  append_count (text, size, hwloc_get_nbobjs_by_type (t->all, HWLOC_OBJ_PU), "processor");
  append_count (text, size, hwloc_get_nbobjs_by_type (t->all, HWLOC_OBJ_NUMANODE), "NUMA node");
  used = strlen (text);
  if (cache && used < size)
    snprintf (text + used, size - used, ", %s of L3 cache%s", mm_format_bytes (cache->attr->cache.size, bytes),
              hwloc_get_nbobjs_by_type (t->all, HWLOC_OBJ_L3CACHE) > 1 ? " each" : "");
  return text;
}

mm_status
mm_topology_pin (const struct mm_topology *t, int rank, int size)
{
  hwloc_obj_t root = hwloc_get_root_obj (t->all);
  hwloc_bitmap_t *shares;
  mm_status st = mm_alloc ("processors of ranks", (size_t) size, sizeof *shares, &shares);

  if (st < 0)
    return st;
  if (hwloc_distrib (t->all, &root, 1, shares, (unsigned) size, INT_MAX, 0) < 0
      || hwloc_set_cpubind (t->all, shares[rank], HWLOC_CPUBIND_PROCESS) < 0)
    st = mm_fail (MM_EIO, "rank %d cannot be bound to its processors: %s", rank, strerror (errno));
  for (int i = 0; i < size; i++)
    hwloc_bitmap_free (shares[i]);
  free (shares);
  return st;
}

char *
mm_topology_cpus (char *text, size_t size)
{
  cpu_set_t set;
  size_t used = 0;

  snprintf (text, size, "?");
  if (sched_getaffinity (0, sizeof set, &set) < 0)
    return text;
  for (int from = 0, to; from < CPU_SETSIZE && used < size; from = to + 1)
    {
      for (to = from; to < CPU_SETSIZE && CPU_ISSET (to, &set); to++)
        ;
      if (to > from + 1)
        used += (size_t) snprintf (text + used, size - used, "%s%d-%d", used ? "," : "", from, to - 1);
      else if (to > from)
        used += (size_t) snprintf (text + used, size - used, "%s%d", used ? "," : "", from);
    }
  return text;
}

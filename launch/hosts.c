/* hosts.c -- the mpirun command for ranks on several hosts.
   SPDX-License-Identifier: Apache-2.0

   What mpirun adds is starting processes elsewhere.  Its connections are told to notice a dead host in half a
   minute rather than in eight.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "launch.h"

static char *const before[] = { "mpirun", "--oversubscribe", "--mca", "oob_tcp_keepalive_time", "10", "--mca",
                                "oob_tcp_keepalive_intvl", "5", "--mca", "oob_tcp_keepalive_probes", "3" };
enum { N_BEFORE = sizeof before / sizeof *before, N_MORE = 8 };

mm_status
launch_hosts_command (const struct launch_config *c, char text[LAUNCH_HOSTS_TEXT], char ***command)
{
  size_t n = 0, used = N_BEFORE;
  char **argv;
  mm_status st;

  while (c->command[n])
    n++;
  st = mm_alloc ("mpirun's command line", N_BEFORE + N_MORE + n, sizeof *argv, &argv);
  *command = argv;
  if (st < 0)
    return st;
  snprintf (text, LAUNCH_HOSTS_TEXT, "%d", c->ranks);
  memcpy (argv, before, sizeof before);
  argv[used++] = "--bind-to";
  argv[used++] = c->pin ? "core:overload-allowed" : "none";
  if (c->prefix)
    argv[used++] = "--tag-output";
  argv[used++] = "--host";
  argv[used++] = (char *) c->hosts;
  argv[used++] = "-n";
  argv[used++] = text;
  memcpy (argv + used, c->command, n * sizeof *argv);
  return MM_OK;
}

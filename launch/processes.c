/* processes.c -- look at what runs below a process, through /proc.
   SPDX-License-Identifier: Apache-2.0

   mpirun tells nobody that its ranks have gone while it waits for a host that does not answer, and what it
   leaves behind may be in groups of its own.  */

#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch.h"

/* The parent of process PID, 0 if there is none such.  */
static int
parent_of (int pid)
{
  char path[40], text[512], *end;
  ssize_t n;
  int fd, parent = 0;

  snprintf (path, sizeof path, "/proc/%d/stat", pid);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  n = read (fd, text, sizeof text - 1);
  close (fd);
  text[n > 0 ? n : 0] = '\0';
  /* The name, in parentheses, may hold anything.  */
  end = strrchr (text, ')');
  return end && sscanf (end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Has the process the variable that Open MPI gives to ranks?  */
static bool
is_mpi_rank (int pid)
{
  static const char variable[] = "OMPI_COMM_WORLD_RANK=";
  char path[40], *line = NULL;
  size_t capacity = 0;
  bool found = false;
  FILE *f;

  snprintf (path, sizeof path, "/proc/%d/environ", pid);
  f = fopen (path, "re");
  while (f && !found && getdelim (&line, &capacity, '\0', f) > 0)
    found = strncmp (line, variable, sizeof variable - 1) == 0;
  free (line);
  if (f)
    fclose (f);
  return found;
}

/* Call FN for each child of PARENT.  Returns their number.  */
static int
each_child (int parent, void (*fn) (int pid, int *count), int *count)
{
  DIR *d = opendir ("/proc");
  int n = 0;

  for (struct dirent *e; d && (e = readdir (d));)
    {
      int pid = atoi (e->d_name);

      if (pid <= 0 || parent_of (pid) != parent)
        continue;
      fn (pid, count);
      n++;
    }
  if (d)
    closedir (d);
  return n;
}

static void
count_rank (int pid, int *count)
{
  *count += is_mpi_rank (pid);
}

int
launch_ranks_below (int mpirun)
{
  int count = 0;

  each_child (mpirun, count_rank, &count);
  return count;
}

static void
kill_child (int pid, int *count)
{
  (void) count;
  kill (pid, SIGKILL);
}

void
launch_end_children (void)
{
  enum { MOST_ROUNDS = 1000 };
  static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

  /* What a killed one has started comes to us when it is gone, alive: so nothing is waited for, but looked for
     again.  */
  for (int i = 0; i < MOST_ROUNDS && each_child ((int) getpid (), kill_child, NULL) > 0; i++)
    {
      while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
      nanosleep (&pause, NULL);
    }
}

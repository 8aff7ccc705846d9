/* environment.c -- what launchers tell a process of its peers, and whether they agree.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

/* The number in variable NAME into *VALUE; -1 if it isn't set.  */
static mm_status
read_number (const char *name, int min, int *value)
{
  const char *text = getenv (name);
  char *end;
  long number;

  *value = -1;
  if (!text || !*text)
    return MM_OK;
  errno = 0;
  number = strtol (text, &end, 10);
  if (*end || errno || number < min || number > 1 << 24)
    return mm_fail (MM_EUSAGE, "the environment variable %s is '%s': want a number from %d up", name, text, min);
  *value = (int) number;
  return MM_OK;
}

/* Variables in which launchers put the number of ranks, ours first.  */
static const struct
{
  const char *name, *launcher;
} sizes[] = {
  { "MM_WORLD_SIZE", "minimind-launch" },
  { "OMPI_COMM_WORLD_SIZE", "mpirun" },
  { "PMI_SIZE", "mpiexec" },
  { "SLURM_NTASKS", "Slurm" },
  { "WORLD_SIZE", "torchrun" },
};

/* minimind-launch's variables stand together or not at all.  */
static mm_status
check_own (const struct mm_ranks *r)
{
  if (r->size < 0)
    return MM_OK;
  if (r->rank >= 0 && r->rank < r->size && r->local_rank >= 0 && r->local_rank < r->local_size
      && r->local_size <= r->size)
    return MM_OK;
  return mm_fail (MM_EUSAGE, "MM_RANK %d of MM_WORLD_SIZE %d, MM_LOCAL_RANK %d of MM_LOCAL_SIZE %d: not what"
                  " minimind-launch sets", r->rank, r->size, r->local_rank, r->local_size);
}

mm_status
mm_ranks_read (struct mm_ranks *ranks)
{
  struct
  {
    const char *name;
    int *value;
    int min;
  } own[] = { { "MM_RANK", &ranks->rank, 0 }, { "MM_WORLD_SIZE", &ranks->size, 1 },
              { "MM_LOCAL_RANK", &ranks->local_rank, 0 }, { "MM_LOCAL_SIZE", &ranks->local_size, 1 },
              { "MM_WINDOW", &ranks->window, 0 } };
  mm_status st = MM_OK;

  for (size_t i = 0; i < sizeof own / sizeof *own && st == MM_OK; i++)
    st = read_number (own[i].name, own[i].min, own[i].value);
  return st == MM_OK ? check_own (ranks) : st;
}

/* The number in variable NAME, 0 if there is none.  */
static long
number_in (const char *name)
{
  const char *text = getenv (name);

  return text ? strtol (text, NULL, 10) : 0;
}

bool
mm_ranks_by_mpi (void)
{
  /* srun has only told the process management library of its ranks.  */
  return number_in ("OMPI_COMM_WORLD_SIZE") > 1 || number_in ("PMI_SIZE") > 1
         || (getenv ("PMIX_RANK") && number_in ("SLURM_NTASKS") > 1);
}

mm_status
mm_ranks_compare (int size)
{
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    {
      int theirs;
      mm_status st = read_number (sizes[i].name, 1, &theirs);

      if (st < 0)
        return st;
      /* One task of a scheduler may well hold a launcher of ours.  */
      if (theirs < 0 || theirs == size || (theirs == 1 && i > 0))
        continue;
      return mm_fail (MM_EUSAGE, "%s is %d, as %s sets it for that many ranks, but here %s: start minimind-launch"
                      " -n %d, mpirun -n %d or srun, or give --transport=self for one process; unset %s if it"
                      " means something else", sizes[i].name, theirs, sizes[i].launcher,
                      size == 1 ? "is one process alone" : "are others", theirs, theirs, sizes[i].name);
    }
  return MM_OK;
}

mm_status
mm_comm_alone (const char *tool)
{
  bool ours = number_in (sizes[0].name) > 1;

  if (!ours && !mm_ranks_by_mpi ())
    return MM_OK;
  return mm_fail (MM_EUSAGE, "%s works as one process, but %s started several, each of which would do all of it: start"
                  " it without; --threads=N uses N processors", tool, ours ? sizes[0].launcher : "an MPI launcher");
}

/* Set NAME to VALUE.  */
static mm_status
set_number (const char *name, int value)
{
  char text[16];

  snprintf (text, sizeof text, "%d", value);
  return setenv (name, text, 1) == 0 ? MM_OK : mm_fail_errno (name);
}

mm_status
mm_comm_set_environment (int rank, int size, int fd)
{
  mm_status st = set_number ("MM_RANK", rank);

  if (st == MM_OK)
    st = set_number ("MM_WORLD_SIZE", size);
  if (st == MM_OK)
    st = set_number ("MM_LOCAL_RANK", rank);
  if (st == MM_OK)
    st = set_number ("MM_LOCAL_SIZE", size);
  return st == MM_OK ? set_number ("MM_WINDOW", fd) : st;
}

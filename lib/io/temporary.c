/* temporary.c -- names of files under way, and their removal when a signal ends the process.
   SPDX-License-Identifier: Apache-2.0

   A signal may come at any moment, also between two instructions of make and forget, and on any
   thread.  So the register is a fixed array of atomic pointers: whoever exchanges a pointer for NULL
   owns the entry.  What runs at the signal calls async-signal-safe functions only.  */

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <minimind/cli.h>

#include "fd.h"

enum
{
  MAX_TEMPORARIES = 64,         /* beyond it they are left for the user to remove */
  MAX_BASE = 200,               /* of the 255 bytes a name may have */
  MAX_TRIES = 1000              /* names */
};

struct temporary
{
  bool folder;
  char path[];
};

static _Atomic (struct temporary *) temporaries[MAX_TEMPORARIES];
static pthread_once_t arranged = PTHREAD_ONCE_INIT;
static atomic_uint counter;

/* The kernel's record, which C libraries do not all declare.  */
struct kernel_dirent
{
  uint64_t inode;
  int64_t next;
  unsigned short size;
  unsigned char type;
  char name[];
};

/* Remove the folder PATH and the files in it.  opendir allocates, so this reads the records
   itself; results are flat, a folder inside stays.  */
static void
remove_flat_folder (const char *path)
{
  _Alignas (struct kernel_dirent) char buffer[4096];
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  long n;

  if (fd < 0)
    return;
  while ((n = syscall (SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < n;)
      {
        struct kernel_dirent *d = (struct kernel_dirent *) (buffer + at);

        unlinkat (fd, d->name, 0);      /* fails for "." and "..", as it should */
        at += d->size;
      }
  close (fd);
  rmdir (path);
}

static void
remove_temporaries (void)
{
  for (int i = 0; i < MAX_TEMPORARIES; i++)
    {
      struct temporary *t = atomic_exchange (&temporaries[i], NULL);

      if (t && t->folder)
        remove_flat_folder (t->path);
      else if (t)
        unlink (t->path);
    }
}

static void
arrange_removal (void)
{
  mm_cli_at_signal (remove_temporaries);
}

/* Remember that PATH is a temporary file or folder.  Returns a ticket for forget.  */
static int
remember (const char *path, bool folder)
{
  size_t size = strlen (path) + 1;
  struct temporary *t = malloc (sizeof *t + size);

  pthread_once (&arranged, arrange_removal);
  if (!t)
    return -1;
  t->folder = folder;
  memcpy (t->path, path, size);
  for (int i = 0; i < MAX_TEMPORARIES; i++)
    {
      struct temporary *none = NULL;

      if (atomic_compare_exchange_strong (&temporaries[i], &none, t))
        return i;
    }
  free (t);
  return -1;
}

void
mm_temporary_forget (int ticket)
{
  if (ticket >= 0)
    free (atomic_exchange (&temporaries[ticket], NULL));
}

char *
mm_temporary_name (const char *path)
{
  size_t base;
  char *folder = mm_path_folder (path, &base), *name;

  if (!folder)
    return NULL;
  if (asprintf (&name, "%s/.%.*s.%ld.%u.tmp", folder, MAX_BASE, path + base, (long) getpid (),
                atomic_fetch_add (&counter, 1)) < 0)
    name = NULL;
  free (folder);
  return name;
}

/* Make the file or folder NAME and remember it; false with errno if that fails.  Signals wait, so that none
   comes between the two.  */
static bool
make (const char *name, int *fd, int *ticket)
{
  int error = 0;

  mm_cli_hold_signals ();
  if (fd)
    *fd = open (name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd ? *fd < 0 : mkdir (name, 0777) < 0)
    error = errno;
  else
    *ticket = remember (name, !fd);
  mm_cli_release_signals ();
  errno = error;
  return error == 0;
}

mm_status
mm_temporary_make (const char *path, char **name, int *fd, int *ticket)
{
  *ticket = -1;
  /* A container's process may have the number of one that was killed in another, and whose files stay.  */
  for (int i = 0; i < MAX_TRIES; i++)
    {
      *name = mm_temporary_name (path);
      if (!*name)
        return mm_fail (MM_ENOMEM, "%s: no memory", path);
      if (make (*name, fd, ticket))
        return MM_OK;
      free (*name);
      *name = NULL;
      if (errno != EEXIST)
        break;
    }
  return mm_fail (MM_EIO, "%s: cannot be made: %s", path, strerror (errno));
}

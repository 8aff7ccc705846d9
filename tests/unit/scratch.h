/* scratch.h -- a private folder for a unit test, gone when it ends.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef SCRATCH_H
#define SCRATCH_H

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_path[4096];

static inline int
scratch_remove (const char *path, const struct stat *s, int type, struct FTW *ftw)
{
  (void) s;
  (void) type;
  (void) ftw;
  return remove (path);
}

static inline void
scratch_leave (void)
{
  if (chdir ("/") == 0)
    nftw (scratch_path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Make the folder and go there; exit status 99 (a hard error for the harness) if that fails.  */
static inline void
scratch_enter (void)
{
  const char *tmp = getenv ("TMPDIR");

  snprintf (scratch_path, sizeof scratch_path, "%s/minimind.XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp (scratch_path) || chdir (scratch_path) < 0)
    {
      perror (scratch_path);
      exit (99);
    }
  atexit (scratch_leave);
}

/* Make the file NAME of SIZE bytes, replacing one that is there.  */
static inline void
scratch_put (const char *name, const void *data, size_t size)
{
  FILE *f = fopen (name, "wb");

  if (!f || fwrite (data, 1, size, f) != size || fclose (f) != 0)
    {
      perror (name);
      exit (99);
    }
}

/* True if the file NAME holds exactly these bytes.  */
static inline int
scratch_holds (const char *name, const void *data, size_t size)
{
  FILE *f = fopen (name, "rb");
  char *got = malloc (size + 1);
  size_t n = f && got ? fread (got, 1, size + 1, f) : 0;
  int same = f && n == size && memcmp (got, data, size) == 0;

  if (f)
    fclose (f);
  free (got);
  return same;
}

/* Names in the folder PATH, hidden ones included; -1 if there is no such folder.  */
static inline int
scratch_count (const char *path)
{
  DIR *dir = opendir (path);
  int n = 0;

  if (!dir)
    return -1;
  for (struct dirent *d; (d = readdir (dir));)
    n += strcmp (d->d_name, ".") != 0 && strcmp (d->d_name, "..") != 0;
  closedir (dir);
  return n;
}

#endif /* SCRATCH_H */

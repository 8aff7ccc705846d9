/* paths.c -- whole files read, names of paths, folders synced.
   SPDX-License-Identifier: Apache-2.0

   What reading needs of files.h: nothing here looks at signals or at outputs under way.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/files.h>

#include "fd.h"

mm_status
mm_read_file (const char *path, size_t limit, char **data, size_t *size)
{
  uint64_t length;
  int fd;
  mm_status st = mm_fd_open_regular (path, &fd, &length);

  *data = NULL;
  *size = 0;
  if (st < 0)
    return st;
  if (length > limit)
    st = mm_fail (MM_EFORMAT, "%s: has %llu bytes, want at most %zu", path,
                  (unsigned long long) length, limit);
  else if (!(*data = malloc ((size_t) length + 1)))
    st = mm_fail (MM_ENOMEM, "%s: no memory for %llu bytes", path, (unsigned long long) length);
  else
    st = mm_fd_read_at (fd, path, 0, *data, (size_t) length);
  close (fd);
  if (st < 0)
    {
      free (*data);
      *data = NULL;
      return st;
    }
  (*data)[length] = '\0';
  *size = (size_t) length;
  return MM_OK;
}

char *
mm_path_join (const char *dir, const char *name)
{
  size_t n = strlen (dir), size = n + strlen (name) + 2;
  char *path = malloc (size);

  if (path)
    snprintf (path, size, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
  return path;
}

mm_status
mm_path_exists (const char *path, bool *there)
{
  struct stat s;

  *there = stat (path, &s) == 0;
  return *there || errno == ENOENT || errno == ENOTDIR ? MM_OK : mm_fail_errno (path);
}

char *
mm_path_folder (const char *path, size_t *base)
{
  const char *slash = strrchr (path, '/');
  size_t size = slash ? (size_t) (slash - path) : 1;

  *base = slash ? size + 1 : 0;
  if (!slash)
    return strdup (".");
  return strndup (path, size ? size : 1);
}

mm_status
mm_sync_dir (const char *path)
{
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mm_status st = MM_OK;

  if (fd < 0)
    return mm_fail_errno_output (path);
  /* Some file systems cannot sync folders and say EINVAL; then there is no more to do.  */
  if (fsync (fd) < 0 && errno != EINVAL)
    st = mm_fail_errno (path);
  close (fd);
  return st;
}

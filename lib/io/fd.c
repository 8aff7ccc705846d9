/* fd.c -- whole reads and writes, and a rename that never replaces.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/files.h>

#include "fd.h"

mm_status
mm_fd_open_regular (const char *path, int *fd, uint64_t *size)
{
  struct stat s;

  /* O_NONBLOCK: opening a pipe must not wait for its writer.  */
  *fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0)
    return mm_fail_errno (path);
  if (fstat (*fd, &s) < 0)
    {
      mm_status st = mm_fail_errno (path);

      close (*fd);
      *fd = -1;
      return st;
    }
  if (!S_ISREG (s.st_mode))
    {
      close (*fd);
      *fd = -1;
      return mm_fail (MM_EIO, "%s: %s, want a regular file", path,
                      S_ISDIR (s.st_mode) ? "is a folder" : "is a pipe or device");
    }
  *size = (uint64_t) s.st_size;
  return MM_OK;
}

mm_status
mm_fd_read_at (int fd, const char *path, uint64_t offset, void *data, size_t size)
{
  char *at = data;

  while (size > 0)
    {
      ssize_t n = pread (fd, at, size, (off_t) offset);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return mm_fail_errno (path);
      if (n == 0)
        return mm_fail (MM_EIO, "%s: ends at byte %llu, became shorter while being read", path,
                        (unsigned long long) offset);
      at += n;
      offset += (uint64_t) n;
      size -= (size_t) n;
    }
  return MM_OK;
}

mm_status
mm_fd_write (int fd, const char *path, const void *data, size_t size)
{
  const char *at = data;

  while (size > 0)
    {
      ssize_t n = write (fd, at, size);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EPIPE)
        return mm_fail (MM_EPIPE, "%s: its reader has left", path);
      if (n < 0)
        return mm_fail_errno (path);
      at += n;
      size -= (size_t) n;
    }
  return MM_OK;
}

mm_status
mm_fd_write_at (int fd, const char *path, uint64_t offset, const void *data, size_t size)
{
  const char *at = data;

  while (size > 0)
    {
      ssize_t n = pwrite (fd, at, size, (off_t) offset);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return mm_fail_errno (path);
      at += n;
      offset += (uint64_t) n;
      size -= (size_t) n;
    }
  return MM_OK;
}

mm_status
mm_fd_sync_close (int fd, const char *path)
{
  mm_status st = MM_OK;

  if (fsync (fd) < 0)
    st = mm_fail_errno (path);
  if (close (fd) < 0 && st == MM_OK && errno != EINTR)
    st = mm_fail_errno (path);
  return st;
}

/* What renameat2 cannot do on this file system: link, which never replaces, for files; for folders
   a look before plain rename, which replaces an empty folder at worst.  */
static mm_status
rename_new_portably (const char *from, const char *to)
{
  struct stat s;

  if (link (from, to) == 0)
    {
      unlink (from);
      return MM_OK;
    }
  if (errno == EEXIST || lstat (to, &s) == 0)
    return mm_fail (MM_EEXIST, "%s: exists", to);
  return rename (from, to) < 0 ? mm_fail_errno_output (to) : MM_OK;
}

mm_status
mm_rename_new (const char *from, const char *to)
{
  if (renameat2 (AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
    return MM_OK;
  if (errno == EINVAL || errno == ENOSYS)
    return rename_new_portably (from, to);
  if (errno == EEXIST)
    return mm_fail (MM_EEXIST, "%s: exists", to);
  return mm_fail_errno_output (to);
}

mm_status
mm_sync_published (const char *path)
{
  size_t base;
  char *folder = mm_path_folder (path, &base);
  mm_status st = folder ? mm_sync_dir (folder) : mm_fail (MM_ENOMEM, "no memory");

  free (folder);
  return st < 0 ? mm_fail_prefix (st, "%s: stands there complete, but a power cut might take it away", path)
                : MM_OK;
}

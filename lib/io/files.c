/* files.c -- whole files written, trees removed, outputs that appear when complete.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/cli.h>
#include <minimind/files.h>

#include "fd.h"

enum
{
  BUFFER_SIZE = 1 << 16,
  MAX_DEPTH = 64                /* of a tree that is removed */
};

/* ---- whole files ---- */

mm_status
mm_write_file (const char *path, const void *data, size_t size)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  mm_status st;

  if (fd < 0)
    return errno == EEXIST ? mm_fail (MM_EEXIST, "%s: exists", path) : mm_fail_errno_output (path);
  st = mm_fd_write (fd, path, data, size);
  if (st == MM_OK)
    return mm_fd_sync_close (fd, path);
  close (fd);
  return st;
}

mm_status
mm_next_name (DIR *dir, const char *path, const char **name)
{
  struct dirent *d;

  *name = NULL;
  while ((errno = 0, d = readdir (dir)))
    if (strcmp (d->d_name, ".") != 0 && strcmp (d->d_name, "..") != 0)
      {
        *name = d->d_name;
        return MM_OK;
      }
  return errno ? mm_fail_errno (path) : MM_OK;
}

/* ---- trees ---- */

static mm_status remove_at (int parent, const char *name, const char *path, int depth);

/* Empty the folder open at FD, which is closed.  */
static mm_status
empty_folder (int fd, const char *path, int depth)
{
  DIR *dir = fdopendir (fd);
  const char *name;
  mm_status st;

  if (!dir)
    {
      st = mm_fail_errno (path);
      close (fd);
      return st;
    }
  while ((st = mm_next_name (dir, path, &name)) == MM_OK && name)
    if ((st = remove_at (dirfd (dir), name, path, depth + 1)) < 0)
      break;
  closedir (dir);
  return st;
}

/* Remove NAME in PARENT, whatever it is; PATH, the tree's top, stands in messages.  */
static mm_status
remove_at (int parent, const char *name, const char *path, int depth)
{
  mm_status st;
  int fd;

  if (unlinkat (parent, name, 0) == 0)
    return MM_OK;
  if (errno != EISDIR && errno != EPERM)
    return mm_fail_errno (path);
  if (depth > MAX_DEPTH)
    return mm_fail (MM_EIO, "%s: folders are nested too deep to be removed", path);
  fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return mm_fail_errno (path);
  st = empty_folder (fd, path, depth);
  if (st == MM_OK && unlinkat (parent, name, AT_REMOVEDIR) < 0)
    st = mm_fail_errno (path);
  return st;
}

mm_status
mm_remove_tree (const char *path)
{
  return remove_at (AT_FDCWD, path, path, 0);
}

/* ---- one file ---- */

struct mm_output
{
  char *path;
  char *temp;                   /* NULL: written in place, a stream */
  int fd, ticket;
  bool force;
  bool plain;                   /* temp is path itself */
  bool published, replaced;     /* it stands under its name; where another one stood before */
  uint64_t end;                 /* bytes written to fd, for a file */
  size_t used;                  /* bytes in the buffer, behind end */
  char buffer[BUFFER_SIZE];
};

/* Free OUT without a word; the temporary file goes.  */
static void
output_free (struct mm_output *out)
{
  if (out->fd >= 0 && out->fd != STDOUT_FILENO)
    close (out->fd);
  if (out->temp)
    unlink (out->temp);
  mm_temporary_forget (out->ticket);
  free (out->temp);
  free (out->path);
  free (out);
}

static mm_status
output_new (const char *path, struct mm_output **result)
{
  struct mm_output *out = calloc (1, sizeof *out);
  char *copy = strdup (path);

  *result = out;
  if (!out || !copy)
    {
      free (out);
      free (copy);
      return mm_fail (MM_ENOMEM, "%s: no memory", path);
    }
  out->path = copy;
  out->fd = out->ticket = -1;
  return MM_OK;
}

/* Decide what PATH is: *STREAM for a device or pipe that stands there already, which is written
   to, not replaced.  */
static mm_status
output_look (const char *path, bool force, bool *stream)
{
  struct stat s;

  *stream = false;
  if (stat (path, &s) == 0)
    {
      if (S_ISDIR (s.st_mode))
        return mm_fail (MM_EIO, "%s: is a folder, want a file's name", path);
      *stream = !S_ISREG (s.st_mode);
      if (*stream)
        return MM_OK;
    }
  if (!force && lstat (path, &s) == 0)
    return mm_fail (MM_EEXIST, "%s: exists; --force replaces it", path);
  return MM_OK;
}

static mm_status
output_begin (struct mm_output *out, bool stream)
{
  if (stream)
    {
      out->fd = open (out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
      return out->fd < 0 ? mm_fail_errno (out->path) : MM_OK;
    }
  return mm_temporary_make (out->path, &out->temp, &out->fd, &out->ticket);
}

mm_status
mm_output_open (const char *path, bool force, struct mm_output **result)
{
  struct mm_output *out;
  bool to_stdout = strcmp (path, "-") == 0, stream = false;
  mm_status st = to_stdout ? MM_OK : output_look (path, force, &stream);

  *result = NULL;
  if (st < 0)
    return st;
  st = output_new (to_stdout ? "standard output" : path, &out);
  if (st < 0)
    return st;
  out->force = force;
  if (to_stdout)
    out->fd = STDOUT_FILENO;
  else
    st = output_begin (out, stream);
  if (st < 0)
    output_free (out);
  else
    *result = out;
  return st;
}

mm_status
mm_output_open_plain (const char *path, struct mm_output **result)
{
  struct mm_output *out;
  mm_status st = output_new (path, &out);

  *result = NULL;
  if (st < 0)
    return st;
  out->plain = true;
  out->fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (out->fd < 0)
    st = errno == EEXIST ? mm_fail (MM_EEXIST, "%s: exists", path) : mm_fail_errno_output (path);
  else if (!(out->temp = strdup (path)))
    st = mm_fail (MM_ENOMEM, "%s: no memory", path);
  if (st < 0)
    output_free (out);
  else
    *result = out;
  return st;
}

int
mm_output_fd (const struct mm_output *out)
{
  return out->fd;
}

bool
mm_output_is_stream (const struct mm_output *out)
{
  return !out->temp;
}

/* Write behind what was appended so far, past the buffer.  */
static mm_status
output_append (struct mm_output *out, const void *data, size_t size)
{
  mm_status st;

  if (mm_output_is_stream (out))
    return mm_fd_write (out->fd, out->path, data, size);
  st = mm_fd_write_at (out->fd, out->path, out->end, data, size);
  if (st == MM_OK)
    out->end += size;
  return st;
}

static mm_status
output_flush (struct mm_output *out)
{
  size_t size = out->used;

  out->used = 0;
  return size ? output_append (out, out->buffer, size) : MM_OK;
}

mm_status
mm_output_write (struct mm_output *out, const void *data, size_t size)
{
  mm_status st;

  if (size > BUFFER_SIZE - out->used)
    {
      st = output_flush (out);
      if (st < 0)
        return st;
    }
  if (size >= BUFFER_SIZE)
    return output_append (out, data, size);
  memcpy (out->buffer + out->used, data, size);
  out->used += size;
  return MM_OK;
}

mm_status
mm_output_write_at (struct mm_output *out, uint64_t offset, const void *data, size_t size)
{
  mm_status st = output_flush (out);

  return st < 0 ? st : mm_fd_write_at (out->fd, out->path, offset, data, size);
}

/* Have all of OUT on the disk, or in the stream, and close it.  */
static mm_status
output_settle (struct mm_output *out)
{
  mm_status st = output_flush (out);

  if (st < 0 || out->fd == STDOUT_FILENO)
    return st;
  if (out->temp)
    st = mm_fd_sync_close (out->fd, out->path);
  else if (close (out->fd) < 0)
    st = mm_fail_errno_output (out->path);
  out->fd = -1;
  return st;
}

/* Let the temporary file take its name.  */
static mm_status
output_rename (struct mm_output *out)
{
  mm_status st = MM_OK;

  if (!out->temp)
    return MM_OK;
  if (!out->plain)
    st = mm_rename_new (out->temp, out->path);
  if (st == MM_EEXIST && out->force)
    {
      out->replaced = true;
      st = rename (out->temp, out->path) < 0 ? mm_fail_errno_output (out->path) : MM_OK;
    }
  if (st < 0)
    return st;
  free (out->temp);
  out->temp = NULL;
  out->published = !out->plain;
  return MM_OK;
}

mm_status
mm_output_commit_all (struct mm_output *const *outs, size_t count)
{
  mm_status st = MM_OK;
  size_t renamed = 0;

  for (size_t i = 0; i < count && st == MM_OK; i++)
    st = output_settle (outs[i]);
  mm_cli_hold_signals ();
  for (; renamed < count && st == MM_OK; renamed += st == MM_OK)
    st = output_rename (outs[renamed]);
  for (size_t i = 0; st < 0 && i < renamed; i++)
    if (outs[i]->published && !outs[i]->replaced)
      unlink (outs[i]->path);
  mm_cli_release_signals ();
  for (size_t i = 0; i < count && st == MM_OK; i++)
    if (outs[i]->published)
      st = mm_sync_published (outs[i]->path);
  for (size_t i = 0; i < count; i++)
    output_free (outs[i]);
  return st;
}

mm_status
mm_output_commit (struct mm_output *out)
{
  return mm_output_commit_all (&out, 1);
}

void
mm_output_abort (struct mm_output *out)
{
  if (out)
    output_free (out);
}

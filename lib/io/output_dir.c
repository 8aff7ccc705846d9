/* output_dir.c -- folders that appear when complete.
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

struct mm_output_dir
{
  char *path, *temp;
  int ticket;
  bool force;
};

/* Files of which every result folder of the suite has one.  */
static const char *const marks[] = { "dataset.json", "config.json", "adapter_config.json" };

/* --force must never remove what the suite did not make: a folder is replaced if it is empty, or has
   one of the marks and no folder inside.  */
static mm_status
check_replaceable (const char *path)
{
  DIR *dir = opendir (path);
  const char *name;
  mm_status st;
  bool marked = false, empty = true, nested = false;

  if (!dir)
    return mm_fail_errno (path);
  while ((st = mm_next_name (dir, path, &name)) == MM_OK && name)
    {
      struct stat s;

      empty = false;
      nested |= fstatat (dirfd (dir), name, &s, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR (s.st_mode);
      for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        marked |= strcmp (name, marks[i]) == 0;
    }
  closedir (dir);
  if (st < 0)
    return st;
  if (empty || (marked && !nested))
    return MM_OK;
  return mm_fail (MM_EEXIST, "%s: holds files that this program did not make; remove it yourself", path);
}

static mm_status
look (const char *path, bool force)
{
  struct stat s;

  if (lstat (path, &s) < 0)
    return errno == ENOENT ? MM_OK : mm_fail (MM_EIO, "%s: %s", path, strerror (errno));
  if (!force)
    return mm_fail (MM_EEXIST, "%s: exists; --force replaces it", path);
  if (!S_ISDIR (s.st_mode))
    return mm_fail (MM_EEXIST, "%s: is no folder; remove it yourself", path);
  return check_replaceable (path);
}

/* PATH without slashes at its end; MM_EUSAGE if no name is left, or standard output's.  */
static mm_status
clean_path (const char *path, char **result)
{
  size_t size = strlen (path);
  const char *base;

  *result = NULL;
  if (strcmp (path, "-") == 0)
    return mm_fail (MM_EUSAGE, "'-': a folder cannot go to standard output: want the name of a new one");
  while (size > 1 && path[size - 1] == '/')
    size--;
  *result = strndup (path, size);
  if (!*result)
    return mm_fail (MM_ENOMEM, "%s: no memory", path);
  base = strrchr (*result, '/');
  base = base ? base + 1 : *result;
  if (*base && strcmp (base, ".") != 0 && strcmp (base, "..") != 0)
    return MM_OK;
  free (*result);
  *result = NULL;
  return mm_fail (MM_EUSAGE, "'%s': want the name of a new folder", path);
}

static void
output_dir_free (struct mm_output_dir *out)
{
  mm_temporary_forget (out->ticket);
  free (out->temp);
  free (out->path);
  free (out);
}

mm_status
mm_output_dir_open (const char *path, bool force, struct mm_output_dir **result, const char **temp)
{
  struct mm_output_dir *out = calloc (1, sizeof *out);
  mm_status st;

  *result = NULL;
  *temp = NULL;
  if (!out)
    return mm_fail (MM_ENOMEM, "%s: no memory", path);
  out->force = force;
  out->ticket = -1;
  st = clean_path (path, &out->path);
  if (st == MM_OK)
    st = look (out->path, force);
  if (st == MM_OK)
    st = mm_temporary_make (out->path, &out->temp, NULL, &out->ticket);
  if (st < 0)
    {
      output_dir_free (out);
      return st;
    }
  *result = out;
  *temp = out->temp;
  return MM_OK;
}

/* Let the new folder take the old one's name.  RENAME_EXCHANGE leaves no moment without either;
   where it does not exist the old one is moved aside first, and back if the new one cannot follow.  */
static mm_status
replace (struct mm_output_dir *out)
{
  char *aside;
  mm_status st = MM_OK;

  if (renameat2 (AT_FDCWD, out->temp, AT_FDCWD, out->path, RENAME_EXCHANGE) == 0)
    return MM_OK;
  if (errno != EINVAL && errno != ENOSYS)
    return mm_fail_errno_output (out->path);
  aside = mm_temporary_name (out->path);
  if (!aside)
    return mm_fail (MM_ENOMEM, "%s: no memory", out->path);
  mm_cli_hold_signals ();
  if (rename (out->path, aside) < 0)
    st = mm_fail_errno_output (out->path);
  else if (rename (out->temp, out->path) < 0)
    {
      st = mm_fail_errno_output (out->path);
      rename (aside, out->path);
    }
  else
    {
      char *old = out->temp;

      out->temp = aside;
      aside = old;
    }
  mm_cli_release_signals ();
  free (aside);
  return st;
}

/* Let the folder take its name, with FORCE another result's.  *REPLACED: that one now stands under the temporary
   name.  */
static mm_status
publish (struct mm_output_dir *out, bool *replaced)
{
  enum { MAX_TRIES = 100 };     /* others may publish and replace at the same time */
  struct stat s;
  mm_status st = MM_OK;

  *replaced = false;
  for (int i = 0; i < MAX_TRIES; i++)
    {
      st = mm_rename_new (out->temp, out->path);
      if (st != MM_EEXIST || !out->force)
        return st;
      st = look (out->path, true);
      if (st == MM_OK)
        st = replace (out);
      *replaced = st == MM_OK;
      if (st == MM_OK || lstat (out->path, &s) == 0)
        return st;
    }
  return st;
}

mm_status
mm_output_dir_commit (struct mm_output_dir *out)
{
  bool replaced = false;
  mm_status st = mm_sync_dir (out->temp);

  if (st == MM_OK)
    st = publish (out, &replaced);
  if (st == MM_OK)
    st = mm_sync_published (out->path);
  /* After a replacement the old folder stands under the temporary name.  */
  if (st == MM_OK && replaced)
    st = mm_remove_tree (out->temp);
  if (st < 0)
    {
      mm_output_dir_abort (out);
      return st;
    }
  output_dir_free (out);
  return MM_OK;
}

void
mm_output_dir_abort (struct mm_output_dir *out)
{
  char message[2048];
  const char *at;

  if (!out)
    return;
  /* The reason for giving up is what the caller will report; people know the folder by its name to be.  */
  snprintf (message, sizeof message, "%s", mm_error_message ());
  at = strstr (message, out->temp);
  if (mm_remove_tree (out->temp) < 0 || at)
    (void) mm_fail (MM_EIO, "%.*s%s%s", (int) (at ? at - message : 0), message, at ? out->path : message,
                    at ? at + strlen (out->temp) : "");
  output_dir_free (out);
}

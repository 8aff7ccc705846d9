/* manifest.c -- MANIFEST: made from a folder, read, and compared with it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "manifest.h"

enum { MANIFEST_LIMIT = 1 << 20 };

static const char first_line[] = "# minimind checkpoint 1\n";

void
mm_manifest_free (struct mm_manifest *m)
{
  for (size_t i = 0; i < m->count; i++)
    free (m->entries[i].name);
  free (m->entries);
  *m = (struct mm_manifest) { NULL, 0, 0 };
}

static mm_status
add_entry (struct mm_manifest *m, const char *name, uint64_t size)
{
  struct mm_manifest_entry *e;
  mm_status st = mm_grow ("list of files", &m->entries, &m->capacity, m->count + 1, sizeof *m->entries);

  if (st < 0)
    return st;
  e = &m->entries[m->count];
  *e = (struct mm_manifest_entry) { .name = strdup (name), .size = size };
  if (!e->name)
    return mm_fail (MM_ENOMEM, "%s: no memory", name);
  m->count++;
  return MM_OK;
}

static int
compare_entries (const void *a, const void *b)
{
  const struct mm_manifest_entry *x = a, *y = b;

  return strcmp (x->name, y->name);
}

/* ---- from the folder ---- */

static mm_status
scan_names (const char *dir, struct mm_manifest *m)
{
  DIR *d = opendir (dir);
  const char *name;
  mm_status st;

  if (!d)
    return mm_fail_errno (dir);
  while ((st = mm_next_name (d, dir, &name)) == MM_OK && name)
    {
      struct stat s;

      if (fstatat (dirfd (d), name, &s, AT_SYMLINK_NOFOLLOW) < 0)
        st = mm_fail_errno (dir);
      else if (S_ISREG (s.st_mode) && strcmp (name, MM_MANIFEST) != 0)
        st = add_entry (m, name, (uint64_t) s.st_size);
      if (st < 0)
        break;
    }
  closedir (d);
  if (m->count)
    qsort (m->entries, m->count, sizeof *m->entries, compare_entries);
  return st;
}

static mm_status
hash_entry (const char *dir, struct mm_manifest_entry *e)
{
  char *path = mm_path_join (dir, e->name);
  mm_status st = path ? mm_sha256_file (path, e->sha256) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  free (path);
  return st;
}

mm_status
mm_manifest_scan (const char *dir, bool hash, struct mm_manifest *m)
{
  mm_status st;

  *m = (struct mm_manifest) { NULL, 0, 0 };
  st = scan_names (dir, m);
  for (size_t i = 0; hash && st == MM_OK && i < m->count; i++)
    st = hash_entry (dir, &m->entries[i]);
  if (st < 0)
    mm_manifest_free (m);
  return st;
}

/* ---- as text ---- */

mm_status
mm_manifest_text (const struct mm_manifest *m, bool hashes_only, char **text)
{
  size_t size;
  FILE *f = open_memstream (text, &size);

  if (!f)
    return mm_fail (MM_ENOMEM, "%s: no memory", MM_MANIFEST);
  if (!hashes_only)
    fputs (first_line, f);
  for (size_t i = 0; !hashes_only && i < m->count; i++)
    fprintf (f, "# %" PRIu64 " %s\n", m->entries[i].size, m->entries[i].name);
  for (size_t i = 0; i < m->count; i++)
    fprintf (f, "%s  %s\n", m->entries[i].sha256, m->entries[i].name);
  return fclose (f) == 0 ? MM_OK : mm_fail (MM_ENOMEM, "%s: no memory", MM_MANIFEST);
}

/* Take sizes and hashes from TEXT without asking much: what was understood is written again and
   compared.  */
static mm_status
parse (char *text, struct mm_manifest *m)
{
  size_t hashed = 0;
  char *rest = text, *line;

  while ((line = strsep (&rest, "\n")))
    {
      char *end = line;
      uint64_t size = *line == '#' ? strtoull (line + 1, &end, 10) : 0;
      mm_status st = MM_OK;

      if (end > line + 1 && *end == ' ' && end[1] && !strchr (end, '/'))
        st = add_entry (m, end + 1, size);
      else if (*line != '#' && strlen (line) > MM_SHA256_TEXT && hashed < m->count)
        memcpy (m->entries[hashed++].sha256, line, MM_SHA256_TEXT - 1);
      if (st < 0)
        return st;
    }
  return MM_OK;
}

mm_status
mm_manifest_read (const char *dir, struct mm_manifest *m)
{
  char *path = mm_path_join (dir, MM_MANIFEST), *text = NULL, *copy = NULL, *again = NULL;
  size_t size;
  mm_status st = path ? mm_read_file (path, MANIFEST_LIMIT, &text, &size)
                      : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  *m = (struct mm_manifest) { NULL, 0, 0 };
  if (st == MM_OK && !(copy = strdup (text)))
    st = mm_fail (MM_ENOMEM, "%s: no memory", path);
  if (st == MM_OK)
    st = parse (copy, m);
  if (st == MM_OK)
    st = mm_manifest_text (m, false, &again);
  if (st == MM_OK && (m->count == 0 || strlen (again) != size || memcmp (text, again, size) != 0))
    st = mm_fail (MM_EFORMAT, "%s: is no manifest of a checkpoint, or damaged", path);
  free (again);
  free (copy);
  free (text);
  free (path);
  if (st < 0)
    mm_manifest_free (m);
  return st;
}

/* ---- comparing ---- */

/* Each name of DIR, whatever it is, stands in M.  */
static mm_status
check_extra (const char *dir, const struct mm_manifest *m)
{
  DIR *d = opendir (dir);
  const char *name;
  mm_status st;

  if (!d)
    return mm_fail_errno (dir);
  while ((st = mm_next_name (d, dir, &name)) == MM_OK && name)
    {
      struct mm_manifest_entry key = { .name = (char *) name };

      if (strcmp (name, MM_MANIFEST) != 0 && !bsearch (&key, m->entries, m->count, sizeof key, compare_entries))
        {
          st = mm_fail (MM_EFORMAT, "%s/%s: does not stand in %s", dir, name, MM_MANIFEST);
          break;
        }
    }
  closedir (d);
  return st;
}

static mm_status
check_entry (const char *dir, const struct mm_manifest_entry *want, bool hash)
{
  struct mm_manifest_entry found = *want;
  char *path = mm_path_join (dir, want->name);
  struct stat s;
  mm_status st = MM_OK;

  if (!path)
    return mm_fail (MM_ENOMEM, "%s: no memory", dir);
  if (lstat (path, &s) < 0 && errno == ENOENT)
    st = mm_fail (MM_EFORMAT, "%s: missing, but it stands in %s", path, MM_MANIFEST);
  else if (lstat (path, &s) < 0)
    st = mm_fail_errno (path);
  else if (!S_ISREG (s.st_mode))
    st = mm_fail (MM_EFORMAT, "%s: is no regular file", path);
  else if ((uint64_t) s.st_size != want->size)
    st = mm_fail (MM_EFORMAT, "%s: has %s, want %" PRIu64, path, MM_COUNT ((uint64_t) s.st_size, "byte"), want->size);
  if (st == MM_OK && hash)
    st = hash_entry (dir, &found);
  if (st == MM_OK && strcmp (found.sha256, want->sha256) != 0)
    st = mm_fail (MM_EFORMAT, "%s: has SHA-256 %s, want %s", path, found.sha256, want->sha256);
  free (path);
  return st;
}

mm_status
mm_manifest_check (const char *dir, bool hashes)
{
  struct mm_manifest m;
  mm_status st = mm_manifest_read (dir, &m);

  for (size_t i = 0; st == MM_OK && i < m.count; i++)
    st = check_entry (dir, &m.entries[i], hashes);
  if (st == MM_OK)
    st = check_extra (dir, &m);
  mm_manifest_free (&m);
  return st;
}

mm_status
mm_checkpoint_verify (const char *dir)
{
  return mm_manifest_check (dir, true);
}

mm_status
mm_checkpoint_digest (const char *dir, char sha256[MM_SHA256_TEXT])
{
  struct mm_manifest m;
  char *text = NULL;
  mm_status st = mm_manifest_scan (dir, true, &m);

  if (st == MM_OK)
    st = mm_manifest_text (&m, true, &text);
  if (st == MM_OK)
    st = mm_sha256_bytes (text, strlen (text), sha256);
  free (text);
  mm_manifest_free (&m);
  return st;
}

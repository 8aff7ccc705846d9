/* run_folder.c -- a run's folder: its lock, its step folders, which is the newest, which may go.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "manifest.h"
#include "run_folder.h"

/* ---- what a folder is ---- */

enum { MODEL = 1, ADAPTER = 2, DATASET = 4 };

/* The marks of what the folder PATH holds into *KINDS.  A model beside which an adapter lies is a model.  */
static mm_status
look (const char *path, unsigned *kinds)
{
  static const struct
  {
    const char *name;
    unsigned kind;
  } marks[] = { { "config.json", MODEL }, { "adapter_config.json", ADAPTER }, { "dataset.json", DATASET } };
  mm_status st = MM_OK;

  *kinds = 0;
  for (size_t i = 0; st == MM_OK && !*kinds && i < sizeof marks / sizeof *marks; i++)
    {
      char *file = mm_path_join (path, marks[i].name);
      bool there = false;

      st = file ? mm_path_exists (file, &there) : mm_fail (MM_ENOMEM, "%s: no memory", path);
      if (there)
        *kinds = marks[i].kind;
      free (file);
    }
  return st;
}

static const char *
kind_name (unsigned kind)
{
  return kind == DATASET ? "a dataset folder" : kind == ADAPTER ? "a LoRA adapter" : "a model folder";
}

/* OUT is nothing else than a run folder: a model or a dataset does not get a run's files.  */
static mm_status
check_output (const char *out)
{
  unsigned kind;

  if (look (out, &kind) < 0 || !kind)
    return MM_OK;               /* of what cannot be looked into, who locks it tells */
  return mm_fail (MM_EUSAGE, "%s: is %s, want a run folder or a new one", out, kind_name (kind));
}

/* ---- the lock ---- */

struct mm_run_lock
{
  int fd;                       /* OUT/LOCK */
  char *out;
  bool made;                    /* OUT was not there before */
};

/* mkdir -p.  *MADE: PATH itself was not there before.  */
static mm_status
make_folders (const char *path, bool *made)
{
  char *copy;
  mm_status st = MM_OK;

  *made = false;
  if (strcmp (path, "-") == 0)
    return mm_fail (MM_EUSAGE, "'-': a run's folder cannot go to standard output: want its name");
  copy = strdup (path);
  if (!copy)
    return mm_fail (MM_ENOMEM, "%s: no memory", path);
  for (char *slash = strchr (copy + 1, '/'); slash; slash = strchr (slash + 1, '/'))
    {
      *slash = '\0';
      mkdir (copy, 0777);       /* the last one's failure tells */
      *slash = '/';
    }
  *made = mkdir (path, 0777) == 0;
  if (!*made && errno != EEXIST)
    st = mm_fail (MM_EIO, "%s: cannot be made: %s", path, strerror (errno));
  free (copy);
  return st;
}

/* A hidden name of ours, of a checkpoint or of the link to it, that a process left unfinished.  */
static bool
is_stale (const char *name)
{
  size_t n = strlen (name);

  return n > 4 && strcmp (name + n - 4, ".tmp") == 0
         && (strncmp (name, ".step-", 6) == 0 || strncmp (name, ".latest.", 8) == 0);
}

/* Whoever holds the lock is alone: what others left unfinished goes.  That it cannot be removed is no
   reason not to train.  */
static void
remove_stale (const char *out)
{
  DIR *d = opendir (out);
  const char *name;

  if (!d)
    return;
  while (mm_next_name (d, out, &name) == MM_OK && name)
    if (is_stale (name))
      {
        char *path = mm_path_join (out, name);

        if (!path || mm_remove_tree (path) < 0)
          mm_warn ("%s", mm_error_message ());
        free (path);
      }
  closedir (d);
}

/* Who holds the lock, as they wrote it there; for the message only.  */
static mm_status
fail_busy (const char *path, int fd)
{
  char who[80] = "";

  if (pread (fd, who, sizeof who - 1, 0) < 0)
    who[0] = '\0';
  who[strcspn (who, "\n")] = '\0';
  return mm_fail (MM_EBUSY, "%s: in use by another run%s%s", path, *who ? ": " : "", who);
}

static void
sign (int fd)
{
  char text[200], host[100] = "";

  gethostname (host, sizeof host - 1);
  snprintf (text, sizeof text, "process %ld on %s\n", (long) getpid (), host);
  /* It only helps people to find the process.  */
  if (ftruncate (fd, 0) < 0 || pwrite (fd, text, strlen (text), 0) < 0)
    mm_verbose ("LOCK: %s", strerror (errno));
}

static void
lock_free (struct mm_run_lock *l)
{
  if (!l)
    return;
  if (l->fd >= 0)
    close (l->fd);
  free (l->out);
  free (l);
}

/* Open PATH and lock it.  *GONE: the one that held it has removed it meanwhile, so that the lock is of a
   file without a name.  */
static mm_status
lock_file (const char *path, int *fd, bool *gone)
{
  struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  struct stat named, held;

  *gone = false;
  *fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (*fd < 0)
    {
      *gone = errno == ENOENT;
      return mm_fail (MM_EIO, "%s: %s", path, strerror (errno));
    }
  if (fcntl (*fd, F_OFD_SETLK, &whole) < 0)
    return errno == EAGAIN || errno == EACCES ? fail_busy (path, *fd) : mm_fail_errno (path);
  if (fstat (*fd, &held) < 0)
    return mm_fail_errno (path);
  *gone = lstat (path, &named) < 0 || named.st_dev != held.st_dev || named.st_ino != held.st_ino;
  return *gone ? mm_fail (MM_EBUSY, "%s: removed by another run", path) : MM_OK;
}

/* Make the folder and lock PATH in it, again as long as others give it up in between.  */
static mm_status
take (struct mm_run_lock *l, const char *path)
{
  enum { MAX_TRIES = 100 };
  mm_status st;
  bool gone = false;

  for (int i = 0; i < MAX_TRIES; i++)
    {
      st = make_folders (l->out, &l->made);
      if (st == MM_OK)
        st = lock_file (path, &l->fd, &gone);
      if (!gone)
        break;
      if (l->fd >= 0)
        close (l->fd);
      l->fd = -1;
    }
  return st;
}

mm_status
mm_run_lock_take (const char *out, struct mm_run_lock **lock)
{
  struct mm_run_lock *l;
  char *path = mm_path_join (out, "LOCK");
  mm_status st = mm_alloc ("lock", 1, sizeof *l, &l);

  *lock = NULL;
  if (l)
    *l = (struct mm_run_lock) { .fd = -1, .out = strdup (out) };
  if (st == MM_OK && (!path || !l->out))
    st = mm_fail (MM_ENOMEM, "%s: no memory", out);
  if (st == MM_OK)
    st = check_output (out);
  if (st == MM_OK)
    st = take (l, path);
  free (path);
  if (st < 0)
    {
      lock_free (l);
      return st;
    }
  sign (l->fd);
  remove_stale (out);
  *lock = l;
  return MM_OK;
}

mm_status
mm_run_lock_check (const struct mm_run_lock *l)
{
  char *path = mm_path_join (l->out, "LOCK");
  struct stat named, held;
  mm_status st = MM_OK;

  if (!path)
    return mm_fail (MM_ENOMEM, "%s: no memory", l->out);
  if (lstat (path, &named) < 0 || fstat (l->fd, &held) < 0)
    st = mm_fail (MM_EIO, "%s: %s: the run folder was taken away", path, strerror (errno));
  else if (named.st_dev != held.st_dev || named.st_ino != held.st_ino)
    st = mm_fail (MM_EBUSY, "%s: is another run's: the run folder was replaced", path);
  free (path);
  return st;
}

/* A run that was refused leaves no folder that it made: nothing is in it but the lock.  Others that wait for
   the lock see that it has gone.  */
static void
remove_unused (const char *out)
{
  DIR *d = opendir (out);
  const char *name = NULL;
  bool used = !d;

  while (!used && mm_next_name (d, out, &name) == MM_OK && name)
    used = strcmp (name, "LOCK") != 0;
  /* rmdir removes no more than an empty folder, whatever could not be read.  */
  if (!used && unlinkat (dirfd (d), "LOCK", 0) == 0)
    rmdir (out);
  if (d)
    closedir (d);
}

void
mm_run_lock_release (struct mm_run_lock *l)
{
  if (l && l->made)
    remove_unused (l->out);
  lock_free (l);
}

/* ---- step folders ---- */

/* The number in "step-00000100"; false for any other name.  */
static bool
step_number (const char *name, uint64_t *step)
{
  size_t digits;
  char again[40];

  if (strncmp (name, "step-", 5) != 0)
    return false;
  digits = strspn (name + 5, "0123456789");
  if (digits < 8 || digits > 19 || name[5 + digits])
    return false;
  *step = strtoull (name + 5, NULL, 10);
  snprintf (again, sizeof again, "step-%08" PRIu64, *step);
  return strcmp (again, name) == 0;
}

static int
compare_newest_first (const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

  return x > y ? -1 : x < y;
}

mm_status
mm_run_steps (const char *out, uint64_t **steps, size_t *count)
{
  DIR *d = opendir (out);
  size_t capacity = 0;
  const char *name;
  uint64_t step;
  struct stat s;
  mm_status st;

  *steps = NULL;
  *count = 0;
  if (!d)
    return mm_fail_errno (out);
  while ((st = mm_next_name (d, out, &name)) == MM_OK && name)
    {
      if (!step_number (name, &step))
        continue;
      /* One that cannot be looked at is there all the same; whoever reads it will tell.  */
      if (fstatat (dirfd (d), name, &s, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR (s.st_mode))
        continue;
      st = mm_grow ("list of checkpoints", steps, &capacity, *count + 1, sizeof **steps);
      if (st < 0)
        break;
      (*steps)[(*count)++] = step;
    }
  closedir (d);
  if (*count)
    qsort (*steps, *count, sizeof **steps, compare_newest_first);
  return st;
}

mm_status
mm_run_step_path (const char *out, uint64_t step, char **path)
{
  char name[40];

  snprintf (name, sizeof name, "step-%08" PRIu64, step);
  *path = mm_path_join (out, name);
  return *path ? MM_OK : mm_fail (MM_ENOMEM, "%s: no memory", out);
}

/* The first of STEPS whose folder verifies, or NULL.  */
static mm_status
first_valid (const char *out, const uint64_t *steps, size_t count, char **dir)
{
  for (size_t i = 0; i < count; i++)
    {
      mm_status st = mm_run_step_path (out, steps[i], dir);

      if (st < 0)
        return st;
      st = mm_checkpoint_verify (*dir);
      if (st == MM_OK)
        return MM_OK;
      free (*dir);
      *dir = NULL;
      if (st == MM_ENOMEM)
        return st;
      mm_warn ("%s; this checkpoint is passed over", mm_error_message ());
    }
  return MM_OK;
}

mm_status
mm_checkpoint_newest (const char *out, char **dir)
{
  uint64_t *steps;
  size_t count;
  mm_status st = mm_run_steps (out, &steps, &count);

  *dir = NULL;
  if (st == MM_ENOENT)
    return MM_OK;
  if (st == MM_OK)
    st = first_valid (out, steps, count, dir);
  if (st == MM_OK && count && !*dir)
    st = count == 1 ? mm_fail (MM_EFORMAT, "%s: its only checkpoint is not valid", out)
                    : mm_fail (MM_EFORMAT, "%s: none of its %zu checkpoints is valid", out, count);
  free (steps);
  return st;
}

/* ---- models and adapters in them ---- */

/* PATH can be looked into.  */
static mm_status
check_folder (const char *path, const char *want)
{
  struct stat s;

  if (stat (path, &s) < 0)
    return mm_fail_errno (path);
  if (!S_ISDIR (s.st_mode))
    return mm_fail (MM_EFORMAT, "%s: is no folder, want %s or a run folder", path, want);
  return MM_OK;
}

/* PATH is of KINDS, none of them WANTED.  */
static mm_status
fail_kind (const char *path, unsigned kinds, unsigned wanted)
{
  if (!kinds)
    return mm_fail (MM_EFORMAT, "%s: its checkpoint holds neither config.json nor adapter_config.json", path);
  if (kinds == DATASET)
    return mm_fail (MM_EFORMAT, "%s: a dataset folder, want %s", path, kind_name (wanted & MODEL ? MODEL : ADAPTER));
  if (wanted == MODEL)
    return mm_fail (MM_EFORMAT, "%s: a LoRA adapter, want a model: minimind-lora-merge --base=MODEL --adapter=%s -o DIR"
                    " makes one first (minimind-generate alone does without: --model=MODEL --adapter=%s)", path, path,
                    path);
  return mm_fail (MM_EFORMAT, "%s: a model folder, want an adapter (adapter_config.json)", path);
}

/* PATH itself if it is of a kind WANTED; else (a run folder) its newest valid step folder.  WHAT they are, and the
   file that marks one.  */
static mm_status
find_folder (const char *path, unsigned wanted, const char *what, const char *mark, char **dir)
{
  unsigned kinds = 0;
  mm_status st = check_folder (path, what);

  *dir = NULL;
  if (st == MM_OK)
    st = look (path, &kinds);
  if (st == MM_OK && kinds && !(*dir = strdup (path)))
    st = mm_fail (MM_ENOMEM, "%s: no memory", path);
  if (st == MM_OK && !kinds)
    {
      st = mm_checkpoint_newest (path, dir);
      if (st == MM_OK && !*dir)
        st = mm_fail (MM_EFORMAT, "%s: holds neither %s (%s) nor step folders (a run folder)", path, mark, what);
      if (st == MM_OK)
        st = look (*dir, &kinds);
    }
  if (st == MM_OK && !(kinds & wanted))
    st = fail_kind (path, kinds, wanted);
  if (st < 0)
    {
      free (*dir);
      *dir = NULL;
    }
  return st;
}

mm_status
mm_model_folder (const char *path, char **dir)
{
  return find_folder (path, MODEL, "a model folder", "config.json", dir);
}

mm_status
mm_adapter_folder (const char *path, char **dir)
{
  return find_folder (path, ADAPTER, "an adapter", "adapter_config.json", dir);
}

mm_status
mm_checkpoint_folder (const char *path, char **dir)
{
  return find_folder (path, MODEL | ADAPTER, "a model folder", "config.json", dir);
}

/* ---- retention ---- */

mm_status
mm_run_remove_step (const char *out, uint64_t step)
{
  char *path, *trash = NULL;
  mm_status st = mm_run_step_path (out, step, &path);

  if (st < 0)
    return st;
  /* First out of sight, in one step: a folder half removed is never taken for a checkpoint.  */
  if (asprintf (&trash, "%s/.step-%08" PRIu64 ".old.tmp", out, step) < 0)
    {
      trash = NULL;
      st = mm_fail (MM_ENOMEM, "%s: no memory", path);
    }
  if (st == MM_OK && rename (path, trash) < 0)
    st = mm_fail_errno (path);
  if (st == MM_OK)
    st = mm_sync_dir (out);
  if (st == MM_OK)
    st = mm_remove_tree (trash);
  free (trash);
  free (path);
  return st;
}

mm_status
mm_run_retain (const char *out, int keep)
{
  uint64_t *steps;
  size_t count, valid = 0;
  mm_status st = keep > 0 ? mm_run_steps (out, &steps, &count) : MM_OK;

  if (keep <= 0 || st < 0)
    return st;
  for (size_t i = 0; st == MM_OK && i < count; i++)
    {
      char *path;

      if (valid >= (size_t) keep)
        {
          st = mm_run_remove_step (out, steps[i]);
          continue;
        }
      st = mm_run_step_path (out, steps[i], &path);
      /* The contents were verified when it was made.  */
      if (st == MM_OK && mm_manifest_check (path, false) == MM_OK)
        valid++;
      free (path);
    }
  free (steps);
  return st;
}

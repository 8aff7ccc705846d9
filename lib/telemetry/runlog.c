/* runlog.c -- the log of a run: lines of JSON, and the same numbers for TensorBoard.
   SPDX-License-Identifier: Apache-2.0

   A line is one write to a file opened for appending.  A last line that a killed run left unfinished is ended
   first, so that it spoils no other.  TensorBoard stops reading a file at a torn record, so each start makes
   a file of its own.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/telemetry.h>

#include "tfevents.h"

enum { METRICS, EXTRA, EVENTS, TENSORBOARD, N_FILES };

enum
{
  MAX_SCALARS = 64,
  MAX_TAG = 64
};

struct logfile
{
  char *path;
  int fd;                       /* -1: not kept */
  uint64_t lost;                /* lines or records that could not be written */
};

struct mm_runlog
{
  struct logfile files[N_FILES];
  bool restarted;               /* TensorBoard knows where this start goes on */
};

/* ---- files ---- */

static mm_status
open_lines (struct logfile *f)
{
  struct stat s;
  char last;

  f->fd = open (f->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  /* A pipe or a terminal may be for writing only.  */
  if (f->fd < 0 && errno == EACCES)
    f->fd = open (f->path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (f->fd < 0)
    return mm_fail (MM_EIO, "%s: %s", f->path, strerror (errno));
  if (fstat (f->fd, &s) == 0 && S_ISREG (s.st_mode) && s.st_size > 0
      && pread (f->fd, &last, 1, s.st_size - 1) == 1 && last != '\n' && write (f->fd, "\n", 1) != 1)
    return mm_fail (MM_EIO, "%s: %s", f->path, strerror (errno));
  return MM_OK;
}

static double
wall_time (void)
{
  struct timespec t;

  clock_gettime (CLOCK_REALTIME, &t);
  return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* Make a file in DIR of a name that none there has.  */
static mm_status
open_tensorboard (const char *dir, struct logfile *f)
{
  char host[100] = "localhost";

  gethostname (host, sizeof host - 1);
  for (int n = 0; n < 100; n++)
    {
      free (f->path);
      if (asprintf (&f->path, "%s/events.out.tfevents.%010ld.%s.%ld.%d", dir, (long) time (NULL), host,
                    (long) getpid (), n) < 0)
        {
          f->path = NULL;
          return mm_fail (MM_ENOMEM, "%s: no memory", dir);
        }
      f->fd = open (f->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      if (f->fd >= 0 || errno != EEXIST)
        break;
    }
  return f->fd < 0 ? mm_fail (MM_EIO, "%s: %s", f->path, strerror (errno)) : MM_OK;
}

/* Append to F; the first failure is warned of, all are counted.  What was written in part is cut off again:
   half a line would spoil the next one, half a record all that follow.  */
static void
append (struct logfile *f, const void *data, size_t size)
{
  ssize_t n;
  off_t end;

  if (f->fd < 0)
    return;
  do
    n = write (f->fd, data, size);
  while (n < 0 && errno == EINTR);
  if (n == (ssize_t) size)
    return;
  if (f->lost++ == 0)
    mm_warn ("%s: cannot be written: %s; training goes on", f->path, n < 0 ? strerror (errno) : "no room");
  end = lseek (f->fd, 0, SEEK_CUR);
  if (n > 0 && end >= n && ftruncate (f->fd, end - n) < 0)
    mm_verbose ("%s: half a line stays: %s", f->path, strerror (errno));
}

static void
append_line (struct logfile *f, const char *text)
{
  size_t size = strlen (text);
  char *line = malloc (size + 1);

  if (!line)
    return;
  memcpy (line, text, size);
  line[size] = '\n';
  append (f, line, size + 1);
  free (line);
}

/* Append the record of *DATA, which is freed, if ST says that there is one.  */
static void
append_record (struct logfile *f, mm_status st, char **data, size_t size)
{
  if (st == MM_OK)
    append (f, *data, size);
  free (*data);
  *data = NULL;
}

static mm_status
open_all (const char *out, const char *extra, struct mm_runlog *log)
{
  char *dir = mm_path_join (out, "log"), *record = NULL;
  size_t size = 0;
  mm_status st = dir ? MM_OK : mm_fail (MM_ENOMEM, "%s: no memory", out);

  /* What may be refused comes first: then a run that does not begin leaves no folder of logs.  */
  if (st == MM_OK && extra && !(log->files[EXTRA].path = strdup (extra)))
    st = mm_fail (MM_ENOMEM, "%s: no memory", extra);
  if (st == MM_OK && extra)
    st = open_lines (&log->files[EXTRA]);
  if (st == MM_OK && mkdir (dir, 0777) < 0 && errno != EEXIST)
    st = mm_fail (MM_EIO, "%s: %s", dir, strerror (errno));
  if (st == MM_OK)
    {
      log->files[METRICS].path = mm_path_join (dir, "metrics.jsonl");
      log->files[EVENTS].path = mm_path_join (dir, "events.jsonl");
      if (!log->files[METRICS].path || !log->files[EVENTS].path)
        st = mm_fail (MM_ENOMEM, "%s: no memory", out);
    }
  if (st == MM_OK)
    st = open_lines (&log->files[METRICS]);
  if (st == MM_OK)
    st = open_lines (&log->files[EVENTS]);
  if (st == MM_OK)
    st = open_tensorboard (dir, &log->files[TENSORBOARD]);
  if (st == MM_OK)
    {
      st = mm_tfevents_version (wall_time (), &record, &size);
      append_record (&log->files[TENSORBOARD], st, &record, size);
    }
  free (dir);
  return st;
}

mm_status
mm_runlog_open (const char *out, const char *extra, struct mm_runlog **result)
{
  struct mm_runlog *log;
  mm_status st = mm_alloc ("run log", 1, sizeof *log, &log);

  *result = NULL;
  if (st < 0)
    return st;
  for (int i = 0; i < N_FILES; i++)
    log->files[i].fd = -1;
  st = open_all (out, extra, log);
  if (st < 0)
    mm_runlog_close (log);
  else
    *result = log;
  return st;
}

void
mm_runlog_close (struct mm_runlog *log)
{
  if (!log)
    return;
  for (int i = 0; i < N_FILES; i++)
    {
      struct logfile *f = &log->files[i];

      if (f->lost > 0)
        mm_warn ("%s: %llu lines or records are missing", f->path, (unsigned long long) f->lost);
      if (f->fd >= 0)
        close (f->fd);
      free (f->path);
    }
  free (log);
}

/* ---- what is logged ---- */

/* The numbers of OBJECT, those of objects in it as "KEY/KEY"; tags lie in TAGS.  */
static size_t
collect (json_t *object, const char *prefix, struct mm_scalar *scalars, char tags[][MAX_TAG], size_t n)
{
  const char *key;
  json_t *value;

  json_object_foreach (object, key, value)
    {
      if (json_is_object (value) && !*prefix)
        n = collect (value, key, scalars, tags, n);
      else if (json_is_number (value) && n < MAX_SCALARS && (*prefix || strcmp (key, "step") != 0))
        {
          snprintf (tags[n], MAX_TAG, "%s%s%s", prefix, *prefix ? "/" : "", key);
          scalars[n] = (struct mm_scalar) { tags[n], (float) json_number_value (value) };
          n++;
        }
    }
  return n;
}

static void
log_scalars (struct mm_runlog *log, uint64_t step, json_t *object)
{
  struct mm_scalar scalars[MAX_SCALARS];
  char tags[MAX_SCALARS][MAX_TAG], *record = NULL;
  size_t n = collect (object, "", scalars, tags, 0), size = 0;
  struct logfile *f = &log->files[TENSORBOARD];
  double now = wall_time ();
  mm_status st;

  if (n == 0)
    return;
  if (!log->restarted)
    {
      st = mm_tfevents_restart (now, step, &record, &size);
      append_record (f, st, &record, size);
    }
  log->restarted = true;
  st = mm_tfevents_scalars (now, step, scalars, n, &record, &size);
  append_record (f, st, &record, size);
}

void
mm_runlog_metrics (struct mm_runlog *log, uint64_t step, json_t *object)
{
  char *text = NULL;

  if (!object || mm_json_text (object, false, &text) < 0)
    {
      log->files[METRICS].lost++;
      json_decref (object);
      return;
    }
  append_line (&log->files[METRICS], text);
  append_line (&log->files[EXTRA], text);
  log_scalars (log, step, object);
  free (text);
  json_decref (object);
}

void
mm_runlog_event (struct mm_runlog *log, const char *event, json_t *object)
{
  char stamp[40], *text = NULL;
  time_t now = time (NULL);
  struct tm utc;
  json_t *line;

  strftime (stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r (&now, &utc));
  line = json_pack ("{s:s, s:s}", "time", stamp, "event", event);
  if (line && object && json_object_update (line, object) == 0 && mm_json_text (line, false, &text) == MM_OK)
    append_line (&log->files[EVENTS], text);
  else
    log->files[EVENTS].lost++;
  free (text);
  json_decref (line);
  json_decref (object);
}

/* bpe_temp.c -- a temporary file, written, read and mapped.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/memory.h>

#include "bpe_temp.h"

struct mapped
{
  char *data;
  size_t bytes;
  uint64_t offset;
};

struct mm_temp
{
  char *name;                   /* of its folder, for messages */
  int fd, statm;                /* the file; /proc/self/statm or -1 */
  uint64_t end, resident;
  size_t page;
  pthread_mutex_t lock;         /* for END */
  struct mapped *maps;
  size_t n_maps, maps_capacity;
};

/* A file without a name in FOLDER.  */
static mm_status
open_nameless (const char *folder, int *fd)
{
  char *path;

#ifdef O_TMPFILE
  *fd = open (folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (*fd >= 0)
    return MM_OK;
#endif
  path = mm_path_join (folder, ".minimind-XXXXXX");
  if (!path)
    return mm_fail (MM_ENOMEM, "%s: out of memory", folder);
  *fd = mkstemp (path);
  if (*fd >= 0)
    unlink (path);
  free (path);
  return *fd >= 0 ? MM_OK : mm_fail (MM_EIO, "%s: no temporary file can be made there: %s", folder, strerror (errno));
}

mm_status
mm_temp_open (const char *folder, uint64_t resident, struct mm_temp **out)
{
  struct mm_temp *t;
  mm_status st = mm_alloc ("temporary file", 1, sizeof *t, &t);

  *out = NULL;
  if (st < 0)
    return st;
  st = open_nameless (folder, &t->fd);
  if (st == MM_OK && asprintf (&t->name, "a temporary file in %s", folder) < 0)
    {
      close (t->fd);
      st = mm_fail (MM_ENOMEM, "%s: out of memory", folder);
    }
  if (st < 0)
    {
      free (t);
      return st;
    }
  t->resident = resident;
  t->page = (size_t) sysconf (_SC_PAGESIZE);
  t->statm = open ("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  pthread_mutex_init (&t->lock, NULL);
  *out = t;
  return MM_OK;
}

void
mm_temp_close (struct mm_temp *t)
{
  if (!t)
    return;
  for (size_t i = 0; i < t->n_maps; i++)
    munmap (t->maps[i].data, t->maps[i].bytes);
  close (t->fd);
  if (t->statm >= 0)
    close (t->statm);
  pthread_mutex_destroy (&t->lock);
  free (t->maps);
  free (t->name);
  free (t);
}

/* ---- parts that are written and read ---- */

mm_status
mm_temp_reserve (struct mm_temp *t, uint64_t size, uint64_t *offset)
{
  pthread_mutex_lock (&t->lock);
  *offset = t->end;
  t->end += size;
  pthread_mutex_unlock (&t->lock);
  return *offset + size <= INT64_MAX ? MM_OK : mm_fail (MM_EIO, "%s: too large", t->name);
}

mm_status
mm_temp_write (struct mm_temp *t, uint64_t offset, const void *data, size_t size)
{
  for (size_t done = 0; done < size;)
    {
      ssize_t n = pwrite (t->fd, (const char *) data + done, size - done, (off_t) (offset + done));

      if (n < 0 && errno != EINTR)
        return mm_fail (MM_EIO, "%s: %s", t->name, strerror (errno));
      done += n > 0 ? (size_t) n : 0;
    }
  return MM_OK;
}

mm_status
mm_temp_read (struct mm_temp *t, uint64_t offset, void *data, size_t size)
{
  for (size_t done = 0; done < size;)
    {
      ssize_t n = pread (t->fd, (char *) data + done, size - done, (off_t) (offset + done));

      if (n == 0 || (n < 0 && errno != EINTR))
        return mm_fail (MM_EIO, "%s: %s", t->name, n < 0 ? strerror (errno) : "ends early");
      done += n > 0 ? (size_t) n : 0;
    }
  return MM_OK;
}

void
mm_temp_drop (struct mm_temp *t, uint64_t offset, uint64_t size)
{
#ifdef FALLOC_FL_PUNCH_HOLE
  if (size > 0)
    (void) !fallocate (t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) offset, (off_t) size);
#else
  (void) t, (void) offset, (void) size;
#endif
}

/* ---- parts that are mapped ---- */

static size_t
whole_pages (const struct mm_temp *t, size_t bytes)
{
  return (bytes + t->page - 1) & ~(t->page - 1);
}

static mm_status
map (struct mm_temp *t, const char *what, size_t bytes, void **data)
{
  size_t room = whole_pages (t, bytes ? bytes : 1);
  uint64_t offset = 0;
  mm_status st = mm_grow (what, &t->maps, &t->maps_capacity, t->n_maps + 1, sizeof *t->maps);

  /* Parts written before need not end at a page.  */
  if (st == MM_OK)
    st = mm_temp_reserve (t, room + t->page, &offset);
  if (st < 0)
    return st;
  offset = (offset + t->page - 1) & ~(uint64_t) (t->page - 1);
  /* Room on the disk is taken now: a page that finds none when it is written would be a fatal signal.  */
  if (posix_fallocate (t->fd, (off_t) offset, (off_t) room) != 0)
    return mm_fail (MM_EIO, "%s: no room for %zu bytes of %s", t->name, room, what);
  *data = mmap (NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, (off_t) offset);
  if (*data == MAP_FAILED)
    return mm_fail (MM_EIO, "%s: %s", t->name, strerror (errno));
  t->maps[t->n_maps++] = (struct mapped) { *data, room, offset };
  return MM_OK;
}

enum { HUGE_PAGE = 2 << 20 };

/* Plain memory, in huge pages if it is large: it is gone through at random, and touched for the first time.  */
static mm_status
alloc_plain (const char *what, size_t count, size_t size, void *out)
{
  mm_status st = mm_alloc (what, count, size, out);
  uintptr_t from, end;
  void *data;

  if (st < 0 || count * size < 2 * HUGE_PAGE)
    return st;
  memcpy (&data, out, sizeof data);
  from = ((uintptr_t) data + HUGE_PAGE - 1) & ~(uintptr_t) (HUGE_PAGE - 1);
  end = ((uintptr_t) data + count * size) & ~(uintptr_t) (HUGE_PAGE - 1);
  (void) !madvise ((void *) from, end - from, MADV_HUGEPAGE);
  return MM_OK;
}

mm_status
mm_temp_alloc (struct mm_temp *t, const char *what, size_t count, size_t size, void *out)
{
  size_t bytes;
  void *data;
  mm_status st;

  if (!t)
    return alloc_plain (what, count, size, out);
  if (__builtin_mul_overflow (count, size, &bytes) || bytes > SIZE_MAX / 2)
    return mm_fail (MM_ENOMEM, "%s: no memory for %zu x %zu bytes", what, count, size);
  st = map (t, what, bytes, &data);
  if (st == MM_OK)
    memcpy (out, &data, sizeof data);
  return st;
}

void
mm_temp_free (struct mm_temp *t, void *data, size_t bytes)
{
  if (!t)
    free (data);
  else if (data)
    for (size_t i = t->n_maps; i-- > 0;)
      if (t->maps[i].data == data)
        {
          munmap (data, whole_pages (t, bytes ? bytes : 1));
          mm_temp_drop (t, t->maps[i].offset, t->maps[i].bytes);
          t->maps[i] = t->maps[--t->n_maps];
          break;
        }
}

mm_status
mm_temp_grow (struct mm_temp *t, const char *what, void *data, size_t *capacity, size_t need, size_t size)
{
  size_t count = *capacity ? *capacity : 1 << 16;
  void *old, *fresh;
  mm_status st;

  if (!t)
    return mm_grow (what, data, capacity, need, size);
  if (need <= *capacity)
    return MM_OK;
  while (count < need)
    count = count <= SIZE_MAX / 2 ? count * 2 : need;
  st = mm_temp_alloc (t, what, count, size, &fresh);
  if (st < 0)
    return st;
  memcpy (&old, data, sizeof old);
  for (size_t at = 0, bytes = *capacity * size; at < bytes; at += 1 << 22, mm_temp_breathe (t))
    memcpy ((char *) fresh + at, (char *) old + at, bytes - at < 1 << 22 ? bytes - at : 1 << 22);
  mm_temp_free (t, old, *capacity * size);
  memcpy (data, &fresh, sizeof fresh);
  *capacity = count;
  return MM_OK;
}

void
mm_temp_breathe (struct mm_temp *t)
{
  unsigned long long pages, resident;
  char text[128];
  ssize_t n;

  if (!t || t->statm < 0 || (n = pread (t->statm, text, sizeof text - 1, 0)) <= 0)
    return;
  text[n] = '\0';
  if (sscanf (text, "%llu %llu", &pages, &resident) == 2 && resident * t->page > t->resident)
    for (size_t i = 0; i < t->n_maps; i++)
      madvise (t->maps[i].data, t->maps[i].bytes, MADV_DONTNEED);
}

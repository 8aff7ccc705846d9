/* hash_along.c -- SHA-256 of a file while it is written, on a thread of its own.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/memory.h>

#include "fd.h"
#include "hash_along.h"

enum { PIECE = 1 << 18 };       /* bytes: small enough to stay in a core's cache */

struct mm_hash_along
{
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t end;                 /* guarded: bytes that may be read */
  bool closed;                  /* guarded: END is final */
  bool abandoned;               /* guarded: no one wants the hash */

  int fd;
  struct mm_sha256 *hash;
  mm_status st;                 /* the thread's */
  char *message;                /* of its failure, or NULL */
  char *path;
  char piece[PIECE];
};

/* Wait for bytes behind AT; *END is where they end.  False when there will be none.  */
static bool
wait_for_bytes (struct mm_hash_along *h, uint64_t at, uint64_t *end)
{
  bool more;

  pthread_mutex_lock (&h->lock);
  while (h->end == at && !h->closed)
    pthread_cond_wait (&h->changed, &h->lock);
  *end = h->end;
  more = *end > at && !h->abandoned;
  pthread_mutex_unlock (&h->lock);
  return more;
}

static void *
follow (void *arg)
{
  struct mm_hash_along *h = arg;
  uint64_t at = 0, end;

  while (h->st == MM_OK && wait_for_bytes (h, at, &end))
    {
      size_t n = end - at < PIECE ? (size_t) (end - at) : PIECE;

      h->st = mm_fd_read_at (h->fd, h->path, at, h->piece, n);
      if (h->st == MM_OK)
        mm_sha256_add (h->hash, h->piece, n);
      at += n;
    }
  if (h->st < 0)
    h->message = strdup (mm_error_message ());
  return NULL;
}

static void
discard (struct mm_hash_along *h)
{
  char text[MM_SHA256_TEXT];

  if (h->hash)
    mm_sha256_close (h->hash, text);
  if (h->fd >= 0)
    close (h->fd);
  free (h->message);
  free (h->path);
  free (h);
}

mm_status
mm_hash_along_start (int fd, const char *path, struct mm_hash_along **out)
{
  struct mm_hash_along *h;
  mm_status st = mm_alloc (path, 1, sizeof *h, &h);

  *out = NULL;
  if (st < 0)
    return st;
  h->fd = dup (fd);
  h->path = strdup (path);
  st = h->fd < 0 ? mm_fail_errno (path) : h->path ? mm_sha256_open (&h->hash)
                                                  : mm_fail (MM_ENOMEM, "%s: no memory", path);
  if (st < 0)
    {
      discard (h);
      return st;
    }
  pthread_mutex_init (&h->lock, NULL);
  pthread_cond_init (&h->changed, NULL);
  if (pthread_create (&h->thread, NULL, follow, h) != 0)
    {
      discard (h);
      return mm_fail (MM_ENOMEM, "%s: no thread to hash it", path);
    }
  *out = h;
  return MM_OK;
}

void
mm_hash_along_to (struct mm_hash_along *h, uint64_t end)
{
  pthread_mutex_lock (&h->lock);
  h->end = end;
  pthread_cond_signal (&h->changed);
  pthread_mutex_unlock (&h->lock);
}

static void
join (struct mm_hash_along *h, bool abandoned)
{
  pthread_mutex_lock (&h->lock);
  h->closed = true;
  h->abandoned = abandoned;
  pthread_cond_signal (&h->changed);
  pthread_mutex_unlock (&h->lock);
  pthread_join (h->thread, NULL);
  pthread_cond_destroy (&h->changed);
  pthread_mutex_destroy (&h->lock);
}

mm_status
mm_hash_along_finish (struct mm_hash_along *h, char text[MM_SHA256_TEXT])
{
  mm_status st;

  join (h, false);
  st = h->st;
  if (st < 0)
    mm_fail (st, "%s", h->message ? h->message : "a hash could not be made");
  mm_sha256_close (h->hash, text);
  h->hash = NULL;
  discard (h);
  return st;
}

void
mm_hash_along_abort (struct mm_hash_along *h)
{
  if (!h)
    return;
  join (h, true);
  discard (h);
}

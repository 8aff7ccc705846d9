/* behind.c -- a thread that does one piece of work at a time behind its caller.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "behind.h"

struct behind
{
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  behind_fn *fn;                /* guarded: what is to be done, NULL when it is done */
  void *arg;                    /* guarded */
  bool closed;                  /* guarded */
  mm_status st;                 /* of what was done last */
  char *message;                /* of its failure, or NULL */
};

static void *
work (void *arg)
{
  struct behind *b = arg;

  pthread_mutex_lock (&b->lock);
  for (;;)
    {
      while (!b->fn && !b->closed)
        pthread_cond_wait (&b->changed, &b->lock);
      if (!b->fn)
        break;
      pthread_mutex_unlock (&b->lock);
      b->st = b->fn (b->arg);
      if (b->st < 0)
        b->message = strdup (mm_error_message ());
      pthread_mutex_lock (&b->lock);
      b->fn = NULL;
      pthread_cond_broadcast (&b->changed);
    }
  pthread_mutex_unlock (&b->lock);
  return NULL;
}

mm_status
behind_open (struct behind **out)
{
  struct behind *b;
  mm_status st = mm_alloc ("thread", 1, sizeof *b, &b);

  *out = NULL;
  if (st < 0)
    return st;
  pthread_mutex_init (&b->lock, NULL);
  pthread_cond_init (&b->changed, NULL);
  if (pthread_create (&b->thread, NULL, work, b) != 0)
    {
      free (b);
      return mm_fail (MM_ENOMEM, "no thread to write with");
    }
  *out = b;
  return MM_OK;
}

mm_status
behind_do (struct behind *b, behind_fn *fn, void *arg)
{
  if (!b)
    return fn (arg);
  pthread_mutex_lock (&b->lock);
  assert (!b->fn && b->st == MM_OK);
  b->fn = fn;
  b->arg = arg;
  pthread_cond_broadcast (&b->changed);
  pthread_mutex_unlock (&b->lock);
  return MM_OK;
}

mm_status
behind_wait (struct behind *b)
{
  mm_status st;

  if (!b)
    return MM_OK;
  pthread_mutex_lock (&b->lock);
  while (b->fn)
    pthread_cond_wait (&b->changed, &b->lock);
  pthread_mutex_unlock (&b->lock);
  st = b->st;
  if (st < 0)
    mm_fail (st, "%s", b->message ? b->message : "what was to be written was not");
  return st;
}

void
behind_close (struct behind *b)
{
  if (!b)
    return;
  pthread_mutex_lock (&b->lock);
  b->closed = true;
  pthread_cond_broadcast (&b->changed);
  pthread_mutex_unlock (&b->lock);
  pthread_join (b->thread, NULL);
  pthread_cond_destroy (&b->changed);
  pthread_mutex_destroy (&b->lock);
  free (b->message);
  free (b);
}

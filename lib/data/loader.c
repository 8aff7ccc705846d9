/* loader.c -- reads micro-batches ahead of the trainer on a thread of its own.
   SPDX-License-Identifier: Apache-2.0

   One producer, one consumer, a ring of batches between them.  Both walk the same sequence,
   the micro-batches of this rank window by window, each with a cursor of its own: so nothing
   but filled slots passes through the ring.  */

#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/batch.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/random.h>

enum { SLOTS = 5 };             /* one with the consumer, four read ahead */

/* A place in the sequence of this rank's micro-batches.  */
struct cursor
{
  uint64_t step;
  uint64_t epoch, first, count; /* the window's samples */
  uint64_t next, end;           /* index in the window of the micro-batch to come, and behind the last */
};

/* Micro-batches of a window that are this rank's, where the caller deals them.  */
struct share
{
  uint64_t first, count;
};

struct mm_loader
{
  const struct mm_dataset *data;
  enum mm_split split;
  struct mm_order order;
  uint64_t rank, stride;        /* its micro-batches are each STRIDE-th; dealt ones follow each other */
  bool dealt;

  struct mm_batch slots[SLOTS];
  struct cursor consumer;
  bool holding;                 /* the consumer still has its last batch */

  /* The producer's own.  */
  struct cursor producer;
  uint32_t *ids;                /* one row [T + 1] */
  uint8_t *starts, *mask;

  pthread_t thread;
  bool running;

  /* Shared, under the lock.  */
  pthread_mutex_t lock;
  pthread_cond_t filled, emptied;
  uint64_t n_filled, n_emptied; /* slots so far; the difference is ready or with the consumer */
  bool stop;
  struct share shares[MM_LOADER_SHARES];        /* of window STEP at its remainder */
  uint64_t shared;              /* windows below this one have been told */
  mm_status status;             /* of the producer; the message is copied since it is by thread */
  char message[1024];
};

/* Where micro-batches are dealt, the window has been told.  */
static void
cursor_enter (struct cursor *c, struct mm_loader *l, uint64_t step)
{
  uint64_t m = l->order.micro_batch;

  c->step = step;
  mm_order_window (&l->order, step, &c->epoch, &c->first, &c->count);
  c->next = l->rank;
  c->end = c->count / m + (c->count % m != 0);
  if (!l->dealt)
    return;
  pthread_mutex_lock (&l->lock);
  struct share s = l->shares[step % MM_LOADER_SHARES];
  pthread_mutex_unlock (&l->lock);
  c->next = s.first;
  if (s.first < c->end && s.count < c->end - s.first)
    c->end = s.first + s.count;
}

/* Is there another micro-batch of this rank in the window?  */
static bool
cursor_more (const struct cursor *c)
{
  return c->next < c->end;
}

/* Read the micro-batch at the producer's cursor into B.  */
static mm_status
fill (struct mm_loader *l, struct mm_batch *b)
{
  const struct cursor *c = &l->producer;
  uint64_t at = c->next * l->order.micro_batch;
  uint64_t left = c->count - at;

  b->rows = left < l->order.micro_batch ? left : l->order.micro_batch;
  b->first = c->epoch * l->order.rows + c->first + at;
  for (size_t i = 0; i < b->rows; i++)
    {
      uint64_t row = c->first + at + i;
      mm_status st;

      if (l->order.shuffle)
        row = mm_permute (l->order.seed, MM_RANDOM_ORDER, (uint32_t) c->epoch, l->order.rows, row);
      st = mm_dataset_read (l->data, l->split, row, l->ids, l->starts, l->mask);
      if (st < 0)
        return st;
      mm_batch_set_row (b, i, l->ids, l->starts, l->mask);
    }
  return MM_OK;
}

/* Wait for an empty slot; NULL when the loader is being closed.  */
static struct mm_batch *
empty_slot (struct mm_loader *l)
{
  struct mm_batch *b = NULL;

  pthread_mutex_lock (&l->lock);
  while (!l->stop && l->n_filled - l->n_emptied == SLOTS)
    pthread_cond_wait (&l->emptied, &l->lock);
  if (!l->stop)
    b = &l->slots[l->n_filled % SLOTS];
  pthread_mutex_unlock (&l->lock);
  return b;
}

/* Wait until window STEP has been told; false when the loader is being closed.  */
static bool
await_share (struct mm_loader *l, uint64_t step)
{
  bool told;

  pthread_mutex_lock (&l->lock);
  while (l->dealt && !l->stop && step >= l->shared)
    pthread_cond_wait (&l->emptied, &l->lock);
  told = !l->stop;
  pthread_mutex_unlock (&l->lock);
  return told;
}

/* Go to the producer's next micro-batch; false when the loader is being closed.  */
static bool
find_next (struct mm_loader *l)
{
  while (!cursor_more (&l->producer))
    {
      if (!await_share (l, l->producer.step + 1))
        return false;
      cursor_enter (&l->producer, l, l->producer.step + 1);
    }
  return true;
}

static void *
produce (void *arg)
{
  struct mm_loader *l = arg;
  struct mm_batch *b;
  mm_status st = MM_OK;

  while (st >= 0 && (b = empty_slot (l)) != NULL && find_next (l))
    {
      st = fill (l, b);
      l->producer.next += l->stride;

      pthread_mutex_lock (&l->lock);
      if (st >= 0)
        l->n_filled++;
      else
        {
          l->status = st;
          snprintf (l->message, sizeof l->message, "%s", mm_error_message ());
        }
      pthread_cond_signal (&l->filled);
      pthread_mutex_unlock (&l->lock);
    }
  return NULL;
}

/* Signals are for the main thread, which knows how to stop a run.  */
static mm_status
start_thread (struct mm_loader *l)
{
  sigset_t all, before;
  int err;

  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, &before);
  err = pthread_create (&l->thread, NULL, produce, l);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (err != 0)
    return mm_fail (MM_ENOMEM, "loader: cannot start a thread: %s", strerror (err));
  l->running = true;
  return MM_OK;
}

static mm_status
check_order (const struct mm_dataset *d, enum mm_split split, const struct mm_order *o)
{
  uint64_t rows = mm_dataset_rows (d, split);

  if (o->rows != rows || rows == 0)
    return mm_fail (MM_EINVAL, "%s: loader: order over %llu rows, the split has %llu",
                    mm_dataset_path (d), (unsigned long long) o->rows, (unsigned long long) rows);
  if (o->global_batch == 0 || o->micro_batch == 0)
    return mm_fail (MM_EINVAL, "loader: batches of no sequences");
  return MM_OK;
}

/* Memory for the slots, no more than the largest micro-batch needs, and the producer's row.  */
static mm_status
allocate (struct mm_loader *l)
{
  const struct mm_order *o = &l->order;
  size_t seq_len = mm_dataset_seq_len (l->data), n = seq_len + 1;
  uint64_t rows = o->micro_batch;
  mm_status st = MM_OK;

  if (rows > o->global_batch)
    rows = o->global_batch;
  if (rows > o->rows)
    rows = o->rows;
  for (int i = 0; st >= 0 && i < SLOTS; i++)
    st = mm_batch_alloc (rows, seq_len, &l->slots[i]);
  if (st >= 0)
    st = mm_alloc ("loader", n, sizeof *l->ids, &l->ids);
  if (st >= 0)
    st = mm_alloc ("loader", n, 1, &l->starts);
  if (st >= 0)
    st = mm_alloc ("loader", n, 1, &l->mask);
  return st;
}

static mm_status
create (const struct mm_dataset *d, enum mm_split split, const struct mm_order *o, struct mm_loader **out)
{
  struct mm_loader *l;
  mm_status st;

  *out = NULL;
  st = check_order (d, split, o);
  if (st >= 0)
    st = mm_alloc ("loader", 1, sizeof *l, &l);
  if (st < 0)
    return st;

  l->data = d;
  l->split = split;
  l->order = *o;
  l->stride = 1;
  pthread_mutex_init (&l->lock, NULL);
  pthread_cond_init (&l->filled, NULL);
  pthread_cond_init (&l->emptied, NULL);
  st = allocate (l);
  if (st < 0)
    {
      mm_loader_close (l);
      return st;
    }
  *out = l;
  return MM_OK;
}

/* Both cursors at window STEP, the producer at WORK if there is any.  */
static mm_status
start (struct mm_loader **l, uint64_t step, bool work)
{
  mm_status st = MM_OK;

  cursor_enter (&(*l)->consumer, *l, step);
  cursor_enter (&(*l)->producer, *l, step);
  if (work)
    st = start_thread (*l);
  if (st < 0)
    {
      mm_loader_close (*l);
      *l = NULL;
    }
  return st;
}

mm_status
mm_loader_open (const struct mm_dataset *d, enum mm_split split, const struct mm_order *o,
                uint64_t first_step, int rank, int world_size, struct mm_loader **l)
{
  struct cursor largest;
  mm_status st = create (d, split, o, l);

  if (st < 0)
    return st;
  if (rank < 0 || world_size < 1 || rank >= world_size)
    {
      mm_loader_close (*l);
      *l = NULL;
      return mm_fail (MM_EINVAL, "loader: rank %d of %d", rank, world_size);
    }
  (*l)->rank = (uint64_t) rank;
  (*l)->stride = (uint64_t) world_size;
  /* The first window of an epoch is its largest: a rank with nothing there never has anything,
     and its producer would search for ever.  */
  cursor_enter (&largest, *l, 0);
  return start (l, first_step, cursor_more (&largest));
}

mm_status
mm_loader_open_shared (const struct mm_dataset *d, enum mm_split split, const struct mm_order *o,
                       uint64_t first_step, uint64_t first, uint64_t count, struct mm_loader **l)
{
  mm_status st = create (d, split, o, l);

  if (st < 0)
    return st;
  (*l)->dealt = true;
  (*l)->shares[first_step % MM_LOADER_SHARES] = (struct share) { first, count };
  (*l)->shared = first_step + 1;
  return start (l, first_step, true);
}

mm_status
mm_loader_share (struct mm_loader *l, uint64_t step, uint64_t first, uint64_t count)
{
  uint64_t at_hand = l->consumer.step, want;
  bool fits;

  pthread_mutex_lock (&l->lock);
  want = l->shared;
  fits = l->dealt && step == want && step - at_hand < MM_LOADER_SHARES;
  if (fits)
    {
      l->shares[step % MM_LOADER_SHARES] = (struct share) { first, count };
      l->shared++;
      pthread_cond_signal (&l->emptied);
    }
  pthread_mutex_unlock (&l->lock);
  if (fits)
    return MM_OK;
  return mm_fail (MM_EINVAL, "loader: window %llu is dealt during %llu, want %llu next", (unsigned long long) step,
                  (unsigned long long) at_hand, (unsigned long long) want);
}

void
mm_loader_close (struct mm_loader *l)
{
  if (!l)
    return;
  if (l->running)
    {
      pthread_mutex_lock (&l->lock);
      l->stop = true;
      pthread_cond_signal (&l->emptied);
      pthread_mutex_unlock (&l->lock);
      pthread_join (l->thread, NULL);
    }
  for (int i = 0; i < SLOTS; i++)
    mm_batch_free (&l->slots[i]);
  free (l->ids);
  free (l->starts);
  free (l->mask);
  pthread_cond_destroy (&l->emptied);
  pthread_cond_destroy (&l->filled);
  pthread_mutex_destroy (&l->lock);
  free (l);
}

/* Hand back the consumer's batch, then wait for the next one.  */
static mm_status
take (struct mm_loader *l, const struct mm_batch **b, double *waited)
{
  mm_status st = MM_OK;
  double start = 0;

  pthread_mutex_lock (&l->lock);
  if (l->holding)
    {
      l->n_emptied++;
      l->holding = false;
      pthread_cond_signal (&l->emptied);
    }
  if (l->n_filled == l->n_emptied && l->status >= 0)
    {
      start = mm_now ();
      while (l->n_filled == l->n_emptied && l->status >= 0)
        pthread_cond_wait (&l->filled, &l->lock);
      if (waited)
        *waited += mm_now () - start;
    }
  if (l->n_filled > l->n_emptied)
    {
      *b = &l->slots[l->n_emptied % SLOTS];
      l->holding = true;
    }
  else
    st = mm_fail (l->status, "%s", l->message);
  pthread_mutex_unlock (&l->lock);
  return st;
}

mm_status
mm_loader_next (struct mm_loader *l, uint64_t step, const struct mm_batch **b, double *waited)
{
  struct cursor *c = &l->consumer;
  mm_status st;

  *b = NULL;
  if (step == c->step + 1 && !cursor_more (c) && (!l->dealt || step < l->shared))
    cursor_enter (c, l, step);
  if (step != c->step)
    return mm_fail (MM_EINVAL, "loader: step %llu asked for during step %llu",
                    (unsigned long long) step, (unsigned long long) c->step);
  if (!cursor_more (c))
    return MM_OK;
  st = take (l, b, waited);
  if (st >= 0)
    c->next += l->stride;
  return st;
}

bool
mm_loader_is_last (const struct mm_loader *l)
{
  return !cursor_more (&l->consumer);
}

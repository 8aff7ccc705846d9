/* window.c -- make a window, join it, meet in it.
   SPDX-License-Identifier: Apache-2.0

   A meeting is a barrier: the last to arrive raises the round, on which the others spin briefly and then
   sleep.  Whoever sleeps looks every so often whether those who are missing still live.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined __x86_64__
# include <immintrin.h>
#endif

#include <minimind/log.h>

#include "window.h"

enum { SPINS = 2000, LOOK = 100 /* ms between looks at those who are missing */ };

/* mm_window.trouble: kind << 16 | rank + 1.  The first to see it writes it, so that ranks which leave
   because of it are not blamed themselves.  */
enum trouble { ENDED = 1, LATE, OTHER_VERSION, BEING_TOLD, TOLD };

/* ---- making one ---- */

static size_t
window_bytes (int size)
{
  size_t page = 4096;
  size_t head = sizeof (struct mm_window) + (size_t) size * sizeof (struct mm_window_rank);

  return (head + page - 1) / page * page + (size_t) size * 2 * MM_STAGE;
}

mm_status
mm_window_fail_memory (int fd, const char *what, size_t bytes)
{
  int error = errno;
  struct statvfs fs;
  char wanted[32], left[32], room[64] = "";

  /* Memory without a name has no limit of its own.  */
  if (fstatvfs (fd, &fs) == 0 && fs.f_blocks > 0)
    snprintf (room, sizeof room, "; /dev/shm has %s left",
              mm_format_bytes ((uint64_t) fs.f_bavail * fs.f_frsize, left));
  return mm_fail (MM_EIO, "%s: no %s of memory that ranks share: %s%s%s", what, mm_format_bytes (bytes, wanted),
                  strerror (error), room, *room ? ": mount it larger (docker run --shm-size=), or give --transport=mpi"
                  : "");
}

/* Give FD its size and what stands in it.  */
static mm_status
fill_window (int fd, int size)
{
  struct mm_window *w;
  size_t bytes = window_bytes (size);

  if (ftruncate (fd, (off_t) bytes) < 0 || (fallocate (fd, 0, 0, (off_t) bytes) < 0 && errno != EOPNOTSUPP))
    return mm_window_fail_memory (fd, "a window of ranks", bytes);
  w = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (w == MAP_FAILED)
    return mm_fail_errno ("memory for ranks to share");
  snprintf (w->version, sizeof w->version, "%s", PACKAGE_VERSION);
  w->size = (uint32_t) size;
  w->bytes = bytes;
  munmap (w, bytes);
  return MM_OK;
}

static mm_status
check_size (int size)
{
  if (size >= 1 && size <= MM_COMM_MAX_LOCAL)
    return MM_OK;
  return mm_fail (MM_EINVAL, "%d ranks on a host: want 1 to %d", size, MM_COMM_MAX_LOCAL);
}

mm_status
mm_comm_window (int size, int *fd)
{
  mm_status st = check_size (size);

  *fd = -1;
  if (st < 0)
    return st;
  *fd = memfd_create ("minimind", 0);
  return *fd < 0 ? mm_fail_errno ("memory for ranks to share") : fill_window (*fd, size);
}

mm_status
mm_window_named (int size, char name[MM_WINDOW_NAME], int *fd)
{
  uint64_t random[2];
  mm_status st = check_size (size);

  *fd = -1;
  name[0] = '\0';
  if (st < 0)
    return st;
  if (getrandom (random, sizeof random, 0) != sizeof random)
    return mm_fail_errno ("random numbers");
  snprintf (name, MM_WINDOW_NAME, "/minimind.%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  *fd = shm_open (name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return *fd < 0 ? mm_fail (MM_EIO, "/dev/shm%s: %s", name, strerror (errno)) : fill_window (*fd, size);
}

mm_status
mm_window_find (const char *name, int *fd)
{
  *fd = shm_open (name, O_RDWR | O_CLOEXEC, 0);
  if (*fd >= 0)
    return MM_OK;
  return mm_fail (MM_EIO, "/dev/shm%s: %s: ranks of one host that do not see the same /dev/shm need --transport=mpi",
                  name, strerror (errno));
}

void
mm_window_unname (const char *name)
{
  if (*name)
    shm_unlink (name);
}

char *
mm_hold_stage (const struct mm_hold *h, int rank, int half)
{
  char *end = (char *) h->window + h->window->bytes;

  return end - (size_t) (h->size - rank) * 2 * MM_STAGE + (size_t) half * MM_STAGE;
}

/* ---- who lives ---- */

static mm_status
take_lock (struct mm_hold *h)
{
  struct flock mine = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = h->rank, .l_len = 1 };

  if (fcntl (h->fd, F_SETLK, &mine) == 0)
    return MM_OK;
  return mm_fail (MM_EUSAGE, "rank %d is taken: another process has joined as it (MM_RANK)", h->rank);
}

static bool
is_alive (const struct mm_hold *h, int rank)
{
  struct flock theirs = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1 };

  return fcntl (h->fd, F_GETLK, &theirs) < 0 || theirs.l_type != F_UNLCK;
}

static void
report_trouble (struct mm_hold *h, enum trouble kind, int rank)
{
  unsigned none = 0;

  atomic_compare_exchange_strong (&h->window->trouble, &none, (unsigned) kind << 16 | (unsigned) (rank + 1));
}

void
mm_hold_tell (struct mm_hold *h)
{
  unsigned none = 0;

  if (!atomic_compare_exchange_strong (&h->window->trouble, &none, (unsigned) BEING_TOLD << 16))
    return;
  snprintf (h->window->told, sizeof h->window->told, "%s", mm_error_message ());
  atomic_store (&h->window->trouble, (unsigned) TOLD << 16);
}

/* The ranks that have come to fewer meetings than this one, as "1, 2 and 5".  */
static int
missing (const struct mm_hold *h, char *text, size_t size)
{
  int found[8], n = 0, total = 0;
  size_t used = 0;

  for (int r = 0; r < h->size; r++)
    if ((int) (h->sequence - atomic_load (&h->window->ranks[r].sequence)) > 0
        || atomic_load (&h->window->ranks[r].pid) == 0)
      {
        if (n < 8)
          found[n++] = atomic_load (&h->window->ranks[r].pid) ? atomic_load (&h->window->ranks[r].world) : r;
        total++;
      }
  text[0] = '\0';
  for (int i = 0; i < n && used < size; i++)
    used += (size_t) snprintf (text + used, size - used, "%s%d",
                               i == 0 ? "" : i == total - 1 ? " and " : ", ", found[i]);
  if (total > n && used < size)
    snprintf (text + used, size - used, " and %d more", total - n);
  return total;
}

static mm_status
fail_late (struct mm_hold *h, const struct mm_call *call, double timeout)
{
  char who[160];
  int n = missing (h, who, sizeof who);

  if (!h->joined)
    return mm_fail (MM_ESTOPPED, "rank%s %s of %d %s not joined within %.0f s: did %s start, and does the tool"
                    " train?", n == 1 ? "" : "s", who, h->world_size, n == 1 ? "has" : "have", timeout,
                    n == 1 ? "it" : "they");
  return mm_fail (MM_ESTOPPED, "rank%s %s of %d %s not come to a %s within %.0f s (--timeout): stopped, hanging or"
                  " far slower", n == 1 ? "" : "s", who, h->world_size, n == 1 ? "has" : "have", call->name,
                  timeout);
}

static mm_status
fail_trouble (struct mm_hold *h, const struct mm_call *call, double timeout)
{
  unsigned trouble = atomic_load (&h->window->trouble);
  int rank = (int) (trouble & 0xffff) - 1;
  struct mm_window_rank *r = rank >= 0 && rank < h->size ? &h->window->ranks[rank] : &h->window->ranks[h->rank];
  int world = atomic_load (&r->world);

  switch (trouble >> 16)
    {
    case ENDED:
      return mm_fail (MM_ESTOPPED, "rank %d of %d (process %d) ended while rank %d waited for it in the %s", world,
                      h->world_size, atomic_load (&r->pid), atomic_load (&h->window->ranks[h->rank].world),
                      call->name);
    case OTHER_VERSION:
      return mm_fail (MM_ECONFLICT, "rank %d of %d is of another version than its peers or minimind-launch, %.32s",
                      world, h->world_size, h->window->version);
    case TOLD:
      return mm_fail (MM_ESTOPPED, "%.500s", h->window->told);
    case BEING_TOLD:
      return mm_fail (MM_ESTOPPED, "another rank of this host gave up");
    default:
      return fail_late (h, call, timeout);
    }
}

/* ---- meeting ---- */

static void
futex_sleep (atomic_uint *word, unsigned old)
{
  struct timespec look = { .tv_nsec = LOOK * 1000000L };

  syscall (SYS_futex, word, FUTEX_WAIT, old, &look, NULL, 0);
}

static inline void
spin_pause (void)
{
#if defined __x86_64__
  _mm_pause ();
#elif defined __aarch64__
  __asm__ volatile ("yield");
#endif
}

/* A rank that has ended, or -1.  One that joins later than this rank is not there yet.  */
static int
find_ended (const struct mm_hold *h)
{
  for (int r = 0; h->joined && r < h->size; r++)
    if (r != h->rank && !is_alive (h, r))
      return r;
  return -1;
}

/* Sleep until the round is not OLD.  */
static mm_status
sleep_while (struct mm_hold *h, unsigned old, const struct mm_call *call, double timeout)
{
  struct mm_window *w = h->window;
  struct mm_patience patience;
  int ended;

  mm_patience_begin (&patience, timeout);
  for (;;)
    {
      /* Announce first, look again after: whoever raises the round reads sleepers after that.  */
      atomic_fetch_add (&w->sleepers, 1);
      if (atomic_load (&w->round) == old)
        futex_sleep (&w->round, old);
      atomic_fetch_sub (&w->sleepers, 1);
      if (atomic_load (&w->round) != old)
        return MM_OK;
      if (atomic_load (&w->trouble) == 0)
        {
          bool over = mm_patience_over (&patience);

          ended = find_ended (h);
          /* It may have come, and ended after the meeting.  */
          if (atomic_load (&w->round) != old)
            return MM_OK;
          if (ended >= 0)
            report_trouble (h, ENDED, ended);
          else if (over)
            report_trouble (h, LATE, h->rank);
        }
      if (atomic_load (&w->trouble) != 0)
        return fail_trouble (h, call, timeout);
    }
}

static mm_status
wait_while (struct mm_hold *h, unsigned old, const struct mm_call *call, double timeout)
{
  for (int i = 0; i < h->spins; i++)
    {
      if (atomic_load_explicit (&h->window->round, memory_order_acquire) != old)
        return MM_OK;
      spin_pause ();
    }
  return sleep_while (h, old, call, timeout);
}

/* Rank 0's call is the one that this rank makes.  */
static mm_status
compare_calls (const struct mm_hold *h, const struct mm_call *call)
{
  const struct mm_window_rank *first = &h->window->ranks[0];
  unsigned i = h->sequence & 1;

  if (first->calls[i].kind == call->kind && first->calls[i].bytes == call->bytes
      && first->calls[i].place == call->place)
    return MM_OK;
  return mm_fail (MM_EINVAL, "rank %d makes a %s of %llu bytes where rank 0 makes %s of %llu", h->rank, call->name,
                  (unsigned long long) call->bytes, first->calls[i].kind == call->kind ? "one" : "another call",
                  (unsigned long long) first->calls[i].bytes);
}

mm_status
mm_hold_meet (struct mm_hold *h, const struct mm_call *call, double timeout)
{
  struct mm_window *w = h->window;
  struct mm_window_rank *me = &w->ranks[h->rank];
  unsigned i = ++h->sequence & 1, round = atomic_load (&w->round);
  mm_status st = MM_OK;

  me->calls[i].kind = call->kind;
  me->calls[i].bytes = call->bytes;
  me->calls[i].place = call->place;
  atomic_store (&me->sequence, h->sequence);
  if (atomic_fetch_add (&w->arrived, 1) + 1 < (unsigned) h->size)
    st = wait_while (h, round, call, timeout);
  else
    {
      atomic_store (&w->arrived, 0);
      atomic_fetch_add (&w->round, 1);
      if (atomic_load (&w->sleepers) > 0)
        syscall (SYS_futex, &w->round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
  return st == MM_OK ? compare_calls (h, call) : st;
}

/* ---- joining ---- */

/* Map FD, if it is a window of SIZE ranks.  */
static mm_status
map_window (struct mm_hold *h, int fd, int size)
{
  size_t bytes = window_bytes (size);
  struct stat status;
  struct mm_window *w;

  if (fstat (fd, &status) < 0 || !S_ISREG (status.st_mode) || (size_t) status.st_size < bytes)
    return mm_fail (MM_EUSAGE, "MM_WINDOW=%d is not the window of %d ranks that minimind-launch makes: was the"
                    " descriptor closed in between?", fd, size);
  w = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (w == MAP_FAILED)
    return mm_fail_errno ("memory that ranks share");
  h->window = w;
  if (w->size == (uint32_t) size && w->bytes == bytes)
    return MM_OK;
  return mm_fail (MM_EUSAGE, "MM_WINDOW=%d is a window of %u ranks, MM_LOCAL_SIZE is %d", fd, w->size, size);
}

static mm_status
check_version (struct mm_hold *h)
{
  if (strcmp (h->window->version, PACKAGE_VERSION) == 0)
    return MM_OK;
  report_trouble (h, OTHER_VERSION, h->rank);
  return mm_fail (MM_ECONFLICT, "rank %d is of version %s, its peers or minimind-launch of %.32s", h->rank,
                  PACKAGE_VERSION, h->window->version);
}

mm_status
mm_hold_open (struct mm_hold *h, int fd, const struct mm_ranks *ranks, double timeout)
{
  static const struct mm_call join = { .name = "first meeting" };
  long processors = sysconf (_SC_NPROCESSORS_ONLN);
  int rank = ranks->local_rank, size = ranks->local_size;
  mm_status st;

  *h = (struct mm_hold) { .fd = fd, .rank = rank, .size = size, .world_size = ranks->size };
  st = map_window (h, fd, size);
  if (st == MM_OK)
    st = take_lock (h);
  if (st < 0)
    return st;
  /* Ranks that outnumber the processors would spin in the way of those they wait for.  */
  h->spins = size <= processors ? SPINS : 0;
  fcntl (fd, F_SETFD, FD_CLOEXEC);
  prctl (PR_SET_PDEATHSIG, SIGKILL);    /* nobody is left behind when the launcher is killed */
  atomic_store (&h->window->ranks[rank].world, ranks->rank);
  atomic_store (&h->window->ranks[rank].pid, (int) getpid ());
  st = check_version (h);
  if (st == MM_OK)
    st = mm_hold_meet (h, &join, timeout);
  h->joined = st == MM_OK;
  return st;
}

void
mm_hold_close (struct mm_hold *h)
{
  if (h->window)
    munmap (h->window, window_bytes (h->size));
  h->window = NULL;
  if (h->fd >= 0)
    close (h->fd);              /* releases the lock */
  h->fd = -1;
}

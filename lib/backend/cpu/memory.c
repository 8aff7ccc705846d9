/* memory.c -- the memory of a CPU backend: huge pages, touched by all threads.
   SPDX-License-Identifier: Apache-2.0

   A model has dozens of matrices of one to six megabytes.  Each with pages of its own would have few huge ones, so what
   is not large stands in regions, one block after another; a region goes when its last block does.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu.h"

enum
{
  HUGE_PAGE = 2 << 20,
  ALIGN = 64,                   /* of a block; as much stands before it */
  SMALL = 128 << 10,            /* below: malloc's */
  LARGE = 16 << 20,             /* from here on: a region of its own */
  REGION = 32 << 20
};

/* Fresh pages: zero, and still to be touched.  */
struct mm_cpu_region
{
  void *base;                   /* mapped */
  size_t mapped;
  char *next, *end;             /* what is free */
  size_t blocks;                /* in use */
};

/* What stands before a block.  */
struct block
{
  struct mm_cpu_region *region; /* NULL: malloc's */
  void *base;
};

/* Whether BYTES come from a region.  Sanitizers watch the ends of what malloc gives: all blocks are its then.  */
static bool
has_region (size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
  (void) bytes;
  return false;
#else
  return bytes >= SMALL;
#endif
}

/* BYTES with what stands before, a multiple of ALIGN; 0 if that is too much.  */
static size_t
room_for (size_t bytes)
{
  size_t room;

  return __builtin_add_overflow (bytes, 2 * ALIGN - 1, &room) ? 0 : room / ALIGN * ALIGN;
}

/* A region of ROOM bytes, from the beginning of a huge page on: these must be asked for before the first touch.  */
static struct mm_cpu_region *
open_region (size_t room)
{
  struct mm_cpu_region *r = calloc (1, sizeof *r);
  size_t mapped;

  if (!r || __builtin_add_overflow (room, HUGE_PAGE, &mapped)
      || (r->base = mmap (NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED)
    {
      free (r);
      return NULL;
    }
  r->mapped = mapped;
  r->next = r->base;
  r->next += -(uintptr_t) r->next % HUGE_PAGE;
  r->end = r->next + room;
#ifdef MADV_HUGEPAGE
  madvise (r->next, room / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);      /* advice: failure costs speed only */
#endif
  return r;
}

static void
close_region (struct mm_cpu_region *r)
{
  munmap (r->base, r->mapped);
  free (r);
}

/* The region that ROOM bytes are taken from; SHARED is the one that smaller blocks are taken from together, NULL if
   these are to stand alone.  */
static struct mm_cpu_region *
choose_region (struct mm_cpu_region **shared, size_t room)
{
  struct mm_cpu_region *r;

  if (!shared || room >= LARGE)
    return open_region (room);
  if (*shared && (size_t) ((*shared)->end - (*shared)->next) >= room)
    return *shared;
  r = open_region (REGION);
  if (r)
    *shared = r;
  return r;
}

/* A block of BYTES: pages that are zero and still to be touched, or else malloc's with any contents.  */
static mm_status
get_block (struct mm_cpu_region **shared, const char *what, size_t bytes, void **p)
{
  struct block block = { NULL, NULL };
  size_t room = room_for (bytes);
  char *start = NULL;

  *p = NULL;
  if (room && has_region (bytes))
    {
      block.region = choose_region (shared, room);
      if (block.region)
        {
          start = block.region->next;
          block.region->next += room;
          block.region->blocks++;
        }
    }
  else if (room && posix_memalign (&block.base, ALIGN, room) == 0)
    start = block.base;
  if (!start)
    return mm_fail (MM_ENOMEM, "%s: no memory for %zu bytes", what, bytes);
  memcpy (start, &block, sizeof block);
  *p = start + ALIGN;
  return MM_OK;
}

static void
release_block (struct mm_cpu_region **shared, void *p)
{
  struct block block;

  if (!p)
    return;
  memcpy (&block, (char *) p - ALIGN, sizeof block);
  if (!block.region)
    free (block.base);
  else if (--block.region->blocks == 0)
    {
      if (block.region == *shared)
        *shared = NULL;
      close_region (block.region);
    }
}

static void
clear (void *p, size_t from, size_t to)
{
  memset ((char *) p + from, 0, to - from);
}

static void
touch (void *p, size_t from, size_t to)
{
  enum { PAGE = 4096 };         /* the smallest there is */

  for (size_t i = from; i < to; i += PAGE)
    ((volatile char *) p)[i] = 0;
}

/* The first touch of a page is the kernel's work, and most of a start: all threads do it.  */
mm_status
mm_cpu_alloc (struct mm_backend *be, const char *what, size_t bytes, void **p)
{
  mm_status st = get_block (&mm_cpu_state (be)->shared, what, bytes, p);

  if (st == MM_OK)
    mm_cpu_split (be, bytes, HUGE_PAGE, has_region (bytes) ? touch : clear, *p);
  return st;
}

void
mm_cpu_release (struct mm_backend *be, void *p)
{
  release_block (&mm_cpu_state (be)->shared, p);
}

mm_status
mm_cpu_zero (struct mm_backend *be, void *device, size_t bytes)
{
  mm_cpu_split (be, bytes, HUGE_PAGE, clear, device);
  return MM_OK;
}

mm_status
mm_cpu_scratch (struct mm_backend *be, enum mm_cpu_scratch_part part, size_t count, size_t size, void *p)
{
  struct mm_cpu *cpu = mm_cpu_state (be);
  size_t bytes;
  mm_status st = MM_OK;

  if (__builtin_mul_overflow (count, size, &bytes))
    return mm_fail (MM_ENOMEM, "scratch: %zu times %zu bytes", count, size);
  if (bytes > cpu->scratch_bytes[part])
    {
      mm_cpu_release (be, cpu->scratch[part]);
      cpu->scratch_bytes[part] = 0;
      st = get_block (NULL, "scratch", bytes, &cpu->scratch[part]);
      if (st == MM_OK)
        cpu->scratch_bytes[part] = bytes;
    }
  *(void **) p = cpu->scratch[part];
  return st;
}

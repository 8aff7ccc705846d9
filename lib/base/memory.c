/* memory.c -- checked allocation and the arena.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <minimind/log.h>
#include <minimind/memory.h>

static const size_t piece_align = 64;                   /* a cache line, a ZMM register */
static const size_t huge_page = (size_t) 2 << 20;

static mm_status
out_of_memory (const char *what, size_t count, size_t size)
{
  return mm_fail (MM_ENOMEM, "%s: no memory for %zu x %zu bytes", what, count, size);
}

mm_status
mm_alloc (const char *what, size_t count, size_t size, void *out)
{
  void *p = calloc (count ? count : 1, size ? size : 1);        /* checks the product */

  memcpy (out, &p, sizeof p);
  return p ? MM_OK : out_of_memory (what, count, size);
}

mm_status
mm_grow (const char *what, void *data, size_t *capacity, size_t need, size_t size)
{
  size_t count = *capacity, bytes;
  void *old, *p;

  if (need <= count)
    return MM_OK;
  if (count < 16)
    count = 16;
  while (count < need)
    count = count <= SIZE_MAX / 2 ? count * 2 : need;
  memcpy (&old, data, sizeof old);
  if (__builtin_mul_overflow (count, size, &bytes) || !(p = realloc (old, bytes ? bytes : 1)))
    return out_of_memory (what, count, size);
  memcpy (data, &p, sizeof p);
  *capacity = count;
  return MM_OK;
}

void *
mm_arena_take (struct mm_arena *a, size_t count, size_t size)
{
  size_t bytes, end, at = a->used;

  if (__builtin_mul_overflow (count, size, &bytes)
      || __builtin_add_overflow (bytes, piece_align - 1, &bytes)
      || __builtin_add_overflow (at, bytes & ~(piece_align - 1), &end))
    {
      assert (!a->base);        /* the measuring pass has refused this size */
      a->used = SIZE_MAX - (piece_align - 1);   /* nothing but 0 fits any more */
      return NULL;
    }
  a->used = end;
  if (!a->base)
    return NULL;
  assert (end <= a->size);
  return a->base + at;
}

/* Map SIZE bytes, a multiple of the huge page, at a multiple of it.  */
static void *
map_aligned (size_t size)
{
  size_t total, head;
  char *p;

  if (__builtin_add_overflow (size, huge_page, &total))
    return MAP_FAILED;
  p = mmap (NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return MAP_FAILED;
  head = (huge_page - (uintptr_t) p % huge_page) % huge_page;
  if (head > 0)
    munmap (p, head);
  munmap (p + head + size, huge_page - head);
  madvise (p + head, size, MADV_HUGEPAGE);      /* advice: failure costs speed only */
  return p + head;
}

mm_status
mm_arena_map (struct mm_arena *a, const char *what)
{
  size_t size;
  char text[32];
  void *p = MAP_FAILED;

  assert (!a->base);
  if (!__builtin_add_overflow (a->used, huge_page - 1, &size))
    {
      size = size < huge_page ? huge_page : size & ~(huge_page - 1);
      p = map_aligned (size);
    }
  if (p == MAP_FAILED)
    return mm_fail (MM_ENOMEM, "%s: no memory for %s", what, mm_format_bytes (a->used, text));
  a->base = p;
  a->size = size;
  a->used = 0;
  return MM_OK;
}

void
mm_arena_free (struct mm_arena *a)
{
  if (a->base)
    munmap (a->base, a->size);
  *a = (struct mm_arena) { 0 };
}

/* memory.h -- checked allocation, growing arrays, and one arena for a step.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_MEMORY_H
#define MINIMIND_MEMORY_H

#include <stddef.h>

#include <minimind/error.h>

/* *OUT = zeroed memory for COUNT elements of SIZE bytes, aligned for any
   type; free with free().  MM_ENOMEM, naming WHAT, when it does not fit
   (product overflow included); *OUT is then NULL.  COUNT 0 is allowed.  */
mm_status mm_alloc (const char *what, size_t count, size_t size, void *out) MM_NODISCARD;

/* Grow the array *DATA of CAPACITY elements of SIZE bytes to hold at least NEED
   elements, by doubling; contents kept, *CAPACITY updated.  MM_ENOMEM leaves
   both as they were.  */
mm_status mm_grow (const char *what, void *data, size_t *capacity, size_t need,
                   size_t size) MM_NODISCARD;

/* An arena is one mapping, advised to huge pages before first touch, from which
   64-byte-aligned pieces are cut.  It is sized once by a dry pass:

     struct mm_arena a = { 0 };            measuring: pieces come out NULL
     layout (&a);  mm_arena_map (&a);  layout (&a);

   so that the sizes are written once.  */
struct mm_arena
{
  char *base;                   /* NULL while measuring */
  size_t used, size;            /* bytes */
};

/* A piece for COUNT elements of SIZE bytes; NULL while measuring.  Contents
   are zero after mm_arena_map.  An overflow makes mm_arena_map fail.  */
void *mm_arena_take (struct mm_arena *a, size_t count, size_t size);

/* Map what was measured; MM_ENOMEM naming WHAT and the size.  */
mm_status mm_arena_map (struct mm_arena *a, const char *what) MM_NODISCARD;

/* Accepts an arena never mapped.  */
void mm_arena_free (struct mm_arena *a);

#endif /* MINIMIND_MEMORY_H */

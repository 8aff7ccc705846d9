/* memory.c -- checked allocation, growth, the arena's two passes.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "../tap.h"

static void
test_alloc (void)
{
  double *p = (double *) 1;
  int zero = 1;

  ok (mm_alloc ("thing", 100, sizeof *p, &p) == MM_OK, "alloc");
  for (int i = 0; i < 100; i++)
    zero &= p[i] == 0;
  ok (zero, "zeroed");
  free (p);
  ok (mm_alloc ("thing", 0, sizeof *p, &p) == MM_OK && p, "nothing can be allocated");
  free (p);
  ok (mm_alloc ("thing", SIZE_MAX / 4, sizeof *p, &p) == MM_ENOMEM && !p
      && strstr (mm_error_message (), "thing: no memory"), "an overflow is refused by name");
}

static void
test_grow (void)
{
  int *p = NULL, kept = 1;
  size_t capacity = 0, old;

  for (int i = 0; i < 1000; i++)
    {
      if (mm_grow ("list", &p, &capacity, (size_t) i + 1, sizeof *p) < 0)
        break;
      p[i] = i;
    }
  for (int i = 0; i < 1000; i++)
    kept &= p[i] == i;
  ok (kept && capacity >= 1000 && capacity <= 2048, "grows by doubling and keeps what it had");
  old = capacity;
  ok (mm_grow ("list", &p, &capacity, 5, sizeof *p) == MM_OK && capacity == old, "never shrinks");
  ok (mm_grow ("list", &p, &capacity, SIZE_MAX / 2, sizeof *p) == MM_ENOMEM
      && capacity == old && p[999] == 999, "a refusal leaves all as it was");
  free (p);
}

struct layout
{
  char *a;
  double *b;
  float *c;
};

static void
lay_out (struct mm_arena *arena, struct layout *l)
{
  l->a = mm_arena_take (arena, 3, 1);
  l->b = mm_arena_take (arena, 1000, sizeof *l->b);
  l->c = mm_arena_take (arena, 0, sizeof *l->c);
}

static void
test_arena (void)
{
  struct mm_arena arena = { 0 };
  struct layout l;
  int zero = 1;

  lay_out (&arena, &l);
  ok (!l.a && !l.b && arena.used == 64 + 8000, "measuring");
  ok (mm_arena_map (&arena, "step") == MM_OK && arena.base && arena.size >= 8064, "mapped");
  lay_out (&arena, &l);
  ok (l.a && (uintptr_t) l.a % 64 == 0 && (char *) l.b == l.a + 64
      && (char *) l.c == (char *) l.b + 8000, "pieces follow each other at cache lines");
  for (int i = 0; i < 1000; i++)
    zero &= l.b[i] == 0;
  memset (l.b, 1, 8000);
  ok (zero, "zero at first, writable");
  mm_arena_free (&arena);
  ok (!arena.base && arena.used == 0, "freed");
  mm_arena_free (&arena);
  ok (mm_arena_map (&arena, "empty") == MM_OK && arena.base, "an empty arena can be mapped");
  mm_arena_free (&arena);
}

static void
test_arena_overflow (void)
{
  struct mm_arena arena = { 0 };

  ok (!mm_arena_take (&arena, SIZE_MAX / 2, 4), "an impossible piece while measuring");
  mm_arena_take (&arena, 100, 4);
  ok (mm_arena_map (&arena, "huge step") == MM_ENOMEM && !arena.base
      && strstr (mm_error_message (), "huge step: no memory for"), "makes the mapping fail");
  mm_arena_free (&arena);
  mm_arena_take (&arena, SIZE_MAX / 8, 4);
  ok (mm_arena_map (&arena, "more than the address space") == MM_ENOMEM, "so does a huge sum");
  mm_arena_free (&arena);
}

int
main (void)
{
  test_alloc ();
  test_grow ();
  test_arena ();
  test_arena_overflow ();
  return tap_done ();
}

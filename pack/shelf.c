/* shelf.c -- a queue of bins for each room, and a bit for each queue that is not empty.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#include <minimind/memory.h>

#include "shelf.h"

#define NONE UINT32_MAX

struct link
{
  uint32_t before, after;       /* bins of the same room, or NONE */
};

struct shelf
{
  size_t words;
  uint64_t *bits;               /* [words]: is there a bin of this room? */
  uint32_t *heads, *tails;      /* [most + 1] */
  struct link *links;           /* [bins] */
};

mm_status
shelf_open (size_t bins, size_t most, struct shelf **out)
{
  struct shelf *s;
  mm_status st = mm_alloc ("rows", 1, sizeof *s, &s);

  *out = s;
  if (st < 0)
    return st;
  s->words = most / 64 + 1;
  st = mm_alloc ("rows", s->words, sizeof *s->bits, &s->bits);
  if (st >= 0)
    st = mm_alloc ("rows", most + 1, sizeof *s->heads, &s->heads);
  if (st >= 0)
    st = mm_alloc ("rows", most + 1, sizeof *s->tails, &s->tails);
  if (st >= 0)
    st = mm_alloc ("rows", bins, sizeof *s->links, &s->links);
  for (size_t room = 0; st >= 0 && room <= most; room++)
    s->heads[room] = s->tails[room] = NONE;
  return st;
}

void
shelf_close (struct shelf *s)
{
  if (!s)
    return;
  free (s->bits);
  free (s->heads);
  free (s->tails);
  free (s->links);
  free (s);
}

void
shelf_add (struct shelf *s, size_t bin, size_t room)
{
  uint32_t last = s->tails[room];

  s->links[bin] = (struct link) { .before = last, .after = NONE };
  if (last == NONE)
    s->heads[room] = (uint32_t) bin;
  else
    s->links[last].after = (uint32_t) bin;
  s->tails[room] = (uint32_t) bin;
  s->bits[room / 64] |= UINT64_C (1) << room % 64;
}

void
shelf_remove (struct shelf *s, size_t bin, size_t room)
{
  struct link l = s->links[bin];

  if (l.before == NONE)
    s->heads[room] = l.after;
  else
    s->links[l.before].after = l.after;
  if (l.after == NONE)
    s->tails[room] = l.before;
  else
    s->links[l.after].before = l.before;
  if (s->heads[room] == NONE)
    s->bits[room / 64] &= ~(UINT64_C (1) << room % 64);
}

void
shelf_move (struct shelf *s, size_t bin, size_t from, size_t to)
{
  shelf_remove (s, bin, from);
  shelf_add (s, bin, to);
}

bool
shelf_find (const struct shelf *s, size_t need, size_t *bin)
{
  uint64_t word;
  size_t i = need / 64;

  word = s->bits[i] & ~UINT64_C (0) << need % 64;
  while (word == 0 && ++i < s->words)
    word = s->bits[i];
  if (word == 0)
    return false;
  *bin = s->heads[64 * i + (size_t) __builtin_ctzll (word)];
  return true;
}

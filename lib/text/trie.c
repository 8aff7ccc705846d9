/* trie.c -- building the double array.
   SPDX-License-Identifier: Apache-2.0

   Keys are sorted one byte at a time as the nodes that they share are made, so that nothing is
   compared twice.  No recursion: a key may be as long as its file.  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "trie.h"

enum
{
  BLOCK = 256,                  /* places that one node's children may take */
  WINDOW = 16,                  /* blocks searched for room for several children */
  SMALL = 16,                   /* keys sorted by insertion */
  NO_BASE = 1                   /* low byte of the base that a free place seems to hang from */
};

/* A node whose children are still to be made: keys FROM to TO share DEPTH bytes.  */
struct pending
{
  uint32_t node;
  uint32_t from, to, depth;
};

struct builder
{
  struct mm_trie *trie;
  struct mm_trie_key *keys, *sorted;
  uint8_t (*unused)[BLOCK];     /* of each block, 1 where a place is free */
  uint8_t (*bases)[BLOCK];      /* of each block, 1 where it may still be a base */
  uint16_t *n_unused;
  size_t n_blocks, unused_capacity, bases_capacity, counts_capacity;
  size_t first_open;            /* no block before it is tried any more */
  struct pending *stack;
  size_t n_stack, stack_capacity;
};

static mm_status
add_block (struct builder *b)
{
  struct mm_trie *t = b->trie;
  mm_status st;

  if (t->n_nodes > UINT32_MAX / 2)
    return mm_fail (MM_EUNSUP, "vocabulary: too many bytes for one trie");
  st = mm_grow ("vocabulary trie", &t->nodes, &t->capacity, t->n_nodes + BLOCK, sizeof *t->nodes);
  if (st == MM_OK)
    st = mm_grow ("vocabulary trie", &b->unused, &b->unused_capacity, b->n_blocks + 1,
                  sizeof *b->unused);
  if (st == MM_OK)
    st = mm_grow ("vocabulary trie", &b->bases, &b->bases_capacity, b->n_blocks + 1,
                  sizeof *b->bases);
  if (st == MM_OK)
    st = mm_grow ("vocabulary trie", &b->n_unused, &b->counts_capacity, b->n_blocks + 1,
                  sizeof *b->n_unused);
  if (st < 0)
    return st;
  for (size_t i = t->n_nodes; i < t->n_nodes + BLOCK; i++)
    t->nodes[i] = (struct mm_trie_node) { .byte = (i & 0xff) ^ NO_BASE };
  memset (b->unused[b->n_blocks], 1, BLOCK);
  memset (b->bases[b->n_blocks], 1, BLOCK);
  b->bases[b->n_blocks][0] = b->bases[b->n_blocks][NO_BASE] = 0;
  b->n_unused[b->n_blocks++] = BLOCK;
  t->n_nodes += BLOCK;
  return MM_OK;
}

static void
take (struct builder *b, uint32_t place)
{
  b->unused[place / BLOCK][place % BLOCK] = 0;
  b->n_unused[place / BLOCK]--;
}

/* A base within BLOCK under which the N children BYTES fall on free places.  */
static bool
fits (const struct builder *b, size_t block, const unsigned char *bytes, size_t n, uint32_t *base)
{
  const uint8_t *unused = b->unused[block], *bases = b->bases[block];

  if (b->n_unused[block] < n)
    return false;
  if (n == 1)
    {
      const uint8_t *place = memchr (unused, 1, BLOCK);

      for (; place; place = memchr (place + 1, 1, (size_t) (unused + BLOCK - (place + 1))))
        if (bases[(place - unused) ^ bytes[0]])
          {
            *base = (uint32_t) (block * BLOCK) + ((uint32_t) (place - unused) ^ bytes[0]);
            return true;
          }
      return false;
    }
  for (unsigned x = 0; x < BLOCK; x++)
    {
      size_t i = 0;

      while (bases[x] && i < n && unused[x ^ bytes[i]])
        i++;
      if (bases[x] && i == n)
        {
          *base = (uint32_t) (block * BLOCK + x);
          return true;
        }
    }
  return false;
}

/* Find places for the N children BYTES of NODE and take them.  Lone children fill the gaps that
   the others leave.  A block is given up where the first with room does not fit, so that none is
   tried again and again.  */
static mm_status
place_children (struct builder *b, uint32_t node, const unsigned char *bytes, size_t n)
{
  uint32_t base = 0;
  size_t block;
  mm_status st;

  while (b->first_open < b->n_blocks && b->n_unused[b->first_open] == 0)
    b->first_open++;
  block = b->first_open;
  if (n > 1 && b->n_blocks > block + WINDOW)
    block = b->n_blocks - WINDOW;
  for (; block < b->n_blocks && !fits (b, block, bytes, n, &base); block++)
    if (block == b->first_open)
      b->first_open++;
  if (block == b->n_blocks)
    {
      st = add_block (b);
      if (st < 0)
        return st;
      base = (uint32_t) (block * BLOCK) + NO_BASE + 1;
    }
  b->trie->nodes[node].base = base;
  b->bases[block][base % BLOCK] = 0;
  for (size_t i = 0; i < n; i++)
    {
      take (b, base ^ bytes[i]);
      b->trie->nodes[base ^ bytes[i]].byte = bytes[i];
    }
  return MM_OK;
}

/* Sort keys FROM to TO by their byte at DEPTH, which all have.  */
static void
sort_at (struct builder *b, size_t from, size_t to, size_t depth)
{
  struct mm_trie_key *k = b->keys;

  if (to - from <= SMALL)
    for (size_t i = from + 1; i < to; i++)
      {
        struct mm_trie_key key = k[i];
        unsigned char c = (unsigned char) key.bytes[depth];
        size_t j = i;

        for (; j > from && (unsigned char) k[j - 1].bytes[depth] > c; j--)
          k[j] = k[j - 1];
        k[j] = key;
      }
  else
    {
      uint32_t start[257] = { 0 };

      for (size_t i = from; i < to; i++)
        start[(unsigned char) k[i].bytes[depth] + 1]++;
      for (size_t c = 0; c < 256; c++)
        start[c + 1] += start[c];
      for (size_t i = from; i < to; i++)
        b->sorted[start[(unsigned char) k[i].bytes[depth]]++] = k[i];
      memcpy (k + from, b->sorted, (to - from) * sizeof *k);
    }
}

/* Make the children of the node P and remember those that have children themselves.  */
static mm_status
expand (struct builder *b, struct pending p)
{
  struct mm_trie_key *k = b->keys;
  unsigned char bytes[256];
  uint32_t first[257];
  size_t n = 0, from = p.from;
  mm_status st;

  /* Without duplicates at most one key ends here.  */
  for (size_t i = from; i < p.to; i++)
    if (k[i].size == p.depth)
      {
        struct mm_trie_key key = k[i];

        b->trie->nodes[p.node].end = key.value + 1;
        k[i] = k[from];
        k[from++] = key;
        break;
      }
  if (from == p.to)
    return MM_OK;
  sort_at (b, from, p.to, p.depth);
  for (size_t i = from; i < p.to; i++)
    if (i == from || k[i].bytes[p.depth] != k[i - 1].bytes[p.depth])
      {
        first[n] = (uint32_t) i;
        bytes[n++] = (unsigned char) k[i].bytes[p.depth];
      }
  first[n] = p.to;
  st = place_children (b, p.node, bytes, n);
  if (st == MM_OK)
    st = mm_grow ("vocabulary trie", &b->stack, &b->stack_capacity, b->n_stack + n,
                  sizeof *b->stack);
  if (st < 0)
    return st;
  for (size_t i = n; i-- > 0;)
    b->stack[b->n_stack++] = (struct pending) { b->trie->nodes[p.node].base ^ bytes[i], first[i],
                                                first[i + 1], p.depth + 1 };
  return MM_OK;
}

mm_status
mm_trie_build (struct mm_trie *trie, struct mm_trie_key *keys, size_t n)
{
  struct builder b = { .trie = trie, .keys = keys };
  mm_status st;

  *trie = (struct mm_trie) { 0 };
  if (n > MM_TRIE_LARGEST)
    return mm_fail (MM_EUNSUP, "vocabulary: too many tokens for one trie");
  st = mm_alloc ("vocabulary trie", n, sizeof *keys, &b.sorted);
  if (st == MM_OK)
    st = add_block (&b);
  if (st == MM_OK)
    {
      take (&b, 0);
      st = mm_grow ("vocabulary trie", &b.stack, &b.stack_capacity, 1, sizeof *b.stack);
    }
  if (st == MM_OK && n > 0)
    b.stack[b.n_stack++] = (struct pending) { 0, 0, (uint32_t) n, 0 };
  while (st == MM_OK && b.n_stack > 0)
    st = expand (&b, b.stack[--b.n_stack]);
  free (b.sorted);
  free (b.unused);
  free (b.bases);
  free (b.n_unused);
  free (b.stack);
  if (st < 0)
    mm_trie_free (trie);
  return st;
}

void
mm_trie_free (struct mm_trie *trie)
{
  free (trie->nodes);
  *trie = (struct mm_trie) { 0 };
}

/* trie.h -- a set of byte strings with a number each, as a double array.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  A child of a node by byte B stands at base ^ B, so that a step is one
   load and one comparison; the exclusive or keeps children within 256 places.  No two nodes have
   the same base, so the byte kept with a child tells whose child it is.  Eight bytes a node:
   where a text is new, time goes to waiting for them.  Source: Aoe (1989), "An efficient digital
   search algorithm by using a double-array structure".  */

#ifndef TEXT_TRIE_H
#define TEXT_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

enum { MM_TRIE_NONE = UINT32_MAX, MM_TRIE_LARGEST = (1 << 24) - 2 };

struct mm_trie_node
{
  uint32_t base;                /* of its children, 0 if it has none; its low byte is never 1, and 0
                                   only where there are none */
  uint32_t byte : 8;            /* the step that leads here: of the root and of a free place, the one
                                   from a base with a low byte of 1 */
  uint32_t end : 24;            /* 1 + value of the string that ends here, or 0 */
};

struct mm_trie
{
  struct mm_trie_node *nodes;   /* the root is node 0 */
  size_t n_nodes, capacity;
};

struct mm_trie_key
{
  const char *bytes;
  uint32_t size;                /* > 0 */
  uint32_t value;               /* at most MM_TRIE_LARGEST */
};

/* Build from N keys without duplicates; KEYS is sorted on the way.  An empty set is allowed.  */
mm_status mm_trie_build (struct mm_trie *trie, struct mm_trie_key *keys, size_t n) MM_NODISCARD;
void mm_trie_free (struct mm_trie *trie);

/* The child of NODE by byte B, or 0.  */
static inline uint32_t
mm_trie_step (const struct mm_trie *trie, uint32_t node, unsigned char b)
{
  uint32_t next = trie->nodes[node].base ^ b;

  return trie->nodes[next].byte == b ? next : 0;
}

/* The value of the string that ends at NODE, or MM_TRIE_NONE.  */
static inline uint32_t
mm_trie_value (const struct mm_trie *trie, uint32_t node)
{
  return (uint32_t) trie->nodes[node].end - 1;
}

/* The value of the longest string that TEXT starts with and its length; MM_TRIE_NONE and 0 if
   there is none.  */
static inline uint32_t
mm_trie_longest (const struct mm_trie *trie, const char *text, size_t size, size_t *length)
{
  uint32_t node = 0, best = MM_TRIE_NONE;

  *length = 0;
  for (size_t i = 0; i < size; i++)
    {
      node = mm_trie_step (trie, node, (unsigned char) text[i]);
      if (node == 0)
        break;
      if (trie->nodes[node].end)
        {
          best = mm_trie_value (trie, node);
          *length = i + 1;
        }
    }
  return best;
}

/* The value of exactly TEXT, or MM_TRIE_NONE.  */
static inline uint32_t
mm_trie_find (const struct mm_trie *trie, const char *text, size_t size)
{
  uint32_t node = 0;

  for (size_t i = 0; i < size; i++)
    if ((node = mm_trie_step (trie, node, (unsigned char) text[i])) == 0)
      return MM_TRIE_NONE;
  return mm_trie_value (trie, node);
}

#endif /* TEXT_TRIE_H */

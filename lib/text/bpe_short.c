/* bpe_short.c -- the merge loop for a few bytes.
   SPDX-License-Identifier: Apache-2.0

   Symbols stay where they began, a merged one at the place of its left part; of each place is kept when its symbol
   is merged with the next.  The earliest is found by looking at all, which for so few takes less than a heap.  */

#include <config.h>

#include "bpe.h"

enum { PLACES = MM_BPE_SHORT + 2 };     /* one in front, one behind: symbols that no rule knows */

/* Time and place in one number, so that the least is the leftmost of the earliest: four bits are the place.  A pair
   that is never merged comes behind all others.  */
#define NEVER (UINT32_MAX - 15)

static inline uint32_t
key (uint32_t when, size_t place)
{
  return when << 4 | (uint32_t) place;
}

/* The least of KEYS 1 to N and perhaps one more, in two chains that do not wait for each other.  */
static inline uint32_t
least (const uint32_t *keys, size_t n)
{
  uint32_t a = NEVER, b = NEVER;

  for (size_t i = 1; i <= n; i += 2)
    {
      a = keys[i] < a ? keys[i] : a;
      b = keys[i + 1] < b ? keys[i + 1] : b;
    }
  return a < b ? a : b;
}

size_t
mm_bpe_encode_short (const struct mm_bpe *bpe, const char *piece, size_t size, uint32_t *ids)
{
  uint32_t symbols[PLACES], keys[PLACES];
  uint8_t before[PLACES + 1], after[PLACES + 1];
  size_t n = 0;

  symbols[0] = symbols[size + 1] = mm_bpe_nobody (bpe);
  before[1] = 0;
  for (size_t i = 1; i <= size; i++)
    {
      symbols[i] = (unsigned char) piece[i - 1];
      after[i] = (uint8_t) (i + 1);
      before[i + 1] = (uint8_t) i;
    }
  for (size_t i = 1; i < size; i++)
    keys[i] = key (bpe->byte_pairs[symbols[i] << 8 | symbols[i + 1]], i);
  keys[0] = keys[size] = keys[size + 1] = NEVER;
  for (;;)
    {
      uint32_t best = least (keys, size - 1);
      size_t at = best & 15, right, left;

      if (best >= NEVER)
        break;
      right = after[at];
      left = before[at];
      symbols[at] = bpe->alike ? best >> 4 : bpe->rules[(best >> 4) - MM_BPE_BYTES].made;
      keys[right] = NEVER;
      after[at] = after[right];
      before[after[at]] = (uint8_t) at;
      keys[at] = key (mm_bpe_when (bpe, symbols[at], symbols[after[at]]), at);
      keys[left] = key (mm_bpe_when (bpe, symbols[left], symbols[at]), left);
    }
  for (size_t i = 1; i <= size; i = after[i])
    ids[n++] = bpe->ids[symbols[i]];
  return n;
}

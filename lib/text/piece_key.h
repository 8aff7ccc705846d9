/* piece_key.h -- short pieces as keys of two words, and hashes.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  A piece of up to 15 bytes and its length fill 16 bytes, so that the key
   is the piece: equal keys are equal pieces.  */

#ifndef TEXT_PIECE_KEY_H
#define TEXT_PIECE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
# error "keys are cut as little-endian words"
#endif

enum { MM_KEY_BYTES = 15 };     /* byte 15 of a key is the length, never 0 */

/* The piece of SIZE <= MM_KEY_BYTES bytes at TEXT as a key.  ROOM bytes may be read there.  */
static inline void
mm_piece_key (const char *text, size_t size, size_t room, uint64_t key[2])
{
  /* The lowest n bytes of a word, and all.  */
#define B(n) (((UINT64_C (1) << (n) * 4) << (n) * 4) - 1)
#define ALL UINT64_MAX
  static const uint64_t keep[MM_KEY_BYTES + 1][2] = {
    { B (0), 0 }, { B (1), 0 }, { B (2), 0 }, { B (3), 0 }, { B (4), 0 }, { B (5), 0 },
    { B (6), 0 }, { B (7), 0 }, { ALL, 0 }, { ALL, B (1) }, { ALL, B (2) }, { ALL, B (3) },
    { ALL, B (4) }, { ALL, B (5) }, { ALL, B (6) }, { ALL, B (7) }
  };
#undef B
#undef ALL

  if (room >= 16)
    {
      memcpy (key, text, 8);
      memcpy (key + 1, text + 8, 8);
    }
  else
    {
      key[0] = key[1] = 0;
      memcpy (key, text, size);
    }
  key[0] &= keep[size][0];
  key[1] = (key[1] & keep[size][1]) | (uint64_t) size << 56;
}

/* A hash whose highest bits are the best.  */
static inline uint64_t
mm_key_hash (const uint64_t key[2])
{
  uint64_t h = (key[0] ^ key[1] >> 29) * UINT64_C (0x9e3779b97f4a7c15);

  return (h ^ h >> 32 ^ key[1]) * UINT64_C (0xd6e8feb86659fd93);
}

static inline bool
mm_key_same (const uint64_t a[2], const uint64_t b[2])
{
  return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

/* A hash of SIZE >= 8 bytes.  */
static inline uint64_t
mm_text_hash (const char *text, size_t size)
{
  uint64_t h = size, word;

  for (size_t i = 0; i + 8 <= size; i += 8)
    {
      memcpy (&word, text + i, 8);
      h = (h ^ word) * UINT64_C (0x9e3779b97f4a7c15);
      h ^= h >> 29;
    }
  memcpy (&word, text + size - 8, 8);
  return (h ^ word) * UINT64_C (0xd6e8feb86659fd93);
}

#endif /* TEXT_PIECE_KEY_H */

/* ids.h -- token ids as files keep them: little-endian U16 or U32.  Internal to lib/data.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef DATA_IDS_H
#define DATA_IDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <minimind/safetensors.h>

/* The narrower type that holds every id of the vocabulary.  */
static inline enum mm_dtype
ids_dtype (uint32_t vocab_size)
{
  return vocab_size <= 65536 ? MM_U16 : MM_U32;
}

static inline size_t
ids_width (enum mm_dtype dtype)
{
  return dtype == MM_U16 ? 2 : 4;
}

/* Sixteen at a time for the compiler's vectors.  */
static inline void
ids_store (const uint32_t *ids, size_t n, enum mm_dtype dtype, uint8_t *out)
{
  size_t i = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; dtype == MM_U16 && n - i >= 16; i += 16)
    {
      uint16_t block[16];

      for (int k = 0; k < 16; k++)
        block[k] = (uint16_t) ids[i + k];
      memcpy (out + 2 * i, block, sizeof block);
    }
#endif
  if (dtype == MM_U16)
    for (; i < n; i++)
      {
        out[2 * i] = (uint8_t) ids[i];
        out[2 * i + 1] = (uint8_t) (ids[i] >> 8);
      }
  else
    for (; i < n; i++)
      for (int b = 0; b < 4; b++)
        out[4 * i + b] = (uint8_t) (ids[i] >> 8 * b);
}

/* Where in the memory of N ids to read N packed ones, so that ids_load can widen them in place:
   at its end, since writing id i never reaches a packed id after i.  */
static inline uint8_t *
ids_tail (uint32_t *ids, size_t n, enum mm_dtype dtype)
{
  return (uint8_t *) ids + n * (sizeof *ids - ids_width (dtype));
}

/* IN may be ids_tail (IDS).  */
static inline void
ids_load (const uint8_t *in, size_t n, enum mm_dtype dtype, uint32_t *ids)
{
  if (dtype == MM_U16)
    for (size_t i = 0; i < n; i++)
      ids[i] = (uint32_t) in[2 * i] | (uint32_t) in[2 * i + 1] << 8;
  else
    for (size_t i = 0; i < n; i++)
      ids[i] = (uint32_t) in[4 * i] | (uint32_t) in[4 * i + 1] << 8
               | (uint32_t) in[4 * i + 2] << 16 | (uint32_t) in[4 * i + 3] << 24;
}

/* The little-endian integer of WIDTH bytes at P.  */
static inline uint64_t
ids_word (const uint8_t *p, int width)
{
  uint64_t value = 0;

  for (int b = 0; b < width; b++)
    value |= (uint64_t) p[b] << 8 * b;
  return value;
}

/* Id I at P, of any type that ids are kept in.  */
static inline int64_t
ids_any (const uint8_t *p, size_t i, enum mm_dtype dtype)
{
  switch (dtype)
    {
    case MM_U16:
      return (int64_t) ids_word (p + 2 * i, 2);
    case MM_U32:
      return (int64_t) ids_word (p + 4 * i, 4);
    case MM_I32:
      return (int32_t) ids_word (p + 4 * i, 4);
    default:
      return (int64_t) ids_word (p + 8 * i, 8);
    }
}

/* Index of the first id that VOCAB_SIZE does not hold, or N.  */
static inline size_t
ids_beyond (const uint32_t *ids, size_t n, uint32_t vocab_size)
{
  size_t i = 0;

  for (; n - i >= 16; i += 16)
    {
      uint32_t beyond = 0;

      for (int k = 0; k < 16; k++)
        beyond |= ids[i + k] >= vocab_size;
      if (beyond)
        break;
    }
  for (; i < n; i++)
    if (ids[i] >= vocab_size)
      return i;
  return n;
}

/* The same for ids as files keep them.  Whole blocks are looked at without a branch for each id.  */
static inline size_t
ids_packed_beyond (const uint8_t *p, size_t n, enum mm_dtype dtype, uint32_t vocab_size)
{
  enum { BLOCK = 64 };
  size_t i = 0;

  if (dtype == MM_U16 && vocab_size > UINT16_MAX)
    return n;
  for (; i + BLOCK <= n; i += BLOCK)
    {
      uint32_t beyond = 0;

      if (dtype == MM_U16)
        {
          uint16_t some = 0, limit = (uint16_t) vocab_size, block[BLOCK];

          memcpy (block, p + 2 * i, sizeof block);
          for (size_t k = 0; k < BLOCK; k++)
            {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
              block[k] = __builtin_bswap16 (block[k]);
#endif
              some |= (uint16_t) -(block[k] >= limit);
            }
          beyond = some;
        }
      else
        for (size_t k = 0; k < BLOCK; k++)
          beyond |= (uint32_t) ids_word (p + 4 * (i + k), 4) >= vocab_size;
      if (beyond)
        break;
    }
  while (i < n && ids_any (p, i, dtype) < vocab_size)
    i++;
  return i;
}

#endif /* DATA_IDS_H */

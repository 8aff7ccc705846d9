/* ids.h -- token ids as files keep them: little-endian U16 or U32.  Internal to lib/data.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef DATA_IDS_H
#define DATA_IDS_H

#include <stddef.h>
#include <stdint.h>

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

static inline void
ids_store (const uint32_t *ids, size_t n, enum mm_dtype dtype, uint8_t *out)
{
  if (dtype == MM_U16)
    for (size_t i = 0; i < n; i++)
      {
        out[2 * i] = (uint8_t) ids[i];
        out[2 * i + 1] = (uint8_t) (ids[i] >> 8);
      }
  else
    for (size_t i = 0; i < n; i++)
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

/* Index of the first id that VOCAB_SIZE does not hold, or N.  */
static inline size_t
ids_beyond (const uint32_t *ids, size_t n, uint32_t vocab_size)
{
  for (size_t i = 0; i < n; i++)
    if (ids[i] >= vocab_size)
      return i;
  return n;
}

#endif /* DATA_IDS_H */

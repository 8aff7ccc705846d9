/* philox.h -- the generator, where a loop over many counters calls it.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_BASE_PHILOX_H
#define MM_BASE_PHILOX_H

#include <stdint.h>

/* mm_philox; the words of OUT stand STRIDE apart.  */
static inline void
mm_philox_inline (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index, uint32_t *out, int stride)
{
  uint32_t c0 = (uint32_t) index, c1 = (uint32_t) (index >> 32), c2 = stream, c3 = purpose;
  uint32_t k0 = (uint32_t) seed, k1 = (uint32_t) (seed >> 32);

#pragma GCC unroll 10
  for (int round = 0; round < 10; round++)
    {
      uint64_t p0 = (uint64_t) c0 * 0xd2511f53u;
      uint64_t p1 = (uint64_t) c2 * 0xcd9e8d57u;

      c0 = (uint32_t) (p1 >> 32) ^ c1 ^ k0;
      c1 = (uint32_t) p1;
      c2 = (uint32_t) (p0 >> 32) ^ c3 ^ k1;
      c3 = (uint32_t) p0;
      k0 += 0x9e3779b9u;        /* golden ratio */
      k1 += 0xbb67ae85u;        /* sqrt (3) - 1 */
    }
  out[0] = c0;
  out[stride] = c1;
  out[2 * stride] = c2;
  out[3 * stride] = c3;
}

#endif /* MM_BASE_PHILOX_H */

/* random.h -- counter-based random numbers: no state, no order.
   SPDX-License-Identifier: Apache-2.0

   Source: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3",
   Philox 4x32-10; check values from the authors' known-answer tests.  */

#ifndef MINIMIND_RANDOM_H
#define MINIMIND_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* What a number is for: two uses never share a counter.  */
enum mm_purpose
{
  MM_RANDOM_INIT = 1,           /* stream: parameter index */
  MM_RANDOM_ORDER = 2,          /* stream: epoch; rounds of the permutation */
  MM_RANDOM_VALIDATION = 3,     /* stream: input; which documents are held out */
  MM_RANDOM_SAMPLE = 4,         /* stream: sequence; sampled tokens */
  MM_RANDOM_LORA = 5,           /* stream: parameter index */
  MM_RANDOM_MIX = 6,
  MM_RANDOM_TEST = 7
};

/* out = Philox4x32-10 with key (seed) and counter (index, stream, purpose).  */
void mm_philox (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index,
                uint32_t out[4]);

/* Uniform in [0, 1) with 53 bits, from the first two words:
   floor ((w0 * 2^32 + w1) / 2^11) * 2^-53.  */
double mm_uniform (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t index);

/* x[i - first] = stddev * N(0, 1) for i in [first, first + n): independent of how the
   range is cut.  Box-Muller: counter i / 2 gives u from words 0 and 1, v from words 2 and 3
   (as mm_uniform does); r = sqrt (-2 log (1 - u)); r cos (2 pi v) for even i, r sin (2 pi v)
   for odd i.  */
void mm_normal (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t first,
                size_t n, double stddev, float *x);

/* Position INDEX of a permutation of [0, n) that (seed, purpose, stream) choose:
   O(1) memory, a Feistel network with cycle walking.  n >= 1, index < n.  */
uint64_t mm_permute (uint64_t seed, uint32_t purpose, uint32_t stream, uint64_t n,
                     uint64_t index);

#endif /* MINIMIND_RANDOM_H */

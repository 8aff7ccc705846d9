/* byte_class_x86.h -- classes of 64 bytes by AVX2 and AVX-512.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Static functions for the inner loops that take them in.  */

#ifndef TEXT_BYTE_CLASS_X86_H
#define TEXT_BYTE_CLASS_X86_H

#include <immintrin.h>

#include "byte_class.h"

#define MM_TARGET_AVX2 __attribute__ ((target ("avx2,aes,bmi,bmi2,popcnt")))
#define MM_TARGET_AVX512 \
  __attribute__ ((target ("avx2,aes,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")))

/* Bytes of A and B within [LOW, LOW + N).  */
MM_TARGET_AVX2 static inline uint64_t
mm_within_avx2 (__m256i a, __m256i b, unsigned char low, unsigned char n)
{
  __m256i l = _mm256_set1_epi8 ((char) low), top = _mm256_set1_epi8 ((char) (n - 1));

  a = _mm256_sub_epi8 (a, l);
  b = _mm256_sub_epi8 (b, l);
  a = _mm256_cmpeq_epi8 (_mm256_min_epu8 (a, top), a);
  b = _mm256_cmpeq_epi8 (_mm256_min_epu8 (b, top), b);
  return (uint32_t) _mm256_movemask_epi8 (a) | (uint64_t) (uint32_t) _mm256_movemask_epi8 (b) << 32;
}

MM_TARGET_AVX2 static inline void
mm_byte_class_avx2 (const unsigned char *p, struct mm_byte_class *c)
{
  __m256i a = _mm256_loadu_si256 ((const __m256i *) p);
  __m256i b = _mm256_loadu_si256 ((const __m256i *) (p + 32));
  __m256i fold = _mm256_set1_epi8 (0x20);

  c->letter = mm_within_avx2 (_mm256_or_si256 (a, fold), _mm256_or_si256 (b, fold), 'a', 26);
  c->number = mm_within_avx2 (a, b, '0', 10);
  c->blank = mm_within_avx2 (a, b, ' ', 1);
  c->space = c->blank | mm_within_avx2 (a, b, '\t', 5);
  c->quote = mm_within_avx2 (a, b, '\'', 1);
  c->high = (uint32_t) _mm256_movemask_epi8 (a) | (uint64_t) (uint32_t) _mm256_movemask_epi8 (b) << 32;
  c->leads = 0;
  if (c->high)
    {
      uint64_t hexagram = mm_within_avx2 (a, b, 0xe4, 1) & mm_within_avx2 (a, b, 0xb7, 1) >> 1;

      mm_byte_class_letters (c, (mm_within_avx2 (a, b, 0xe4, 6) & ~hexagram)
                                | mm_within_avx2 (a, b, 0xeb, 2),
                             mm_within_avx2 (a, b, 0xd0, 2), mm_within_avx2 (a, b, 0xc0, 0x40));
    }
}

MM_TARGET_AVX512 static inline uint64_t
mm_within_avx512 (__m512i v, unsigned char low, unsigned char n)
{
  return _mm512_cmplt_epu8_mask (_mm512_sub_epi8 (v, _mm512_set1_epi8 ((char) low)),
                                 _mm512_set1_epi8 ((char) n));
}

MM_TARGET_AVX512 static inline void
mm_byte_class_avx512 (const unsigned char *p, struct mm_byte_class *c)
{
  __m512i v = _mm512_loadu_si512 (p);

  c->letter = mm_within_avx512 (_mm512_or_si512 (v, _mm512_set1_epi8 (0x20)), 'a', 26);
  c->number = mm_within_avx512 (v, '0', 10);
  c->blank = _mm512_cmpeq_epi8_mask (v, _mm512_set1_epi8 (' '));
  c->space = c->blank | mm_within_avx512 (v, '\t', 5);
  c->quote = _mm512_cmpeq_epi8_mask (v, _mm512_set1_epi8 ('\''));
  c->high = _mm512_movepi8_mask (v);
  c->leads = 0;
  if (c->high)
    {
      uint64_t hexagram = mm_within_avx512 (v, 0xe4, 1) & mm_within_avx512 (v, 0xb7, 1) >> 1;

      mm_byte_class_letters (c, (mm_within_avx512 (v, 0xe4, 6) & ~hexagram)
                                | mm_within_avx512 (v, 0xeb, 2),
                             mm_within_avx512 (v, 0xd0, 2), mm_within_avx512 (v, 0xc0, 0x40));
    }
}

#endif /* TEXT_BYTE_CLASS_X86_H */

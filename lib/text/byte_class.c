/* byte_class.c -- classes of 64 bytes: plain C, AVX2, AVX-512.
   SPDX-License-Identifier: Apache-2.0

   Beside ASCII these ranges of lead bytes hold nothing but letters, whatever follows, and are
   taken at once: E5 to E9 (U+5000 to U+9FFF, Han), E4 but for E4 B7 (the hexagrams), EB and EC
   (Hangul), D0 and D1 (Cyrillic).  tests/unit/pretokenize.c compares them with the table.  */

#include <config.h>

#include <stddef.h>

#include "byte_class.h"

/* From masks of leads to all bytes of those characters.  */
static inline void
add_letters (struct mm_byte_class *c, uint64_t three, uint64_t two, uint64_t all_leads)
{
  c->letter |= three | three << 1 | three << 2 | two | two << 1;
  c->leads = all_leads & ~three & ~two;
}

static void
classify_plain (const unsigned char *p, struct mm_byte_class *c)
{
  uint64_t three = 0, two = 0, leads = 0;

  *c = (struct mm_byte_class) { 0 };
  for (int i = 0; i < 64; i++)
    {
      unsigned char b = p[i];
      uint64_t bit = UINT64_C (1) << i;

      if (b >= 0x80)
        {
          c->high |= bit;
          if (b >= 0xc0)
            leads |= bit;
          if ((b >= 0xe5 && b <= 0xe9) || (b == 0xe4 && (i == 63 || p[i + 1] != 0xb7))
              || b == 0xeb || b == 0xec)
            three |= bit;
          if (b == 0xd0 || b == 0xd1)
            two |= bit;
        }
      else if ((unsigned char) ((b | 0x20) - 'a') < 26)
        c->letter |= bit;
      else if ((unsigned char) (b - '0') < 10)
        c->number |= bit;
      else if (b == ' ' || (unsigned char) (b - '\t') < 5)
        {
          c->space |= bit;
          if (b == ' ')
            c->blank |= bit;
        }
      else if (b == '\'')
        c->quote |= bit;
    }
  add_letters (c, three, two, leads);
}

#if defined __x86_64__ && defined __GNUC__

# include <immintrin.h>

/* Bytes of V within [LOW, LOW + N).  */
__attribute__ ((target ("avx2"))) static inline uint64_t
within_avx2 (__m256i a, __m256i b, unsigned char low, unsigned char n)
{
  __m256i l = _mm256_set1_epi8 ((char) low), top = _mm256_set1_epi8 ((char) (n - 1));

  a = _mm256_sub_epi8 (a, l);
  b = _mm256_sub_epi8 (b, l);
  a = _mm256_cmpeq_epi8 (_mm256_min_epu8 (a, top), a);
  b = _mm256_cmpeq_epi8 (_mm256_min_epu8 (b, top), b);
  return (uint32_t) _mm256_movemask_epi8 (a) | (uint64_t) (uint32_t) _mm256_movemask_epi8 (b) << 32;
}

__attribute__ ((target ("avx2"))) static void
classify_avx2 (const unsigned char *p, struct mm_byte_class *c)
{
  __m256i a = _mm256_loadu_si256 ((const __m256i *) p);
  __m256i b = _mm256_loadu_si256 ((const __m256i *) (p + 32));
  __m256i fold = _mm256_set1_epi8 (0x20);

  c->letter = within_avx2 (_mm256_or_si256 (a, fold), _mm256_or_si256 (b, fold), 'a', 26);
  c->number = within_avx2 (a, b, '0', 10);
  c->blank = within_avx2 (a, b, ' ', 1);
  c->space = c->blank | within_avx2 (a, b, '\t', 5);
  c->quote = within_avx2 (a, b, '\'', 1);
  c->high = within_avx2 (a, b, 0x80, 0x80);
  c->leads = 0;
  if (c->high)
    {
      uint64_t hexagram = within_avx2 (a, b, 0xe4, 1) & within_avx2 (a, b, 0xb7, 1) >> 1;

      add_letters (c, (within_avx2 (a, b, 0xe4, 6) & ~hexagram) | within_avx2 (a, b, 0xeb, 2),
                   within_avx2 (a, b, 0xd0, 2), within_avx2 (a, b, 0xc0, 0x40));
    }
}

__attribute__ ((target ("avx512bw"))) static inline uint64_t
within_avx512 (__m512i v, unsigned char low, unsigned char n)
{
  return _mm512_cmplt_epu8_mask (_mm512_sub_epi8 (v, _mm512_set1_epi8 ((char) low)),
                                 _mm512_set1_epi8 ((char) n));
}

__attribute__ ((target ("avx512bw"))) static void
classify_avx512 (const unsigned char *p, struct mm_byte_class *c)
{
  __m512i v = _mm512_loadu_si512 (p);

  c->letter = within_avx512 (_mm512_or_si512 (v, _mm512_set1_epi8 (0x20)), 'a', 26);
  c->number = within_avx512 (v, '0', 10);
  c->blank = within_avx512 (v, ' ', 1);
  c->space = c->blank | within_avx512 (v, '\t', 5);
  c->quote = within_avx512 (v, '\'', 1);
  c->high = _mm512_movepi8_mask (v);
  c->leads = 0;
  if (c->high)
    {
      uint64_t hexagram = within_avx512 (v, 0xe4, 1) & within_avx512 (v, 0xb7, 1) >> 1;

      add_letters (c, (within_avx512 (v, 0xe4, 6) & ~hexagram) | within_avx512 (v, 0xeb, 2),
                   within_avx512 (v, 0xd0, 2), within_avx512 (v, 0xc0, 0x40));
    }
}

static int
has_avx2 (void)
{
  return __builtin_cpu_supports ("avx2");
}

static int
has_avx512 (void)
{
  return __builtin_cpu_supports ("avx512bw");
}

#else
# define classify_avx2 NULL
# define classify_avx512 NULL
# define has_avx2() 0
# define has_avx512() 0
#endif

mm_byte_class_fn *
mm_byte_class_version (int i)
{
  switch (i)
    {
    case 0:
      return classify_plain;
    case 1:
      return has_avx2 () ? classify_avx2 : NULL;
    default:
      return has_avx512 () ? classify_avx512 : NULL;
    }
}

mm_byte_class_fn *
mm_byte_class_best (void)
{
  for (int i = MM_BYTE_CLASS_VERSIONS; i-- > 1;)
    if (mm_byte_class_version (i))
      return mm_byte_class_version (i);
  return classify_plain;
}

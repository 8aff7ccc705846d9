/* utf8.c -- is it UTF-8, and where does it stop being so.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include <minimind/tokenizer.h>

#include "unicode.h"
#include "vector.h"

/* Bytes at P, with N > 0 left, that are the start of a well-formed sequence, by the table of the
   Unicode standard (3.9, D92: no overlong forms, no surrogates, nothing past U+10FFFF); *NEED is
   the length of the whole sequence.  0 if no sequence starts with this byte.  */
static size_t
match (const unsigned char *p, size_t n, size_t *need)
{
  unsigned char lead = p[0], low = 0x80, high = 0xbf;
  size_t i;

  *need = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4)
    return 0;
  if (lead == 0xe0)
    low = 0xa0;
  else if (lead == 0xed)
    high = 0x9f;
  else if (lead == 0xf0)
    low = 0x90;
  else if (lead == 0xf4)
    high = 0x8f;
  for (i = 1; i < *need && i < n && p[i] >= low && p[i] <= high; i++)
    {
      low = 0x80;
      high = 0xbf;
    }
  return i;
}

size_t
mm_utf8_bad_length (const char *text, size_t size)
{
  size_t need, n = match ((const unsigned char *) text, size, &need);

  return n > 0 ? n : 1;
}

/* ---- many bytes at a time ---- */

#if defined __x86_64__ && defined __GNUC__

# include "byte_class_x86.h"

/* What two bytes beside each other can have wrong, told by the halves of the first and the upper half of the second:
   the error is there if all three halves have its bit.  Source: Keiser and Lemire (2020), "Validating UTF-8 in less
   than one instruction per byte".  */
enum
{
  TOO_SHORT = 1,                /* a lead without what continues it */
  TOO_LONG = 2,                 /* a continuation behind ASCII */
  OVERLONG_3 = 4,
  TOO_LARGE = 8,                /* beyond U+10FFFF */
  SURROGATE = 16,
  OVERLONG_2 = 32,
  OVERLONG_4 = 64,              /* also a lead beyond all, with a continuation from 80 to 8f */
  TWO_CONTINUATIONS = 128,      /* right or wrong by what stands before the two */
  ANY_LOW = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS
};

/* A table of 16 for each half of a vector.  */
# define TABLE(...) _mm256_broadcastsi128_si256 (_mm_loadu_si128 ((const __m128i *) (const uint8_t[]) { __VA_ARGS__ }))
# define HIGH (ANY_LOW | TOO_LARGE | OVERLONG_4)
# define NEXT (TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS)

/* The errors of the 32 bytes NOW behind those of BEFORE: zero where there are none.  */
MM_TARGET_AVX2 static inline __m256i
errors_avx2 (__m256i before, __m256i now)
{
  const __m256i first_high = TABLE (
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TWO_CONTINUATIONS,
    TWO_CONTINUATIONS, TWO_CONTINUATIONS, TWO_CONTINUATIONS, TOO_SHORT | OVERLONG_2, TOO_SHORT,
    TOO_SHORT | OVERLONG_3 | SURROGATE, TOO_SHORT | TOO_LARGE | OVERLONG_4);
  const __m256i first_low = TABLE (
    ANY_LOW | OVERLONG_3 | OVERLONG_2 | OVERLONG_4, ANY_LOW | OVERLONG_2, ANY_LOW, ANY_LOW, ANY_LOW | TOO_LARGE,
    HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH | SURROGATE, HIGH, HIGH);
  const __m256i second_high = TABLE (
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    NEXT | OVERLONG_3 | OVERLONG_4, NEXT | OVERLONG_3 | TOO_LARGE, NEXT | SURROGATE | TOO_LARGE,
    NEXT | SURROGATE | TOO_LARGE, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT);
  const __m256i half = _mm256_set1_epi8 (15), top = _mm256_set1_epi8 ((char) 0x80);
  __m256i joint = _mm256_permute2x128_si256 (before, now, 0x21);
  __m256i one = _mm256_alignr_epi8 (now, joint, 15), two = _mm256_alignr_epi8 (now, joint, 14);
  __m256i three = _mm256_alignr_epi8 (now, joint, 13);
  __m256i pairs = _mm256_and_si256 (
    _mm256_and_si256 (_mm256_shuffle_epi8 (first_high, _mm256_and_si256 (_mm256_srli_epi16 (one, 4), half)),
                      _mm256_shuffle_epi8 (first_low, _mm256_and_si256 (one, half))),
    _mm256_shuffle_epi8 (second_high, _mm256_and_si256 (_mm256_srli_epi16 (now, 4), half)));
  /* Behind a lead of three or four bytes the second continuation is right, behind one of four the third.  */
  __m256i third = _mm256_subs_epu8 (two, _mm256_set1_epi8 (0xe0 - 0x80));
  __m256i fourth = _mm256_subs_epu8 (three, _mm256_set1_epi8 (0xf0 - 0x80));

  return _mm256_xor_si256 (_mm256_and_si256 (_mm256_or_si256 (third, fourth), top), pairs);
}

/* Bytes at P, of N, that are seen to be valid: whole blocks, but for a character that their end cuts off.  */
MM_TARGET_AVX2 static size_t
valid_blocks_avx2 (const unsigned char *p, size_t n)
{
  __m256i before = _mm256_setzero_si256 ();
  size_t i = 0, back;

  for (; n - i >= 64; i += 64)
    {
      __m256i a = _mm256_loadu_si256 ((const __m256i *) (p + i)), error;
      __m256i b = _mm256_loadu_si256 ((const __m256i *) (p + i + 32));

      if (_mm256_movemask_epi8 (_mm256_or_si256 (_mm256_or_si256 (a, b), before)) != 0)
        {
          error = _mm256_or_si256 (errors_avx2 (before, a), errors_avx2 (a, b));
          if (!_mm256_testz_si256 (error, error))
            break;
        }
      before = b;
    }
  /* Back to the last lead if what it needs is not all there.  */
  for (back = 1; back <= 3 && back <= i && (p[i - back] & 0xc0) == 0x80; back++)
    ;
  return back <= 3 && back <= i && p[i - back] >= (back == 1 ? 0xc0 : back == 2 ? 0xe0 : 0xf0) ? i - back : i;
}

static size_t
valid_blocks (const unsigned char *p, size_t n)
{
  return n >= 64 && mm_vector_best () >= MM_VECTOR_AVX2 ? valid_blocks_avx2 (p, n) : 0;
}

#else

static size_t
valid_blocks (const unsigned char *p, size_t n)
{
  (void) p;
  (void) n;
  return 0;
}

#endif

/* ---- all together ---- */

size_t
mm_utf8_check (const char *text, size_t size, bool *truncated)
{
  const unsigned char *p = (const unsigned char *) text;
  size_t i = valid_blocks (p, size), need, n;

  if (truncated)
    *truncated = false;
  while (i < size)
    {
      uint64_t a, b;
      uint32_t c;

      /* Sixteen of ASCII at once, then three-byte sequences that need no special bounds
         (leads E1 to EC, EE, EF), which is most of what is not ASCII in large texts.  */
      while (size - i >= 16 && (memcpy (&a, p + i, 8), memcpy (&b, p + i + 8, 8),
                                ((a | b) & UINT64_C (0x8080808080808080)) == 0))
        i += 16;
      while (size - i >= 4 && p[i] > 0xe0 && p[i] < 0xf0 && p[i] != 0xed
             && (c = (uint32_t) (p[i + 1] << 8 | p[i + 2]), (c & 0xc0c0) == 0x8080))
        i += 3;
      if (i < size)
        {
          n = match (p + i, size - i, &need);
          if (n < need)
            {
              if (truncated)
                *truncated = n > 0 && n == size - i;
              break;
            }
          i += n;
        }
    }
  return i;
}

size_t
mm_utf8_incomplete_tail (const char *text, size_t size)
{
  const unsigned char *p = (const unsigned char *) text;
  size_t need;

  for (size_t back = 1; back <= 3 && back <= size; back++)
    if ((p[size - back] & 0xc0) != 0x80)
      return match (p + size - back, back, &need) == back && back < need ? back : 0;
  return 0;
}

/* scan.h -- finding the next byte of a few kinds, many at a time.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Vectors of the compiler, so that each machine gets its own.  */

#ifndef TEXT_SCAN_H
#define TEXT_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
# include <emmintrin.h>
#endif

typedef uint8_t mm_bytes16 __attribute__ ((__vector_size__ (16)));

/* The first byte of FOUND that is not zero, 16 if all are.  */
static inline unsigned
mm_first16 (mm_bytes16 found)
{
#ifdef __SSE2__
  unsigned bits = (unsigned) _mm_movemask_epi8 ((__m128i) (found != 0));

  return bits ? (unsigned) __builtin_ctz (bits) : 16;
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t half[2];

  memcpy (half, &found, 16);
  return half[0] ? (unsigned) __builtin_ctzll (half[0]) / 8
         : half[1] ? 8 + (unsigned) __builtin_ctzll (half[1]) / 8 : 16;
#else
  unsigned i = 0;

  while (i < 16 && !found[i])
    i++;
  return i;
#endif
}

static inline mm_bytes16
mm_load16 (const char *p)
{
  mm_bytes16 v;

  memcpy (&v, p, 16);
  return v;
}

/* Not zero where V has a quote, a backslash or a control character.  */
static inline mm_bytes16
mm_special16 (mm_bytes16 v)
{
  return (mm_bytes16) (v == '"') | (mm_bytes16) (v == '\\') | (mm_bytes16) (v < 0x20);
}

/* The first quote, backslash or control character of a JSON string at or behind P; END if there
   is none.  */
static inline const char *
mm_scan_json (const char *p, const char *end)
{
  for (; end - p >= 16; p += 16)
    {
      unsigned n = mm_first16 (mm_special16 (mm_load16 (p)));

      if (n < 16)
        return p + n;
    }
  while (p < end && *p != '"' && *p != '\\' && (unsigned char) *p >= 0x20)
    p++;
  return p;
}

/* The first byte A or B at or behind P; END if there is none.  */
static inline const char *
mm_scan_either (const char *p, const char *end, char a, char b)
{
  for (; end - p >= 16; p += 16)
    {
      mm_bytes16 v = mm_load16 (p);
      unsigned n = mm_first16 ((mm_bytes16) (v == (uint8_t) a) | (mm_bytes16) (v == (uint8_t) b));

      if (n < 16)
        return p + n;
    }
  while (p < end && *p != a && *p != b)
    p++;
  return p;
}

/* Bytes of the SIZE at P that are A.  */
static inline uint64_t
mm_count_bytes (const char *p, size_t size, char a)
{
  uint64_t count = 0;

  while (size >= 16)
    {
      mm_bytes16 sum = { 0 };

      /* A byte of the sum holds 255 at most.  */
      for (int i = 0; i < 255 && size >= 16; i++, p += 16, size -= 16)
        sum -= (mm_bytes16) (mm_load16 (p) == (uint8_t) a);
      for (int i = 0; i < 16; i++)
        count += sum[i];
    }
  for (; size > 0; size--)
    count += *p++ == a;
  return count;
}

#endif /* TEXT_SCAN_H */

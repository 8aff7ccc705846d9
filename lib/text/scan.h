/* scan.h -- finding the next byte of a few kinds, many at a time.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Vectors of the compiler, so that each machine gets its own.  */

#ifndef TEXT_SCAN_H
#define TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t mm_bytes16 __attribute__ ((__vector_size__ (16)));

static inline bool
mm_any16 (mm_bytes16 found)
{
  uint64_t half[2];

  memcpy (half, &found, 16);
  return (half[0] | half[1]) != 0;
}

/* The first quote, backslash or control character of a JSON string at or behind P; END if there
   is none.  */
static inline const char *
mm_scan_json (const char *p, const char *end)
{
  while (end - p >= 32)
    {
      mm_bytes16 a, b;

      memcpy (&a, p, 16);
      memcpy (&b, p + 16, 16);
      a = (mm_bytes16) (a == '"') | (mm_bytes16) (a == '\\') | (mm_bytes16) (a < 0x20);
      b = (mm_bytes16) (b == '"') | (mm_bytes16) (b == '\\') | (mm_bytes16) (b < 0x20);
      if (mm_any16 (a | b))
        break;
      p += 32;
    }
  while (p < end && *p != '"' && *p != '\\' && (unsigned char) *p >= 0x20)
    p++;
  return p;
}

/* The first byte A or B at or behind P; END if there is none.  */
static inline const char *
mm_scan_either (const char *p, const char *end, char a, char b)
{
  while (end - p >= 16)
    {
      mm_bytes16 v;

      memcpy (&v, p, 16);
      if (mm_any16 ((mm_bytes16) (v == (uint8_t) a) | (mm_bytes16) (v == (uint8_t) b)))
        break;
      p += 16;
    }
  while (p < end && *p != a && *p != b)
    p++;
  return p;
}

#endif /* TEXT_SCAN_H */

/* seam.c -- the pairs of characters that tokens hold (seam.h).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "seam.h"

/* Is the character before P, N bytes behind the start of the text, there whole and of three bytes;
   is it one of another length?  */
static bool
is_whole_three (const char *p, size_t n)
{
  return n >= 3 && mm_seam_is_three (p[-3]) && ((unsigned char) p[-2] & 0xc0) == 0x80;
}

void
mm_seams_add (struct mm_seams *s, const char *token, size_t size)
{
  for (size_t i = 1; i < size; i++)
    {
      const char *p = token + i;

      if (!mm_seam_is_three (*p) || ((unsigned char) p[-1] & 0xc0) != 0x80)
        continue;
      if (is_whole_three (p, i) && size - i >= 3)
        {
          size_t pair = mm_seam_pair (p);

          s->pairs[pair / 64] |= UINT64_C (1) << pair % 64;
        }
      else
        {
          size_t bytes = mm_seam_bytes (p);

          s->bytes[bytes / 64] |= UINT64_C (1) << bytes % 64;
        }
    }
}

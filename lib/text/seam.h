/* seam.h -- places within a piece that no token crosses.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  A run of Han has no boundary for the pattern, so that each is a piece of
   its own that was hardly seen before, and remembering pieces is of no use.  But a merge makes a
   token, and where no token holds both the bytes to the left and to the right of a place, nothing
   is ever merged across it, in whatever order: the ids of the piece are those of its two parts.
   Three of five places between Han characters are such seams under a vocabulary of 6,400 tokens
   made for Chinese, 24 of 25 under GPT-2's; the parts are the words that the vocabulary knows
   pieces of, they repeat, and a cache holds them.

   Only places between two characters of three bytes each are told.  The pairs of characters that
   stand side by side in a token are a set of bits by hash: a collision hides a seam, it never
   makes one.  */

#ifndef TEXT_SEAM_H
#define TEXT_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MM_SEAM_BITS = 17 };

struct mm_seams
{
  uint64_t pairs[(1 << MM_SEAM_BITS) / 64];     /* whole characters on both sides */
  uint64_t bytes[1024 / 64];    /* part of a character on either side: by the byte to the left and
                                   the lead to the right */
};

/* Take in the text of a token.  All zero at first.  */
void mm_seams_add (struct mm_seams *s, const char *token, size_t size);

static inline bool
mm_seam_is_three (char lead)
{
  return ((unsigned char) lead & 0xf0) == 0xe0;
}

/* Places of a pair of characters, the second at P, in the sets.  */
static inline size_t
mm_seam_pair (const char *p)
{
  uint32_t left_and_lead;
  uint16_t rest;

  memcpy (&left_and_lead, p - 3, 4);
  memcpy (&rest, p + 1, 2);
  return (left_and_lead | (uint64_t) rest << 32) * UINT64_C (0x9e3779b97f4a7c15)
         >> (64 - MM_SEAM_BITS);
}

static inline size_t
mm_seam_bytes (const char *p)
{
  return ((size_t) p[-1] & 63) << 4 | ((size_t) p[0] & 15);
}

/* The first seam of TEXT behind AT and before END, or END: a piece from AT to END, valid UTF-8.  */
static inline size_t
mm_seam_next (const struct mm_seams *s, const char *text, size_t at, size_t end)
{
  bool three = false;           /* the character before has three bytes */

  while (at < end)
    if (mm_seam_is_three (text[at]))
      {
        if (three)
          {
            size_t pair = mm_seam_pair (text + at), bytes = mm_seam_bytes (text + at);

            if (((s->pairs[pair / 64] >> pair % 64 | s->bytes[bytes / 64] >> bytes % 64) & 1) == 0)
              return at;
          }
        three = true;
        at += 3;
      }
    else
      {
        /* Bytes that go on with a character are passed by one by one.  */
        three = false;
        at++;
      }
  return at;
}

#endif /* TEXT_SEAM_H */

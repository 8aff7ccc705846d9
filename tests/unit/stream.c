/* Tokens as text: whole characters whatever the cut, U+FFFD for what is none.
   SPDX-License-Identifier: Apache-2.0

   Tokens are single bytes here, so every sequence is cut at every place.  */

#include <config.h>

#include <stdbool.h>

#include "../../generate/stream.h"
#include "../tap.h"
#include "tiny.h"

static struct mm_tokenizer *tiny;

enum { FIRST_BYTE = 3 };        /* id of byte 0 */

static void
must (mm_status st)
{
  if (st < 0)
    exit (99);
}

/* Feed BYTES, end, compare with WANT.  On the way the text is valid UTF-8 at every moment.  */
static bool
becomes (const char *bytes, size_t size, bool cut, const char *want, size_t want_size)
{
  struct stream s = { .tokenizer = tiny };
  bool good = true;

  for (size_t i = 0; i < size; i++)
    {
      must (stream_add (&s, (unsigned char) bytes[i] + FIRST_BYTE));
      good = good && (s.size == 0 || mm_utf8_check (s.text, s.size, NULL) == s.size);
    }
  must (stream_end (&s, cut));
  good = good && s.size == want_size && (s.size == 0 || memcmp (s.text, want, s.size) == 0);
  stream_free (&s);
  return good;
}

#define BECOMES(bytes, cut, want) becomes (bytes, sizeof bytes - 1, cut, want, sizeof (want) - 1)
#define FFFD "\357\277\275"

static void
test_whole (void)
{
  struct stream s = { .tokenizer = tiny };

  ok (BECOMES ("plain", false, "plain"), "ASCII passes");
  ok (BECOMES ("h\303\251 \344\275\240\345\245\275 \360\237\230\200.", false,
               "h\303\251 \344\275\240\345\245\275 \360\237\230\200."), "sequences of 2, 3, 4 bytes pass");
  ok (BECOMES ("", false, ""), "nothing is nothing");
  ok (BECOMES ("a\0b", false, "a\0b"), "a NUL is a character, not an end");

  must (stream_add (&s, 0344 + FIRST_BYTE));
  must (stream_add (&s, 0275 + FIRST_BYTE));
  ok (s.size == 0, "an unfinished character waits");
  must (stream_add (&s, 0240 + FIRST_BYTE));
  ok (s.size == 3, "until its last byte");
  must (stream_add (&s, 2));
  must (stream_add (&s, 9999));
  ok (s.size == 3, "special and unknown tokens show nothing");
  stream_free (&s);
}

/* One U+FFFD for each maximal part of a sequence: the Unicode Standard, chapter 3, table 3-8 and
   its neighbours.  */
static void
test_invalid (void)
{
  ok (BECOMES ("\341\200\342\360\221\222\361\277A", false, FFFD FFFD FFFD FFFD "A"),
      "truncated sequences");
  ok (BECOMES ("\300\257\340\200\277\360\201\202A", false,
               FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"), "overlong forms");
  ok (BECOMES ("\355\240\200\355\277\277\355\257A", false,
               FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"), "surrogates");
  ok (BECOMES ("\364\221\222\223\377A\200\277B", false,
               FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B"), "beyond the last code point, and lone bytes");
  ok (BECOMES ("a\360\237\230", false, "a" FFFD), "a character that never ends");
  ok (BECOMES ("a\360\237\230", true, "a"), "is left out where the text is cut");
  ok (BECOMES ("a\377", true, "a" FFFD), "what never was one is shown");
}

int
main (void)
{
  tiny = tiny_tokenizer (TINY_VOCAB);
  test_whole ();
  test_invalid ();
  mm_tokenizer_free (tiny);
  return tap_done ();
}

/* pretokenize_gpt2.c -- GPT-2's pattern, 64 bytes at a time.
   SPDX-License-Identifier: Apache-2.0

   All boundaries within 64 bytes are found by logic on masks of classes (byte_class.h).  What the
   pattern means, character by character, is mm_gpt2_end in pretokenize.c.  */

#include <config.h>

#include <string.h>

#include "byte_class.h"
#include "pattern.h"
#include "pretokenize_gpt2.h"

/* Write the places AT + i of the set bits i of BITS to ENDS, and something behind them up to 24 or a multiple of eight;
   returns their number.  */
typedef size_t flatten_fn (uint64_t bits, size_t at, size_t *ends);

/* Look up the characters that C names in LEADS.  */
static inline void
classify_rest (const char *p, struct mm_byte_class *c)
{
  for (uint64_t leads = c->leads; leads; leads &= leads - 1)
    {
      int i = __builtin_ctzll (leads);
      unsigned length, class = class_at (p, (size_t) i, &length);
      uint64_t bits = ((UINT64_C (1) << length) - 1) << i;

      if (class == MM_LETTER)
        c->letter |= bits;
      else if (class == MM_NUMBER)
        c->number |= bits;
      else if (class == MM_SPACE)
        c->space |= bits;
    }
}

/* Of the last bytes of white space ENDS, move those of characters of several bytes to their
   first.  */
static inline uint64_t
to_first_byte (const char *p, uint64_t ends, uint64_t high)
{
  for (uint64_t late = ends & high; late; late &= late - 1)
    {
      int i = __builtin_ctzll (late), first = i;

      while (first > 0 && ((unsigned char) p[first] & 0xc0) == 0x80)
        first--;
      ends = (ends & ~(UINT64_C (1) << i)) | UINT64_C (1) << first;
    }
  return ends;
}

/* The places after 0 where pieces start among the first bytes of P, where one starts: bit i for
   place i.  N <= 64 bytes are valid; the text goes on behind them unless it ENDS there.  Where it
   goes on, places after 60 are not told: they may depend on what follows.  */
static inline __attribute__ ((always_inline)) uint64_t
find_starts (mm_byte_class_fn *classify, const char *p, size_t n, bool ends)
{
  uint64_t valid = n == 64 ? UINT64_MAX : (UINT64_C (1) << n) - 1, other, starts, last_spaces;
  uint64_t told = ends ? valid : UINT64_MAX >> 3;
  struct mm_byte_class c;

  classify ((const unsigned char *) p, &c);
  /* A character may go on behind the 64 bytes; the last leads are then not needed.  */
  c.leads &= ends ? valid : UINT64_MAX >> 2;
  if (c.leads)
    classify_rest (p, &c);
  other = ~(c.letter | c.number | c.space);

  /* A run of one class starts a piece, unless a blank before it does.  White space starts one,
     and its last character too when something else follows.  */
  starts = ((c.letter & ~(c.letter << 1)) | (c.number & ~(c.number << 1)) | (other & ~(other << 1)))
           & ~(c.blank << 1);
  starts |= c.space & ~(c.space << 1);
  last_spaces = c.space & ~(c.space >> 1) & valid >> 1 & told;
  starts |= to_first_byte (p, last_spaces, c.high);

  /* Contractions start where a run of other characters starts with a quote, and the piece after
     them starts whatever stands there.  */
  for (uint64_t quotes = starts & c.quote & c.letter >> 1; quotes; quotes &= quotes - 1)
    {
      int i = __builtin_ctzll (quotes);
      size_t length = contraction (p + i, n - (size_t) i);

      if (length > 0)
        {
          starts &= ~(((UINT64_C (1) << (length - 1)) - 1) << (i + 1));
          if (i + length < 64)
            starts |= UINT64_C (1) << (i + (int) length);
        }
    }
  return starts & told & ~UINT64_C (1);
}

/* The end of the piece at AT, of which the next 60 bytes are.  Runs of letters, as those of Han,
   are passed by 64 bytes at a time.  */
static inline __attribute__ ((always_inline)) size_t
long_end (mm_byte_class_fn *classify, const char *text, size_t size, size_t at)
{
  size_t i = at + (text[at] == ' ');
  unsigned length;

  if (class_at (text, i, &length) != MM_LETTER)
    return mm_gpt2_end (text, size, at);
  while (size - i >= 64)
    {
      struct mm_byte_class c;
      size_t next = i + 61;

      classify ((const unsigned char *) text + i, &c);
      /* All letters as far as the last characters that may go on behind the 64 bytes.  */
      if (~c.letter << 3)
        break;
      while (((unsigned char) text[next] & 0xc0) == 0x80)
        next--;
      i = next;
    }
  return run_end (text, size, i, MM_LETTER);
}

/* What a block of 64 bytes has to know of those before it.  */
struct before
{
  uint64_t letter, number, other, space, blank; /* the last byte, as bit 0 */
  uint64_t start;               /* bit 0: a piece starts there */
  int passed;                   /* bytes of the block that a contraction takes, -1 where there is none */
};

/* The places where pieces start among the 64 bytes of ASCII at P of classes C, behind those of B, which is made that of
   the next block.  Whether the last byte of white space is alone is left to that one.  Two bytes may be read behind the
   block.  */
static inline __attribute__ ((always_inline)) uint64_t
ascii_starts (const char *p, const struct mm_byte_class *c, struct before *b)
{
  uint64_t other = ~(c->letter | c->number | c->space), starts;
  int passed = -1;

  starts = ((c->letter & ~(c->letter << 1 | b->letter)) | (c->number & ~(c->number << 1 | b->number))
            | (other & ~(other << 1 | b->other))) & ~(c->blank << 1 | b->blank);
  starts |= c->space & ~(c->space << 1 | b->space);
  starts |= c->space & ~(c->space >> 1) & UINT64_MAX >> 1;
  if (__builtin_expect (b->passed >= 0, false))
    starts = (starts & UINT64_MAX << b->passed) | UINT64_C (1) << b->passed;
  for (uint64_t quotes = starts & c->quote; quotes; quotes &= quotes - 1)
    {
      int i = __builtin_ctzll (quotes), end = i + (int) contraction (p + i, 3);

      if (end > i)
        starts &= ~(UINT64_MAX << 1 << i) | (end < 64 ? UINT64_MAX << end : 0);
      if (end > i && end < 64)
        starts |= UINT64_C (1) << end;
      else if (end > i)
        passed = end - 64;
    }
  *b = (struct before) { c->letter >> 63, c->number >> 63, other >> 63, c->space >> 63, c->blank >> 63, starts >> 63,
                         passed };
  return starts;
}

/* The ends of pieces from *AT on as long as all is ASCII, 64 bytes at a time: as no block waits for where the last
   piece of the one before begins, the processor is ahead with several.  *AT is moved to the last of them.  */
static inline __attribute__ ((always_inline)) size_t
find_ascii (mm_byte_class_fn *classify, flatten_fn *flatten, const char *text, size_t size, size_t *at, size_t *ends,
            size_t max)
{
  struct before before = { .passed = -1 };
  uint64_t own = 1;             /* the start of the first piece ends none */
  size_t count = 0;

  for (size_t base = *at; size - base >= 64 + 2 && count + MM_PIECES_MIN <= max; base += 64)
    {
      struct mm_byte_class c;
      uint64_t starts;

      classify ((const unsigned char *) text + base, &c);
      if (c.high)
        break;
      ends[count] = base - 1;
      count += before.space & ~c.space & ~before.start & 1;
      starts = ascii_starts (text + base, &c, &before);
      count += flatten (starts & ~own, base, ends + count);
      own = 0;
    }
  if (count > 0)
    *at = ends[count - 1];
  return count;
}

static inline __attribute__ ((always_inline)) size_t
find_pieces (mm_byte_class_fn *classify, flatten_fn *flatten, const char *text, size_t size,
             size_t at, size_t *ends, size_t max)
{
  size_t count = 0;

  while (count += find_ascii (classify, flatten, text, size, &at, ends + count, max - count),
         at < size && count + MM_PIECES_MIN <= max)
    {
      size_t n = size - at < 64 ? size - at : 64, next = size;
      bool all = n == size - at;
      const char *p = text + at;
      char tail[64] = { 0 };
      uint64_t starts;

      if (n < 64)
        p = memcpy (tail, p, n);
      starts = find_starts (classify, p, n, all);
      if (!all && starts)
        next = at + 63 - (size_t) __builtin_clzll (starts);
      else if (!all)
        next = long_end (classify, text, size, at);
      count += flatten (starts, at, ends + count);
      if (all || !starts)
        ends[count++] = next;
      at = next;
    }
  return count;
}

/* ---- plain C ---- */

static inline size_t
flatten_plain (uint64_t bits, size_t at, size_t *ends)
{
  size_t n = 0;

  for (; bits; bits &= bits - 1)
    ends[n++] = at + (size_t) __builtin_ctzll (bits);
  return n;
}

static size_t
pieces_plain (const char *text, size_t size, size_t at, size_t *ends, size_t max)
{
  return find_pieces (mm_byte_class_plain, flatten_plain, text, size, at, ends, max);
}

/* ---- AVX2 and AVX-512 ---- */

#if defined __x86_64__ && defined __GNUC__

# include "byte_class_x86.h"

/* Eight at a time, so that their number is seldom guessed wrong.  */
MM_TARGET_AVX2 static inline size_t
flatten_avx2 (uint64_t bits, size_t at, size_t *ends)
{
  size_t n = (size_t) __builtin_popcountll (bits);

  for (size_t i = 0; i < n; i += 8)
    for (size_t k = 0; k < 8; k++)
      {
        ends[i + k] = at + (size_t) _tzcnt_u64 (bits);
        bits = _blsr_u64 (bits);
      }
  return n;
}

MM_TARGET_AVX2 static size_t
pieces_avx2 (const char *text, size_t size, size_t at, size_t *ends, size_t max)
{
  return find_pieces (mm_byte_class_avx2, flatten_avx2, text, size, at, ends, max);
}

MM_TARGET_AVX512 static inline size_t
flatten_avx512 (uint64_t bits, size_t at, size_t *ends)
{
  static const unsigned char places[64] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50,
    51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63
  };
  size_t n = (size_t) __builtin_popcountll (bits);
  __m512i found = _mm512_maskz_compress_epi8 (bits, _mm512_loadu_si512 (places));
  __m512i base = _mm512_set1_epi64 ((long long) at);
  __m128i first = _mm512_castsi512_si128 (found), third = _mm512_extracti32x4_epi32 (found, 1);

  _mm512_storeu_si512 (ends, _mm512_add_epi64 (base, _mm512_cvtepu8_epi64 (first)));
  _mm512_storeu_si512 (ends + 8, _mm512_add_epi64 (base, _mm512_cvtepu8_epi64 (_mm_srli_si128 (first, 8))));
  _mm512_storeu_si512 (ends + 16, _mm512_add_epi64 (base, _mm512_cvtepu8_epi64 (third)));
  found = _mm512_alignr_epi64 (found, found, 3);
  for (size_t i = 24; __builtin_expect (i < n, false); i += 8)
    {
      _mm512_storeu_si512 (ends + i, _mm512_add_epi64 (base, _mm512_cvtepu8_epi64 (_mm512_castsi512_si128 (found))));
      found = _mm512_alignr_epi64 (found, found, 1);
    }
  return n;
}

MM_TARGET_AVX512 static size_t
pieces_avx512 (const char *text, size_t size, size_t at, size_t *ends, size_t max)
{
  return find_pieces (mm_byte_class_avx512, flatten_avx512, text, size, at, ends, max);
}

#else
# define pieces_avx2 pieces_plain
# define pieces_avx512 pieces_plain
#endif

size_t
mm_gpt2_pieces (enum mm_vector vector, const char *text, size_t size, size_t at, size_t *ends,
                size_t max)
{
  switch (vector)
    {
    case MM_VECTOR_AVX512:
      return pieces_avx512 (text, size, at, ends, max);
    case MM_VECTOR_AVX2:
      return pieces_avx2 (text, size, at, ends, max);
    default:
      return pieces_plain (text, size, at, ends, max);
    }
}

/* json_unescape.c -- the inside of JSON strings copied, simple escapes undone, many bytes at a time.
   SPDX-License-Identifier: Apache-2.0

   A block is stored as it is, and what stands behind its first escape is stored again from its place: an escape is
   never shorter than its character.  AVX-512 takes all escapes of a block at once.  */

#include <config.h>

#include <stdbool.h>

#include "json_unescape.h"
#include "scan.h"

const char mm_json_escapes[256] = {
  ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
  ['u'] = 'u'
};

/* Undo the escape at *P, if it is one of two characters.  */
static inline bool
undo_escape (const char **p, const char *end, char **out)
{
  const char *q = *p;
  char c;

  if (end - q < 2 || *q != '\\')
    return false;
  c = mm_json_escapes[(unsigned char) q[1]];
  if (c == '\0' || c == 'u')
    return false;
  *(*out)++ = c;
  *p = q + 2;
  return true;
}

/* Copy what is left of less than a block, up to what is special.  */
static inline char *
copy_rest (const char **p, const char *end, char *out)
{
  const char *q = *p;

  while (q < end && *q != '"' && *q != '\\' && (unsigned char) *q >= 0x20)
    *out++ = *q++;
  *p = q;
  return out;
}

/* The definition.  */
static char *
unescape_plain (const char **p, const char *end, char *out)
{
  do
    {
      const char *q = *p;

      for (unsigned n = 16; n == 16 && end - q >= 16; q += n, out += n)
        {
          mm_bytes16 v = mm_load16 (q);

          memcpy (out, &v, 16);
          n = mm_first16 (mm_special16 (v));
        }
      *p = q;
      out = copy_rest (p, end, out);
    }
  while (undo_escape (p, end, &out));
  return out;
}

#if defined __x86_64__ && defined __GNUC__

# include "byte_class_x86.h"

MM_TARGET_AVX2 static char *
unescape_avx2 (const char **p, const char *end, char *out)
{
  const __m256i quote = _mm256_set1_epi8 ('"'), backslash = _mm256_set1_epi8 ('\\'), last = _mm256_set1_epi8 (0x1f);

  do
    {
      const char *q = *p;

      for (unsigned n = 32; n == 32 && end - q >= 32; q += n, out += n)
        {
          __m256i v = _mm256_loadu_si256 ((const __m256i *) q);
          __m256i special = _mm256_or_si256 (_mm256_cmpeq_epi8 (v, quote), _mm256_cmpeq_epi8 (v, backslash));

          special = _mm256_or_si256 (special, _mm256_cmpeq_epi8 (_mm256_min_epu8 (v, last), v));
          _mm256_storeu_si256 ((__m256i *) out, v);
          n = (unsigned) _tzcnt_u64 ((uint64_t) 1 << 32 | (uint32_t) _mm256_movemask_epi8 (special));
        }
      *p = q;
      out = copy_rest (p, end, out);
    }
  while (undo_escape (p, end, &out));
  return out;
}

/* The backslashes of B that begin an escape, none being escaped before: every other one of a run.  Adding a run's first
   bit to it clears the run; so those that begin at an even place are told from the others.  */
static inline uint64_t
escape_starts (uint64_t b)
{
  const uint64_t even = UINT64_C (0x5555555555555555);
  uint64_t first_even = b & ~(b << 1) & even, of_odd = b & (b + first_even);

  return (of_odd & ~even) | (b & ~of_odd & even);
}

/* Bytes behind END are taken for zeros, which are control characters.  */
MM_TARGET_AVX512 static char *
unescape_avx512 (const char **p, const char *end, char *out)
{
  const __m512i low = _mm512_loadu_si512 (mm_json_escapes), high = _mm512_loadu_si512 (mm_json_escapes + 64);
  const char *q = *p;

  for (;;)
    {
      size_t left = (size_t) (end - q), n;
      __m512i v = _mm512_maskz_loadu_epi8 (left < 64 ? _bzhi_u64 (~UINT64_C (0), (unsigned) left) : ~UINT64_C (0), q);
      __m512i undone = _mm512_permutex2var_epi8 (low, v, high);
      uint64_t starts = escape_starts (_mm512_cmpeq_epi8_mask (v, _mm512_set1_epi8 ('\\'))), escaped = starts << 1;
      uint64_t stops = (_mm512_cmpeq_epi8_mask (v, _mm512_set1_epi8 ('"')) & ~escaped)
                       | _mm512_cmplt_epu8_mask (v, _mm512_set1_epi8 (0x20));
      uint64_t others = escaped & (_mm512_testn_epi8_mask (undone, undone) | _mm512_movepi8_mask (v)
                                   | _mm512_cmpeq_epi8_mask (v, _mm512_set1_epi8 ('u')));

      /* An escape that the block's end cuts off begins the next one.  */
      stops |= others >> 1 | (starts & UINT64_C (1) << 63);
      v = _mm512_mask_mov_epi8 (v, escaped, undone);
      if (stops == 0)
        {
          _mm512_storeu_si512 (out, _mm512_maskz_compress_epi8 (~starts, v));
          out += 64 - _mm_popcnt_u64 (starts);
          q += 64;
          continue;
        }
      n = _tzcnt_u64 (stops);
      starts = _bzhi_u64 (starts, (unsigned) n);
      _mm512_storeu_si512 (out, _mm512_maskz_compress_epi8 (~starts, v));
      out += n - (size_t) _mm_popcnt_u64 (starts);
      q += n;
      if (n < 63 || q == end || *q != '\\')
        break;
    }
  *p = q;
  return out;
}

#endif

char *
mm_json_unescape (enum mm_vector v, const char **p, const char *end, char *out)
{
#if defined __x86_64__ && defined __GNUC__
  if (v == MM_VECTOR_AVX512)
    return unescape_avx512 (p, end, out);
  if (v == MM_VECTOR_AVX2)
    return unescape_avx2 (p, end, out);
#endif
  (void) v;
  return unescape_plain (p, end, out);
}

/* The inside of lib/text: classes of bytes, the trie, and encoding by backtracking against the
   merge loop that defines it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "../../lib/text/bpe.h"
#include "../../lib/text/byte_class.h"
#if defined __x86_64__ && defined __GNUC__
# include "../../lib/text/byte_class_x86.h"
#endif
#include "../../lib/text/byte_table.h"
#include "../../lib/text/pretokenize_gpt2.h"
#include "../../lib/text/seam.h"
#include "../../lib/text/unicode.h"
#include "../tap.h"

/* ---- classes ---- */

static size_t
put_utf8 (char *p, uint32_t c)
{
  if (c < 0x80)
    p[0] = (char) c;
  else if (c < 0x800)
    {
      p[0] = (char) (0xc0 | c >> 6);
      p[1] = (char) (0x80 | (c & 63));
    }
  else if (c < 0x10000)
    {
      p[0] = (char) (0xe0 | c >> 12);
      p[1] = (char) (0x80 | (c >> 6 & 63));
      p[2] = (char) (0x80 | (c & 63));
    }
  else
    {
      p[0] = (char) (0xf0 | c >> 18);
      p[1] = (char) (0x80 | (c >> 12 & 63));
      p[2] = (char) (0x80 | (c >> 6 & 63));
      p[3] = (char) (0x80 | (c & 63));
    }
  return mm_utf8_length ((unsigned char) *p);
}

/* For every code point: what a version says at once is what the table says, or it says nothing.  */
static bool
classes_agree (mm_byte_class_fn *classify)
{
  for (uint32_t c = 0; c < 0x110000; c++)
    {
      char text[64] = { 0 };
      struct mm_byte_class k;
      size_t at = 4 + c % 57, length;
      unsigned class = mm_unicode_class (c);
      uint64_t bits;

      if (c >= 0xd800 && c < 0xe000)
        continue;
      length = put_utf8 (text + at, c);
      bits = ((UINT64_C (1) << length) - 1) << at;
      classify ((unsigned char *) text, &k);
      if ((k.high & bits) != (c < 0x80 ? 0 : bits))
        return false;
      if (k.leads == UINT64_C (1) << at && c >= 0x80 && !(k.letter | k.number | k.space))
        continue;
      if (k.leads || k.letter != (class & MM_LETTER ? bits : 0)
          || k.number != (class & MM_NUMBER ? bits : 0) || k.space != (class & MM_SPACE ? bits : 0)
          || k.blank != (c == ' ' ? bits : 0) || k.quote != (c == '\'' ? bits : 0))
        return false;
    }
  return true;
}

static bool
same_class (const struct mm_byte_class *a, const struct mm_byte_class *b)
{
  return a->letter == b->letter && a->number == b->number && a->space == b->space
         && a->blank == b->blank && a->quote == b->quote && a->leads == b->leads
         && a->high == b->high;
}

/* The function of VECTOR, or NULL where there is none.  */
static mm_byte_class_fn *
classes_of (enum mm_vector vector)
{
  if (!mm_vector_has (vector))
    return NULL;
#if defined __x86_64__ && defined __GNUC__
  if (vector == MM_VECTOR_AVX2)
    return mm_byte_class_avx2;
  if (vector == MM_VECTOR_AVX512)
    return mm_byte_class_avx512;
#endif
  return mm_byte_class_plain;
}

/* A text of N bytes in parts that meet rarely, valid UTF-8.  */
static size_t
mix_text (char *text, size_t n)
{
  static const char *const parts[] = {
    " ", " ", "  ", "\n", "\t", "a", "word", "Xyz", "'s", "'t", "'ll", "'re", "'ve", "'m", "'d", "'", "'x",
    "1", "23", ".", "--", "(", "\344\270\255", "\345\233\275", "\347\232\204\344\272\272", "\343\200\202",
    "\343\200\200", "\302\240", "\303\251", "\320\266", "\342\201\211", "\304\261", "\360\237\230\200",
    "\360\235\222\263", "\331\243", "\344\267\200", "\352\260\200", "\341\232\200", "\342\200\250", "\0"
  };
  size_t size = 0;
  unsigned few = 2 + (unsigned) (rand () >> 8) % 12, first = (unsigned) (rand () >> 8);

  while (size + 16 < n)
    {
      unsigned k = (unsigned) (rand () >> 8) % 64;
      const char *part = parts[(first + k % few * 7) % (sizeof parts / sizeof *parts)];
      size_t length = *part ? strlen (part) : 1;

      /* Runs as long as several vectors.  */
      for (unsigned i = k == 63 ? 100 : 1; i > 0 && size + 16 < n; i--, size += length)
        memcpy (text + size, part, length);
    }
  return size;
}

/* Pieces by VECTOR as the definition has them.  */
static bool
pieces_agree (enum mm_vector vector)
{
  for (unsigned seed = 0; seed < 4000; seed++)
    {
      size_t ends[MM_PIECES_MIN + 8], size, at = 0, n, end;
      char *text;

      srand (seed);
      n = 16 + (size_t) (rand () >> 8) % 700;
      text = malloc (n);        /* exactly, so that a sanitizer sees reads behind the end */
      size = mix_text (text, n);
      text = realloc (text, size + !size);
      while (at < size)
        {
          n = mm_gpt2_pieces (vector, text, size, at, ends, MM_PIECES_MIN);
          for (size_t i = 0; i < n; i++, at = end)
            {
              end = mm_gpt2_end (text, size, at);
              if (end != ends[i])
                {
                  printf ("# seed %u: piece at %zu of %zu: want its end at %zu, found %zu\n", seed, at,
                          size, end, ends[i]);
                  free (text);
                  return false;
                }
            }
          if (n == 0)
            break;
        }
      free (text);
      if (at != size)
        return false;
    }
  return true;
}

static void
test_vectors (void)
{
  static const char *const names[] = { "plain C", "AVX2", "AVX-512" };
  char name[64];

  for (int v = 0; v < MM_N_VECTORS; v++)
    {
      mm_byte_class_fn *classify = classes_of ((enum mm_vector) v);
      bool good = true;

      snprintf (name, sizeof name, "%s: classes of all code points", names[v]);
      if (!classify)
        {
          printf ("ok %d - %s # SKIP not on this processor\n", ++tap_count, name);
          continue;
        }
      ok (classes_agree (classify), name);
      srand (1);
      for (int i = 0; i < 10000; i++)
        {
          unsigned char noise[64];
          struct mm_byte_class a, b;

          for (int k = 0; k < 64; k++)
            noise[k] = (unsigned char) (rand () >> 8);
          classify (noise, &a);
          mm_byte_class_plain (noise, &b);
          good &= same_class (&a, &b);
        }
      snprintf (name, sizeof name, "%s: any bytes as plain C", names[v]);
      ok (good, name);
      snprintf (name, sizeof name, "%s: pieces of GPT-2 as the definition", names[v]);
      ok (pieces_agree ((enum mm_vector) v), name);
    }
  ok (mm_vector_has (mm_vector_best ()), "the best version is one of this processor");
}

/* ---- spelling of bytes ---- */

static void
test_byte_table (void)
{
  char text[8], bytes[8];
  size_t size;
  bool good = true;

  for (unsigned c = 0; c < 256; c++)
    {
      text[put_utf8 (text, mm_table_code_point ((unsigned char) c))] = '\0';
      good &= mm_bytes_of_table_text (text, strlen (text), bytes, &size) && size == 1
              && (unsigned char) *bytes == c && mm_is_table_text (text);
    }
  ok (good, "every byte has its character and back");
  ok (mm_table_code_point (' ') == 0x120 && mm_table_code_point ('\n') == 0x10a
      && mm_table_code_point (0xad) == 0x143 && mm_table_code_point (0x80) == 0x122, "GPT-2's table");
  ok (!mm_is_table_text (" ") && !mm_is_table_text ("a\305\204") && !mm_is_table_text ("\344\270\255")
      && !mm_bytes_of_table_text ("\302\255", 2, bytes, &size) && mm_is_table_text (""),
      "other characters are told apart");
}

/* ---- trie ---- */

static void
test_trie (void)
{
  enum { N = 3000, LONG = 20000 };
  static char text[N][8], big[LONG];
  struct mm_trie_key keys[N + 1], sorted[N + 1];
  struct mm_trie trie;
  size_t length, n = 0;
  bool good = true;

  srand (2);
  for (int i = 0; i < N; i++)
    {
      size_t size = 1 + (size_t) (rand () >> 8) % 6;
      bool fresh = true;

      for (size_t k = 0; k < size; k++)
        text[n][k] = (char) (rand () >> 8 & (i % 2 ? 3 : 255));
      for (size_t j = 0; j < n; j++)
        fresh &= keys[j].size != size || memcmp (text[j], text[n], size) != 0;
      if (fresh)
        {
          keys[n] = (struct mm_trie_key) { text[n], (uint32_t) size, (uint32_t) n };
          n++;
        }
    }
  keys[n] = (struct mm_trie_key) { big, LONG, (uint32_t) n };
  n++;
  memcpy (sorted, keys, sizeof sorted);
  ok (mm_trie_build (&trie, sorted, n) == MM_OK, "a trie is built");
  for (size_t i = 0; i < n; i++)
    good &= mm_trie_find (&trie, keys[i].bytes, keys[i].size) == i
            && mm_trie_longest (&trie, keys[i].bytes, keys[i].size, &length) == i
            && length == keys[i].size;
  ok (good, "every key is found");
  ok (mm_trie_find (&trie, "not here", 8) == MM_TRIE_NONE
      && mm_trie_find (&trie, big, LONG - 1) == MM_TRIE_NONE, "others are not");
  mm_trie_free (&trie);
  ok (mm_trie_build (&trie, sorted, 0) == MM_OK && mm_trie_find (&trie, "a", 1) == MM_TRIE_NONE
      && mm_trie_longest (&trie, "a", 1, &length) == MM_TRIE_NONE && length == 0, "an empty trie");
  mm_trie_free (&trie);
}

/* ---- merges ---- */

enum { MOST_TOKENS = 400 };

struct vocabulary
{
  char bytes[MOST_TOKENS][64];
  struct mm_trie_key texts[MOST_TOKENS];
  size_t n;
};

/* Id of the text LEFT RIGHT, made if there is none; MM_BPE_NONE if it does not fit.  */
static uint32_t
joined (struct vocabulary *v, uint32_t left, uint32_t right)
{
  char text[128];
  uint32_t size = v->texts[left].size + v->texts[right].size;

  if (size > 64 || v->n == MOST_TOKENS)
    return MM_BPE_NONE;
  memcpy (text, v->texts[left].bytes, v->texts[left].size);
  memcpy (text + v->texts[left].size, v->texts[right].bytes, v->texts[right].size);
  for (uint32_t i = 0; i < v->n; i++)
    if (v->texts[i].size == size && memcmp (v->texts[i].bytes, text, size) == 0)
      return i;
  memcpy (v->bytes[v->n], text, size);
  v->texts[v->n] = (struct mm_trie_key) { v->bytes[v->n], size, (uint32_t) v->n };
  return (uint32_t) v->n++;
}

/* Compare both encoders on random strings over few letters, with random rules: sorted so that
   ranks stand behind their parts' where ORDERED, shuffled otherwise.  */
static bool
encoders_agree (unsigned seed, bool shuffled, bool *ordered)
{
  static struct vocabulary v;
  struct mm_bpe_rule *rules = malloc (300 * sizeof *rules);
  uint32_t bytes[256], letters = 2 + seed % 3;
  struct mm_bpe_scratch s;
  struct mm_bpe bpe;
  size_t n_rules = 0;
  bool good = true;

  srand (seed);
  v.n = 0;
  for (uint32_t c = 0; c < 256; c++)
    {
      v.bytes[c][0] = (char) c;
      v.texts[c] = (struct mm_trie_key) { v.bytes[c], 1, c };
      bytes[c] = c;
      v.n++;
    }
  for (int i = 0; i < 60; i++)
    {
      uint32_t pool = letters + (uint32_t) v.n - 256;
      uint32_t l = (uint32_t) (rand () >> 8) % pool, r = (uint32_t) (rand () >> 8) % pool;

      l = l < letters ? 'a' + l : 256 + l - letters;
      r = r < letters ? 'a' + r : 256 + r - letters;
      rules[n_rules] = (struct mm_bpe_rule) { l, r, joined (&v, l, r) };
      n_rules += rules[n_rules].made != MM_BPE_NONE;
    }
  for (size_t i = n_rules; shuffled && i > 1; i--)
    {
      size_t j = (size_t) (rand () >> 8) % i;
      struct mm_bpe_rule swap = rules[j];

      rules[j] = rules[i - 1];
      rules[i - 1] = swap;
    }
  if (mm_bpe_build (&bpe, v.texts, v.n, bytes, rules, n_rules) < 0 || mm_bpe_scratch_open (&s) < 0)
    return false;
  *ordered = bpe.ordered;
  for (int i = 0; i < 300; i++)
    {
      char text[200];
      uint32_t a[200], b[200];
      size_t size = 1 + (size_t) (rand () >> 8) % (i < 280 ? 24 : 200), n_a = 0, n_b = 0;

      for (size_t k = 0; k < size; k++)
        text[k] = (char) ('a' + (uint32_t) (rand () >> 8) % letters);
      good &= mm_bpe_encode (&bpe, &s, text, size, a, &n_a) == MM_OK
              && mm_bpe_merge_loop (&bpe, &s, text, size, b, &n_b) == MM_OK
              && n_a == n_b && memcmp (a, b, n_a * sizeof *a) == 0;
    }
  mm_bpe_scratch_close (&s);
  mm_bpe_free (&bpe);
  return good;
}

static void
test_merges (void)
{
  bool good = true, ordered;
  int n_ordered = 0;

  for (unsigned seed = 1; seed <= 400; seed++)
    {
      good &= encoders_agree (seed, seed % 10 == 0, &ordered);
      n_ordered += ordered;
    }
  ok (good, "backtracking gives what the merge loop gives");
  printf ("# ordered: %d of 400\n", n_ordered);
  ok (n_ordered >= 40 && n_ordered < 400, "with rules in and out of order");
}

/* ---- the table of pairs ---- */

enum { PAIRS = 4000 };

/* Rule R joins two bytes, or from half of them on the token of an earlier rule and a byte.  */
static struct mm_bpe_rule
pair_rule (uint32_t r)
{
  if (r < PAIRS / 2)
    return (struct mm_bpe_rule) { r % 251, 100 + r / 251, 256 + r };
  return (struct mm_bpe_rule) { 256 + r - PAIRS / 2, r * 31 % 256, 256 + r };
}

static bool
pairs_agree (size_t *n_away)
{
  static struct mm_trie_key texts[256 + PAIRS];
  static char bytes_of[256 + PAIRS][3];
  struct mm_bpe_rule *rules = malloc (PAIRS * sizeof *rules);
  uint32_t bytes[256];
  struct mm_bpe bpe;
  bool good = true;

  for (uint32_t c = 0; c < 256; c++)
    {
      bytes[c] = c;
      bytes_of[c][0] = (char) c;
      texts[c] = (struct mm_trie_key) { bytes_of[c], 1, c };
    }
  for (uint32_t r = 0; r < PAIRS; r++)
    {
      char *text = bytes_of[256 + r];
      uint32_t size;

      rules[r] = pair_rule (r);
      size = texts[rules[r].left].size;
      memcpy (text, texts[rules[r].left].bytes, size);
      text[size] = (char) rules[r].right;
      texts[256 + r] = (struct mm_trie_key) { text, size + 1, 256 + r };
    }
  if (mm_bpe_build (&bpe, texts, 256 + PAIRS, bytes, rules, PAIRS) < 0)
    return false;
  for (uint32_t left = 0; left < 256 + PAIRS / 2; left++)
    for (uint32_t right = 0; right < 256; right++)
      {
        uint32_t r = left >= 256 ? left - 256 + PAIRS / 2 : (right - 100) * 251 + left;
        struct mm_bpe_rule rule = pair_rule (r);
        bool there = r < PAIRS && rule.left == left && rule.right == right;

        good &= mm_bpe_when (&bpe, left, right) == (there ? r + MM_BPE_BYTES : MM_BPE_NONE);
      }
  for (size_t i = 0; i < (size_t) 1 << bpe.bucket_bits; i++)
    for (size_t k = 0; k < MM_BPE_BUCKET; k++)
      *n_away += (bpe.pairs[i].tags[k] & MM_BPE_AWAY) == MM_BPE_AWAY;
  mm_bpe_free (&bpe);
  return good;
}

static void
test_pairs (void)
{
  size_t n_away = 0;

  ok (pairs_agree (&n_away), "the rule of each pair is found, and none for others");
  printf ("# %zu of %d away from their places\n", n_away, PAIRS);
  ok (n_away > 0, "some stand behind their places");
}

/* ---- seams ---- */

/* Rules at random over the bytes of a few characters: the merge loop on a whole text against the
   same on its parts between seams; *N_SEAMS counts them.  */
static bool
seams_agree (unsigned seed, size_t *n_seams)
{
  static const char *const letters[]
    = { "\344\270\255", "\344\270\256", "\345\233\275", "\347\232\204", "\343\201\256", "\303\251", "a",
        "\360\240\200\200" };
  static struct vocabulary v;
  static struct mm_seams seams;
  struct mm_bpe_rule *rules = malloc (300 * sizeof *rules);
  unsigned few = 2 + seed % 7;
  uint32_t bytes[256], pool[300];
  struct mm_bpe_scratch s;
  struct mm_bpe bpe;
  size_t n_rules = 0, n_pool = 0;
  bool good = true;

  srand (seed);
  memset (&seams, 0, sizeof seams);
  for (v.n = 0; v.n < 256; v.n++)
    {
      v.bytes[v.n][0] = (char) v.n;
      v.texts[v.n] = (struct mm_trie_key) { v.bytes[v.n], 1, (uint32_t) v.n };
      bytes[v.n] = (uint32_t) v.n;
    }
  for (unsigned c = 0; c < few; c++)
    for (const char *p = letters[c]; *p; p++)
      pool[n_pool++] = (unsigned char) *p;
  for (int i = 0; i < 25; i++)
    {
      uint32_t l = pool[(size_t) (rand () >> 8) % n_pool], r = pool[(size_t) (rand () >> 8) % n_pool];

      rules[n_rules] = (struct mm_bpe_rule) { l, r, joined (&v, l, r) };
      if (rules[n_rules].made == MM_BPE_NONE)
        continue;
      pool[n_pool++] = rules[n_rules].made;
      mm_seams_add (&seams, v.texts[rules[n_rules].made].bytes, v.texts[rules[n_rules].made].size);
      n_rules++;
    }
  if (mm_bpe_build (&bpe, v.texts, v.n, bytes, rules, n_rules) < 0 || mm_bpe_scratch_open (&s) < 0)
    return false;
  for (int i = 0; i < 200; i++)
    {
      char text[200];
      uint32_t whole[200], parts[200];
      size_t size = 0, n_whole = 0, n_parts = 0, n;

      for (int k = 1 + (rand () >> 8) % 40; k > 0; k--)
        {
          const char *letter = letters[(unsigned) (rand () >> 8) % few];

          memcpy (text + size, letter, strlen (letter));
          size += strlen (letter);
        }
      good &= mm_bpe_merge_loop (&bpe, &s, text, size, whole, &n_whole) == MM_OK;
      for (size_t at = 0, end; at < size; at = end, n_parts += n)
        {
          end = mm_seam_next (&seams, text, at, size);
          *n_seams += end < size;
          good &= end > at
                  && mm_bpe_merge_loop (&bpe, &s, text + at, end - at, parts + n_parts, &n) == MM_OK;
        }
      good &= n_whole == n_parts && memcmp (whole, parts, n_parts * sizeof *parts) == 0;
    }
  mm_bpe_scratch_close (&s);
  mm_bpe_free (&bpe);
  return good;
}

static void
test_seams (void)
{
  size_t n_seams = 0;
  bool good = true;

  for (unsigned seed = 0; seed < 300; seed++)
    good &= seams_agree (seed, &n_seams);
  printf ("# %zu seams\n", n_seams);
  ok (good, "parts between seams have the ids of the whole");
  ok (n_seams > 10000, "there are seams");
}

int
main (void)
{
  test_vectors ();
  test_seams ();
  test_byte_table ();
  test_trie ();
  test_merges ();
  test_pairs ();
  return tap_done ();
}

/* Strings of JSON: escapes undone by vectors against a definition written here, at every place of a block; surrogate
   pairs; what is wrong, and where.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/text/json_line.h"
#include "../../lib/text/json_string.h"
#include "../tap.h"

enum { LONGEST = 400 };

/* ---- the definition ---- */

/* As mm_json_unescape, byte by byte.  */
static size_t
define (const char **p, const char *end, char *out)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  size_t n = 0;

  for (; *p < end && **p != '"' && (unsigned char) **p >= 0x20; ++*p)
    {
      const char *known;

      if (**p == '\\')
        {
          known = end - *p > 1 && (*p)[1] != '\0' ? strchr (from, (*p)[1]) : NULL;
          if (!known)
            break;
          out[n++] = to[known - from];
          ++*p;
        }
      else
        out[n++] = **p;
    }
  return n;
}

/* Is SIZE bytes at TEXT what it is by the definition?  In memory of its own, so that a byte read behind it shows.  */
static bool
agrees (enum mm_vector v, const char *text, size_t size)
{
  char *copy = malloc (size + !size), *out = malloc (size + MM_JSON_ROOM), want[LONGEST];
  const char *p = copy, *q = copy;
  size_t got, n;
  bool good;

  if (!copy || !out || size > LONGEST)
    exit (99);
  memcpy (copy, text, size);
  got = (size_t) (mm_json_unescape (v, &p, copy + size, out) - out);
  n = define (&q, copy + size, want);
  good = p == q && got == n && memcmp (out, want, n) == 0;
  if (!good)
    printf ("# %.*s: %zu bytes from %zu, want %zu from %zu\n", (int) size, text, got, (size_t) (p - copy), n,
            (size_t) (q - copy));
  free (copy);
  free (out);
  return good;
}

/* ---- blocks ---- */

/* WHAT between letters, at each place of two blocks, the string ending at each place behind it and farther.  */
static bool
agrees_everywhere (enum mm_vector v, const char *what)
{
  size_t n = strlen (what);
  char text[LONGEST];
  bool good = true;

  for (size_t at = 0; at < 134; at++)
    {
      memset (text, 'x', sizeof text);
      memcpy (text + at, what, n);
      for (size_t size = at; size <= at + n + 3; size++)
        good &= agrees (v, text, size);
      good &= agrees (v, text, at + n + 150);
      text[at + n + 70] = '"';
      good &= agrees (v, text, at + n + 150);
    }
  return good;
}

static bool
agrees_on_noise (enum mm_vector v)
{
  static const char few[] = "\\\\\\\"ntux\1 /b\303\251";
  bool good = true;

  srand (1);
  for (int round = 0; round < 40000; round++)
    {
      char text[LONGEST];
      size_t size = (size_t) (rand () >> 8) % 300, kinds = 2 + (size_t) (rand () >> 8) % (sizeof few - 2);
      int rare = 1 + (rand () >> 8) % 40;

      for (size_t i = 0; i < size; i++)
        text[i] = (rand () >> 8) % rare == 0 ? few[(size_t) (rand () >> 8) % kinds] : 'x';
      good &= agrees (v, text, size);
    }
  return good;
}

static void
test_blocks (void)
{
  static const char *const names[] = { "plain C", "AVX2", "AVX-512" };
  static const char *const whats[] = {
    "", "\\n", "\\\"", "\\\\", "\\/\\b\\f\\r\\t", "\\n\\n", "\\nx\\t", "\\", "\\x", "\\u0041", "\\N", "\\\356",
    "\\\x01", "\"", "\n", "\x1f", "\x7f", "\303\251",
    "\\\\\\\\\\\\\\\\\\n", "\\\\\\\\\\\\\\\\n\"", "\\\\\\\"\"", "\\\\\"",
    "x\\\\\\u",
  };
  char name[80], run[80];

  for (int v = 0; v < MM_N_VECTORS; v++)
    {
      bool good = true;

      snprintf (name, sizeof name, "%s: escapes and ends at each place of a block", names[v]);
      if (!mm_vector_has ((enum mm_vector) v))
        {
          printf ("ok %d - %s # SKIP not on this processor\n", ++tap_count, name);
          continue;
        }
      for (size_t i = 0; i < sizeof whats / sizeof *whats; i++)
        good &= agrees_everywhere ((enum mm_vector) v, whats[i]);
      ok (good, name);
      good = true;
      for (int n = 1; n <= 70; n += n < 5 ? 1 : 13)
        {
          memset (run, '\\', sizeof run);
          strcpy (run + n, "n");
          good &= agrees_everywhere ((enum mm_vector) v, run);
        }
      snprintf (name, sizeof name, "%s: runs of backslashes", names[v]);
      ok (good, name);
      snprintf (name, sizeof name, "%s: noise", names[v]);
      ok (agrees_on_noise ((enum mm_vector) v), name);
    }
}

/* ---- whole strings ---- */

/* LETTERS letters and WHAT, a quote behind them if CLOSED, are the letters and WANT, or wrong by PROBLEM at byte WHERE
   of WHAT.  */
static bool
reads (size_t letters, const char *what, bool closed, const char *want, const char *problem, size_t where,
       uint64_t lone)
{
  char text[LONGEST], out[LONGEST + MM_JSON_ROOM];
  struct mm_json_text t = { .end = out };
  const char *p = text, *found;
  size_t size = letters + strlen (what);

  memset (text, 'y', letters);
  strcpy (text + letters, what);
  text[size++] = '"';
  found = mm_json_string_read (&p, text + size - !closed, &t);
  if (problem)
    return found && strstr (found, problem) && p == text + letters + where;
  *t.end = '\0';
  return !found && p == text + size - 1 && t.lone == lone && (size_t) (t.end - out) == letters + strlen (want)
         && strcmp (out + letters, want) == 0 && (lone == 0 || t.first == text + letters + where);
}

static void
test_strings (void)
{
  bool good[6];

  memset (good, true, sizeof good);
  for (size_t at = 0; at < 140; at++)
    {
      good[0] &= reads (at, "\\ud83d\\ude00z", true, "\360\237\230\200z", NULL, 0, 0)
                 && reads (at, "\\uD834\\uDD1E\\n", true, "\360\235\204\236\n", NULL, 0, 0);
      good[1] &= reads (at, "\\ud83dz\\n", true, "\357\277\275z\n", NULL, 0, 1)
                 && reads (at, "a\\ude00\\ud83d", true, "a\357\277\275\357\277\275", NULL, 1, 2)
                 && reads (at, "\\ud83d\\ud83d\\ude00", true, "\357\277\275\360\237\230\200", NULL, 0, 1);
      good[2] &= reads (at, "\\u0041\\u00e9\\u4e2d\\n", true, "A\303\251\344\270\255\n", NULL, 0, 0);
      good[3] &= reads (at, "\\n\\x", true, NULL, "unknown escape", 2, 0)
                 && reads (at, "\\", false, NULL, "unknown escape", 0, 0)
                 && reads (at, "\\n\\\356", true, NULL, "unknown escape", 2, 0);
      good[4] &= reads (at, "\\t\\u00g1", true, NULL, "hexadecimal", 2, 0)
                 && reads (at, "\\u123", true, NULL, "hexadecimal", 0, 0)
                 && reads (at, "\\ud83d\\u12", false, NULL, "hexadecimal", 6, 0);
      good[5] &= reads (at, "\\n\n", true, NULL, "control character", 2, 0)
                 && reads (at, "\\nz", false, NULL, "ends within", 3, 0);
    }
  ok (good[0], "surrogate pairs at each place");
  ok (good[1], "halves of pairs");
  ok (good[2], "other characters by number");
  ok (good[3], "unknown escapes are named by their place");
  ok (good[4], "so are digits that are none");
  ok (good[5], "control characters and strings without an end");
}

/* ---- fields ---- */

/* The field of LINE is WANT, or wrong by PROBLEM at byte AT.  */
static bool
field_is (const char *line, unsigned flags, const char *want, const char *problem, size_t at)
{
  static const struct mm_json_path path = { { (char *) "text" }, { 4 }, 1 };
  struct mm_json_line r = { .buffer = NULL };
  bool good = mm_json_line_field (line, strlen (line), &path, flags, &r) == MM_OK;

  if (problem)
    good = good && r.problem && strstr (r.problem, problem) && r.at == at;
  else
    good = good && !r.problem && r.size == strlen (want) && memcmp (r.text, want, r.size) == 0;
  free (r.buffer);
  return good;
}

static void
test_fields (void)
{
  static const char half[] = "{\"text\": \"a\\nb\\ud83d\"}";

  ok (field_is ("{\"text\": \"a\\nb\", \"t\\u0065st\": \"c\\n\"}", 0, "a\nb", NULL, 0)
      && field_is ("{\"\\u0074\\u0065\\u0078\\u0075\": 1, \"te\\u0078t\": \"a\\nb\"}", 0, "a\nb", NULL, 0)
      && field_is ("\"\\\"a\\\"\" ", MM_JSON_STRINGS, "\"a\"", NULL, 0), "names with escapes before and behind");
  ok (field_is ("{\"text\": \"a\\nb\", \"te\\u0078t\": \"c\\n\"}", 0, NULL, "twice", 30), "the field by both names");
  ok (field_is (half, 0, NULL, "surrogate", 14) && field_is (half, MM_JSON_REPLACE, "a\nb\357\277\275", NULL, 0),
      "half of a pair is a problem, or replaced");
  ok (field_is ("{\"text\": \"a\\ud83d\\n\", }", 0, NULL, "want a string", 22),
      "the line's own problem comes before that of its field");
  ok (field_is ("{\"text\": \"a\\n\\q\"}", 0, NULL, "unknown escape", 13)
      && field_is ("{\"text\": \"ab", 0, NULL, "ends within a string", 12), "and is named by its place");
}

int
main (void)
{
  test_blocks ();
  test_strings ();
  test_fields ();
  return tap_done ();
}

/* documents.c -- documents of texts and JSON Lines: what they are, where they are cut, how errors
   are named, skipped and replaced; the scanner of lines against Jansson.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <jansson.h>

#include <minimind/bpe_trainer.h>
#include <minimind/documents.h>
#include <minimind/log.h>
#include <minimind/tokenizer.h>

#include "../../lib/text/json_line.h"
#include "../tap.h"
#include "scratch.h"

static int
says (const char *part)
{
  return strstr (mm_error_message (), part) != NULL;
}

static void
put (const char *name, const char *text)
{
  scratch_put (name, text, strlen (text));
}

static size_t
cut (const void *arg, const char *text, size_t size, size_t limit)
{
  (void) arg;
  return mm_bpe_trainer_cut (NULL, text, size, limit);
}

/* ---- reading all of them ---- */

/* The documents of INPUTS, each between brackets, into a string of SIZE bytes at most.  */
static mm_status
read_all (const char *const *inputs, size_t n, struct mm_document_options o, char *out,
          struct mm_document_counts *counts)
{
  struct mm_document_counts ignored;
  struct mm_document_part part;
  struct mm_documents *d;
  bool more = true;
  mm_status st;

  *out = '\0';
  st = mm_documents_open (inputs, n, &o, &d);
  while (st == MM_OK && (st = mm_documents_next (d, &part, &more)) == MM_OK && more)
    sprintf (out + strlen (out), "%s%.*s%s", part.first ? "[" : "", (int) part.size, part.text,
             part.last ? "]" : "");
  if (d)
    mm_documents_counts (d, counts ? counts : &ignored);
  mm_documents_close (d);
  return st;
}

/* Does the one file NAME give WANT?  */
static bool
gives (const char *name, struct mm_document_options o, const char *want)
{
  static char got[1 << 16];

  if (read_all (&name, 1, o, got, NULL) < 0)
    {
      printf ("# %s\n", mm_error_message ());
      return false;
    }
  if (strcmp (got, want) != 0)
    printf ("# got %.200s\n", got);
  return strcmp (got, want) == 0;
}

static mm_status
fails (const char *name, struct mm_document_options o)
{
  char got[4096];

  return read_all (&name, 1, o, got, NULL);
}

static const struct mm_document_options plain, text = { .format = MM_DOCUMENTS_TEXT },
  lines = { .format = MM_DOCUMENTS_JSONL };

/* ---- texts ---- */

static void
test_texts (void)
{
  struct mm_document_options o = { .delimiter = "--", .delimiter_size = 2 };
  const char *both[] = { "one.txt", "two.txt" };
  struct mm_document_counts n;
  char got[256];

  put ("one.txt", "one\ntwo\n");
  put ("two.txt", "three");
  put ("empty.txt", "");
  put ("parts.txt", "a--b----c--");
  put ("dashes.txt", "a-b-");
  ok (gives ("one.txt", plain, "[one\ntwo\n]"), "a file is a document");
  ok (read_all (both, 2, plain, got, &n) == MM_OK && strcmp (got, "[one\ntwo\n][three]") == 0
      && n.documents == 2 && n.bytes == 13, "files come in order and are counted");
  ok (gives ("empty.txt", plain, ""), "an empty file has none");
  ok (gives ("parts.txt", o, "[a][b][c]"), "a delimiter splits, a last one ends");
  both[0] = "parts.txt";
  ok (read_all (both, 1, o, got, &n) == MM_OK && n.documents == 3 && n.empty == 1,
      "nothing between delimiters is counted apart");
  ok (gives ("dashes.txt", o, "[a-b-]"), "half a delimiter is text");
  ok (read_all (both, 0, plain, got, &n) == MM_OK && n.documents == 0, "no inputs");
  o.delimiter_size = 0;
  ok (fails ("one.txt", o) == MM_EUSAGE, "an empty delimiter is refused");
  o.delimiter_size = 2;
  o.format = MM_DOCUMENTS_JSONL;
  ok (fails ("one.txt", o) == MM_EUSAGE && says ("for texts"), "a delimiter for lines too");
}

static void
test_delimiters (void)
{
  char *bytes;
  size_t size;

  ok (mm_documents_delimiter ("a\\n\\t\\\\\\0\\x41", &bytes, &size) == MM_OK && size == 6
      && memcmp (bytes, "a\n\t\\\0A", 6) == 0, "escapes of a delimiter");
  free (bytes);
  ok (mm_documents_delimiter ("\\q", &bytes, &size) == MM_EUSAGE && says ("\\q"), "unknown ones");
  free (bytes);
  ok (mm_documents_delimiter ("\\x4", &bytes, &size) == MM_EUSAGE, "half ones");
  free (bytes);
  ok (mm_documents_delimiter ("a\\", &bytes, &size) == MM_EUSAGE, "one cut off");
  free (bytes);
}

/* A document of some 10 MB comes in parts that give it back, with and without delimiters.  */
static void
test_parts (void)
{
  enum { SIZE = 11 * 950000 };
  char *all = malloc (SIZE), *got = malloc (SIZE + 16);
  const char *name = "long.txt";
  struct mm_document_options o = { .delimiter = "\n\n", .delimiter_size = 2, .cut = cut };
  struct mm_documents *d;
  struct mm_document_part part;
  size_t n, n_parts, largest;
  bool more, good;

  for (size_t i = 0; i < SIZE; i++)
    all[i] = i % 11 == 10 ? (i % 77 == 76 ? '\n' : ' ') : "\xe4\xb8\xad"[i % 11 % 3];
  for (size_t i = 0; i + 9 < SIZE; i += 11)
    all[i + 9] = '.';
  scratch_put (name, all, SIZE);
  for (int skip = 0; skip < 2; skip++)
    {
      o.errors = skip ? MM_ERRORS_SKIP : MM_ERRORS_FAIL;
      if (mm_documents_open (&name, 1, &o, &d) < 0)
        exit (99);
      n = n_parts = largest = 0;
      good = true;
      for (more = true; mm_documents_next (d, &part, &more) == MM_OK && more; n_parts++)
        {
          good &= part.first == (n == 0) && part.last == (n + part.size == SIZE);
          memcpy (got + n, part.text, part.size);
          n += part.size;
          if (part.size > largest)
            largest = part.size;
        }
      ok (good && !more && n == SIZE && memcmp (all, got, SIZE) == 0, "a long text comes whole");
      ok (n_parts >= 3 && largest <= 5 << 20, "in parts");
      mm_documents_close (d);
    }
  memset (all, 'x', SIZE);      /* nowhere to cut */
  scratch_put (name, all, SIZE);
  o.errors = MM_ERRORS_FAIL;
  if (mm_documents_open (&name, 1, &o, &d) < 0)
    exit (99);
  ok (mm_documents_next (d, &part, &more) == MM_OK && part.size == SIZE && part.last,
      "a word of 10 MB is one part");
  mm_documents_close (d);
  free (all);
  free (got);
}

/* ---- JSON Lines ---- */

static void
test_lines (void)
{
  struct mm_document_options content = { .format = MM_DOCUMENTS_JSONL, .field = "content" };

  put ("a.jsonl", "{\"text\": \"one\"}\n\n  \n{\"id\": [1, {\"text\": 2}], \"text\": \"t\\u0077o\\n\"}");
  ok (gives ("a.jsonl", plain, "[one][two\n]"), "a field of each line; blank lines are nothing");
  ok (gives ("a.jsonl", text, "[{\"text\": \"one\"}\n\n  \n{\"id\": [1, {\"text\": 2}], "
             "\"text\": \"t\\u0077o\\n\"}]"), "unless told that it is text");
  ok (fails ("a.jsonl", content) == MM_EFORMAT && says ("a.jsonl: line 1, byte 1")
      && says ("missing") && says ("\"content\""), "a field that is not there");
  put ("b.jsonl", "{\"content\": \"x\"}\r\n{\"content\": \"\"}\r\n");
  ok (gives ("b.jsonl", content, "[x]"), "another field, other line ends, an empty document");
  put ("bom.jsonl", "\xef\xbb\xbf{\"text\": \"x\"}\n");
  ok (gives ("bom.jsonl", lines, "[x]"), "a byte order mark before it");
  put ("b.jsonl", "{\"text\": 5}\n");
  ok (fails ("b.jsonl", lines) == MM_EFORMAT && says ("line 1, byte 10") && says ("not a string"),
      "a field of another type");
  put ("b.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\" \"c\"}\n");
  ok (fails ("b.jsonl", lines) == MM_EFORMAT && says ("line 2, byte 14") && says ("comma"),
      "a line that is not JSON");
  put ("b.jsonl", "[1]\n");
  ok (fails ("b.jsonl", lines) == MM_EFORMAT && says ("want a JSON object"), "another value");
}

static void
test_formats (void)
{
  put ("noname", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  ok (gives ("noname", plain, "[one][two]"), "lines are known by the first");
  put ("noname", "{ brace\n");
  ok (gives ("noname", plain, "[{ brace\n]"), "a brace alone does not make them");
  put ("x.txt", "{\"text\": \"one\"}\n");
  ok (gives ("x.txt", plain, "[{\"text\": \"one\"}\n]"), "nor in a .txt");
  put ("x.ndjson", "{\"text\": \"one\"}\n");
  ok (gives ("x.ndjson", plain, "[one]"), ".ndjson is lines");
  put ("x.json", "[{\"text\": \"one\"}]\n");
  ok (gives ("x.json", plain, "[one]"), "an array in .json");
  put ("x.json", "{\"text\": \"one\"}\n");
  ok (gives ("x.json", plain, "[one]"), "objects in .json are lines");
}

/* ---- errors ---- */

static void
test_errors (void)
{
  struct mm_document_options skip = { .errors = MM_ERRORS_SKIP },
    replace = { .errors = MM_ERRORS_REPLACE },
    skip_parts = { .errors = MM_ERRORS_SKIP, .delimiter = ";", .delimiter_size = 1 };
  const char *name = "bad.txt";
  struct mm_document_counts n;
  char got[4096];

  put ("bad.txt", "fine\nso \xe4\xb8");
  ok (fails ("nowhere", plain) == MM_ENOENT && says ("nowhere"), "a missing file");
  if (mkdir ("folder", 0777) < 0)
    exit (99);
  ok (fails ("folder", plain) == MM_EIO && says ("folder"), "a directory");
  ok (fails ("bad.txt", plain) == MM_EFORMAT && says ("bad.txt: line 2, byte 4: invalid UTF-8"),
      "a character cut off is named by line and byte");
  ok (read_all (&name, 1, replace, got, &n) == MM_OK && strcmp (got, "[fine\nso \xef\xbf\xbd]") == 0
      && n.replaced == 1, "or replaced");
  ok (read_all (&name, 1, skip, got, &n) == MM_OK && !*got && n.skipped == 1 && n.documents == 0,
      "or left out with its document");
  put ("bad.txt", "a;b\xff" "c;\xc0\x80;d");
  ok (fails ("bad.txt", plain) == MM_EFORMAT && says ("line 1, byte 4"), "a bad byte is named");
  ok (read_all (&name, 1, skip_parts, got, &n) == MM_OK && strcmp (got, "[a][d]") == 0
      && n.skipped == 2, "documents without it stay");
  ok (read_all (&name, 1, replace, got, &n) == MM_OK && n.replaced == 3
      && strcmp (got, "[a;b\xef\xbf\xbd" "c;\xef\xbf\xbd\xef\xbf\xbd;d]") == 0,
      "each byte that starts nothing is one U+FFFD");
  put ("bad.txt", "\xf0\x9f\x98!\xed\xa0\x80");
  ok (gives ("bad.txt", replace, "[\xef\xbf\xbd!\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd]"),
      "the longest beginning of a character is one too");

  put ("bad.jsonl", "{\"text\": \"a\"}\nnonsense\n{\"text\": \"b\xff\"}\n{\"text\": \"c\"}\n");
  name = "bad.jsonl";
  ok (read_all (&name, 1, skip, got, &n) == MM_OK && strcmp (got, "[a][c]") == 0 && n.skipped == 2,
      "lines with errors are left out");
  ok (fails (name, replace) == MM_EFORMAT && says ("line 2, byte 1"), "JSON cannot be replaced");
  put ("bad.jsonl", "{\"text\": \"a\\ud800b\"}\n");
  ok (fails (name, plain) == MM_EFORMAT && says ("line 1, byte 12") && says ("surrogate"),
      "half of a surrogate pair");
  ok (read_all (&name, 1, replace, got, &n) == MM_OK && strcmp (got, "[a\xef\xbf\xbd" "b]") == 0
      && n.replaced == 1, "or that replaced");
}

/* Invalid bytes wherever the reader's blocks begin and end.  */
static void
test_blocks (void)
{
  enum { SIZE = 7 * 450000 };
  char *all = malloc (SIZE);
  const char *name = "blocks.txt";
  struct mm_document_options o = { .errors = MM_ERRORS_REPLACE, .cut = cut };
  struct mm_document_counts n;
  struct mm_documents *d;
  struct mm_document_part part;
  uint64_t bytes = 0;
  bool more, good = true;

  for (size_t i = 0; i < SIZE; i++)
    all[i] = "\xf0\x9f\x98\x80\xe4\xb8 "[i % 7];
  scratch_put (name, all, SIZE);
  if (mm_documents_open (&name, 1, &o, &d) < 0)
    exit (99);
  while (mm_documents_next (d, &part, &more) == MM_OK && more)
    {
      for (size_t i = 0; i < part.size; i++, bytes++)
        good &= part.text[i] == "\xf0\x9f\x98\x80\xef\xbf\xbd "[bytes % 8];
    }
  mm_documents_counts (d, &n);
  ok (good && !more && n.replaced == SIZE / 7, "bytes are replaced across blocks");
  mm_documents_close (d);
  free (all);
}

static void
test_progress (void)
{
  const char *names[] = { "one.txt", "two.txt" };
  struct mm_documents *d;
  struct mm_document_part part;
  uint64_t done, total;
  bool more = true;

  if (mm_documents_open (names, 2, &plain, &d) < 0)
    exit (99);
  mm_documents_progress (d, &done, &total);
  ok (done == 0 && total == 13, "the size of all inputs is known");
  ok (mm_documents_expected (d) == UINT64_MAX, "how many documents there are is not known before one is read");
  while (mm_documents_next (d, &part, &more) == MM_OK && more)
    ;
  mm_documents_progress (d, &done, &total);
  ok (done == 13, "and what was read of them");
  ok (mm_documents_expected (d) == 2, "and that texts are documents");
  mm_documents_close (d);
  names[1] = "-";
  if (mm_documents_open (names, 2, &plain, &d) < 0)
    exit (99);
  mm_documents_progress (d, &done, &total);
  ok (total == 0, "but not of standard input");
  mm_documents_close (d);
  mm_documents_close (NULL);
}

/* ---- the scanner against Jansson ---- */

static const struct mm_json_path text_path = { { (char *) "text" }, { 4 }, 1 };

/* Does Jansson find what the scanner found?  Differences that are meant are left aside.  */
static bool
agrees (const char *line, size_t size, struct mm_json_line *r)
{
  json_error_t error;
  json_t *root, *field;
  bool good;

  if (mm_utf8_check (line, size, NULL) < size)
    return true;                /* not for the scanner */
  if (mm_json_line_field (line, size, &text_path, 0, r) < 0)
    return false;
  root = json_loadb (line, size, JSON_ALLOW_NUL, &error);
  field = json_object_get (root, "text");
  if (!root && !r->problem && (strstr (error.text, "too big") || strstr (error.text, "overflow")
                               || strstr (error.text, "depth")))
    return true;                /* numbers, nesting: Jansson's limits */
  if (r->problem && root && (strstr (r->problem, "twice") || strstr (r->problem, "deep")))
    good = true;
  else if (r->problem)
    good = !json_is_string (field);
  else
    good = json_is_string (field) && json_string_length (field) == r->size
           && memcmp (json_string_value (field), r->text, r->size) == 0;
  if (!good)
    printf ("# %s | %s | %.*s\n", r->problem ? r->problem : "found", root ? "valid" : error.text,
            (int) size, line);
  json_decref (root);
  return good;
}

static void
test_scanner (void)
{
  static const char *const seeds[] = {
    "{\"text\": \"plain\"}", "{}", "{\"a\": {\"text\": \"x\"}, \"text\": \"\\u4e2d\\ud83d\\ude00\"}",
    "{\"te\\u0078t\": \"escaped name\"}", "{\"n\": [-0.5e+10, 0, 12, true, false, null, [], {}], "
    "\"text\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "{\"text\": \"\\u0000\"}", " {\"text\" : \"中文\" } ",
    "{\"x\": 1, \"text\": \"0123456789abcdef0123456789\", \"y\": \"z\"}", "{\"text\": \"\\ud83dx\"}",
  };
  static const char parts[] = "{}[]\":,\\ utfn0123-+.e\ttextrlsa";
  struct mm_json_line r = { 0 };
  unsigned seed = 1;
  bool good = true;
  char deep[300] = "{\"a\":";

  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
    good &= agrees (seeds[i], strlen (seeds[i]), &r);
  ok (good, "lines are read as Jansson reads them");
  good = true;
  for (int round = 0; round < 60000; round++)
    {
      const char *from = seeds[round % (sizeof seeds / sizeof *seeds)];
      size_t size = strlen (from);
      char line[128];

      memcpy (line, from, size);
      for (int k = 0; k <= round % 3; k++)
        {
          size_t at = (seed = seed * 1103515245 + 12345) >> 8, what = seed >> 4;

          at %= size;
          if (what % 3 == 0 && size > 2)
            memmove (line + at, line + at + 1, --size - at);
          else if (what % 3 == 1 && size < 120)
            {
              memmove (line + at + 1, line + at, size++ - at);
              line[at] = parts[seed % (sizeof parts - 1)];
            }
          else
            line[at] = parts[seed % (sizeof parts - 1)];
        }
      good &= agrees (line, size, &r);
    }
  ok (good, "damaged lines too");
  ok (mm_json_line_field ("{\"text\": \"a\", \"text\": \"b\"}", 26, &text_path, 0, &r) == MM_OK
      && strstr (r.problem, "twice"), "a field that stands twice");
  memset (deep + 5, '[', 64);
  ok (mm_json_line_field (deep, 69, &text_path, 0, &r) == MM_OK && strstr (r.problem, "deep"),
      "too deep a nesting");
  ok (mm_json_line_field ("{\"a\": 1}", 8, NULL, 0, &r) == MM_OK && !r.problem
      && mm_json_line_field ("{\"a\": }", 7, NULL, 0, &r) == MM_OK && r.problem,
      "a line is checked without a field");
  free (r.buffer);
}

int
main (void)
{
  scratch_enter ();
  mm_log_setup ("documents", MM_LOG_QUIET);
  test_texts ();
  test_delimiters ();
  test_parts ();
  test_lines ();
  test_formats ();
  test_errors ();
  test_blocks ();
  test_progress ();
  test_scanner ();
  return tap_done ();
}

/* documents_kinds.c -- documents of JSON arrays, CSV and TSV, of nested fields, of lists of files; what is refused.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <fcntl.h>
#include <jansson.h>

#include <minimind/documents.h>
#include <minimind/log.h>

#include "../tap.h"
#include "scratch.h"

static int
says (const char *part)
{
  bool found = strstr (mm_error_message (), part) != NULL;

  if (!found)
    printf ("# says: %s\n", mm_error_message ());
  return found;
}

static void
put (const char *name, const char *text)
{
  scratch_put (name, text, strlen (text));
}

/* The documents of INPUTS, each between brackets, into OUT of 64 kB.  */
static mm_status
read_all (const char *const *inputs, size_t n, struct mm_document_options o, char *out,
          struct mm_document_counts *counts)
{
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
    mm_documents_counts (d, counts);
  mm_documents_close (d);
  return st;
}

/* Does a file NAME with the bytes of TEXT give the documents WANT?  */
static bool
gives_as (const char *name, const char *text, struct mm_document_options o, const char *want)
{
  static char got[1 << 16];
  struct mm_document_counts counts;

  put (name, text);
  if (read_all (&name, 1, o, got, &counts) < 0)
    {
      printf ("# %s\n", mm_error_message ());
      return false;
    }
  if (strcmp (got, want) != 0)
    printf ("# got %.200s\n", got);
  return strcmp (got, want) == 0;
}

static mm_status
fails_as (const char *name, const char *text, struct mm_document_options o)
{
  static char got[1 << 16];
  struct mm_document_counts counts;

  put (name, text);
  return read_all (&name, 1, o, got, &counts);
}

static const struct mm_document_options plain, json = { .format = MM_DOCUMENTS_JSON };

/* ---- values as they stand ---- */

/* The values of the file NAME with the bytes of TEXT into OUT, each with its line.  */
static mm_status
read_values (const char *name, const char *text, struct mm_document_options o, bool *values, char *out)
{
  struct mm_document_part part;
  struct mm_documents *d;
  char place[64];
  bool more = true;
  mm_status st;

  *out = '\0';
  put (name, text);
  st = mm_documents_open (&name, 1, &o, &d);
  if (st == MM_OK)
    st = mm_documents_begin (d, values);
  while (st == MM_OK && (st = mm_documents_next (d, &part, &more)) == MM_OK && more)
    {
      mm_documents_place (d, place, sizeof place);
      sprintf (out + strlen (out), "%s|%.*s|", place + strlen (name) + 2, (int) part.size, part.text);
    }
  mm_documents_close (d);
  return st;
}

static bool
wants_a (const char *value, size_t size)
{
  return memmem (value, size, "\"a\"", 3) != NULL;
}

static void
test_values (void)
{
  struct mm_document_options o = { .format = MM_DOCUMENTS_VALUES }, detect = { .detect = wants_a }, bad = o;
  static const struct { const char *name, *text, *want; } files[] = {
    { "v.jsonl", "{\"a\": 1}\n\n  [1, {]\nx\n", "line 1|{\"a\": 1}|line 3|  [1, {]|line 4|x|" },
    { "v.json", "[\n{\"a\":\n1}, \"s\",\n 3 ]", "line 2|{\"a\":\n1}|line 3|\"s\"|line 4|3|" },
    { "v.json", "{\"a\": 1}\n{\"b\"\n", "line 1|{\"a\": 1}|line 2|{\"b\"|" },
    { "v", "{\"a\":\n1}\n{\"b\": 2}", "line 1|{\"a\":\n1}|line 3|{\"b\": 2}|" },
    { "v", "[{\"a\": 1},{\"b\": 2}]", "line 1|{\"a\": 1}|line 1|{\"b\": 2}|" },
    { "v.txt", "no JSON\n", "line 1|no JSON|" }
  };
  static char got[1 << 12];
  bool values;

  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    ok (read_values (files[i].name, files[i].text, o, &values, got) == MM_OK && values
        && strcmp (got, files[i].want) == 0, files[i].text);
  ok (read_values ("v.json", "[{\"a\": 1},\n 2", o, &values, got) == MM_EFORMAT
      && says ("v.json: line 2, byte 3: the array has no end"), "an array without an end");
  ok (read_values ("v.jsonl", "1\n\377\n", o, &values, got) == MM_EFORMAT && says ("v.jsonl: line 2, byte 1"),
      "invalid UTF-8");
  bad.field = "text";
  ok (read_values ("v.json", "[]", bad, &values, got) == MM_EUSAGE, "no field");

  ok (read_values ("v.jsonl", "\n{\"a\": 1}\n2\n", detect, &values, got) == MM_OK && values
      && strcmp (got, "line 2|{\"a\": 1}|line 3|2|") == 0, "the first line asks for it");
  ok (read_values ("v.json", " [ {\"a\": 1}, 2]", detect, &values, got) == MM_OK && values
      && strcmp (got, "line 1|{\"a\": 1}|line 1|2|") == 0, "or the first of an array");
  ok (read_values ("v", "{\"a\": 1}\n", detect, &values, got) == MM_OK && values, "or of a file without a kind");
  ok (read_values ("v.jsonl", "{\"text\": \"t\"}\n{\"a\": 1}\n", detect, &values, got) == MM_EFORMAT && !values,
      "a later one does not");
  ok (read_values ("v.txt", "{\"a\": 1}\n", detect, &values, got) == MM_OK && !values, "a text is a text");
  ok (read_values ("v.jsonl", "", detect, &values, got) == MM_OK && !values && *got == '\0',
      "nothing asks for nothing");
}

/* ---- nested fields ---- */

static void
test_paths (void)
{
  struct mm_document_options o = { .field = "a.b" };

  ok (gives_as ("p.jsonl", "{\"a\": {\"x\": {\"b\": \"no\"}, \"b\": \"yes\"}, \"b\": \"no\"}\n", o, "[yes]"),
      "a field inside an object");
  ok (gives_as ("p.jsonl", "{\"c\": {\"b\": \"no\"}, \"\\u0061\": {\"b\": \"yes\", \"a\": {\"b\": \"no\"}}}\n", o,
      "[yes]"),
      "beside the same names elsewhere");
  ok (gives_as ("p.jsonl", "{\"c\": [{\"a\": {\"b\": \"no\"}}], \"d\": {\"a\": {\"b\": \"no\"}}, "
                "\"a\": {\"c\": {}, \"d\": [], \"b\": \"yes\"}}\n", o, "[yes]"), "and behind other objects");
  ok (fails_as ("p.jsonl", "{\"a\": {\"c\": \"x\"}, \"c\": {\"b\": \"x\"}}\n", o) == MM_EFORMAT
      && says ("p.jsonl: line 1, byte 1: the field is missing (field \"a.b\")"), "it is missing");
  ok (fails_as ("p.jsonl", "{\"a\": {}, \"b\": \"x\"}\n", o) == MM_EFORMAT && says ("missing"), "from nothing");
  ok (fails_as ("p.jsonl", "{\"a\": \"text\"}\n", o) == MM_EFORMAT && says ("byte 7") && says ("no object"),
      "what is around it is no object");
  ok (fails_as ("p.jsonl", "{\"a\": {\"b\": 1}}\n", o) == MM_EFORMAT && says ("byte 13") && says ("not a string"),
      "it is no string");
  ok (fails_as ("p.jsonl", "{\"a\": {\"b\": \"x\", \"b\": \"y\"}}\n", o) == MM_EFORMAT && says ("twice"),
      "it stands twice");
  ok (fails_as ("p.jsonl", "{\"a\": {\"b\": \"x\"}, \"a\": {}}\n", o) == MM_EFORMAT && says ("twice"),
      "the object stands twice");
  o.field = "a\\.b";
  ok (gives_as ("p.jsonl", "{\"a\": {\"b\": \"no\"}, \"a.b\": \"yes\"}\n", o, "[yes]"), "a name with a dot");
  o.field = "a.b.c.d";
  ok (gives_as ("p.jsonl", "{\"a\": {\"b\": {\"c\": {\"e\": {}, \"d\": \"yes\"}}}}\n", o, "[yes]"), "four names");
  o.field = "a..b";
  ok (fails_as ("p.jsonl", "{}\n", o) == MM_EUSAGE && says ("a..b"), "an empty name");
  o.field = "a\\b";
  ok (fails_as ("p.jsonl", "{}\n", o) == MM_EUSAGE && says ("backslash"), "a backslash for nothing");
  o.field = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a";
  ok (fails_as ("p.jsonl", "{}\n", o) == MM_EUSAGE && says ("too many"), "17 names");
}

/* ---- JSON arrays ---- */

static void
test_arrays (void)
{
  struct mm_document_options skip = { .errors = MM_ERRORS_SKIP }, nested = { .field = "a.b" };
  struct mm_document_counts n;
  const char *name = "a.json";
  char got[1000];

  ok (gives_as ("a.json",
      " [ {\"text\": \"one\"} ,\n{\"id\": [1, {\"text\": \"]\"}], \"text\": \"t\\\"w}o\"}\n]\n", plain,
                "[one][t\"w}o]"), "an array of objects");
  ok (gives_as ("a.json", "\xef\xbb\xbf[\"one\", \"\\u4e2d\",\"\", \"a]\\\\\"]", plain, "[one][\xe4\xb8\xad][a]\\]"),
      "an array of strings, behind a byte order mark");
  ok (gives_as ("a.json", "[]", plain, "") && gives_as ("a.json", " \n", plain, ""), "no values");
  ok (gives_as ("a.json", "[{\"a\": {\"b\": \"x\"}}]", nested, "[x]"), "a nested field");
  ok (gives_as ("a.json", "{\n \"text\": \"one\"\n}\n{\n \"text\": \"two\"\n}", plain, "[one][two]"),
      "objects on several lines, one behind the other");
  ok (gives_as ("a", "[\"x\"]", json, "[x]") && gives_as ("a", "[\"x\"]", plain, "[[\"x\"]]"),
      "without a name that tells, on request only");
  ok (fails_as ("a.json", "[{\"text\": \"one\"},\n {\"text\": 2}]", plain) == MM_EFORMAT
      && says ("a.json: line 2, byte 11: the field is not a string"), "another type, by line and byte");
  ok (fails_as ("a.json", "[{\"text\": \"one\"}\n{\"text\": \"two\"}]", plain) == MM_EFORMAT
      && says ("line 2, byte 1: want a comma"), "no comma");
  ok (fails_as ("a.json", "[{\"text\": \"one\"},]", plain) == MM_EFORMAT && says ("byte 18: want a value"),
      "a last comma");
  ok (fails_as ("a.json", "[,]", plain) == MM_EFORMAT && says ("byte 2: want a value"), "a comma alone");
  ok (fails_as ("a.json", "[{\"text\": \"one\"}", plain) == MM_EFORMAT && says ("no end"), "an array cut off");
  ok (fails_as ("a.json", "[\"x\", {\"text\": \"one\"", plain) == MM_EFORMAT
      && says ("byte 7: the value that begins"),
      "a value cut off");
  ok (fails_as ("a.json", "[\"x\"] x", plain) == MM_EFORMAT && says ("byte 7: something follows"),
      "something behind it");
  ok (fails_as ("a.json", "[1, 2]", plain) == MM_EFORMAT && says ("byte 2: want a JSON object or string"), "numbers");
  ok (fails_as ("a.json", "{\n}}", plain) == MM_EFORMAT, "a bracket too many");
  put ("a.json", "[\"a\", 7, {\"text\": true}, {\"text\": \"b\" ] , \"\xff\", tru, {\"text\": \"c\"}]");
  ok (read_all (&name, 1, skip, got, &n) == MM_OK && strcmp (got, "[a][c]") == 0 && n.skipped == 5,
      "values with errors are left out");
  ok (fails_as ("a.json", "[\"a\" \"b\"]", skip) == MM_EFORMAT, "but not where it is unknown what comes next");
}

/* Does the array of SIZE bytes at TEXT give what Jansson finds in it?  */
static bool
agrees (const char *text, size_t size)
{
  static char got[1 << 16];
  const char *name = "r.json";
  struct mm_document_counts n;
  json_t *root = json_loadb (text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL), *value;
  char want[1000] = "";
  bool good = json_is_array (root), same;
  mm_status st;
  size_t i;

  json_array_foreach (root, i, value)
    {
      json_t *field = json_is_string (value) ? value : json_object_get (value, "text");

      good = good && json_is_string (field);
      if (good && json_string_length (field) > 0)
        sprintf (want + strlen (want), "[%s]", json_string_value (field));
    }
  json_decref (root);
  scratch_put (name, text, size);
  st = read_all (&name, 1, json, got, &n);
  same = good ? st == MM_OK && strcmp (got, want) == 0 : st == MM_EFORMAT;
  /* Values that do not stand in an array are taken too; a field that stands twice is not.  */
  if (!same && !strstr (mm_error_message (), "twice") && text[strspn (text, " \n")] == '[')
    {
      printf ("# %.*s: %s, want %s\n", (int) size, text, st < 0 ? mm_error_message () : got,
        good ? want : "a failure");
      return false;
    }
  return true;
}

static void
test_random_arrays (void)
{
  static const char *const parts[] = { "[", "]", ",", "{", "}", "\"text\"", ":", "\"a\"", "\"\\n\"", " ", "1",
    "true", "\\", "\"" };
  unsigned seed = 1;
  bool good = true;

  for (int round = 0; round < 4000; round++)
    {
      char text[400] = "[{\"text\":\"x\"},\"y\",{\"k\":[1,\"]\"],\"text\":\"z\"}]";
      size_t size = strlen (text);

      for (int k = 0; k < round % 3; k++)
        {
          size_t at = ((seed = seed * 1103515245 + 12345) >> 8) % size;
          const char *part = parts[(seed >> 4) % (sizeof parts / sizeof *parts)];
          size_t n = strlen (part), gone = (seed >> 12) % 3;

          gone = gone > size - at ? size - at : gone;
          memmove (text + at + n, text + at + gone, size - at - gone + 1);
          memcpy (text + at, part, n);
          size = strlen (text);
        }
      good &= agrees (text, size);
    }
  ok (good, "arrays are read as Jansson reads them, damaged ones too");
}

/* ---- rows ---- */

static void
test_rows (void)
{
  struct mm_document_options two = { .field = "2" }, bare = { .format = MM_DOCUMENTS_CSV, .field = "2",
    .no_header = true },
    skip = { .errors = MM_ERRORS_SKIP }, body = { .field = "bo,\"dy" }, tsv = { .format = MM_DOCUMENTS_TSV },
    replace = { .errors = MM_ERRORS_REPLACE };
  struct mm_document_counts n;
  const char *name = "r.csv";
  char got[1000];

  ok (gives_as ("r.csv", "id,text,x\n1,one,a\n2,two words,b\n", plain, "[one][two words]"), "a column by its name");
  ok (gives_as ("r.csv", "\xef\xbb\xbftext,x\r\n\"o\"\"n,\r\ne\",a\r\n\r\n\"\",b\r\ntwo\r,c", plain,
      "[o\"n,\r\ne][two\r]"),
      "quotes, line ends within them, CRLF, a byte order mark, no last line end");
  ok (gives_as ("r.csv", "id,\"bo,\"\"dy\"\n1,x\n", body, "[x]"), "a quoted name");
  ok (gives_as ("r.csv", "id,body\n1,x\n2,\"y\"\n3,", two, "[x][y]"), "a column by its number; an empty last field");
  ok (gives_as ("r.csv", "1,x\n2,y\n", bare, "[x][y]"), "no header");
  ok (gives_as ("r.csv", "text\n5\" disk\n", plain, "[5\" disk]"), "a quote inside a field");
  ok (gives_as ("r.csv", "text\n\n\"a\"\n", plain, "[a]"), "a blank line");
  ok (gives_as ("r.tsv", "id\ttext\n1\ta, b\n2\t\"c\td\"\n", plain, "[a, b][c\td]"), "tabs");
  ok (gives_as ("r", "text\tx\na\tb\n", tsv, "[a]"), "on request");
  ok (gives_as ("r.csv", "", plain, "") && gives_as ("r.csv", "text\n", plain, ""), "no rows");
  ok (fails_as ("r.csv", "id,body\n1,x\n", plain) == MM_EFORMAT
      && says ("r.csv: line 1, byte 1: no column is called \"text\"; the header is id,body"), "no such column");
  two.field = "3";
  ok (fails_as ("r.csv", "id,body\n1,x\n", two) == MM_EFORMAT && says ("has 2 columns, want column 3"),
      "no such number");
  ok (fails_as ("r.csv", "text,text\n1,x\n", plain) == MM_EFORMAT && says ("two columns"), "two of the name");
  ok (fails_as ("r.csv", "text,x\na,b\n\nc\n", plain) == MM_EFORMAT
      && says ("line 4, byte 1: the row has 1 columns, want 2"),
      "a short row");
  ok (fails_as ("r.csv", "text,x\n\"a\nb\" c,d\n", plain) == MM_EFORMAT && says ("line 3, byte 3: something follows"),
      "text behind a quote");
  ok (fails_as ("r.csv", "text\n\"a\nb", plain) == MM_EFORMAT && says ("line 2, byte 1: the quote"),
      "a quote without end");
  ok (fails_as ("r.csv", "text\n\"a\nb", skip) == MM_EFORMAT, "even where errors are skipped");
  ok (fails_as ("r.csv", "text\n\xff\n", plain) == MM_EFORMAT && says ("line 2, byte 1: invalid UTF-8"),
      "invalid bytes");
  ok (gives_as ("r.csv", "text\na\xff\n", replace, "[a\xef\xbf\xbd]"), "replaced");
  put ("r.csv", "text,x\na,b\nc\n\"d\"e,f\n\xff,g\nh,\xff\ni,j\n");
  ok (read_all (&name, 1, skip, got, &n) == MM_OK && strcmp (got, "[a][h][i]") == 0 && n.skipped == 3,
      "rows with errors are left out");
  bare.field = "text";
  ok (fails_as ("r.csv", "a\n", bare) == MM_EUSAGE && says ("number"), "no header and a name");
  bare.field = "1";
  bare.format = MM_DOCUMENTS_AUTO;
  ok (fails_as ("r.csv", "a\n", bare) == MM_EUSAGE, "no header of what may be no rows");
}

/* Rows that come in pieces: one that is longer than what is read at a time, and line ends, quotes and escapes where
   one read ends and the next begins.  */
static void
test_long_values (void)
{
  enum { SIZE = 3 << 20 };
  static const char *const names[] = { "long.csv", "long.json" };
  static const char *const ends[][2] = { { "text,x\r\n\"", "\"\r,1\r\nlast,2\r\n" }, { "[{\"text\": \"",
    "\"}, \"last\"]" } };
  char *data = malloc (SIZE + 100), *want = malloc (SIZE + 100);

  for (int k = 0; k < 2; k++)
    for (size_t shift = 0; shift < 5; shift++)
      {
        struct mm_document_part part;
        struct mm_documents *d;
        size_t n = strlen (ends[k][0]), size = 0;
        bool more, good;

        memcpy (data, ends[k][0], n);
        memset (data + n, 'x', shift);
        memset (want, 'x', size = shift);
        for (n += shift; n < SIZE; n += 5)
          {
            memcpy (data + n, k ? "a\\nb " : "a\"\"b\n", 5);
            memcpy (want + size, k ? "a\nb " : "a\"b\n", 4);
            size += 4;
          }
        strcpy (data + n, k ? ends[k][1] : "\",1\r\nlast,2\r\n");
        scratch_put (names[k], data, n + strlen (data + n));
        good = mm_documents_open (&names[k], 1, &plain, &d) == MM_OK && mm_documents_next (d, &part, &more) == MM_OK
               && part.size == size && memcmp (part.text, want, size) == 0 && part.last
               && mm_documents_next (d, &part, &more) == MM_OK && part.size == 4 && memcmp (part.text, "last", 4) == 0
               && mm_documents_next (d, &part, &more) == MM_OK && !more;
        ok (good, k ? "a long value of an array" : "a long row");
        mm_documents_close (d);
      }
  free (data);
  free (want);
}

/* ---- what is no UTF-8 text ---- */

static void
test_refusals (void)
{
  static const struct
  {
    const char *name, *bytes;
    size_t size;
    const char *says;
  } refused[] = {
    { "x.parquet", "PAR1\x15\x04\x15", 7, "x.parquet: is a Parquet file, want text: convert it with duckdb -c "
      "\"COPY (FROM 'x.parquet') TO 'x.parquet.jsonl' (FORMAT json)\"" },
    { "a b", "PAR1\x15\x04\x15", 7,
      "a b: is a Parquet file, want text: convert it with duckdb -c \"COPY (FROM 'FILE')" },
    { "x.h5", "\211HDF\r\n\032\n\0\0", 10, "HDF5" }, { "x.arrow", "ARROW1\0\0\0\0", 10, "x.arrow: is an Arrow" },
    { "x.feather", "FEA1\1\2\3", 7, "Feather" }, { "x", "\377\377\377\377\20\0\0\0", 8, "Arrow stream" },
    { "x.orc", "ORC\10\3", 5, "ORC" }, { "x.avro", "Obj\1\4\24", 6, "Avro" }, { "x.pdf", "%PDF-1.7\n", 9,
      "pdftotext x.pdf" },
    { "x.db", "SQLite format 3\0\20", 17, "SQLite" }, { "x.npy", "\223NUMPY\1\0", 8, "NumPy" },
    { "x.doc", "\320\317\021\340\241\261\032\341\0", 9, "Office" }, { "x.gguf", "GGUF\3\0\0\0", 8, "GGUF" },
    { "x.safetensors", "\20\0\0\0\0\0\0\0{\"a\":1}", 15, "safetensors" },
    { "16le.txt", "\377\376a\0b\0", 6, "16le.txt: is UTF-16, want UTF-8: convert it with iconv -f UTF-16 -t UTF-8" },
    { "16be.txt", "\376\377\0a\0b", 6, "iconv -f UTF-16 -t" }, { "32.txt", "\377\376\0\0a\0\0\0", 8, "UTF-32" },
    { "bare.txt", "t\0e\0x\0t\0", 8, "UTF-16LE" }, { "bare2.txt", "\0t\0e\0x\0t", 8, "UTF-16BE" },
  };
  static const char *const texts[] = { "PAR1 is a part", "ORC\nelf", "Obj", "%PDF", "GGUF", "FEA1\n", "a\0",
    "ab\0", "SQLite" };
  struct mm_document_options skip = { .errors = MM_ERRORS_SKIP };
  struct mm_document_counts n;
  bool good = true;
  char got[1000];

  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    {
      char name[80];

      scratch_put (refused[i].name, refused[i].bytes, refused[i].size);
      snprintf (name, sizeof name, "%s is refused", refused[i].name);
      ok (read_all (&refused[i].name, 1, skip, got, &n) == MM_EUNSUP && says (refused[i].says), name);
    }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    good &= fails_as ("x", texts[i], plain) == MM_OK;
  ok (good, "texts that begin like them are texts");
  ok (fails_as ("x.txt", "caf\xe9, d\xe9j\xe0 vu, na\xefve", plain) == MM_EFORMAT
      && says ("x.txt: line 1, byte 4: invalid UTF-8, it looks like ISO-8859-1: make it UTF-8 with "
               "iconv -f ISO-8859-1 -t UTF-8"),
      "Latin-1 is named");
  ok (fails_as ("x.txt", "it\x92s \x93so\x94, isn\x92t it", plain) == MM_EFORMAT && says ("WINDOWS-1252"),
      "Windows' too");
  ok (fails_as ("x.txt", "\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7\xa3\xa1\xbd\xf1\xcc\xec\n", plain) == MM_EFORMAT
      && says ("GB18030"), "and Chinese");
  ok (fails_as ("x.txt", "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87 \xff \xe4\xb8\xad", plain) == MM_EFORMAT
      && !strstr (mm_error_message (), "iconv"), "damaged UTF-8 is not");
  ok (gives_as ("x.txt", "\xef\xbb\xbftext", plain, "[text]"), "a byte order mark is left out of texts");
  ok (gives_as ("x.txt", "\xef\xbb\xbf", plain, ""), "and is nothing alone");
}

/* ---- lists ---- */

static void
test_lists (void)
{
  struct mm_document_options o = { .files_from = "list" };
  struct mm_document_counts n;
  const char *first = "one.txt";
  int saved = dup (0), fd;
  char got[1000];

  put ("one.txt", "one");
  put ("two.txt", "two");
  put ("odd\nname", "odd");
  put ("list", "two.txt\n\none.txt");
  ok (read_all (NULL, 0, o, got, &n) == MM_OK && strcmp (got, "[two][one]") == 0, "inputs named in a file");
  ok (read_all (&first, 1, o, got, &n) == MM_OK && strcmp (got, "[one][two][one]") == 0, "behind those given");
  put ("list", "two.txt\nnowhere\n");
  ok (read_all (NULL, 0, o, got, &n) == MM_ENOENT && says ("nowhere") && !*got, "a missing one is found first");
  put ("list", "\n\n");
  ok (read_all (NULL, 0, o, got, &n) == MM_EFORMAT && says ("list: names no input"), "an empty list");
  scratch_put ("list", "two.txt\0odd\nname\0", 17);
  ok (read_all (NULL, 0, o, got, &n) == MM_EFORMAT && says ("--null"), "names that end with a NUL");
  o.null = true;
  ok (read_all (NULL, 0, o, got, &n) == MM_OK && strcmp (got, "[two][odd]") == 0, "are read when asked");
  o.null = false;
  o.files_from = "nowhere";
  ok (read_all (NULL, 0, o, got, &n) == MM_ENOENT && says ("nowhere"), "no list");
  o.files_from = NULL;
  o.null = true;
  ok (read_all (&first, 1, o, got, &n) == MM_EUSAGE && says ("--null"), "NULs without a list");
  o.null = false;
  o.files_from = "-";
  put ("list", "two.txt\n");
  fd = open ("list", O_RDONLY);
  ok (dup2 (fd, 0) == 0 && read_all (NULL, 0, o, got, &n) == MM_OK && strcmp (got, "[two]") == 0,
      "a list on standard input");
  first = "-";
  ok (read_all (&first, 1, o, got, &n) == MM_EUSAGE && says ("standard input"), "which cannot be an input too");
  close (fd);
  dup2 (saved, 0);
  close (saved);
}

int
main (void)
{
  scratch_enter ();
  mm_log_setup ("documents", MM_LOG_QUIET);
  test_values ();
  test_paths ();
  test_arrays ();
  test_random_arrays ();
  test_rows ();
  test_long_values ();
  test_refusals ();
  test_lists ();
  return tap_done ();
}

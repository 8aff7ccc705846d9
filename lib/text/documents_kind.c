/* documents_kind.c -- what a member is, by its name and its first bytes.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <minimind/log.h>
#include <minimind/tokenizer.h>

#include "documents_impl.h"

static const size_t sniff_size = 16 << 20;      /* of a first line */

/* ---- what is no text ---- */

/* Tables, models, office files: how they begin, and what makes text of them, with FILE for their
   name.  A magic of four letters or less could begin a text: then a control character must follow.  */
static const struct
{
  const char *magic;
  size_t size;
  bool control;
  const char *name, *command;
} binaries[] = {
#define MAGIC(text) text, sizeof text - 1
#define TABLE(reader) "python3 -c 'import pandas; pandas." reader "(\"FILE\").to_json(\"FILE.jsonl\", " \
  "orient=\"records\", lines=True, force_ascii=False)'"
  { MAGIC ("PAR1"), true, "a Parquet file", "duckdb -c \"COPY (FROM 'FILE') TO 'FILE.jsonl' (FORMAT json)\"" },
  { MAGIC ("\211HDF\r\n\032\n"), false, "an HDF5 file", TABLE ("read_hdf") },
  { MAGIC ("ARROW1\0\0"), false, "an Arrow or Feather file", TABLE ("read_feather") },
  { MAGIC ("FEA1"), true, "a Feather file", TABLE ("read_feather") },
  { MAGIC ("\377\377\377\377"), false, "an Arrow stream", "python3 -c 'import pyarrow.ipc; "
    "pyarrow.ipc.open_stream(\"FILE\").read_pandas().to_json(\"FILE.jsonl\", orient=\"records\", lines=True, "
    "force_ascii=False)'" },
  { MAGIC ("ORC"), true, "an ORC file", TABLE ("read_orc") },
  { MAGIC ("Obj\1"), false, "an Avro file", "duckdb -c \"INSTALL avro; LOAD avro; "
    "COPY (FROM read_avro('FILE')) TO 'FILE.jsonl' (FORMAT json)\"" },
  { MAGIC ("SQLite format 3\0"), false, "an SQLite database",
    "sqlite3 -json FILE 'SELECT text FROM documents' >FILE.json" },
  { MAGIC ("%PDF-"), false, "a PDF file", "pdftotext FILE FILE.txt" },
  { MAGIC ("\320\317\021\340\241\261\032\341"), false, "an old Microsoft Office file",
    "soffice --headless --convert-to txt:Text FILE" },
  { MAGIC ("\223NUMPY"), false, "a NumPy array", NULL },
  { MAGIC ("GGUF"), true, "a GGUF model", NULL },
#undef TABLE
#undef MAGIC
};

/* Where the member is a file, and its name means nothing to a shell, put it for FILE in COMMAND.  */
static void
name_file (const char *name, const char *command, char *out, size_t size)
{
  const char *known = strpbrk (name, "'\"\\$`!()<>|&;*?[] \t\n") || *name == '-' ? "FILE" : name;
  size_t n = 0;

  while (*command && n + 1 < size)
    {
      bool here = strncmp (command, "FILE", 4) == 0;

      n += (size_t) snprintf (out + n, size - n, "%.*s", here ? (int) strlen (known) : 1, here ? known : command);
      command += here ? 4 : 1;
    }
}

static mm_status
refuse_binary (const struct mm_documents *d, size_t i)
{
  const char *name = mm_input_name (d->in);
  char command[1024] = "";

  if (!binaries[i].command)
    return mm_fail (MM_EUNSUP, "%s: is %s, want text", name, binaries[i].name);
  name_file (name, binaries[i].command, command, sizeof command);
  return mm_fail (MM_EUNSUP, "%s: is %s, want text: convert it with %s", name, binaries[i].name, command);
}

/* A token file begins with the length of a header, then its first brace.  */
static bool
is_safetensors (const unsigned char *p, size_t size)
{
  return size > 9 && p[8] == '{' && p[3] == 0 && p[4] == 0 && p[5] == 0 && p[6] == 0 && p[7] == 0;
}

/* UTF-16 and UTF-32 by their byte order marks; UTF-16 without one by its zeros, every other byte
   of what is mostly ASCII.  A name for iconv, or NULL.  */
static const char *
wide_encoding (const unsigned char *p, size_t size)
{
  size_t even = 0, odd = 0;

  if (size >= 4 && (memcmp (p, "\377\376\0\0", 4) == 0 || memcmp (p, "\0\0\376\377", 4) == 0))
    return "UTF-32";
  if (size >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
    return "UTF-16";
  size = size < 4096 ? size & ~(size_t) 1 : 4096;
  for (size_t i = 0; i < size; i += 2)
    {
      even += p[i] == 0;
      odd += p[i + 1] == 0;
    }
  if (size < 4)
    return NULL;
  return odd > size / 4 && even <= size / 64 ? "UTF-16LE" : even > size / 4 && odd <= size / 64 ? "UTF-16BE" : NULL;
}

mm_status
documents_refuse (const struct mm_documents *d)
{
  const char *text = d->buffer + d->start, *encoding;
  size_t size = d->end - d->start;

  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (size > binaries[i].size && memcmp (text, binaries[i].magic, binaries[i].size) == 0
        && (!binaries[i].control || (unsigned char) text[binaries[i].size] < 9
            || (text[binaries[i].size] > 13 && text[binaries[i].size] < 32)))
      return refuse_binary (d, i);
  if (is_safetensors ((const unsigned char *) text, size))
    return mm_fail (MM_EUNSUP, "%s: is a safetensors file, want text; of a token file --decode makes it",
                    mm_input_name (d->in));
  encoding = wide_encoding ((const unsigned char *) text, size);
  if (encoding)
    return mm_fail (MM_EUNSUP, "%s: is %s, want UTF-8: convert it with iconv -f %s -t UTF-8", mm_input_name (d->in),
                    encoding, encoding);
  return MM_OK;
}

/* ---- one-byte and two-byte encodings ---- */

const char *
documents_guess (const char *text, size_t size)
{
  const unsigned char *p = (const unsigned char *) text;
  size_t high = 0, pairs = 0, single = 0, good = 0, i = 0;
  bool controls = false;

  if (size > 1 << 16)
    size = 1 << 16;
  while (i + 1 < size)
    {
      size_t n = (p[i] & 0xe0) == 0xc0 ? 2 : (p[i] & 0xf0) == 0xe0 ? 3 : (p[i] & 0xf8) == 0xf0 ? 4 : 1;

      if (p[i] < 0x80)
        {
          i++;
          continue;
        }
      if (n > 1 && n <= size - i && mm_utf8_check (text + i, n, NULL) == n)
        good++;
      else
        n = 1;
      high++;
      controls |= n == 1 && p[i] < 0xa0;
      if (n == 1 && p[i] > 0xa0 && p[i + 1] > 0xa0)
        {
          pairs++;
          n = 2;
        }
      else if (n == 1 && p[i + 1] < 0x80)
        single++;
      i += n;
    }
  if (high < 3 || good > high / 10)
    return NULL;
  if (pairs >= high - high / 8)
    return "GB18030";
  return single < high - high / 4 ? NULL : controls ? "WINDOWS-1252" : "ISO-8859-1";
}

/* ---- kinds ---- */

/* Does NAME, without what tells of compression and the parentheses around a member, end in one of
   TAILS, a list that NULL ends?  */
static bool
has_tail (const char *name, const char *const *tails)
{
  static const char *const compressed[] = { ".gz", ".bz2", ".xz", ".lzma", ".zst", ".lz4", ".lz", ".Z" };
  size_t size = strlen (name);

  while (size > 0 && name[size - 1] == ')')
    size--;
  for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++)
    {
      size_t n = strlen (compressed[i]);

      if (size > n && strncasecmp (name + size - n, compressed[i], n) == 0)
        {
          size -= n;
          break;
        }
    }
  for (; *tails; tails++)
    if (size > strlen (*tails)
        && strncasecmp (name + size - strlen (*tails), *tails, strlen (*tails)) == 0)
      return true;
  return false;
}

/* The first byte of the member that is not white space; 0 if the buffer has none.  */
static char
first_byte (const struct mm_documents *d)
{
  size_t at = d->start;

  while (at < d->end && memchr (" \t\r\n", d->buffer[at], 4))
    at++;
  return at < d->end ? d->buffer[at] : '\0';
}

/* Is the member's first line a JSON object?  */
static mm_status
sniff (struct mm_documents *d, bool *jsonl)
{
  size_t at = d->start, line_end;
  mm_status st;

  *jsonl = false;
  if (first_byte (d) != '{')
    return MM_OK;
  while (d->buffer[at] != '{')
    at++;
  d->scanned = at;
  st = documents_line_end (d, sniff_size, &line_end);
  if (st == MM_OK && mm_utf8_check (d->buffer + d->start, line_end - d->start, NULL)
                     == line_end - d->start)
    {
      st = mm_json_line_field (d->buffer + d->start, line_end - d->start, NULL, 0, &d->found);
      *jsonl = st == MM_OK && !d->found.problem;
    }
  d->scanned = d->start;
  return st;
}

/* The kind that the end of the name tells, or AUTO.  */
static enum mm_document_format
kind_by_name (const char *name)
{
  static const struct
  {
    enum mm_document_format kind;
    const char *tails[4];
  } known[] = {
    { MM_DOCUMENTS_TEXT, { ".txt", ".text", NULL } },
    { MM_DOCUMENTS_JSONL, { ".jsonl", ".ndjson", NULL } },
    { MM_DOCUMENTS_JSON, { ".json", NULL } },
    { MM_DOCUMENTS_CSV, { ".csv", NULL } },
    { MM_DOCUMENTS_TSV, { ".tsv", ".tab", NULL } },
  };

  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (has_tail (name, known[i].tails))
      return known[i].kind;
  return MM_DOCUMENTS_AUTO;
}

/* Where the first value begins, relative to START: in the array, if the member is one.  */
static size_t
first_value (const struct mm_documents *d)
{
  size_t at = d->start;
  bool array = d->kind == MM_DOCUMENTS_JSON;

  for (; at < d->end && memchr (array ? " \t\r\n[" : " \t\r\n", d->buffer[at], array ? 5 : 4); at++)
    array &= d->buffer[at] != '[';
  return at - d->start;
}

/* Ask the options' detect what the member's first value, if it has one, says of all.  */
static mm_status
detect (struct mm_documents *d)
{
  bool is_json = d->kind == MM_DOCUMENTS_JSONL || d->kind == MM_DOCUMENTS_JSON;
  size_t at = first_value (d);
  struct mm_json_extent e = { .at = 0 };

  d->detected = !is_json || at < d->end - d->start;
  if (!is_json)
    return MM_OK;
  while (!mm_json_extent_find (&e, d->buffer + d->start + at, d->end - d->start - at))
    {
      mm_status st;

      if (d->at_end || d->end - d->start > sniff_size)
        return MM_OK;
      st = documents_read (d);
      if (st < 0)
        return st;
    }
  if (d->o.detect (d->buffer + d->start + at, e.at))
    d->o.format = MM_DOCUMENTS_VALUES;
  return MM_OK;
}

/* The kind of a member whose format is not told.  */
static mm_status
guess_kind (struct mm_documents *d)
{
  enum mm_document_format otherwise = d->o.format == MM_DOCUMENTS_VALUES ? MM_DOCUMENTS_JSONL : MM_DOCUMENTS_TEXT;
  const char *name = mm_input_name (d->in);
  bool jsonl;
  mm_status st;

  d->kind = d->o.delimiter ? MM_DOCUMENTS_TEXT : kind_by_name (name);
  if (d->o.format == MM_DOCUMENTS_VALUES && d->kind != MM_DOCUMENTS_JSONL)
    d->kind = d->kind == MM_DOCUMENTS_JSON || first_byte (d) == '[' || first_byte (d) == '{'
              ? MM_DOCUMENTS_JSON : MM_DOCUMENTS_AUTO;
  if (d->kind != MM_DOCUMENTS_AUTO && d->kind != MM_DOCUMENTS_JSON)
    return MM_OK;
  st = sniff (d, &jsonl);
  if (st < 0)
    return st;
  if (jsonl)
    d->kind = MM_DOCUMENTS_JSONL;
  else if (d->kind == MM_DOCUMENTS_AUTO)
    d->kind = otherwise;
  if (jsonl && !d->quiet)
    mm_verbose ("%s: taken for JSON Lines", name);
  return MM_OK;
}

mm_status
documents_choose_kind (struct mm_documents *d)
{
  mm_status st;

  d->kind = d->o.format;
  if (d->o.format != MM_DOCUMENTS_AUTO && d->o.format != MM_DOCUMENTS_VALUES)
    return MM_OK;
  st = guess_kind (d);
  return st == MM_OK && d->o.format == MM_DOCUMENTS_AUTO && d->o.detect && !d->detected ? detect (d) : st;
}

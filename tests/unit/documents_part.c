/* documents_part.c -- parts of inputs, in order, are the whole, whatever the inputs are and wherever they are cut.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <zlib.h>

#include <minimind/documents.h>
#include <minimind/log.h>

#include "../tap.h"
#include "scratch.h"

enum { ROOM = 1 << 21 };

struct result
{
  char *text;                   /* documents, each between bytes 1 and 2 */
  size_t size;
  struct mm_document_counts counts;
};

/* Append what the inputs give.  */
static mm_status
read_inputs (const char *const *inputs, size_t n, struct mm_document_options o, struct result *r)
{
  struct mm_document_counts counts;
  struct mm_document_part part;
  struct mm_documents *d;
  bool more = true;
  mm_status st = mm_documents_open (inputs, n, &o, &d);

  while (st == MM_OK && (st = mm_documents_next (d, &part, &more)) == MM_OK && more)
    {
      if (part.first)
        r->text[r->size++] = 1;
      memcpy (r->text + r->size, part.text, part.size);
      r->size += part.size;
      if (part.last)
        r->text[r->size++] = 2;
    }
  if (st < 0)
    {
      mm_documents_close (d);
      return st;
    }
  mm_documents_counts (d, &counts);
  r->counts.documents += counts.documents;
  r->counts.bytes += counts.bytes;
  r->counts.skipped += counts.skipped;
  r->counts.replaced += counts.replaced;
  mm_documents_close (d);
  return MM_OK;
}

/* Are PARTS parts, read one by one, the whole?  */
static bool
joins (const char *const *inputs, size_t n, struct mm_document_options o, unsigned parts)
{
  struct result whole = { .text = malloc (ROOM) }, joined = { .text = malloc (ROOM) };
  mm_status st = read_inputs (inputs, n, o, &whole);
  bool good;

  o.parts = parts;
  for (o.part = 1; st == MM_OK && o.part <= parts; o.part++)
    st = read_inputs (inputs, n, o, &joined);
  good = st == MM_OK && whole.size == joined.size && memcmp (whole.text, joined.text, whole.size) == 0
         && whole.counts.documents == joined.counts.documents && whole.counts.bytes == joined.counts.bytes
         && whole.counts.skipped == joined.counts.skipped && whole.counts.replaced == joined.counts.replaced;
  if (!good)
    printf ("# %u parts: %s; %zu bytes, want %zu\n", parts, st < 0 ? mm_error_message () : "", joined.size, whole.size);
  free (whole.text);
  free (joined.text);
  return good;
}

static bool
joins_all (const char *const *inputs, size_t n, struct mm_document_options o)
{
  bool good = true;

  for (unsigned parts = 1; parts <= 17; parts++)
    good &= joins (inputs, n, o, parts);
  return good && joins (inputs, n, o, 1000);
}

static unsigned
draw (unsigned n)
{
  static unsigned seed = 1;

  seed = seed * 1103515245 + 12345;
  return (seed >> 12) % n;
}

/* Make a file of SIZE bytes, drawn from LETTERS.  */
static void
put_random (const char *name, const char *letters, size_t size)
{
  char *data = malloc (size);

  for (size_t i = 0; i < size; i++)
    data[i] = letters[draw ((unsigned) strlen (letters))];
  scratch_put (name, data, size);
  free (data);
}

static void
test_texts (void)
{
  static const char *const delimiters[] = { "\n", "\n\n", "aba", "aaaa", "ab" };
  static const char *const letters[] = { "ab\n", "a", "\n\n\nab", "aab", "x\n" };
  static const size_t sizes[] = { 1, 7, 100, 3000, 200000 };
  const char *name = "x.txt";
  bool good = true;

  for (size_t i = 0; i < 5; i++)
    for (size_t k = 0; k < 5; k++)
      for (size_t j = 0; j < 5; j++)
        {
          struct mm_document_options o = { .delimiter = delimiters[i], .delimiter_size = strlen (delimiters[i]) };

          put_random (name, letters[k], sizes[j]);
          good &= joins (&name, 1, o, 2 + draw (7)) && joins (&name, 1, o, 1 + draw (50));
        }
  ok (good, "texts with delimiters, such as overlap too");
}

static void
make_lines (const char *name, size_t n, bool damaged)
{
  char *data = malloc (200 * n + 100), *p = data;

  for (size_t i = 0; i < n; i++)
    {
      if (damaged && i % 7 == 3)
        p += sprintf (p, "{\"text\": %zu}\n", i);
      else
        p += sprintf (p, "{\"text\": \"%zu %0*d\"}\n", i, (int) draw (100) + 1, 0);
      if (draw (10) == 0)
        *p++ = '\n';
    }
  scratch_put (name, data, (size_t) (p - data));
  free (data);
}

static void
make_others (void)
{
  gzFile f = gzopen ("z.jsonl.gz", "wb");
  char rows[4000] = "text,n\n", values[4000] = "[";

  for (int i = 0; i < 60; i++)
    {
      gzprintf (f, "{\"text\": \"packed %d\"}\n", i);
      sprintf (rows + strlen (rows), "\"row\n%d\",%d\n", i, i);
      sprintf (values + strlen (values), "%s\"value %d\"", i ? ",\n" : "", i);
    }
  gzclose (f);
  strcat (values, "]\n");
  scratch_put ("r.csv", rows, strlen (rows));
  scratch_put ("v.json", values, strlen (values));
  scratch_put ("one.txt", "a text that is one document\n", 28);
  scratch_put ("bom.jsonl", "\xef\xbb\xbf{\"text\": \"a\"}\n{\"text\": \"b\"}\n", 31);
  scratch_put ("empty.txt", "", 0);
}

static void
test_inputs (void)
{
  static const char *const all[] = {
    "one.txt", "l.jsonl", "z.jsonl.gz", "empty.txt", "r.csv", "one.txt", "v.json", "bom.jsonl", "z.jsonl.gz"
  };
  static const char *const damaged = "d.jsonl", *const values[] = { "l.jsonl", "z.jsonl.gz", "v.json", "d.jsonl" };
  struct mm_document_options plain = { .format = MM_DOCUMENTS_AUTO }, skip = { .errors = MM_ERRORS_SKIP },
    whole = { .format = MM_DOCUMENTS_VALUES };

  make_lines ("l.jsonl", 400, false);
  make_lines (damaged, 300, true);
  make_others ();
  ok (joins_all (all + 1, 1, plain), "JSON Lines");
  ok (joins_all (all + 2, 1, plain), "compressed ones");
  ok (joins_all (all + 4, 1, plain), "rows");
  ok (joins_all (all + 6, 1, plain), "an array");
  ok (joins_all (all + 7, 1, plain), "a byte order mark");
  ok (joins_all (all, 1, plain), "a text, in one of the parts");
  ok (joins_all (all, sizeof all / sizeof *all, plain), "all of them, one behind the other");
  ok (joins (&damaged, 1, skip, 5), "lines with errors are left out once");
  ok (joins_all (values, sizeof values / sizeof *values, whole), "values as they stand");
}

static void
test_messages (void)
{
  struct mm_document_options o = { .part = 2, .parts = 2 };
  const char *name = "m.jsonl";
  struct result r = { .text = malloc (ROOM) };
  struct mm_documents *d;
  struct mm_document_part part;
  uint64_t done, total;
  bool more = true;

  scratch_put (name, "{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"c\"}\n{\"text\":  4 }\n", 56);
  ok (read_inputs (&name, 1, o, &r) == MM_EFORMAT
      && strstr (mm_error_message (), "m.jsonl: from byte 29 on: line 2, byte 11: the field is not a string"),
      "places are told from where the part begins");
  o.part = 1;
  if (mm_documents_open (&name, 1, &o, &d) < 0)
    exit (99);
  while (mm_documents_next (d, &part, &more) == MM_OK && more)
    ;
  mm_documents_progress (d, &done, &total);
  ok (done == 28 && total == 28, "progress is the part's");
  mm_documents_close (d);
  o.part = 3;
  ok (read_inputs (&name, 1, o, &r) == MM_EUSAGE, "part 3 of 2");
  o.part = 0;
  ok (read_inputs (&name, 1, o, &r) == MM_EUSAGE, "part 0");
  o.part = 1;
  name = "-";
  ok (read_inputs (&name, 1, o, &r) == MM_EUSAGE && strstr (mm_error_message (), "standard input"), "standard input");
  free (r.text);
}

int
main (void)
{
  scratch_enter ();
  mm_log_setup ("documents", MM_LOG_QUIET);
  test_texts ();
  test_inputs ();
  test_messages ();
  return tap_done ();
}

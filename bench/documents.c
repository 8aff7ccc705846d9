/* documents.c -- benchmark: how fast documents are read, one core, nothing done with them.
   SPDX-License-Identifier: Apache-2.0

   Files of the same text in each form, made in a temporary folder and read from the page cache.  MB/s are of the
   file's bytes; the share is of what a plain text takes for the same documents.  With arguments, those files are
   read in place of them.  */

#include <config.h>

#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/documents.h>

#include "bench.h"

enum { DOCUMENTS = 24000, ROUNDS = 5 };

static uint64_t state = 1;

static unsigned
draw (unsigned n)
{
  state = state * UINT64_C (6364136223846793005) + 1442695040888963407;
  return (unsigned) (state >> 33) % n;
}

/* What a character of the text looks like in a form.  */
typedef void put_fn (FILE *f, unsigned c);

static void
put_utf8 (FILE *f, unsigned c)
{
  if (c < 0x80)
    putc ((int) c, f);
  else
    fprintf (f, "%c%c%c", (int) (0xe0 | c >> 12), (int) (0x80 | (c >> 6 & 0x3f)), (int) (0x80 | (c & 0x3f)));
}

static void
put_json (FILE *f, unsigned c)
{
  if (c == '\n')
    fputs ("\\n", f);
  else if (c == '"')
    fputs ("\\\"", f);
  else
    put_utf8 (f, c);
}

static void
put_ascii (FILE *f, unsigned c)
{
  if (c < 0x80)
    put_json (f, c);
  else
    fprintf (f, "\\u%04x", c);
}

static void
put_csv (FILE *f, unsigned c)
{
  put_utf8 (f, c);
  if (c == '"')
    putc ('"', f);
}

/* A document of some 3 kB: sentences, lines, now and then a quotation.  The same for every form.  */
static void
put_document (FILE *f, put_fn *put, unsigned number, unsigned chinese)
{
  state = number;
  for (unsigned word = 0; word < 600; word++)
    {
      unsigned length = chinese ? 2 : 2 + draw (7), quoted = draw (40) == 0;

      if (quoted)
        put (f, '"');
      for (unsigned i = 0; i < length; i++)
        put (f, chinese ? 0x4e00 + draw (5000) : 'a' + draw (26));
      if (quoted)
        put (f, '"');
      put (f, draw (12) ? ' ' : draw (3) ? '.' : '\n');
    }
}

static const struct form
{
  const char *name, *title, *start, *before, *after, *end;
  put_fn *put;
  unsigned chinese;
} forms[] = {
  { "english.txt", "text", "", "", "\f", "", put_utf8, 0 },
  { "english.jsonl", "JSON Lines", "", "{\"id\": 17, \"text\": \"", "\", \"source\": {\"site\": \"example\", "
    "\"score\": 0.5}}\n", "", put_json, 0 },
  { "english.json", "JSON array", "[\n", "{\"id\": 17, \"text\": \"", "\"},\n", "{\"text\": \"end\"}]\n", put_json, 0 },
  { "english.csv", "CSV", "id,text,source\n", "17,\"", "\",example\n", "", put_csv, 0 },
  { "chinese.txt", "text, Chinese", "", "", "\f", "", put_utf8, 1 },
  { "chinese.jsonl", "JSON Lines, Chinese", "", "{\"text\": \"", "\"}\n", "", put_json, 1 },
  { "ascii.jsonl", "JSON Lines, Chinese as \\u", "", "{\"text\": \"", "\"}\n", "", put_ascii, 1 },
};

static void
make_file (const struct form *form)
{
  FILE *f = fopen (form->name, "w");

  if (!f)
    {
      perror (form->name);
      exit (1);
    }
  fputs (form->start, f);
  for (unsigned i = 0; i < DOCUMENTS; i++)
    {
      fputs (form->before, f);
      put_document (f, form->put, i, form->chinese);
      fputs (form->after, f);
    }
  fputs (form->end, f);
  if (fclose (f) != 0)
    {
      perror (form->name);
      exit (1);
    }
}

/* Read the file NAME once: seconds; *COUNTS of its documents.  */
static double
read_once (const char *name, struct mm_document_counts *counts)
{
  struct mm_document_options o = { .delimiter = "\f", .delimiter_size = 1 };
  size_t size = strlen (name);
  double start = bench_clock (CLOCK_PROCESS_CPUTIME_ID);
  struct mm_document_part part;
  struct mm_documents *d;
  bool more = true;

  if (size < 4 || strcmp (name + size - 4, ".txt") != 0)
    o.delimiter = NULL;
  bench_want (mm_documents_open (&name, 1, &o, &d));
  while (bench_want (mm_documents_next (d, &part, &more)), more)
    ;
  mm_documents_counts (d, counts);
  mm_documents_close (d);
  return bench_clock (CLOCK_PROCESS_CPUTIME_ID) - start;
}

/* Time the file NAME; MB/s of its bytes.  */
static double
time_file (const char *title, const char *name, double text_seconds)
{
  struct mm_document_counts counts;
  struct stat info;
  double seconds[ROUNDS], median;

  if (stat (name, &info) < 0)
    {
      perror (name);
      exit (1);
    }
  for (int i = 0; i < ROUNDS; i++)
    seconds[i] = read_once (name, &counts);
  median = bench_median (seconds, ROUNDS);
  printf ("%-28s %8.1f %12" PRIu64 " %10.0f", title, 1e-6 * (double) info.st_size, counts.documents,
          1e-6 * (double) info.st_size / median);
  if (text_seconds > 0)
    printf (" %9.0f%%", 100 * text_seconds / median);
  putchar ('\n');
  fflush (stdout);
  return median;
}

int
main (int argc, char **argv)
{
  char folder[] = "/tmp/minimind-bench.XXXXXX", processor[256];
  double text = 0;

  bench_processor (processor, sizeof processor);
  printf ("# reading documents, one thread of %s, median of %d, seconds of CPU\n", processor, ROUNDS);
  printf ("%-28s %8s %12s %10s %10s\n", "form", "MB", "documents", "MB/s", "as text");
  for (int i = 1; i < argc; i++)
    time_file (argv[i], argv[i], 0);
  if (argc > 1)
    return 0;
  if (!mkdtemp (folder) || chdir (folder) < 0)
    {
      perror (folder);
      return 1;
    }
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    {
      double seconds;

      make_file (forms + i);
      seconds = time_file (forms[i].title, forms[i].name, text);
      if (forms[i].put == put_utf8)
        text = seconds;
      unlink (forms[i].name);
    }
  return chdir ("/") < 0 || rmdir (folder) < 0;
}

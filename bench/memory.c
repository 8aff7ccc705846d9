/* memory.c -- benchmark: the memory that minimind-tokenize needs for inputs of any size, and the time it takes for the
   worst of them.
   SPDX-License-Identifier: Apache-2.0

   Inputs are made on the fly and come through a pipe, ids go to /dev/null.  Sizes are in MB, the arguments; without
   any 10, 100 and 1000.  The tokenizer is trained on the sample corpus.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { BLOCK = 1 << 20, WORDS = 4096 };

static char folder[] = "/tmp/minimind-bench.XXXXXX";
static uint64_t state;

static unsigned
draw (unsigned n)
{
  state = state * UINT64_C (6364136223846793005) + 1442695040888963407;
  return (unsigned) ((state >> 33) % n);
}

/* Kinds of input.  A document of the first four is a line of some 3 kB; the others are one, worst cases.  */
static const struct kind
{
  const char *name, *format, *start, *before, *after, *end;
  enum { LINES, LETTER, HAN, SPACES } text;
} kinds[] = {
  { "text", "--delimiter=\\n", "", "", "\n", "", LINES },
  { "JSON Lines", "--format=jsonl", "", "{\"text\": \"", "\"}\n", "", LINES },
  { "JSON array", "--format=json", "[", "{\"text\": \"", "\"},\n", "\"\"]", LINES },
  { "CSV", "--format=csv", "text\n", "\"", "\"\n", "", LINES },
  { "one letter", "--format=text", "", "", "", "", LETTER },
  { "random Han", "--format=text", "", "", "", "", HAN },
  { "spaces", "--format=text", "", "", "", "", SPACES },
  { "one letter, a JSON line", "--format=jsonl", "{\"text\": \"", "", "", "\"}", LETTER },
  { "random Han, a JSON line", "--format=jsonl", "{\"text\": \"", "", "", "\"}", HAN },
  { "spaces, a JSON array", "--format=json", "[\"", "", "", "\"]", SPACES },
  { "quotes, a CSV row", "--format=csv", "text\n\"", "", "", "\"\n", SPACES },
};

enum { N_LINES = 4 };

static void
send (int fd, const char *data, size_t size)
{
  while (size > 0)
    {
      ssize_t n = write (fd, data, size);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        _exit (1);
      data += n;
      size -= (size_t) n;
    }
}

/* Fill BLOCK bytes with words, with what ends a document and begins the next one about each 3 kB.  */
static size_t
fill_lines (char *out, const struct kind *kind, char words[WORDS][12])
{
  size_t n = 0, line = 0;

  while (n < BLOCK - 100)
    {
      const char *word = words[draw (WORDS)];
      size_t size = strlen (word);

      memcpy (out + n, word, size);
      n += size;
      out[n++] = ' ';
      line += size + 1;
      if (line > 3000)
        {
          n += (size_t) sprintf (out + n, "%s%s", kind->after, kind->before);
          line = 0;
        }
    }
  return n;
}

static size_t
fill_han (char *out)
{
  size_t n = 0;

  for (; n + 3 <= BLOCK; n += 3)
    {
      unsigned c = 0x4e00 + draw (20900);

      out[n] = (char) (0xe0 | c >> 12);
      out[n + 1] = (char) (0x80 | (c >> 6 & 0x3f));
      out[n + 2] = (char) (0x80 | (c & 0x3f));
    }
  return n;
}

/* Write SIZE bytes and a few of KIND to FD.  */
static void
generate (int fd, const struct kind *kind, uint64_t size)
{
  static char block[BLOCK], words[WORDS][12];
  size_t n = BLOCK;

  for (unsigned i = 0; i < WORDS; i++)
    for (unsigned k = 0, length = 2 + draw (9); k < length; k++)
      words[i][k] = (char) ('a' + draw (26));
  memset (block, kind->text == SPACES ? ' ' : 'a', BLOCK);
  send (fd, kind->start, strlen (kind->start));
  send (fd, kind->before, strlen (kind->before));
  for (uint64_t sent = 0; sent < size; sent += n)
    {
      if (kind->text == LINES)
        n = fill_lines (block, kind, words);
      else if (kind->text == HAN)
        n = fill_han (block);
      if (n > size - sent && kind->text != LINES)
        n = (size_t) (size - sent) / 3 * 3 + 3;
      send (fd, block, n > BLOCK ? BLOCK : n);
    }
  send (fd, kind->after, strlen (kind->after));
  send (fd, kind->end, strlen (kind->end));
}

/* Run the tool on SIZE bytes of KIND: its seconds and its peak of memory in MB.  */
static void
measure (const struct kind *kind, uint64_t size, double *seconds, double *megabytes)
{
  char tokenizer[64];
  struct rusage usage;
  double start = bench_clock (CLOCK_MONOTONIC);
  int ends[2], status = 1;
  pid_t maker, tool;

  snprintf (tokenizer, sizeof tokenizer, "--tokenizer=%s", folder);
  if (pipe2 (ends, O_CLOEXEC) < 0)
    exit (1);
  maker = fork ();
  if (maker == 0)
    {
      close (ends[0]);
      generate (ends[1], kind, size);
      _exit (0);
    }
  close (ends[1]);
  tool = fork ();
  if (tool == 0)
    {
      dup2 (ends[0], 0);
      execl ("./minimind-tokenize", "minimind-tokenize", "-q", tokenizer, kind->format, "--output-format=raw", "-",
             "-o", "/dev/null", (char *) NULL);
      _exit (127);
    }
  close (ends[0]);
  if (maker < 0 || tool < 0 || wait4 (tool, &status, 0, &usage) != tool || status != 0)
    {
      fprintf (stderr, "bench: minimind-tokenize failed on %s\n", kind->name);
      exit (1);
    }
  waitpid (maker, NULL, 0);
  *seconds = bench_clock (CLOCK_MONOTONIC) - start;
  *megabytes = (double) usage.ru_maxrss * 1024e-6;
}

/* Peaks of memory of KINDS [FROM, TO) for each size.  */
static void
table (const char *title, size_t from, size_t to, size_t n_sizes, const uint64_t *sizes)
{
  printf ("\n%-26s", title);
  for (size_t i = 0; i < n_sizes; i++)
    printf ("%9llu MB        ", (unsigned long long) sizes[i]);
  putchar ('\n');
  for (size_t k = from; k < to; k++)
    {
      printf ("%-26s", kinds[k].name);
      for (size_t i = 0; i < n_sizes; i++)
        {
          double seconds, megabytes;

          state = 1;
          measure (kinds + k, sizes[i] * 1000000, &seconds, &megabytes);
          printf ("%8.1f s %7.0f MB", seconds, megabytes);
          fflush (stdout);
        }
      putchar ('\n');
    }
}

int
main (int argc, char **argv)
{
  uint64_t sizes[8] = { 10, 100, 1000 };
  static const uint64_t worst[] = { 25, 50, 100 };
  size_t n = 3;
  char processor[256], command[512];

  if (argc > 1)
    for (n = 0; n < 8 && (int) n + 1 < argc; n++)
      sizes[n] = strtoull (argv[n + 1], NULL, 10);
  bench_processor (processor, sizeof processor);
  if (!mkdtemp (folder))
    return 1;
  snprintf (command, sizeof command, "awk -f %s/examples/tales.awk "
            "| ./minimind-train-tokenizer -q --vocab-size=2000 - -o %s",
            getenv ("srcdir") ? getenv ("srcdir") : ".", folder);
  if (system (command) != 0)
    return 1;
  printf ("# minimind-tokenize on all threads of %s; seconds and peak of resident memory\n", processor);
  table ("through a pipe", 0, N_LINES, n, sizes);
  table ("one document, worst cases", N_LINES, sizeof kinds / sizeof *kinds, sizeof worst / sizeof *worst, worst);
  snprintf (command, sizeof command, "rm -r %s", folder);
  return system (command) != 0;
}

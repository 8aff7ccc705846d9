/* vocab_text.c -- any amount of text whose distinct words never end, for vocab_memory.sh.
   SPDX-License-Identifier: Apache-2.0

   vocab_text words|han MB: on standard output.  Words are as frequent as their number is low (Zipf), spelt by their
   number in syllables; one in twenty is of a thousand million, so that distinct words grow with the text.
   han: runs of one to twelve characters of a few thousand, low ones more frequent: nearly all runs are distinct.  */

#include <config.h>

#include <stdint.h>

#include "bench.h"

static uint64_t state = 1;

static double
draw (void)
{
  state = state * UINT64_C (6364136223846793005) + 1442695040888963407;
  return (double) (state >> 11) * 0x1p-53;
}

/* A number from 0 on, each about half as frequent as the one of half its size: 2 to a random power.  */
static uint64_t
rank (double bits)
{
  double x = draw () * bits;
  int whole = (int) x;

  return (uint64_t) ((double) (UINT64_C (1) << whole) * (1 + (x - whole))) - 1;
}

static size_t
put_word (char *p)
{
  static const char *const syllables[] = { "the", "in", "er", "an", "re", "on", "at", "ti", "es", "or", "al", "is",
                                           "ing", "ed", "st", "ar", "nd", "to", "nt", "it", "ou", "le", "en", "ve",
                                           "ro", "ri", "co", "de", "li", "ma", "ne", "pro" };
  size_t n = 0;

  p[n++] = ' ';
  for (uint64_t r = rank (draw () < 0.95 ? 16 : 30) + 1; r; r >>= 5)
    n += (size_t) sprintf (p + n, "%s", syllables[r & 31]);
  if (draw () < 0.1)
    n += (size_t) sprintf (p + n, "%s", draw () < 0.6 ? "," : ".\n");
  return n;
}

static size_t
put_run (char *p)
{
  size_t n = 0;

  for (int left = 1 + (int) (draw () * 12); left > 0; left--)
    {
      unsigned c = 0x4e00 + (unsigned) rank (11.5) * 7;

      p[n++] = (char) (0xe0 | c >> 12);
      p[n++] = (char) (0x80 | (c >> 6 & 0x3f));
      p[n++] = (char) (0x80 | (c & 0x3f));
    }
  return n + (size_t) sprintf (p + n, "%s", draw () < 0.7 ? "，" : "。\n");
}

int
main (int argc, char **argv)
{
  static char block[1 << 16];
  int han = argc > 1 && strcmp (argv[1], "han") == 0;
  double left = argc > 2 ? atof (argv[2]) * 1e6 : 0;

  if (left <= 0)
    {
      fprintf (stderr, "usage: vocab_text words|han MB\n");
      return 64;
    }
  while (left > 0)
    {
      size_t n = 0;

      while (n < sizeof block - 256)
        n += han ? put_run (block + n) : put_word (block + n);
      if (fwrite (block, 1, n, stdout) != n)
        return 1;
      left -= (double) n;
    }
  return fflush (stdout) != 0;
}

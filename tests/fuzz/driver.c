/* driver.c -- runs a fuzzing target without libFuzzer: examples as they are, then changed at random.
   SPDX-License-Identifier: Apache-2.0

     TARGET RUNS EXAMPLE...

   The same inputs on every machine, whatever compiler; no coverage guides them, for which `make fuzz' is.  The input
   under way stands in the file "input", should the target not survive it.  */

#include <config.h>

#include <fcntl.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/random.h>

#include "../../fuzz/fuzz.h"

enum { MOST = 1 << 16, EXAMPLES = 64 };         /* bytes; examples */

struct input
{
  char *data;
  size_t size;
};

/* What parsers look for.  */
static const char *const words[] = {
  "{", "}", "[", "]", "\"", ",", ":", "\\", "\n", "null", "true", "-1", "0", "1e999", "18446744073709551616", "0.5",
  "\\u0000", "\\ud800", "\xff", "\xc3\xa9", "e\xcc\x81", "<|im_end|>", "<think>", "</think>", "\"role\"", "\"tool\"",
  "\"messages\"", "\"content\"", "\"data_offsets\"", "\"F32\"", "64", "4294967295"
};

static uint64_t turn;           /* random numbers taken */

static uint32_t
below (size_t n)
{
  uint32_t w[4];

  mm_philox (1, MM_RANDOM_TEST, 0, turn++, w);
  return (uint32_t) (((uint64_t) w[0] * n) >> 32);
}

/* Replace COUNT bytes at AT by the SIZE bytes at NEW.  */
static void
exchange (struct input *in, size_t at, size_t count, const char *new, size_t size)
{
  if (in->size - count + size > MOST)
    return;
  memmove (in->data + at + size, in->data + at + count, in->size - at - count);
  memcpy (in->data + at, new, size);
  in->size = in->size - count + size;
}

static void
change (struct input *in, const struct input *other)
{
  static char copy[MOST];
  size_t at = below (in->size + 1), rest = in->size - at, count = rest > 0 ? below (rest < 64 ? rest : 64) + 1 : 0;
  size_t from = below (other->size + 1), take = below (other->size - from + 1);
  const char *word = words[below (sizeof words / sizeof *words)];

  switch (below (7))
    {
    case 0:
      if (rest > 0)
        in->data[at] ^= (char) (1 << below (8));
      break;
    case 1:
      if (rest > 0)
        in->data[at] = (char) below (256);
      break;
    case 2:
      exchange (in, at, count, "", 0);
      break;
    case 3:
      memcpy (copy, in->data + at, count);
      exchange (in, below (in->size + 1), 0, copy, count);
      break;
    case 4:
      exchange (in, at, 0, word, strlen (word));
      break;
    case 5:
      exchange (in, at, count, word, strlen (word));
      break;
    default:
      exchange (in, at, count, other->data + from, take);
    }
}

static void
try (int fd, const struct input *in)
{
  uint8_t *exact = malloc (in->size ? in->size : 1);    /* so that reads behind the end are found */

  if (!exact || ftruncate (fd, 0) < 0 || pwrite (fd, in->data, in->size, 0) != (ssize_t) in->size)
    abort ();
  memcpy (exact, in->data, in->size);
  LLVMFuzzerTestOneInput (exact, in->size);
  free (exact);
}

int
main (int argc, char **argv)
{
  static char data[2 * MOST];
  static struct input examples[EXAMPLES];
  struct input in = { data, 0 };
  long runs = argc > 2 ? strtol (argv[1], NULL, 10) : 0;
  size_t n = 0;
  int fd = open ("input", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  for (int i = 2; i < argc && n < EXAMPLES; i++, n++)
    if (mm_read_file (argv[i], MOST, &examples[n].data, &examples[n].size) < 0)
      {
        fprintf (stderr, "%s\n", mm_error_message ());
        return 1;
      }
  if (runs < 1 || fd < 0)
    return 64;
  try (fd, &in);
  for (size_t i = 0; i < n; i++)
    try (fd, &examples[i]);
  for (long run = 0; run < runs; run++)
    {
      const struct input *from = &examples[below (n)];

      memcpy (in.data, from->data, from->size);
      in.size = from->size;
      for (uint32_t k = below (5) + 1; k > 0; k--)
        change (&in, &examples[below (n)]);
      try (fd, &in);
    }
  for (size_t i = 0; i < n; i++)
    free (examples[i].data);
  return 0;
}

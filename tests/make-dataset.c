/* make-dataset.c -- a small dataset folder by a formula, for the tests of tools that read one.
   SPDX-License-Identifier: Apache-2.0

   make-dataset DIR ROWS VALIDATION SEQ_LEN [SALT [VOCAB [mask]]]: sentences of a few words, two or three documents a
   row.  SALT changes the words' order, VOCAB the tokenizer; "mask": each third word is no target.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/dataset.h>
#include <minimind/files.h>

#include "unit/tiny.h"

static const char *const words[] = { "the ", "cat ", "sat ", "on ", "a ", "mat", ". ", "and ", "ran ", "away" };

/* Row ROW: words picked by a formula until it is full.  */
static void
make_row (uint64_t row, uint64_t salt, size_t n, uint32_t *ids, uint8_t *starts, uint8_t *mask)
{
  size_t at = 0;

  memset (starts, 0, n);
  for (uint64_t k = 0; at < n; k++)
    {
      const char *word = words[(row * 7 + k * k + k * salt) % (sizeof words / sizeof *words)];

      if (k % 9 == 0)
        starts[at] = 1;
      for (; *word && at < n; at++)
        {
          ids[at] = (uint32_t) (unsigned char) *word++ + 3;
          mask[at] = k % 3 > 0;
        }
    }
}

static mm_status
add_rows (struct mm_dataset_writer *w, enum mm_split split, uint64_t first, uint64_t rows, uint64_t salt, size_t n,
          bool masked)
{
  uint32_t *ids = malloc (n * sizeof *ids);
  uint8_t *starts = malloc (2 * n);
  mm_status st = ids && starts ? MM_OK : MM_ENOMEM;

  for (uint64_t i = 0; i < rows && st == MM_OK; i++)
    {
      make_row (first + i, salt, n, ids, starts, starts + n);
      st = mm_dataset_add (w, split, ids, starts, masked ? starts + n : NULL);
    }
  free (ids);
  free (starts);
  return st;
}

static uint64_t
number (int argc, char **argv, int i, uint64_t otherwise)
{
  return argc > i ? strtoull (argv[i], NULL, 10) : otherwise;
}

int
main (int argc, char **argv)
{
  uint64_t rows = number (argc, argv, 2, 32), validation = number (argc, argv, 3, 4);
  uint64_t seq_len = number (argc, argv, 4, 32), salt = number (argc, argv, 5, 1);
  struct mm_tokenizer *t = tiny_tokenizer ((uint32_t) number (argc, argv, 6, TINY_VOCAB));
  struct mm_dataset_options o = { .seq_len = (uint32_t) seq_len, .with_mask = argc > 7 };
  struct mm_dataset_writer *w;
  struct mm_output_dir *out;
  const char *dir;
  mm_status st = mm_output_dir_open (argc > 1 ? argv[1] : "dataset", false, &out, &dir);

  if (st == MM_OK)
    st = mm_dataset_create (dir, t, &o, &w);
  if (st == MM_OK)
    st = add_rows (w, MM_TRAIN, 0, rows, salt, seq_len + 1, o.with_mask);
  if (st == MM_OK)
    st = add_rows (w, MM_VALIDATION, rows, validation, salt, seq_len + 1, o.with_mask);
  if (st == MM_OK)
    st = mm_dataset_commit (w, NULL);
  if (st == MM_OK)
    st = mm_output_dir_commit (out);
  mm_tokenizer_free (t);
  if (st < 0)
    fprintf (stderr, "make-dataset: %s\n", mm_error_message ());
  return st < 0;
}

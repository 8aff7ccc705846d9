/* Dataset folders: what is written is read, and what is damaged is refused.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include <minimind/dataset.h>
#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/safetensors.h>

#include "../tap.h"
#include "scratch.h"
#include "tiny.h"

enum { T = 7 };

static struct mm_tokenizer *tiny;

static void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
}

/* Row ROW by a formula.  */
static void
make_row (uint64_t row, uint32_t *ids, uint8_t *starts, uint8_t *mask)
{
  for (int i = 0; i <= T; i++)
    {
      ids[i] = (uint32_t) (row * 31 + (uint64_t) i * 7) % TINY_VOCAB;
      starts[i] = i == 0 || (row + (uint64_t) i) % 5 == 0;
      mask[i] = (row + (uint64_t) i) % 3 != 0;
    }
}

/* The folder "d", anew: ROWS of train, 2 of validation.  */
static mm_status
write_dataset (uint64_t rows, uint64_t shard_rows, bool with_mask, const char *report)
{
  struct mm_dataset_options o = { .seq_len = T, .shard_rows = shard_rows, .with_mask = with_mask };
  struct mm_dataset_writer *w;
  uint32_t ids[T + 1];
  uint8_t starts[T + 1], mask[T + 1];
  mm_status st;

  if (scratch_count ("d") >= 0)
    must (mm_remove_tree ("d"));
  if (mkdir ("d", 0777) < 0)
    exit (99);
  st = mm_dataset_create ("d", tiny, &o, &w);
  for (uint64_t i = 0; st >= 0 && i < rows + 2; i++)
    {
      make_row (i, ids, starts, mask);
      st = mm_dataset_add (w, i < rows ? MM_TRAIN : MM_VALIDATION, ids, starts,
                           with_mask ? mask : NULL);
      if (st < 0)
        {
          mm_dataset_abort (w);
          return st;
        }
    }
  return st < 0 ? st : mm_dataset_commit (w, report);
}

static bool
row_is_right (const struct mm_dataset *d, enum mm_split split, uint64_t row, uint64_t want,
              bool with_mask)
{
  uint32_t ids[T + 1], want_ids[T + 1];
  uint8_t starts[T + 1], mask[T + 1], want_starts[T + 1], want_mask[T + 1];

  make_row (want, want_ids, want_starts, want_mask);
  if (!with_mask)
    memset (want_mask, 1, sizeof want_mask);
  return mm_dataset_read (d, split, row, ids, starts, mask) == MM_OK
         && memcmp (ids, want_ids, sizeof ids) == 0
         && memcmp (starts, want_starts, sizeof starts) == 0
         && memcmp (mask, want_mask, sizeof mask) == 0;
}

static bool
all_rows_are_right (const struct mm_dataset *d, uint64_t rows, bool with_mask)
{
  bool right = mm_dataset_rows (d, MM_TRAIN) == rows && mm_dataset_rows (d, MM_VALIDATION) == 2;

  for (uint64_t i = 0; right && i < rows; i++)
    right = row_is_right (d, MM_TRAIN, i, i, with_mask);
  return right && row_is_right (d, MM_VALIDATION, 0, rows, with_mask)
         && row_is_right (d, MM_VALIDATION, 1, rows + 1, with_mask);
}

static void
test_round_trip (void)
{
  char a[MM_SHA256_TEXT], b[MM_SHA256_TEXT];
  uint8_t flags[2 * (T + 1)];
  uint32_t ids[T + 1];
  struct mm_dataset *d;

  must (write_dataset (10, 4, true, "{\"strategy\": \"none\"}"));
  ok (access ("d/train-00002-of-00003.safetensors", F_OK) == 0
      && access ("d/validation-00000-of-00001.safetensors", F_OK) == 0
      && scratch_count ("d") == 7, "10 rows by 4 are 3 parts");
  must (mm_sha256_file ("d/dataset.json", a));
  ok (mm_dataset_open ("d", true, &d) == MM_OK, "the folder opens and verifies");
  ok (strcmp (mm_dataset_path (d), "d") == 0 && mm_dataset_seq_len (d) == T
      && strcmp (mm_dataset_sha256 (d), a) == 0, "it has its path, row length and hash");
  ok (strcmp (mm_tokenizer_sha256 (mm_dataset_tokenizer (d)), mm_tokenizer_sha256 (tiny)) == 0
      && mm_tokenizer_pad (mm_dataset_tokenizer (d)) == 0, "its tokenizer too");
  ok (all_rows_are_right (d, 10, true), "rows come back over the ends of parts");
  ok (mm_dataset_read (d, MM_TRAIN, 10, ids, flags, flags + T + 1) == MM_EINVAL,
      "a row too far is refused");
  mm_dataset_close (d);
  mm_dataset_close (NULL);

  must (write_dataset (10, 4, true, "{\"strategy\": \"none\"}"));
  must (mm_sha256_file ("d/dataset.json", b));
  ok (strcmp (a, b) == 0, "equal rows give an equal dataset.json, which holds the parts' hashes");
  must (write_dataset (10, 4, true, NULL));
  must (mm_sha256_file ("d/dataset.json", b));
  ok (strcmp (a, b) != 0, "the report is in it");

  for (uint64_t rows = 1; rows <= 20001; rows += 20000)
    {
      must (write_dataset (rows, 0, false, NULL));
      must (mm_dataset_open ("d", true, &d));
      ok (all_rows_are_right (d, rows, false), "one part a split, without a mask");
      mm_dataset_close (d);
    }
}

static void
test_writing_errors (void)
{
  struct mm_dataset_options o = { .seq_len = 0 };
  struct mm_dataset_writer *w;
  uint32_t ids[T + 1] = { [3] = TINY_VOCAB + 1 };
  uint8_t flags[T + 1] = { 1 };

  ok (mm_dataset_create ("d", tiny, &o, &w) == MM_EINVAL && !w, "rows of nothing are refused");
  o.seq_len = MM_DATASET_MAX_SEQ_LEN + 1;
  ok (mm_dataset_create ("d", tiny, &o, &w) == MM_EINVAL, "rows too long are refused");
  o.seq_len = T;
  must (mm_dataset_create ("d", tiny, &o, &w));
  ok (mm_dataset_add (w, MM_TRAIN, ids, flags, NULL) == MM_EINVAL,
      "an id beyond the vocabulary is refused");
  mm_dataset_abort (w);
  mm_dataset_abort (NULL);
  ok (write_dataset (MM_DATASET_MAX_PARTS + 1, 1, false, NULL) == MM_EUSAGE,
      "more parts than can be held open are refused");
  ok (write_dataset (3, 0, false, "no JSON") == MM_EFORMAT, "a report that is none is refused");
  o.seq_len = T;
  must (mm_dataset_create ("nowhere", tiny, &o, &w));
  ids[3] = 0;
  ok (mm_dataset_add (w, MM_TRAIN, ids, flags, NULL) < 0, "a missing folder is an error");
  mm_dataset_abort (w);
}

/* ---- damaged folders ---- */

/* Replace FROM by TO once in file NAME.  */
static void
edit (const char *name, const char *from, const char *to)
{
  char *text, *at, *all;
  size_t size;

  must (mm_read_file (name, 1 << 24, &text, &size));
  at = strstr (text, from);
  all = malloc (size + strlen (to) + 1);
  if (!at || !all)
    exit (99);
  sprintf (all, "%.*s%s%s", (int) (at - text), text, to, at + strlen (from));
  scratch_put (name, all, strlen (all));
  free (all);
  free (text);
}

/* Set byte AT of tensor NAME in FILE.  */
static void
poke (const char *file, const char *name, long at, int byte)
{
  struct mm_safetensors *s;
  FILE *f = fopen (file, "r+b");

  must (mm_safetensors_open (file, &s));
  at += (long) mm_safetensors_find (s, name)->offset;
  if (!f || fseek (f, at, SEEK_SET) < 0 || fputc (byte, f) == EOF || fclose (f) < 0)
    exit (99);
  mm_safetensors_close (s);
}

static void
refused (bool verify, mm_status want, const char *name)
{
  struct mm_dataset *d;
  mm_status st = mm_dataset_open ("d", verify, &d);

  ok (st == want && !d, name);
  printf ("# %s\n", st < 0 ? mm_error_message () : "opened");
  mm_dataset_close (d);
  must (write_dataset (10, 4, true, NULL));
}

static void
test_description (void)
{
  edit ("d/dataset.json", "\"minimind-dataset\"", "\"a novel\"");
  refused (false, MM_EFORMAT, "another kind");
  edit ("d/dataset.json", "\"version\": 1", "\"version\": 2");
  refused (false, MM_EUNSUP, "a later version");
  edit ("d/dataset.json", "\"seq_len\": 7", "\"seq_len\": 6");
  refused (false, MM_EFORMAT, "another row length");
  edit ("d/dataset.json", "\"seq_len\": 7", "\"seq_len\": 0");
  refused (false, MM_EFORMAT, "no row length");
  edit ("d/dataset.json", "\"rows\": 10", "\"rows\": 11");
  refused (false, MM_EFORMAT, "rows that the parts don't have");
  edit ("d/dataset.json", "\"rows\": 4", "\"rows\": 5");
  refused (false, MM_EFORMAT, "rows that a part doesn't have");
  edit ("d/dataset.json", "\"rows\": 4", "\"rows\": 0");
  refused (false, MM_EFORMAT, "a part without rows");
  edit ("d/dataset.json", "\"parts\"", "\"pieces\"");
  refused (false, MM_EFORMAT, "no list of parts");
  edit ("d/dataset.json", "\"tokenizer\"", "\"tokeniser\"");
  refused (false, MM_EFORMAT, "no tokenizer");
  edit ("d/dataset.json", mm_tokenizer_sha256 (tiny), "0000");
  refused (false, MM_EFORMAT, "another tokenizer's hash");
  edit ("d/dataset.json", "}", "");
  refused (false, MM_EFORMAT, "JSON that ends early");
  remove ("d/dataset.json");
  refused (false, MM_ENOENT, "no dataset.json");
}

static void
test_files (void)
{
  edit ("d/tokenizer.json", "word259", "wort259");
  refused (false, MM_EFORMAT, "a changed tokenizer.json");
  remove ("d/tokenizer.json");
  refused (false, MM_ENOENT, "no tokenizer.json");
  edit ("d/tokenizer_config.json", "}", ", \"x\": 1}");
  refused (false, MM_EFORMAT, "a changed tokenizer_config.json");
  remove ("d/tokenizer_config.json");
  refused (false, MM_EFORMAT, "no tokenizer_config.json");

  remove ("d/train-00001-of-00003.safetensors");
  refused (false, MM_ENOENT, "a part is missing");
  if (truncate ("d/train-00001-of-00003.safetensors", 4100) < 0)
    exit (99);
  refused (false, MM_EFORMAT, "a part is truncated");
  if (rename ("d/validation-00000-of-00001.safetensors", "d/train-00002-of-00003.safetensors") < 0)
    exit (99);
  refused (false, MM_EFORMAT, "a part of the other split");
  poke ("d/train-00001-of-00003.safetensors", "input_ids", 2, 99);
  refused (true, MM_EFORMAT, "a changed part, where hashes are verified");
}

static void
test_rows (void)
{
  const char *part = "d/train-00001-of-00003.safetensors";
  uint8_t starts[T + 1], mask[T + 1];
  uint32_t ids[T + 1];
  struct mm_dataset *d;

  poke (part, "input_ids", 2 * (T + 1) + 1, 255);
  poke (part, "doc_starts", 2 * (T + 1), 0);
  poke (part, "loss_mask", 3 * (T + 1) + 2, 7);
  must (mm_dataset_open ("d", false, &d));
  ok (mm_dataset_read (d, MM_TRAIN, 4, ids, starts, mask) == MM_OK, "a sound row of the part is read");
  ok (mm_dataset_read (d, MM_TRAIN, 5, ids, starts, mask) == MM_EFORMAT,
      "an id beyond the vocabulary is refused");
  ok (strstr (mm_error_message (), "train-00001-of-00003.safetensors: row 1, position 0") != NULL,
      "by part, row and position");
  ok (mm_dataset_read (d, MM_TRAIN, 6, ids, starts, mask) == MM_EFORMAT,
      "a row that begins inside a document is refused");
  ok (mm_dataset_read (d, MM_TRAIN, 7, ids, starts, mask) == MM_EFORMAT, "a flag above 1 is refused");
  mm_dataset_close (d);
}

int
main (void)
{
  struct mm_dataset *d;

  scratch_enter ();
  tiny = tiny_tokenizer (TINY_VOCAB + 1);
  ok (mm_dataset_open ("d", false, &d) == MM_ENOENT && !d, "a missing folder");
  test_round_trip ();
  test_writing_errors ();
  must (write_dataset (10, 4, true, NULL));
  test_description ();
  test_files ();
  test_rows ();
  mm_tokenizer_free (tiny);
  return tap_done ();
}

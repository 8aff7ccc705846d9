/* Shards of other trainers: files made by NumPy are read, whatever is damaged is refused.
   SPDX-License-Identifier: Apache-2.0

   tests/interop/make-shard-goldens.py made the files and says what they hold.  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include <minimind/files.h>
#include <minimind/tokens.h>

#include "../tap.h"
#include "scratch.h"
#include "tiny.h"

enum { COUNT = 300 };

static struct mm_tokenizer *tiny;
static char shards[4096];

static uint32_t
id_at (uint32_t i)
{
  return (i * i + 7 * i + 2) % 259;
}

/* A file of the goldens; free() it.  */
static char *
golden (const char *name)
{
  char *path = mm_path_join (shards, name);

  if (!path)
    exit (99);
  return path;
}

static bool
holds_ids (struct mm_tokens *f)
{
  uint32_t ids[COUNT];
  uint16_t packed[COUNT];
  uint8_t mask[COUNT];

  if (mm_tokens_count (f) != COUNT || mm_tokens_is_ours (f) || mm_tokens_has_mask (f) || mm_tokens_width (f) != 2
      || mm_tokens_read (f, 0, COUNT, ids, mask) < 0 || mm_tokens_read_packed (f, 0, COUNT, packed, NULL) < 0)
    return false;
  for (uint32_t i = 0; i < COUNT; i++)
    if (ids[i] != id_at (i) || packed[i] != ids[i] || mask[i] != 1)
      return false;
  /* From anywhere on, by either way.  */
  for (uint32_t i = 0; i < COUNT; i++)
    if (mm_tokens_read_packed (f, i, 1, packed, NULL) < 0 || packed[0] != ids[i]
        || mm_tokens_read_shared (f, i, COUNT - i, packed) < 0 || packed[0] != ids[i]
        || packed[COUNT - i - 1] != ids[COUNT - 1])
      return false;
  return mm_tokens_read_shared (f, COUNT, 1, packed) == MM_EINVAL;
}

static void
test_goldens (void)
{
  static const char *const names[] = { "u2-v1.npy", "u4-v2.npy", "i4-v3.npy", "i8-v1.npy", "nanogpt.bin", "gpt2.bin",
                                       "llama3.bin" };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
      char *path = golden (names[i]);
      uint64_t first, length;
      struct mm_tokens *f;
      bool good = mm_tokens_open_any (path, tiny, false, &f) == MM_OK && holds_ids (f);

      ok (good, names[i]);
      ok (good && mm_tokens_documents (f) == 1 && mm_tokens_document (f, 0, &first, &length) == MM_OK && first == 0
          && length == COUNT, "is one document");
      mm_tokens_close (f);
      ok (mm_tokens_open_any (path, NULL, false, &f) == MM_EUSAGE && !f, "without a tokenizer it is refused");
      free (path);
    }
}

/* Documents are what ends with eos, and what is left.  */
static void
test_split (void)
{
  char *path = golden ("gpt2.bin");
  struct mm_tokens *f;
  uint64_t at = 0, documents = 0;
  bool good = mm_tokens_open_any (path, tiny, true, &f) == MM_OK && holds_ids (f);

  for (uint32_t i = 0; i < COUNT; i++)
    documents += id_at (i) == 2 || i == COUNT - 1;
  ok (good && documents == 4 && mm_tokens_documents (f) == documents, "as many documents as eos, and the rest");
  for (uint64_t doc = 0; good && doc < documents; doc++)
    {
      uint64_t first, length;

      good = mm_tokens_document (f, doc, &first, &length) == MM_OK && first == at && length > 0;
      at += length;
      for (uint64_t i = first; good && i < at; i++)
        good = (id_at ((uint32_t) i) == 2) == (i == at - 1) || (at == COUNT && i == at - 1);
    }
  ok (good && at == COUNT, "each ends at its eos");
  mm_tokens_close (f);
  free (path);

  scratch_put ("ends.bin", "\x05\0\x02\0\x02\0", 6);
  ok (mm_tokens_open_any ("ends.bin", tiny, true, &f) == MM_OK && mm_tokens_documents (f) == 2,
      "nothing is behind the last eos");
  mm_tokens_close (f);
  scratch_put ("none.bin", "", 0);
  for (int split = 0; split < 2; split++)
    {
      ok (mm_tokens_open_any ("none.bin", tiny, split, &f) == MM_OK && mm_tokens_documents (f) == 0
          && mm_tokens_count (f) == 0, "an empty shard has no documents");
      mm_tokens_close (f);
    }
}

/* A token file is read as ever, its tokenizer shared where it is the same.  */
static void
test_ours (void)
{
  struct mm_tokenizer *other = tiny_tokenizer (300);
  struct mm_tokens_writer *w;
  struct mm_tokens *f;
  const uint32_t ids[] = { 5, 6, 2 };

  if (mm_tokens_create ("ours", true, tiny, &w) < 0 || mm_tokens_add (w, ids, 3) < 0
      || mm_tokens_end_document (w) < 0 || mm_tokens_commit (w) < 0)
    exit (99);
  ok (mm_tokens_open_any ("ours", tiny, true, &f) == MM_OK && mm_tokens_tokenizer (f) == tiny
      && mm_tokens_is_ours (f), "a token file of the same tokenizer");
  mm_tokens_close (f);
  ok (mm_tokens_open_any ("ours", other, false, &f) == MM_OK && mm_tokens_tokenizer (f) != other
      && strcmp (mm_tokenizer_sha256 (mm_tokens_tokenizer (f)), mm_tokenizer_sha256 (tiny)) == 0,
      "and of another: its own holds");
  mm_tokens_close (f);
  mm_tokenizer_free (other);
}

/* ---- what is refused ---- */

static void
refuse (const char *path, mm_status want, const char *says)
{
  struct mm_tokens *f;
  mm_status st = mm_tokens_open_any (path, tiny, false, &f);

  printf ("# %s\n", mm_error_message ());
  ok (st == want && !f && strstr (mm_error_message (), says) && strstr (mm_error_message (), path), says);
  mm_tokens_close (f);
}

static void
refuse_golden (const char *name, const char *says)
{
  char *path = golden (name);

  refuse (path, MM_EFORMAT, says);
  free (path);
}

/* The golden NAME with SIZE bytes at OFFSET changed, cut at END unless that is 0; as the file PATH.  */
static void
damage (const char *name, const char *path, size_t offset, const void *data, size_t size, size_t end)
{
  char *from = golden (name), *bytes;
  size_t n;

  if (mm_read_file (from, 1 << 20, &bytes, &n) < 0 || offset + size > n)
    exit (99);
  memcpy (bytes + offset, data, size);
  scratch_put (path, bytes, end ? end : n);
  free (from);
  free (bytes);
}

static void
test_refusals (void)
{
  refuse_golden ("two.npy", "more than one dimension");
  refuse_golden ("fortran.npy", "Fortran's order");
  refuse_golden ("big.npy", "elements of type '>u2', want '<u2', '<u4', '<i4' or '<i8'");
  refuse_golden ("float.npy", "elements of type '<f4'");
  refuse_golden ("scalar.npy", "one dimension");
  damage ("u2-v1.npy", "x.npy", 6, "\4", 1, 0);
  refuse ("x.npy", MM_EFORMAT, "version 4.0 of NumPy's format");
  damage ("u2-v1.npy", "x.npy", 8, "\xff\xff", 2, 0);
  refuse ("x.npy", MM_EFORMAT, "header would have 65535 bytes");
  damage ("u4-v2.npy", "x.npy", 8, "\xff\xff\xff\xff", 4, 0);
  refuse ("x.npy", MM_EFORMAT, "header would have 4294967295 bytes");
  damage ("u2-v1.npy", "x.npy", 12, "dxscr", 5, 0);
  refuse ("x.npy", MM_EFORMAT, "lacks descr");
  damage ("u2-v1.npy", "x.npy", 0, "", 0, 727);
  refuse ("x.npy", MM_EFORMAT, "300 ids of 2 bytes, but the file has 727 bytes");
  damage ("u2-v1.npy", "x.npy", 0, "", 0, 9);
  refuse ("x.npy", MM_EFORMAT, "ends inside NumPy's header");
  damage ("gpt2.bin", "x.bin", 4, "\2", 1, 0);
  refuse ("x.bin", MM_EFORMAT, "magic 20240520 has version 2, want 1");
  damage ("llama3.bin", "x.bin", 4, "\1", 1, 0);
  refuse ("x.bin", MM_EFORMAT, "magic 20240801 has version 1, want 7");
  damage ("gpt2.bin", "x.bin", 8, "\xff\xff\xff\xff", 4, 0);
  refuse ("x.bin", MM_EFORMAT, "4294967295 ids of 2 bytes, but the file has 1624 bytes");
  damage ("gpt2.bin", "x.bin", 0, "", 0, 1000);
  refuse ("x.bin", MM_EFORMAT, "header has 1024 bytes, this file 1000");
  damage ("gpt2.bin", "x.bin", 0, "\x8a\xd8\x34\x01", 4, 0);
  refuse ("x.bin", MM_EFORMAT, "file of multiple choices");
  damage ("gpt2.bin", "x.bin", 0, "\xc6\xd7\x34\x01", 4, 0);
  refuse ("x.bin", MM_EFORMAT, "file of a model");
  damage ("nanogpt.bin", "x.bin", 0, "", 0, 599);
  refuse ("x.bin", MM_EFORMAT, "no whole number of 16-bit ids");
  damage ("nanogpt.bin", "x", 0, "", 0, 0);
  refuse ("x", MM_EFORMAT, "x: ");
  refuse ("missing.bin", MM_ENOENT, "missing.bin");
  refuse (".", MM_EIO, "folder");
}

/* Ids that the tokenizer does not have, of every type.  */
static void
test_ids (void)
{
  static const struct { const char *golden, *path, *value; size_t at, size; const char *says; } cases[] = {
    { "nanogpt.bin", "x.bin", "\x03\x01", 2 * 7, 2, "token 7 is 259, the vocabulary has 259 ids" },
    { "llama3.bin", "x.bin", "\0\0\0\x80", 1024 + 4 * 299, 4, "token 299 is 2147483648" },
    { "i4-v3.npy", "x.npy", "\xff\xff\xff\xff", 128 + 4 * 5, 4, "token 5 is -1" },
    { "i8-v1.npy", "x.npy", "\1\0\0\0\1\0\0\0", 128 + 8 * 6, 8, "token 6 is 4294967297" },
  };
  uint32_t ids[COUNT];

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      struct mm_tokens *f;

      damage (cases[i].golden, cases[i].path, cases[i].at, cases[i].value, cases[i].size, 0);
      ok (mm_tokens_open_any (cases[i].path, tiny, false, &f) == MM_OK
          && mm_tokens_read (f, 0, COUNT, ids, NULL) == MM_EFORMAT
          && strstr (mm_error_message (), cases[i].says), cases[i].says);
      mm_tokens_close (f);
    }
}

int
main (void)
{
  const char *srcdir = getenv ("srcdir");
  char *folder = realpath (srcdir ? srcdir : ".", NULL);

  if (!folder)
    return 99;
  snprintf (shards, sizeof shards, "%s/tests/interop/shards", folder);
  free (folder);
  scratch_enter ();
  tiny = tiny_tokenizer (TINY_VOCAB);
  test_goldens ();
  test_split ();
  test_ours ();
  test_refusals ();
  test_ids ();
  mm_tokenizer_free (tiny);
  return tap_done ();
}

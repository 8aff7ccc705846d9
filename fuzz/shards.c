/* shards.c -- fuzzing target: token files and shards of others; the first byte chooses the name and the splitting.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/tokens.h>

#include "../tests/unit/tiny.h"
#include "fuzz.h"

static struct mm_tokenizer *tiny;
static char folder[] = "/tmp/minimind-fuzz.XXXXXX";
static char paths[3][64];

static void
clean (void)
{
  for (int i = 0; i < 3; i++)
    unlink (paths[i]);
  rmdir (folder);
  mm_tokenizer_free (tiny);
}

static void
begin (void)
{
  static const char *const names[] = { "x.bin", "x.npy", "x.tokens" };

  tiny = tiny_tokenizer (TINY_VOCAB);
  if (!mkdtemp (folder))
    abort ();
  for (int i = 0; i < 3; i++)
    snprintf (paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
  atexit (clean);
}

/* What the reader promises about an open file: documents lie inside it, end to end, and ids that are given out are
   those of the vocabulary.  */
static void
read_everything (struct mm_tokens *f)
{
  uint64_t count = mm_tokens_count (f), first, length, turn;
  uint32_t vocab_size = mm_tokenizer_vocab_size (mm_tokens_tokenizer (f)), ids[256];
  uint8_t mask[256];

  for (uint64_t doc = 0; doc < mm_tokens_documents (f) && doc < 100000; doc++)
    if (mm_tokens_document (f, doc, &first, &length) == MM_OK && (first > count || length > count - first))
      abort ();
  for (uint64_t at = 0; at < count && at < 100000; at += 256)
    {
      size_t n = count - at < 256 ? (size_t) (count - at) : 256;

      if (mm_tokens_read (f, at, n, ids, mask) == MM_OK)
        for (size_t i = 0; i < n; i++)
          if (ids[i] >= vocab_size || mask[i] > 1)
            abort ();
      if (mm_tokens_turn_before (f, at, at + n, &turn) == MM_OK && (turn < at || turn > at + n))
        abort ();
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *path;
  struct mm_tokens *f;
  FILE *file;

  if (!tiny)
    begin ();
  if (size == 0)
    return 0;
  path = paths[data[0] % 3];
  file = fopen (path, "w");
  if (!file || fwrite (data + 1, 1, size - 1, file) != size - 1 || fclose (file) != 0)
    abort ();
  if (mm_tokens_open_any (path, tiny, data[0] & 4, &f) == MM_OK)
    read_everything (f);
  else if (f || !*mm_error_message ())
    abort ();
  mm_tokens_close (f);
  return 0;
}

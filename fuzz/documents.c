/* documents.c -- fuzzing target: the documents of an input of any kind, whole and in parts; its first two bytes choose
   the options.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include <minimind/chat.h>
#include <minimind/documents.h>

#include "fuzz.h"

/* A small input may unpack to gigabytes: what streams through needs no more than its beginning.  */
enum { LIMIT = 1 << 22 };

struct sum
{
  uint64_t bytes, hash;         /* of all documents and their ends */
};

static void
add (struct sum *s, const struct mm_document_part *part)
{
  for (size_t i = 0; i < part->size; i++)
    s->hash = (s->hash ^ (unsigned char) part->text[i]) * UINT64_C (0x100000001b3);
  s->hash = part->last ? (s->hash ^ 256) * UINT64_C (0x100000001b3) : s->hash;
  s->bytes += part->size;
}

/* False if there is more than the limit.  */
static bool
read_all (const char *path, const struct mm_document_options *options, struct sum *s, mm_status *st)
{
  struct mm_document_part part;
  struct mm_documents *d;
  bool more = true;

  *st = mm_documents_open (&path, 1, options, &d);
  while (*st == MM_OK && s->bytes < LIMIT && (*st = mm_documents_next (d, &part, &more)) == MM_OK && more)
    add (s, &part);
  mm_documents_close (d);
  return s->bytes < LIMIT;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct mm_document_options options = { .format = MM_DOCUMENTS_AUTO, .detect = mm_chat_detect };
  struct sum whole = { 0 }, joined = { 0 };
  char path[64];
  mm_status st;
  int fd;

  if (size < 2)
    return 0;
  options.format = (enum mm_document_format) (data[0] % 7);
  options.errors = (enum mm_document_errors) (data[0] / 7 % 3);
  if (data[0] & 128 && options.format == MM_DOCUMENTS_TEXT)
    {
      options.delimiter = "\n\n";
      options.delimiter_size = 2;
    }
  fd = fuzz_file (data + 2, size - 2, path);
  if (read_all (path, &options, &whole, &st) && st == MM_OK && data[1] > 0)
    {
      options.parts = data[1] % 9 + 1;
      for (options.part = 1; options.part <= options.parts; options.part++)
        if (read_all (path, &options, &joined, &st) && st < 0)
          abort ();
      if (joined.hash != whole.hash || joined.bytes != whole.bytes)
        abort ();
    }
  close (fd);
  return 0;
}

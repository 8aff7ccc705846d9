/* documents.c -- fuzzing target: the documents of an input of any kind; its first byte chooses the options.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/documents.h>

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct mm_document_options options = { .format = MM_DOCUMENTS_AUTO };
  struct mm_document_part part;
  struct mm_documents *d;
  uint64_t read = 0;
  char path[64];
  const char *inputs[] = { path };
  bool more;
  int fd;

  if (size == 0)
    return 0;
  options.format = (enum mm_document_format) (data[0] % 6);
  options.errors = (enum mm_document_errors) (data[0] / 6 % 3);
  if (data[0] & 128 && options.format == MM_DOCUMENTS_TEXT)
    {
      options.delimiter = "\n\n";
      options.delimiter_size = 2;
    }
  fd = fuzz_file (data + 1, size - 1, path);
  if (mm_documents_open (inputs, 1, &options, &d) == MM_OK)
    {
      /* A small input may unpack to gigabytes: what streams through needs no more than its beginning.  */
      while (read < 1 << 22 && mm_documents_next (d, &part, &more) == MM_OK && more)
        read += part.size;
      mm_documents_close (d);
    }
  close (fd);
  return 0;
}

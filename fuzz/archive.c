/* archive.c -- fuzzing target: members of archives and compressed files, the first megabytes of each input.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/input.h>

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static char block[1 << 16];
  struct mm_input *in;
  size_t read = 0, got;
  char path[64];
  bool more;
  int fd = fuzz_file (data, size, path);

  if (mm_input_open (path, &in) == MM_OK)
    {
      /* A small input may unpack to gigabytes, or hold more empty members than fit in the time.  */
      for (int members = 0; members < 1000 && read < 1 << 22 && mm_input_next (in, &more) == MM_OK && more; members++)
        while (read < 1 << 22 && mm_input_read (in, block, sizeof block, &got) == MM_OK && got > 0)
          read += got;
      mm_input_close (in);
    }
  close (fd);
  return 0;
}

/* fuzz.h -- what the fuzzing targets share: the input as a file.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Let PATH name a file in memory that holds the input; the descriptor is for the caller to close.  */
static inline int
fuzz_file (const uint8_t *data, size_t size, char path[64])
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);

  if (fd < 0 || write (fd, data, size) != (ssize_t) size)
    abort ();
  snprintf (path, 64, "/proc/self/fd/%d", fd);
  return fd;
}

#endif /* FUZZ_H */

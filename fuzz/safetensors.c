/* safetensors.c -- libFuzzer target: whatever the bytes, a header is refused or all its tensors can be read.
   SPDX-License-Identifier: Apache-2.0

     ./configure CC=clang CFLAGS='-g -O1 -fsanitize=fuzzer-no-link,address,undefined'
     make fuzz/safetensors && fuzz/safetensors -max_len=4096 CORPUS

   where CORPUS is a folder of files to start from, tests/interop/io for one.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <minimind/safetensors.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* What the reader promises about an open file.  */
static void
read_everything (const struct mm_safetensors *f, size_t size)
{
  const char *key, *value;
  uint64_t end = 0;

  for (size_t i = 0; i < mm_safetensors_count (f); i++)
    {
      const struct mm_tensor *t = mm_safetensors_at (f, i);
      char *copy;

      if (t->offset > size || t->size > size - t->offset || t->offset < end
          || mm_safetensors_find (f, t->name) != t)
        abort ();
      end = t->offset + t->size;
      copy = malloc (t->size + 1);
      if (!copy || mm_safetensors_read (f, t, 0, copy, (size_t) t->size) < 0)
        abort ();
      free (copy);
    }
  for (size_t i = 0; mm_safetensors_meta_at (f, i, &key, &value); i++)
    if (strcmp (mm_safetensors_meta (f, key), value) != 0)
      abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static int fd = -1;
  static char path[40];
  struct mm_safetensors *f;

  if (fd < 0)
    {
      fd = memfd_create ("safetensors", 0);
      snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
    }
  if (ftruncate (fd, 0) < 0 || pwrite (fd, data, size, 0) != (ssize_t) size)
    return 0;
  if (mm_safetensors_open (path, &f) == MM_OK)
    read_everything (f, size);
  else if (f || !*mm_error_message ())
    abort ();
  mm_safetensors_close (f);
  return 0;
}

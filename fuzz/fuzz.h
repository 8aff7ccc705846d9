/* fuzz.h -- what the fuzzing targets share: the input as a file, a tokenizer put to use.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <minimind/tokenizer.h>

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

/* Load a tokenizer and, where it is one, encode a text of every kind of character with it and decode
   the ids.  */
static inline void
fuzz_encode (const char *json, size_t json_size, const char *config, size_t config_size)
{
  static const char text[] = "The fox's 42 \303\251e\314\201 \344\270\255\346\226\207\357\274\214\r\n\n"
                             "  DON'T <|im_end|>\t";
  struct mm_tokenizer *t = NULL;
  struct mm_encoder *e = NULL;
  struct mm_ids ids = { 0 };
  char *back = NULL;
  size_t size = 0, capacity = 0, count;

  if (mm_tokenizer_parse ("input", json, json_size, config, config_size, &t) == MM_OK
      && mm_encoder_open (t, &e) == MM_OK && mm_encode (e, text, sizeof text - 1, 0, &ids) == MM_OK)
    {
      if (mm_count (e, text, sizeof text - 1, 0, &count) < 0 || count != ids.count
          || mm_decode (t, ids.data, ids.count, false, &back, &size, &capacity) < 0)
        abort ();
      for (size_t i = 0; i < ids.count; i++)
        if (ids.data[i] >= mm_tokenizer_vocab_size (t))
          abort ();
    }
  free (ids.data);
  free (back);
  mm_encoder_close (e);
  mm_tokenizer_free (t);
}

#endif /* FUZZ_H */

/* tokenizer.c -- fuzzing target: load a tokenizer.json and encode a text with it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/tokenizer.h>

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct mm_tokenizer *t;

  if (mm_tokenizer_parse ("input", (const char *) data, size, NULL, 0, &t) == MM_OK)
    {
      uint32_t n = mm_tokenizer_vocab_size (t);
      size_t length;

      for (uint32_t id = 0; id < n && id < 1000; id++)
        if (mm_tokenizer_bytes (t, id, &length) && length > 6 * size)
          abort ();
      mm_tokenizer_free (t);
    }
  return 0;
}

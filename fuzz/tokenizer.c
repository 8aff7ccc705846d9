/* tokenizer.c -- fuzzing target: load a tokenizer.json and encode a text with it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/tokenizer.h>

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  fuzz_encode ((const char *) data, size, NULL, 0);
  return 0;
}

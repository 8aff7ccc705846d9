/* tokenizer.c -- fuzzing target: load a tokenizer.json and encode a text with it.  What is loaded, vocabulary and
   merges without a tree, is a document to Jansson too.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/json.h>
#include <minimind/tokenizer.h>

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct mm_tokenizer *t;
  json_t *root;

  if (mm_tokenizer_parse ("input", (const char *) data, size, NULL, 0, &t) == MM_OK
      && mm_json_parse ("input", (const char *) data, size, &root) < 0)
    abort ();
  else if (t)
    json_decref (root);
  mm_tokenizer_free (t);
  fuzz_encode ((const char *) data, size, NULL, 0);
  return 0;
}

/* ranks.c -- fuzzing target: a rank file, or vocab.json and merges.txt with a NUL between; the first byte
   chooses.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include "../lib/text/known.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const char *const names[] = { "gpt2", "cl100k_base", "o200k_base", "qwen", "llama3" };
  const char *text = (const char *) data + 1, *name, *middle;
  char *json = NULL, *config = NULL;
  const struct mm_known *k;
  mm_status st = MM_EFORMAT;

  if (size == 0)
    return 0;
  name = names[data[0] % 5];
  k = mm_known_named (name, strlen (name));
  size--;
  middle = size > 0 ? memchr (text, '\0', size) : NULL;
  if (data[0] & 128 && middle)
    {
      json_t *vocab = json_loadb (text, (size_t) (middle - text), 0, NULL), *merges = NULL;

      if (json_is_object (vocab)
          && mm_bpe_merges_read ("merges", middle + 1, size - (size_t) (middle + 1 - text), &merges) == MM_OK)
        st = mm_known_write (k, "vocab", vocab, merges, false, NULL, NULL, &json, &config);
      json_decref (vocab);
      json_decref (merges);
    }
  else
    st = mm_bpe_ranks_text (k, "ranks", text, size, &json, &config);
  if (st == MM_OK)
    fuzz_encode (json, strlen (json), config, strlen (config));
  free (json);
  free (config);
  return 0;
}

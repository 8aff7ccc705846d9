/* config.c -- fuzzing target: JSON, and as a model's config.json.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/json.h>
#include <minimind/model_config.h>

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct mm_model_config config;
  json_t *value;
  char path[64], *text = NULL;
  int fd = fuzz_file (data, size, path);

  if (mm_json_parse ("input", (const char *) data, size, &value) == MM_OK)
    {
      if (json_is_object (value) && mm_json_text (value, true, &text) < 0)
        abort ();
      free (text);
      json_decref (value);
    }
  if (mm_config_read (path, &config) == MM_OK
      && (config.n_heads % config.n_kv_heads != 0 || mm_config_parameters (&config) == 0))
    abort ();
  close (fd);
  return 0;
}

/* describe.c -- the description of any path.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/checkpoint.h>

#include "describe.h"

/* The step folders of the run folder PATH by name, then its newest valid one.  */
static mm_status
describe_run (const char *path, const struct inspect_config *c, json_t *d)
{
  json_t *steps = json_array (), *newest = json_object ();
  char **names, *dir = NULL;
  enum kind kind;
  size_t n;
  mm_status st = names_list (path, "step-", "", true, &names, &n);

  for (size_t i = 0; i < n; i++)
    json_array_append_new (steps, json_string (names[i]));
  json_object_set_new (d, "steps", steps);
  names_free (names, n);
  if (st == MM_OK)
    st = mm_checkpoint_folder (path, &dir);
  if (st == MM_OK)
    {
      json_object_set_new (newest, "path", json_string (dir));
      st = kind_detect (dir, &kind);
      if (st == MM_OK)
        st = describe (dir, kind, c, newest);
    }
  json_object_set_new (d, "newest", newest);
  free (dir);
  return st;
}

mm_status
describe (const char *path, enum kind kind, const struct inspect_config *c, json_t *d)
{
  switch (kind)
    {
    case KIND_CHECKPOINT:
    case KIND_MODEL:
      return describe_model (path, c, d);
    case KIND_ADAPTER_CHECKPOINT:
    case KIND_ADAPTER:
      return describe_adapter (path, c, d);
    case KIND_RUN:
      return describe_run (path, c, d);
    case KIND_DATASET:
      return describe_dataset (path, c, d);
    case KIND_TOKENIZER_FOLDER:
    case KIND_TOKENIZER:
      return describe_tokenizer (path, c, d);
    case KIND_TOKENS:
      return describe_tokens (path, c, d);
    case KIND_ROWS:
      return describe_rows (path, c, d);
    case KIND_SAFETENSORS:
      return describe_safetensors (path, c, d);
    }
  return MM_OK;
}

/* vocabulary.c -- tokenizers, each token decoded.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/tokenizer.h>

#include "describe.h"
#include "pieces.h"

static json_t *
role (int32_t id)
{
  return id == MM_NO_TOKEN ? json_null () : json_integer (id);
}

static mm_status
add_tokens (const struct mm_tokenizer *t, const struct inspect_config *c, json_t *tokens)
{
  uint32_t size = mm_tokenizer_vocab_size (t);

  for (uint32_t id = 0; id < size && (c->samples < 0 || id < c->samples); id++)
    {
      size_t n;
      const char *bytes = mm_tokenizer_bytes (t, id, &n);
      char *text = bytes ? pieces_text (bytes, n) : NULL;
      json_t *token;

      if (!bytes)               /* a gap in the numbers */
        continue;
      token = text ? json_pack ("{s:I, s:s}", "id", (json_int_t) id, "text", text) : NULL;
      free (text);
      if (!token)
        return mm_fail (MM_ENOMEM, "no memory for the vocabulary");
      if (mm_tokenizer_is_special (t, id))
        json_object_set_new (token, "special", json_true ());
      json_array_append_new (tokens, token);
    }
  return MM_OK;
}

mm_status
describe_tokenizer (const char *path, const struct inspect_config *c, json_t *d)
{
  struct mm_tokenizer *t;
  json_t *tokens = json_array ();
  mm_status st = mm_tokenizer_load (path, &t);

  if (st == MM_OK)
    st = add_tokens (t, c, tokens);
  if (st == MM_OK)
    {
      json_object_set_new (d, "sha256", json_string (mm_tokenizer_sha256 (t)));
      json_object_set_new (d, "vocab_size", json_integer (mm_tokenizer_vocab_size (t)));
      json_object_set_new (d, "bos_id", role (mm_tokenizer_bos (t)));
      json_object_set_new (d, "eos_id", role (mm_tokenizer_eos (t)));
      json_object_set_new (d, "pad_id", role (mm_tokenizer_pad (t)));
      json_object_set (d, "vocabulary", tokens);
    }
  json_decref (tokens);
  mm_tokenizer_free (t);
  return st;
}

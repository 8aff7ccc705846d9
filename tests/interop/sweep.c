/* sweep.c -- encode strings from standard input, for sweep-tokenizers.py.
   SPDX-License-Identifier: Apache-2.0

   sweep TOKENIZER PARSE-SPECIAL: each string comes as its size in four bytes, little-endian, and
   its bytes; to standard output go the number of its ids and the size of what they decode to, four
   bytes each, the ids, four bytes each, and the text.  A string that is refused has 2^32 - 1 ids.
   sweep TOKENIZER json: the tokenizer.json that TOKENIZER is or is made into.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/tokenizer.h>

/* SIZE bytes from standard input; false at its end.  */
static bool
take (void *data, size_t size)
{
  return fread (data, 1, size, stdin) == size;
}

static mm_status
encode_all (const struct mm_tokenizer *t, unsigned flags)
{
  struct mm_encoder *e;
  struct mm_ids ids = { 0 };
  char *text = NULL, *back = NULL;
  size_t capacity = 0, back_size = 0, back_capacity = 0;
  uint32_t size, counts[2];
  mm_status st = mm_encoder_open (t, &e);
  bool refused;

  while (st == MM_OK && take (&size, 4))
    {
      st = mm_grow ("text", &text, &capacity, (size_t) size + 1, 1);
      if (st < 0 || !take (text, size))
        break;
      ids.count = back_size = 0;
      refused = false;
      st = mm_encode (e, text, size, flags, &ids);
      if (st == MM_OK)
        st = mm_decode (t, ids.data, ids.count, false, &back, &back_size, &back_capacity);
      if (st == MM_EUNSUP)
        {
          ids.count = back_size = 0;
          st = MM_OK;
          refused = true;
        }
      counts[0] = refused ? UINT32_MAX : (uint32_t) ids.count;
      counts[1] = (uint32_t) back_size;
      fwrite (counts, 4, 2, stdout);
      if (ids.count > 0)
        fwrite (ids.data, 4, ids.count, stdout);
      if (back_size > 0)
        fwrite (back, 1, back_size, stdout);
    }
  mm_encoder_close (e);
  free (text);
  free (back);
  free (ids.data);
  return st;
}

int
main (int argc, char **argv)
{
  struct mm_tokenizer *t = NULL;
  const char *json, *config;
  size_t json_size, config_size;
  mm_status st = argc == 3 ? mm_tokenizer_load (argv[1], &t) : MM_EUSAGE;

  if (st == MM_OK && strcmp (argv[2], "json") == 0)
    {
      mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
      fwrite (json, 1, json_size, stdout);
    }
  else if (st == MM_OK)
    st = encode_all (t, *argv[2] == '1' ? MM_PARSE_SPECIAL : 0);
  if (st < 0)
    fprintf (stderr, "sweep: %s\n", argc == 3 ? mm_error_message () : "usage");
  mm_tokenizer_free (t);
  return st < 0;
}

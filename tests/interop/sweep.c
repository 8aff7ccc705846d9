/* sweep.c -- encode strings from standard input, for sweep-tokenizers.py.
   SPDX-License-Identifier: Apache-2.0

   sweep TOKENIZER PARSE-SPECIAL: each string comes as its size in four bytes, little-endian, and
   its bytes; its ids go to standard output as their number and themselves, four bytes each.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include <minimind/memory.h>
#include <minimind/tokenizer.h>

/* SIZE bytes from standard input; false at its end.  */
static bool
take (void *data, size_t size)
{
  return fread (data, 1, size, stdin) == size;
}

static mm_status
encode_all (struct mm_encoder *e, unsigned flags)
{
  struct mm_ids ids = { 0 };
  char *text = NULL;
  size_t capacity = 0;
  uint32_t size, count;
  mm_status st = MM_OK;

  while (st == MM_OK && take (&size, 4))
    {
      st = mm_grow ("text", &text, &capacity, (size_t) size + 1, 1);
      if (st < 0 || !take (text, size))
        break;
      ids.count = 0;
      st = mm_encode (e, text, size, flags, &ids);
      count = (uint32_t) ids.count;
      fwrite (&count, 4, 1, stdout);
      if (count > 0)
        fwrite (ids.data, 4, count, stdout);
    }
  free (text);
  free (ids.data);
  return st;
}

int
main (int argc, char **argv)
{
  struct mm_tokenizer *t;
  struct mm_encoder *e;

  if (argc != 3 || mm_tokenizer_load (argv[1], &t) < 0 || mm_encoder_open (t, &e) < 0
      || encode_all (e, *argv[2] == '1' ? MM_PARSE_SPECIAL : 0) < 0)
    {
      fprintf (stderr, "sweep: %s\n", argc == 3 ? mm_error_message () : "usage");
      return 1;
    }
  mm_encoder_close (e);
  mm_tokenizer_free (t);
  return 0;
}

/* tokenizer.c -- count, encode and decode standard input with an installed libminimind.
   SPDX-License-Identifier: Apache-2.0

     cc tokenizer.c $(pkg-config --cflags --libs minimind) -o tokenizer
     echo "Once upon a time" | ./tokenizer tokenizer.json  */

#include <stdio.h>
#include <stdlib.h>

#include <minimind/tokenizer.h>

/* All of standard input; the size goes to *SIZE.  */
static char *
read_all (size_t *size)
{
  size_t capacity = 1 << 16;
  char *text = malloc (capacity);

  for (*size = 0; text; capacity *= 2, text = realloc (text, capacity))
    {
      *size += fread (text + *size, 1, capacity - *size, stdin);
      if (*size < capacity)
        break;
    }
  return text;
}

/* Print the number of ids, the ids, and the text that they stand for.  */
static mm_status
show (const struct mm_tokenizer *t, struct mm_encoder *e, const char *text, size_t size)
{
  struct mm_ids ids = { 0 };
  char *back = NULL;
  size_t count, back_size = 0, back_capacity = 0;
  mm_status st = mm_count (e, text, size, 0, &count);

  if (st == MM_OK)
    st = mm_encode (e, text, size, 0, &ids);
  if (st == MM_OK)
    st = mm_decode (t, ids.data, ids.count, false, &back, &back_size, &back_capacity);
  if (st == MM_OK)
    {
      printf ("%zu tokens:", count);
      for (size_t i = 0; i < ids.count; i++)
        printf (" %u", (unsigned) ids.data[i]);
      putchar ('\n');
      fwrite (back, 1, back_size, stdout);
    }
  free (back);
  free (ids.data);
  return st;
}

int
main (int argc, char **argv)
{
  struct mm_tokenizer *t = NULL;
  struct mm_encoder *e = NULL;
  size_t size;
  char *text;
  mm_status st;

  if (argc != 2 || !(text = read_all (&size)))
    {
      fprintf (stderr, "usage: tokenizer TOKENIZER < TEXT\n");
      return 64;
    }
  st = mm_tokenizer_load (argv[1], &t);
  if (st == MM_OK)
    st = mm_encoder_open (t, &e);
  if (st == MM_OK)
    st = show (t, e, text, size);
  if (st < 0)
    fprintf (stderr, "tokenizer: %s\n", mm_error_message ());
  mm_encoder_close (e);
  mm_tokenizer_free (t);
  free (text);
  return st < 0;
}

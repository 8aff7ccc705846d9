/* shown.c -- escapes for what a terminal may not get.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/shown.h>
#include <minimind/tokenizer.h>

/* Length of the control character at S, of SIZE valid bytes; 0 if it is none.  U+0080 to U+009F are some; so are the
   marks that turn the direction of writing, with which a text can look like another.  */
static size_t
control (const unsigned char *s, size_t size)
{
  if (*s < 0x20 || *s == 0x7f)
    return 1;
  if (size >= 2 && s[0] == 0xc2 && s[1] < 0xa0)
    return 2;
  if (size >= 3 && s[0] == 0xe2
      && ((s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9 || (s[2] >= 0xaa && s[2] <= 0xae)))
          || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
    return 3;
  return 0;
}

static void
write_hex (FILE *f, const unsigned char *s, size_t n)
{
  while (n-- > 0)
    fprintf (f, "\\x%02x", *s++);
}

/* Valid UTF-8 with its control characters and backslashes escaped.  */
static void
write_valid (FILE *f, const unsigned char *s, size_t size)
{
  for (size_t i = 0; i < size;)
    {
      size_t n = control (s + i, size - i);

      if (s[i] == '\n')
        fputs ("\\n", f);
      else if (s[i] == '\t')
        fputs ("\\t", f);
      else if (s[i] == '\r')
        fputs ("\\r", f);
      else if (s[i] == '\\')
        fputs ("\\\\", f);
      else if (n)
        write_hex (f, s + i, n);
      else
        putc (s[i], f);
      i += n ? n : 1;
    }
}

void
mm_shown_write (FILE *f, const char *bytes, size_t size)
{
  while (size > 0)
    {
      size_t n = mm_utf8_check (bytes, size, NULL);

      write_valid (f, (const unsigned char *) bytes, n);
      if (n == size)
        return;
      write_hex (f, (const unsigned char *) bytes + n, 1);
      bytes += n + 1;
      size -= n + 1;
    }
}

char *
mm_shown_text (const char *bytes, size_t size)
{
  char *text = NULL;
  size_t length;
  FILE *f = open_memstream (&text, &length);

  if (!f)
    return NULL;
  mm_shown_write (f, bytes, size);
  if (fclose (f) == 0)
    return text;
  free (text);
  return NULL;
}

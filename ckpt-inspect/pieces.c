/* pieces.c -- escapes, and tokens decoded with their marks.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "pieces.h"

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
pieces_write (FILE *f, const char *bytes, size_t size)
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
pieces_text (const char *bytes, size_t size)
{
  char *text = NULL;
  size_t length;
  FILE *f = open_memstream (&text, &length);

  if (!f)
    return NULL;
  pieces_write (f, bytes, size);
  if (fclose (f) == 0)
    return text;
  free (text);
  return NULL;
}

/* Ordinary tokens gather until a mark comes, so that characters made of several tokens appear whole.  */
struct run
{
  FILE *f;                      /* the text */
  char *bytes;                  /* gathered */
  size_t size, capacity;
  bool failed;                  /* memory was short */
};

static void
flush (struct run *r)
{
  pieces_write (r->f, r->bytes, r->size);
  r->size = 0;
}

static void
mark (struct run *r, const char *text)
{
  flush (r);
  fputs (text, r->f);
}

static void
add_token (struct run *r, const struct mm_tokenizer *t, uint32_t id)
{
  size_t size;
  const char *bytes = mm_tokenizer_bytes (t, id, &size);

  if (bytes && !mm_tokenizer_is_special (t, id))
    {
      if (mm_grow ("text", &r->bytes, &r->capacity, r->size + size, 1) < 0)
        r->failed = true;
      else if (size > 0)
        memcpy (r->bytes + r->size, bytes, size);
      r->size += r->failed ? 0 : size;
      return;
    }
  mark (r, "\\[");
  if (bytes)
    pieces_write (r->f, bytes, size);
  else
    fprintf (r->f, "#%u", (unsigned) id);
  putc (']', r->f);
}

static void
add_all (struct run *r, const struct mm_tokenizer *t, const uint32_t *ids, const uint8_t *starts,
         const uint8_t *mask, size_t n)
{
  bool all = true, target = false;

  for (size_t i = 0; mask && i < n; i++)
    all = all && mask[i];
  for (size_t i = 0; i < n; i++)
    {
      bool is_target = mask && !all && mask[i];

      if (target && !is_target)
        mark (r, "\\}");
      if (starts && starts[i] && i > 0)
        mark (r, "\\|");
      if (is_target && !target)
        mark (r, "\\{");
      target = is_target;
      add_token (r, t, ids[i]);
    }
  flush (r);
  if (target)
    fputs ("\\}", r->f);
}

char *
pieces_decode (const struct mm_tokenizer *t, const uint32_t *ids, const uint8_t *starts, const uint8_t *mask,
               size_t n)
{
  struct run r = { .size = 0 };
  char *text = NULL;
  size_t size;

  r.f = open_memstream (&text, &size);
  if (!r.f)
    return NULL;
  add_all (&r, t, ids, starts, mask, n);
  free (r.bytes);
  if (fclose (r.f) == 0 && !r.failed)
    return text;
  free (text);
  return NULL;
}

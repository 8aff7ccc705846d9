/* json_text.c -- JSON written by our own hand.
   SPDX-License-Identifier: Apache-2.0

   Files of a checkpoint have the same bytes everywhere, and Jansson's spelling of numbers differs
   between its versions.  Here a real has the fewest digits that read back as the same double.  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>

enum { MAX_DEPTH = 64 };

static void
write_string (FILE *f, const char *s, size_t size)
{
  putc ('"', f);
  for (size_t i = 0; i < size; i++)
    {
      unsigned char c = (unsigned char) s[i];

      if (c == '"' || c == '\\')
        fprintf (f, "\\%c", c);
      else if (c == '\n')
        fputs ("\\n", f);
      else if (c == '\t')
        fputs ("\\t", f);
      else if (c == '\r')
        fputs ("\\r", f);
      else if (c < 0x20)
        fprintf (f, "\\u%04x", c);
      else
        putc (c, f);
    }
  putc ('"', f);
}

static void
write_real (FILE *f, double value)
{
  char text[40];

  for (int digits = 1; digits <= 17; digits++)
    {
      snprintf (text, sizeof text, "%.*g", digits, value);
      if (strtod (text, NULL) == value)
        break;
    }
  fputs (text, f);
  /* A real stays one when read back.  */
  if (!strpbrk (text, ".e"))
    fputs (".0", f);
}

static void
new_line (FILE *f, bool pretty, int depth)
{
  if (pretty)
    fprintf (f, "\n%*s", 2 * depth, "");
}

static mm_status write_value (FILE *f, const json_t *value, bool pretty, int depth);

static mm_status
write_array (FILE *f, const json_t *array, bool pretty, int depth)
{
  size_t n = json_array_size (array);

  putc ('[', f);
  for (size_t i = 0; i < n; i++)
    {
      mm_status st;

      if (i)
        putc (',', f);
      new_line (f, pretty, depth + 1);
      st = write_value (f, json_array_get (array, i), pretty, depth + 1);
      if (st < 0)
        return st;
    }
  if (n)
    new_line (f, pretty, depth);
  putc (']', f);
  return MM_OK;
}

static mm_status
write_object (FILE *f, const json_t *object, bool pretty, int depth)
{
  json_t *o = (json_t *) object;        /* the iterator's type, though it changes nothing */
  const char *separator = "";

  putc ('{', f);
  for (void *i = json_object_iter (o); i; i = json_object_iter_next (o, i))
    {
      const char *key = json_object_iter_key (i);
      mm_status st;

      fputs (separator, f);
      separator = ",";
      new_line (f, pretty, depth + 1);
      write_string (f, key, strlen (key));
      fputs (pretty ? ": " : ":", f);
      st = write_value (f, json_object_iter_value (i), pretty, depth + 1);
      if (st < 0)
        return st;
    }
  if (json_object_size (object))
    new_line (f, pretty, depth);
  putc ('}', f);
  return MM_OK;
}

static mm_status
write_value (FILE *f, const json_t *value, bool pretty, int depth)
{
  if (depth > MAX_DEPTH)
    return mm_fail (MM_EINVAL, "JSON nested deeper than %d levels", (int) MAX_DEPTH);
  switch (json_typeof (value))
    {
    case JSON_OBJECT:
      return write_object (f, value, pretty, depth);
    case JSON_ARRAY:
      return write_array (f, value, pretty, depth);
    case JSON_STRING:
      write_string (f, json_string_value (value), json_string_length (value));
      break;
    case JSON_INTEGER:
      fprintf (f, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
      break;
    case JSON_REAL:
      write_real (f, json_real_value (value));
      break;
    case JSON_TRUE:
      fputs ("true", f);
      break;
    case JSON_FALSE:
      fputs ("false", f);
      break;
    case JSON_NULL:
      fputs ("null", f);
      break;
    }
  return MM_OK;
}

mm_status
mm_json_text (const json_t *object, bool pretty, char **text)
{
  size_t size;
  FILE *f = open_memstream (text, &size);
  mm_status st;

  if (!f)
    {
      *text = NULL;
      return mm_fail_errno ("JSON text");
    }
  st = write_value (f, object, pretty, 0);
  if (pretty)
    putc ('\n', f);
  if (fclose (f) != 0 && st == MM_OK)
    st = mm_fail (MM_ENOMEM, "no memory for JSON text");
  if (st < 0)
    {
      free (*text);
      *text = NULL;
    }
  return st;
}

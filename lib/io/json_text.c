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

enum style
{
  COMPACT,
  PRETTY,
  PYTHON
};

static void
write_string (FILE *f, const char *s, size_t size, enum style style)
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
      else if (style == PYTHON && c == '\b')
        fputs ("\\b", f);
      else if (style == PYTHON && c == '\f')
        fputs ("\\f", f);
      else if (c < 0x20)
        fprintf (f, "\\u%04x", c);
      else
        putc (c, f);
    }
  putc ('"', f);
}

/* The fewest digits that read back as VALUE.  */
static int
shortest_digits (double value)
{
  char text[40];
  int digits = 1;

  for (; digits < 17; digits++)
    {
      snprintf (text, sizeof text, "%.*g", digits, value);
      if (strtod (text, NULL) == value)
        break;
    }
  return digits;
}

/* repr: an exponent below 1e-4 and from 1e16 on.  */
static void
write_python_real (FILE *f, double value)
{
  int digits = shortest_digits (value), exponent;
  char text[40];

  snprintf (text, sizeof text, "%.*e", digits - 1, value);
  exponent = atoi (strchr (text, 'e') + 1);
  if (exponent < -4 || exponent >= 16)
    fputs (text, f);
  else
    fprintf (f, "%.*f", digits - 1 - exponent > 1 ? digits - 1 - exponent : 1, value);
}

static void
write_real (FILE *f, double value)
{
  char text[40];

  snprintf (text, sizeof text, "%.*g", shortest_digits (value), value);
  fputs (text, f);
  /* A real stays one when read back.  */
  if (!strpbrk (text, ".e"))
    fputs (".0", f);
}

static void
new_line (FILE *f, enum style style, int depth)
{
  if (style == PRETTY)
    fprintf (f, "\n%*s", 2 * depth, "");
}

static mm_status write_value (FILE *f, const json_t *value, enum style style, int depth);

static mm_status
write_array (FILE *f, const json_t *array, enum style style, int depth)
{
  size_t n = json_array_size (array);

  putc ('[', f);
  for (size_t i = 0; i < n; i++)
    {
      mm_status st;

      if (i)
        fputs (style == PYTHON ? ", " : ",", f);
      new_line (f, style, depth + 1);
      st = write_value (f, json_array_get (array, i), style, depth + 1);
      if (st < 0)
        return st;
    }
  if (n)
    new_line (f, style, depth);
  putc (']', f);
  return MM_OK;
}

static mm_status
write_object (FILE *f, const json_t *object, enum style style, int depth)
{
  json_t *o = (json_t *) object;        /* the iterator's type, though it changes nothing */
  const char *separator = "";

  putc ('{', f);
  for (void *i = json_object_iter (o); i; i = json_object_iter_next (o, i))
    {
      const char *key = json_object_iter_key (i);
      mm_status st;

      fputs (separator, f);
      separator = style == PYTHON ? ", " : ",";
      new_line (f, style, depth + 1);
      write_string (f, key, strlen (key), style);
      fputs (style == COMPACT ? ":" : ": ", f);
      st = write_value (f, json_object_iter_value (i), style, depth + 1);
      if (st < 0)
        return st;
    }
  if (json_object_size (object))
    new_line (f, style, depth);
  putc ('}', f);
  return MM_OK;
}

static mm_status
write_value (FILE *f, const json_t *value, enum style style, int depth)
{
  if (depth > MAX_DEPTH)
    return mm_fail (MM_EINVAL, "JSON nested deeper than %d levels", (int) MAX_DEPTH);
  switch (json_typeof (value))
    {
    case JSON_OBJECT:
      return write_object (f, value, style, depth);
    case JSON_ARRAY:
      return write_array (f, value, style, depth);
    case JSON_STRING:
      write_string (f, json_string_value (value), json_string_length (value), style);
      break;
    case JSON_INTEGER:
      fprintf (f, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
      break;
    case JSON_REAL:
      (style == PYTHON ? write_python_real : write_real) (f, json_real_value (value));
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
  st = write_value (f, object, pretty ? PRETTY : COMPACT, 0);
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

mm_status
mm_json_write_python (const json_t *value, FILE *f)
{
  return write_value (f, value, PYTHON, 0);
}

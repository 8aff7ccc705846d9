/* json.c -- documents through Jansson; fields with their types and ranges checked.
   SPDX-License-Identifier: Apache-2.0

   What Jansson accepts and this suite does not: nesting beyond 64 levels, whose
   recursion a hostile file controls.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/json.h>

enum { MAX_DEPTH = 64 };

/* The deepest nesting of brackets outside strings.  Text that is no JSON gives some number.  */
static size_t
nesting (const char *text, size_t size)
{
  size_t depth = 0, deepest = 0;
  bool in_string = false;

  for (size_t i = 0; i < size; i++)
    if (in_string)
      {
        if (text[i] == '\\')
          i++;
        else if (text[i] == '"')
          in_string = false;
      }
    else if (text[i] == '"')
      in_string = true;
    else if (text[i] == '{' || text[i] == '[')
      {
        if (++depth > deepest)
          deepest = depth;
      }
    else if ((text[i] == '}' || text[i] == ']') && depth > 0)
      depth--;
  return deepest;
}

static bool
is_blank (const char *text, size_t size)
{
  size_t i = 0;

  while (i < size && memchr (" \t\r\n", text[i], 4))
    i++;
  return i == size;
}

mm_status
mm_json_parse (const char *name, const char *text, size_t size, json_t **out)
{
  json_error_t error;

  *out = NULL;
  if (nesting (text, size) > MAX_DEPTH)
    return mm_fail (MM_EFORMAT, "%s: nested deeper than %d levels", name, (int) MAX_DEPTH);
  *out = json_loadb (text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (*out)
    return MM_OK;
  if (json_error_code (&error) == json_error_out_of_memory)
    return mm_fail (MM_ENOMEM, "%s: no memory", name);
  if (is_blank (text, size))
    return mm_fail (MM_EFORMAT, "%s: is empty, want JSON", name);
  /* Jansson's own words are for programmers.  */
  if (json_error_code (&error) == json_error_null_character)
    strcpy (error.text, "\\u0000 (NUL), which a text must not hold");
  if (size == 0 || !memchr (text, '\n', size))
    return mm_fail (MM_EFORMAT, "%s: byte %d: %s", name, error.position, error.text);
  return mm_fail (MM_EFORMAT, "%s: line %d, column %d: %s", name, error.line, error.column, error.text);
}

mm_status
mm_json_read (const char *path, size_t limit, json_t **out)
{
  char *text;
  size_t size;
  mm_status st = mm_read_file (path, limit, &text, &size);

  *out = NULL;
  if (st < 0)
    return st;
  st = mm_json_parse (path, text, size, out);
  free (text);
  return st;
}

/* What VALUE is, in few words, for "found ...".  */
static const char *
describe (const json_t *value, char text[64])
{
  switch (value ? json_typeof (value) : JSON_NULL)
    {
    case JSON_OBJECT:
      return "an object";
    case JSON_ARRAY:
      return "an array";
    case JSON_STRING:
      snprintf (text, 64, "\"%.40s\"", json_string_value (value));
      break;
    case JSON_INTEGER:
      snprintf (text, 64, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
      break;
    case JSON_REAL:
      snprintf (text, 64, "%g", json_real_value (value));
      break;
    case JSON_TRUE:
      return "true";
    case JSON_FALSE:
      return "false";
    case JSON_NULL:
      return value ? "null" : "nothing";
    }
  return text;
}

/* Field KEY into *VALUE; NULL where it may be missing and is.  WANT says what it should be.  */
static mm_status
field (const char *name, const json_t *object, const char *key, bool required, const char *want,
       const json_t **value)
{
  if (!json_is_object (object))
    return mm_fail (MM_EFORMAT, "%s: want an object with the field %s", name, key);
  *value = json_object_get (object, key);
  if (*value && !json_is_null (*value))
    return MM_OK;
  if (required)
    return mm_fail (MM_EFORMAT, "%s: %s: want %s, found %s", name, key, want,
                    *value ? "null" : "nothing");
  *value = NULL;
  return MM_OK;
}

static mm_status
wrong (const char *name, const char *key, const char *want, const json_t *value)
{
  char text[64];

  return mm_fail (MM_EFORMAT, "%s: %s: want %s, found %s", name, key, want, describe (value, text));
}

mm_status
mm_json_integer (const char *name, const json_t *object, const char *key, bool required, int64_t min,
                 int64_t max, int64_t *value)
{
  char want[80];
  const json_t *v;
  mm_status st;

  snprintf (want, sizeof want, "an integer from %lld to %lld", (long long) min, (long long) max);
  st = field (name, object, key, required, want, &v);
  if (st < 0 || !v)
    return st;
  if (!json_is_integer (v) || json_integer_value (v) < min || json_integer_value (v) > max)
    return wrong (name, key, want, v);
  *value = json_integer_value (v);
  return MM_OK;
}

mm_status
mm_json_number (const char *name, const json_t *object, const char *key, bool required, double *value)
{
  const json_t *v;
  mm_status st = field (name, object, key, required, "a number", &v);

  if (st < 0 || !v)
    return st;
  if (!json_is_number (v))
    return wrong (name, key, "a number", v);
  *value = json_number_value (v);
  return MM_OK;
}

mm_status
mm_json_bool (const char *name, const json_t *object, const char *key, bool required, bool *value)
{
  const json_t *v;
  mm_status st = field (name, object, key, required, "true or false", &v);

  if (st < 0 || !v)
    return st;
  if (!json_is_boolean (v))
    return wrong (name, key, "true or false", v);
  *value = json_is_true (v);
  return MM_OK;
}

mm_status
mm_json_string (const char *name, const json_t *object, const char *key, bool required,
                const char **value)
{
  const json_t *v;
  mm_status st = field (name, object, key, required, "a string", &v);

  if (st < 0 || !v)
    return st;
  if (!json_is_string (v))
    return wrong (name, key, "a string", v);
  *value = json_string_value (v);
  return MM_OK;
}

/* print.c -- the object that describe.h makes, as indented lines; tensors and tokens as tables.
   SPDX-License-Identifier: Apache-2.0

   Its depth is bounded by that of the JSON that the library reads.  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/safetensors.h>
#include <minimind/shown.h>

#include "pieces.h"
#include "print.h"

static const char *const stat_names[] = { "min", "max", "mean", "std", "norm", "zeros", "nonfinite" };
enum { N_STATS = sizeof stat_names / sizeof *stat_names };

static void
print_string (const char *s)
{
  mm_shown_write (stdout, s, strlen (s));
}

/* A value on one line.  */
static void
print_scalar (const json_t *value)
{
  char *text;

  if (json_is_string (value))
    print_string (json_string_value (value));
  else if (json_is_real (value))
    printf ("%.7g", json_real_value (value));
  else if (mm_json_text (value, false, &text) == MM_OK)
    {
      print_string (text);
      free (text);
    }
}

/* ---- tables ---- */

static const char *
string_of (const json_t *object, const char *key)
{
  const char *s = json_string_value (json_object_get (object, key));

  return s ? s : "";
}

/* The name of TENSOR, escaped; NULL when memory is short.  */
static char *
name_text (const json_t *tensor)
{
  const char *name = string_of (tensor, "name");

  return mm_shown_text (name, strlen (name));
}

/* "[6400, 512]" */
static char *
shape_text (const json_t *tensor, char text[200])
{
  const json_t *shape = json_object_get (tensor, "shape");
  size_t used = 1;

  text[0] = '[';
  for (size_t i = 0; i < json_array_size (shape) && i < MM_MAX_DIMS; i++)
    used += (size_t) snprintf (text + used, 200 - used, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "",
                               json_integer_value (json_array_get (shape, i)));
  snprintf (text + used, 200 - used, "]");
  return text;
}

static void
print_stats (const json_t *tensor)
{
  for (int i = 0; i < N_STATS; i++)
    {
      const json_t *value = json_object_get (tensor, stat_names[i]);

      if (json_is_real (value))
        printf (" %11.4g", json_real_value (value));
      else if (json_is_integer (value))
        printf (" %11" JSON_INTEGER_FORMAT, json_integer_value (value));
      else
        printf (" %11s", "-");
    }
}

static void
print_tensors (json_t *tensors, int indent)
{
  int name_width = 4, shape_width = 5;
  bool stats = false;
  char shape[200];
  json_t *tensor;
  size_t i;

  json_array_foreach (tensors, i, tensor)
    {
      char *name = name_text (tensor);
      int n = name ? (int) strlen (name) : 0;
      int s = (int) strlen (shape_text (tensor, shape));

      name_width = n > name_width && n <= 60 ? n : name_width;
      shape_width = s > shape_width && s <= 40 ? s : shape_width;
      stats |= json_object_get (tensor, "zeros") != NULL;
      free (name);
    }
  if (stats)
    {
      printf ("%*s%-*s  %-7s  %-*s", indent, "", name_width, "name", "dtype", shape_width, "shape");
      for (int k = 0; k < N_STATS; k++)
        printf (" %11s", stat_names[k]);
      putchar ('\n');
    }
  json_array_foreach (tensors, i, tensor)
    {
      char *name = name_text (tensor);

      printf ("%*s%-*s  %-7s  %-*s", indent, "", name_width, name ? name : "?", string_of (tensor, "dtype"),
              stats ? shape_width : 0, shape_text (tensor, shape));
      if (stats)
        print_stats (tensor);
      putchar ('\n');
      free (name);
    }
}

static void
print_vocabulary (json_t *tokens, int indent)
{
  json_t *token;
  size_t i;

  json_array_foreach (tokens, i, token)
    printf ("%*s%6" JSON_INTEGER_FORMAT "  %s%s%s\n", indent, "",
            json_integer_value (json_object_get (token, "id")), json_object_get (token, "special") ? "\\[" : "",
            string_of (token, "text"), json_object_get (token, "special") ? "]" : "");
}

/* The text stands on a line of its own below its numbers.  */
static void
print_samples (json_t *samples, int indent)
{
  json_t *sample, *value;
  const char *key;
  size_t i;

  json_array_foreach (samples, i, sample)
    {
      printf ("%*s", indent, "");
      json_object_foreach (sample, key, value)
        if (json_is_integer (value))
          printf ("%s %" JSON_INTEGER_FORMAT "  ", key, json_integer_value (value));
      printf ("\n%*s%s\n", indent + 2, "", string_of (sample, "text"));
    }
}

/* ---- fields ---- */

static void
print_objects (json_t *array, int indent)
{
  json_t *object;
  size_t i;

  json_array_foreach (array, i, object)
    print_fields (object, indent);
}

static void
print_field (const char *key, json_t *value, int indent)
{
  bool nested = json_is_object (value) || json_is_object (json_array_get (value, 0));

  if ((json_is_object (value) || json_is_array (value))
      && !json_object_size (value) && !json_array_size (value))
    return;
  printf ("%*s", indent, "");
  print_string (key);
  fputs (nested ? ":\n" : ": ", stdout);
  if (strcmp (key, "tensors") == 0 && nested)
    print_tensors (value, indent + 2);
  else if ((strcmp (key, "vocabulary") == 0 || strcmp (key, "special") == 0) && nested)
    print_vocabulary (value, indent + 2);
  else if (strcmp (key, "samples") == 0 && nested)
    print_samples (value, indent + 2);
  else if (json_is_object (value))
    print_fields (value, indent + 2);
  else if (nested)
    print_objects (value, indent + 2);
  else
    {
      print_scalar (value);
      putchar ('\n');
    }
}

void
print_fields (json_t *d, int indent)
{
  const char *key;
  json_t *value;

  json_object_foreach (d, key, value)
    print_field (key, value, indent);
}

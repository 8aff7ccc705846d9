/* json.c -- fuzzing target: JSON Lines and arrays, checked against Jansson; the first byte chooses which.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>
#include <jansson.h>

#include <minimind/documents.h>
#include <minimind/tokenizer.h>

#include "../lib/text/json_line.h"
#include "fuzz.h"

static const struct mm_json_path path = { { (char *) "a", (char *) "b" }, { 1, 1 }, 2 };

/* The string that is the document of VALUE, or NULL.  */
static json_t *
document_of (json_t *value)
{
  json_t *field = json_is_string (value) ? value : json_object_get (json_object_get (value, "a"), "b");

  return json_is_string (field) ? field : NULL;
}

/* A line: found in the same way, where nothing but names that stand twice, depth and numbers may differ.  */
static void
check_line (const char *text, size_t size)
{
  struct mm_json_line r = { .buffer = NULL };
  json_t *root, *field;

  if (mm_utf8_check (text, size, NULL) < size || mm_json_line_field (text, size, &path, MM_JSON_STRINGS, &r) < 0)
    return;
  root = json_loadb (text, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
  field = document_of (root);
  if (r.problem ? field && !strstr (r.problem, "twice") && !strstr (r.problem, "deep")
      : root && (!field || json_string_length (field) != r.size
                 || memcmp (json_string_value (field), r.text, r.size) != 0))
    abort ();
  json_decref (root);
  free (r.buffer);
}

/* An array that Jansson reads, and whose values are all documents, must give them.  */
static void
check_array (const char *text, size_t size, const char *name)
{
  struct mm_document_options options = { .format = MM_DOCUMENTS_JSON, .field = "a.b" };
  json_t *root = json_loadb (text, size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL), *value;
  bool good = json_is_array (root), more = true;
  struct mm_document_part part;
  struct mm_documents *d;
  size_t i, n = json_array_size (root);
  mm_status st;

  json_array_foreach (root, i, value)
    good = good && document_of (value);
  if (mm_documents_open (&name, 1, &options, &d) < 0)
    abort ();
  for (i = 0; (st = mm_documents_next (d, &part, &more)) == MM_OK && more; i++)
    {
      json_t *field = NULL;

      while (good && i < n && json_string_length (field = document_of (json_array_get (root, i))) == 0)
        i++;
      if (good && (i == n || json_string_length (field) != part.size
                   || memcmp (json_string_value (field), part.text, part.size) != 0))
        abort ();
    }
  while (good && st == MM_OK && i < n)
    if (json_string_length (document_of (json_array_get (root, i++))) > 0)
      abort ();
  /* Jansson allows deeper nesting.  */
  if (good && st < 0 && !strstr (mm_error_message (), "deep"))
    abort ();
  mm_documents_close (d);
  json_decref (root);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char name[64];
  int fd;

  if (size == 0)
    return 0;
  if (data[0] % 2)
    {
      check_line ((const char *) data + 1, size - 1);
      return 0;
    }
  fd = fuzz_file (data + 1, size - 1, name);
  check_array ((const char *) data + 1, size - 1, name);
  close (fd);
  return 0;
}

/* json.c -- documents in, documents out, and messages that name the field.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>

#include "../tap.h"
#include "scratch.h"

static int
says (const char *part)
{
  return strstr (mm_error_message (), part) != NULL;
}

static mm_status
parse (const char *text)
{
  json_t *json;
  mm_status st = mm_json_parse ("doc", text, strlen (text), &json);

  json_decref (json);
  return st;
}

static void
test_parse (void)
{
  char text[400];
  json_t *json;

  ok (parse ("{\"a\": [1, 2.5, \"x\", null, true]}\n") == MM_OK, "a document");
  ok (parse ("[1,\n2,,3]") == MM_EFORMAT && says ("doc: line 2, column"), "the place of an error");
  ok (parse ("") == MM_EFORMAT && says ("doc: is empty"), "nothing");
  ok (parse (" \n") == MM_EFORMAT && says ("doc: is empty"), "white space");
  ok (parse ("\"\\u0000\"") == MM_EFORMAT && says ("(NUL)"), "U+0000");
  ok (parse ("{\"a\":1} x") == MM_EFORMAT, "text behind the document");
  ok (parse ("{\"a\":1,\"b\":{\"c\":1,\"c\":2}}") == MM_EFORMAT && says ("duplicate"), "a key twice");
  ok (parse ("\"\xff\"") == MM_EFORMAT, "invalid UTF-8");
  ok (parse ("\"\xed\xa0\x80\"") == MM_EFORMAT, "a surrogate in UTF-8");
  ok (parse ("[99999999999999999999]") == MM_EFORMAT, "an integer beyond 64 bits");
  ok (mm_json_parse ("doc", "[1]\0", 4, &json) == MM_EFORMAT && !json, "a NUL");
  memset (text, '[', 64);
  memset (text + 64, ']', 64);
  text[128] = '\0';
  ok (parse (text) == MM_OK, "64 levels");
  memset (text, '[', 65);
  memset (text + 65, ']', 65);
  text[130] = '\0';
  ok (parse (text) == MM_EFORMAT && says ("64"), "65 levels");
  ok (parse ("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"") == MM_OK,
      "brackets in a string are no levels");
}

static void
test_read (void)
{
  json_t *json;

  scratch_put ("a.json", "{\"a\":1}", 7);
  ok (mm_json_read ("a.json", 7, &json) == MM_OK && json_object_size (json) == 1, "a file");
  json_decref (json);
  ok (mm_json_read ("a.json", 6, &json) == MM_EFORMAT && says ("a.json") && !json, "too large");
  ok (mm_json_read ("b.json", 6, &json) == MM_ENOENT && says ("b.json"), "missing");
  ok (mm_json_read (".", 6, &json) == MM_EIO, "a folder");
  scratch_put ("c.json", "{", 1);
  ok (mm_json_read ("c.json", 6, &json) == MM_EFORMAT && says ("c.json"), "damaged");
}

static void
test_fields (void)
{
  json_t *o = json_pack ("{s:i, s:f, s:s, s:b, s:n}", "i", 5, "r", 2.5, "s", "text", "b", 1, "n");
  int64_t i = -1;
  double r = 0;
  const char *s = NULL;
  bool b = false;

  ok (mm_json_integer ("doc", o, "i", true, 5, 5, &i) == MM_OK && i == 5, "an integer");
  ok (mm_json_integer ("doc", o, "i", true, 6, 7, &i) == MM_EFORMAT
      && says ("doc: i: want an integer from 6 to 7, found 5"), "out of range");
  ok (mm_json_integer ("doc", o, "r", true, 0, 9, &i) == MM_EFORMAT && says ("2.5"), "a real is none");
  ok (mm_json_integer ("doc", o, "x", true, 0, 9, &i) == MM_EFORMAT && says ("found nothing"), "missing");
  i = 42;
  ok (mm_json_integer ("doc", o, "x", false, 0, 9, &i) == MM_OK && i == 42, "may be missing");
  ok (mm_json_integer ("doc", o, "n", false, 0, 9, &i) == MM_OK && i == 42, "or null");
  ok (mm_json_integer ("doc", o, "n", true, 0, 9, &i) == MM_EFORMAT && says ("null"), "null where wanted");
  ok (mm_json_number ("doc", o, "r", true, &r) == MM_OK && r == 2.5, "a number");
  ok (mm_json_number ("doc", o, "i", true, &r) == MM_OK && r == 5, "an integer is one");
  ok (mm_json_number ("doc", o, "s", true, &r) == MM_EFORMAT && says ("\"text\""), "a string is none");
  ok (mm_json_bool ("doc", o, "b", true, &b) == MM_OK && b, "true");
  ok (mm_json_bool ("doc", o, "i", true, &b) == MM_EFORMAT && says ("true or false"), "1 is not true");
  ok (mm_json_string ("doc", o, "s", true, &s) == MM_OK && strcmp (s, "text") == 0, "a string");
  ok (mm_json_string ("doc", o, "b", true, &s) == MM_EFORMAT && says ("found true"), "true is no string");
  ok (mm_json_string ("doc", json_object_get (o, "i"), "b", false, &s) == MM_EFORMAT && says ("object"),
      "no object at all");
  json_decref (o);
}

/* VALUE's text is WANT and reads back as the same value.  */
static int
text_is (json_t *value, bool pretty, const char *want)
{
  char *text = NULL;
  json_t *back = NULL;
  int same = mm_json_text (value, pretty, &text) == MM_OK && strcmp (text, want) == 0
             && mm_json_parse ("back", text, strlen (text), &back) == MM_OK && json_equal (value, back);

  if (!same)
    printf ("# %s\n", text ? text : "no text");
  free (text);
  json_decref (back);
  json_decref (value);
  return same;
}

static void
test_text (void)
{
  json_t *deep = json_array (), *o;
  char *text;

  o = json_pack ("{s:i, s:[i, n], s:{}, s:[], s:{s:b}}", "z", 1, "a", 2, "e", "f", "b", "t", 0);
  ok (text_is (json_incref (o), false, "{\"z\":1,\"a\":[2,null],\"e\":{},\"f\":[],\"b\":{\"t\":false}}"),
      "compact, in order of insertion");
  ok (text_is (o, true, "{\n  \"z\": 1,\n  \"a\": [\n    2,\n    null\n  ],\n  \"e\": {},\n  \"f\": [],\n"
                        "  \"b\": {\n    \"t\": false\n  }\n}\n"), "pretty");
  ok (text_is (json_pack ("[f, f, f, f, f]", 0.1, 1.0, 1e-5, 5e-324, 1.7976931348623157e308), false,
               "[0.1,1.0,1e-05,5e-324,1.7976931348623157e+308]"), "reals: shortest, and still reals");
  ok (text_is (json_pack ("[f, f]", 1.0 / 3, -0.0), false, "[0.3333333333333333,-0.0]"), "and exact");
  ok (text_is (json_pack ("[I, I]", (json_int_t) INT64_MIN, (json_int_t) INT64_MAX), false,
               "[-9223372036854775808,9223372036854775807]"), "integers of 64 bits");
  ok (text_is (json_string ("a\"\\/\n\t\r\x01\x7f \xe5\xad\x97"), false,
               "\"a\\\"\\\\/\\n\\t\\r\\u0001\x7f \xe5\xad\x97\""), "strings");
  for (int i = 0; i < 70; i++)
    {
      o = json_array ();
      json_array_append_new (o, deep);
      deep = o;
    }
  ok (mm_json_text (deep, false, &text) == MM_EINVAL && !text, "nested too deep");
  json_decref (deep);
}

int
main (void)
{
  scratch_enter ();
  test_parse ();
  test_read ();
  test_fields ();
  test_text ();
  return tap_done ();
}

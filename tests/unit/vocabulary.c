/* The vocabulary and merges of a tokenizer.json, which are read without a tree: what is read and what is refused
   is what Jansson reads and refuses, whatever is done to the text.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>

#include "../../lib/text/bpe.h"
#include "../../lib/text/vocabulary.h"
#include "../tap.h"

/* ---- by Jansson's tree, step by step ---- */

static int64_t
id_of (const json_t *vocab, const char *text)
{
  const json_t *id = json_object_get (vocab, text);

  return id ? json_integer_value (id) : -1;
}

/* The ids of one merge; false if it is none of the two kinds or has unknown parts; *COMMENT: there are none.  */
static bool
tree_rule (const json_t *vocab, const json_t *merge, int64_t rule[3], bool *comment)
{
  char left[256], right[256], both[512];
  const char *text = json_string_value (merge), *space = text ? strchr (text, ' ') : NULL;
  const char *a = json_string_value (json_array_get (merge, 0)), *b = json_string_value (json_array_get (merge, 1));

  *comment = text && strncmp (text, "#version", 8) == 0;
  if (*comment)
    return true;
  if (text && (!space || strchr (space + 1, ' ')))
    return false;
  if (!text && (!a || !b || json_array_size (merge) != 2))
    return false;
  snprintf (left, sizeof left, "%.*s", text ? (int) (space - text) : 200, text ? text : a);
  snprintf (right, sizeof right, "%s", text ? space + 1 : b);
  snprintf (both, sizeof both, "%s%s", left, right);
  rule[0] = id_of (vocab, left);
  rule[1] = id_of (vocab, right);
  rule[2] = id_of (vocab, both);
  return rule[0] >= 0 && rule[1] >= 0 && rule[2] >= 0;
}

static bool
tree_vocab_is_good (json_t *vocab)
{
  const char *key;
  json_t *id;

  json_object_foreach (vocab, key, id)
    if (!json_is_integer (id) || json_integer_value (id) < 0 || json_integer_value (id) > MM_MAX_ID)
      return false;
  return true;
}

/* ---- both ---- */

/* Does what was read agree with the tree ROOT, NULL where the text is refused?  *READ: it was not.  */
static bool
agrees (const json_t *root, const struct mm_tokenizer_json *json, const struct mm_vocabulary *v, mm_status st,
        const struct mm_bpe_rule *rules, size_t n_rules, bool *read)
{
  json_t *model = json_object_get (root, "model"), *vocab = json_object_get (model, "vocab"), *id;
  json_t *merges = json_object_get (model, "merges"), *merge;
  bool good, comment;
  size_t n = 0, i;
  const char *key;
  int64_t rule[3];

  *read = false;
  if (!root)
    return st == MM_EFORMAT;
  if (!json_is_object (vocab) || !json_is_array (merges))
    return st == MM_OK && !json->vocab && !json->merges;
  good = tree_vocab_is_good (vocab);
  if (!good || st == MM_EFORMAT)
    {
      json_array_foreach (merges, i, merge)
        good = good && tree_rule (vocab, merge, rule, &comment);
      return !good && st == MM_EFORMAT;
    }
  if (st < 0 || v->n != json_object_size (vocab))
    return false;
  json_object_foreach (vocab, key, id)
    {
      size_t place = mm_vocabulary_find (v, key, strlen (key));

      good &= place < v->n && v->tokens[place].id == json_integer_value (id);
    }
  json_array_foreach (merges, i, merge)
    {
      if (!tree_rule (vocab, merge, rule, &comment))
        return false;
      if (comment)
        continue;
      good &= n < n_rules && rules[n].left == rule[0] && rules[n].right == rule[1] && rules[n].made == rule[2];
      n++;
    }
  *read = true;
  return good && n == n_rules;
}

/* Read the SIZE bytes at TEXT, in memory of their own size, in both ways.  */
static bool
compare (const char *text, size_t size, bool *read)
{
  struct mm_tokenizer_json json;
  struct mm_vocabulary v = { .n = 0 };
  struct mm_bpe_rule *rules = NULL;
  size_t n_rules = 0;
  json_t *root;
  char *copy = malloc (size);
  bool good;
  mm_status st;

  if (!copy)
    return false;
  memcpy (copy, text, size);
  if (mm_json_parse ("tree", copy, size, &root) < 0)
    root = NULL;
  st = mm_tokenizer_json_parse ("text", copy, size, &json);
  if (st == MM_OK && json.vocab)
    st = mm_vocabulary_read ("text", copy, size, &json, &v);
  if (st == MM_OK && json.vocab)
    st = mm_vocabulary_merges ("text", copy, size, &json, &v, &rules, &n_rules);
  good = agrees (root, &json, &v, st, rules, n_rules, read);
  mm_vocabulary_free (&v);
  free (rules);
  json_decref (json.root);
  json_decref (root);
  free (copy);
  return good;
}

/* ---- documents ---- */

#define A "\"added_tokens\": []"
#define V "{\"a\": 0, \"b\": 1,\"\\u4e2d\" : 2, \"\304\240\": 3, \"ab\":4 , " \
  "\"\\ud83d\\ude00\": 5, \"aba\": 17, \"\\\\\\\"\": 6}"
#define M "[\"a b\", [\"ab\", \"a\"], \"\\u0061\\u0020b\"]"
#define DOCUMENT(vocab, merges) "{" A ", \"model\": {\"type\": \"BPE\", \"vocab\": " vocab ", \"merges\": " merges "}}"

static void
test_documents (void)
{
  static const struct { const char *what, *text; bool read; } cases[] = {
    { "escapes, pairs and strings", DOCUMENT (V, M), true },
    { "the merges first", "{\"model\": {\"merges\": " M ", \"vocab\": " V "}, " A "}", true },
    { "names with escapes", "{\"\\u006dodel\": {\"m\\u0065rges\": " M ", \"v\\u006fcab\": " V "}}", true },
    { "nothing in them", DOCUMENT ("{ }", "[ ]"), true },
    { "a line of version", DOCUMENT ("{\"a\": 0, \"aa\": 1}", "[\"#version: 0.2\", \"a a\"]"), true },
    { "the same names elsewhere", "{\"x\": {\"vocab\": {}, \"merges\": []}, \"model\": {\"x\": {\"vocab\": 1}, "
      "\"vocab\": " V ", \"merges\": " M "}}", true },
    { "a list of tokens", DOCUMENT ("[\"a\"]", M), false },
    { "no merges", "{\"model\": {\"vocab\": " V "}}", false },
    { "no model", "{\"vocab\": " V "}", false },
    { "no object", "[" V "]", false },
    { "a token twice", DOCUMENT ("{\"a\": 0, \"b\": 1, \"a\": 2}", "[]"), false },
    { "a token twice in two spellings", DOCUMENT ("{\"a\": 0, \"\\u0061\": 2}", "[]"), false },
    { "two vocabularies", "{\"model\": {\"vocab\": " V ", \"merges\": [], \"vocab\": {}}}", false },
    { "two vocabularies in two spellings", "{\"model\": {\"vocab\": " V ", \"merges\": [], \"voc\\u0061b\": {}}}",
      false },
    { "two models", "{\"model\": {\"vocab\": {}, \"merges\": []}, \"model\": {}}", false },
    { "a comma behind the last token", DOCUMENT ("{\"a\": 0,}", "[]"), false },
    { "a comma behind the last merge", DOCUMENT (V, "[\"a b\",]"), false },
    { "a comma behind the model", "{\"model\": {\"vocab\": {}, \"merges\": []},}", false },
    { "no comma between", DOCUMENT ("{\"a\": 0 \"b\": 1}", "[]"), false },
    { "other brackets", DOCUMENT ("{\"a\": 0]", "[}"), false },
    { "half of a surrogate pair", DOCUMENT ("{\"\\ud83d\": 0}", "[]"), false },
    { "the other half", DOCUMENT ("{\"\\ude00\": 0}", "[]"), false },
    { "U+0000", DOCUMENT ("{\"\\u0000\": 0}", "[]"), false },
    { "a control character", DOCUMENT ("{\"\t\": 0}", "[]"), false },
    { "an unknown escape", DOCUMENT ("{\"\\x\": 0}", "[]"), false },
    { "no hexadecimal", DOCUMENT ("{\"\\u00g0\": 0}", "[]"), false },
    { "invalid UTF-8", DOCUMENT ("{\"\344\270\": 0}", "[]"), false },
    { "invalid UTF-8 in a merge", DOCUMENT (V, "[\"a \377\"]"), false },
    { "a zero before a number", DOCUMENT ("{\"a\": 00}", "[]"), false },
    { "a negative number", DOCUMENT ("{\"a\": -1}", "[]"), false },
    { "a real number", DOCUMENT ("{\"a\": 1.0}", "[]"), false },
    { "a number with an exponent", DOCUMENT ("{\"a\": 1e1}", "[]"), false },
    { "a large number", DOCUMENT ("{\"a\": 99999999999999999999}", "[]"), false },
    { "an id beyond all", DOCUMENT ("{\"a\": 4194304}", "[]"), false },
    { "text for a number", DOCUMENT ("{\"a\": \"0\"}", "[]"), false },
    { "three parts", DOCUMENT (V, "[[\"a\", \"b\", \"a\"]]"), false },
    { "one part", DOCUMENT (V, "[[\"a\"]]"), false },
    { "two blanks", DOCUMENT (V, "[\"a  b\"]"), false },
    { "no blank", DOCUMENT (V, "[\"ab\"]"), false },
    { "a number for a merge", DOCUMENT (V, "[1]"), false },
    { "an unknown part", DOCUMENT (V, "[\"a x\"]"), false },
    { "unknown together", DOCUMENT (V, "[\"b a\"]"), false },
    { "something behind the document", DOCUMENT (V, M) "x", false },
    { "nothing", "", false },
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      bool read, good = compare (cases[i].text, strlen (cases[i].text), &read);

      ok (good && read == cases[i].read, cases[i].what);
    }
}

static void
test_nesting (void)
{
  char text[4096] = "{\"model\": {\"vocab\": {\"a\": ";
  bool read;

  memset (text + strlen (text), '[', 1000);
  ok (compare (text, strlen (text), &read) && !read, "a thousand levels, cut off");
  memset (text + strlen (text), ']', 1000);
  strcat (text, "}, \"merges\": []}}");
  ok (compare (text, strlen (text), &read) && !read, "a thousand levels");
}

/* ---- any changes ---- */

static uint32_t
draw (uint64_t *state, uint32_t n)
{
  *state = *state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  return (uint32_t) ((*state >> 33) % n);
}

/* "-0" is an integer to Jansson, and no id.  */
static void
test_changes (void)
{
  static const char bytes[] = "{}[]\",:\\ abu0019e.-\n\t\344\270\255\377";
  static const char document[] = DOCUMENT (V, M);
  char text[sizeof document + 8];
  uint64_t state = 42;
  size_t n_read = 0, n = 0;
  bool read, good = true;

  for (; n < 30000 && good; n++)
    {
      size_t size = sizeof document - 1;

      memcpy (text, document, size);
      for (uint32_t changes = 1 + draw (&state, 3); changes > 0; changes--)
        {
          uint32_t at = draw (&state, (uint32_t) size), kind = draw (&state, 3);

          if (kind == 0)
            memmove (text + at, text + at + 1, --size - at);
          else
            {
              if (kind == 1)
                memmove (text + at + 1, text + at, size++ - at);
              text[at] = bytes[draw (&state, sizeof bytes - 1)];
            }
        }
      if (memmem (text, size, "-0", 2))
        continue;
      good = compare (text, size, &read);
      n_read += read;
    }
  ok (good, "changed bytes are read or refused alike");
  ok (n_read > n / 20 && n_read < n - n / 20, "many of both");
}

int
main (void)
{
  test_documents ();
  test_nesting ();
  test_changes ();
  return tap_done ();
}

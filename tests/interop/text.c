/* text.c -- ids and splits against those of HF tokenizers (make-text-goldens.py), and what must hold of
   every text: parts encoded apart give the ids of the whole, and decoding gives the text back.
   With the tokenizers of MiniMind and GPT-2 too where they are present.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/memory.h>
#include <minimind/tokenizer.h>

#include "../../lib/text/tokenizer_impl.h"
#include "../tap.h"

static const char *srcdir;

static char *
path_of (const char *folder, const char *name, const char *tail)
{
  static char path[4096];

  /* A name without a dot is an encoding, of which there is one rank file.  */
  if (!strchr (name, '.') && !*tail)
    snprintf (path, sizeof path, "%s:%s/%s/small.tiktoken", name, srcdir, folder);
  else
    snprintf (path, sizeof path, "%s/%s/%s%s", srcdir, folder, name, tail);
  return path;
}

/* Call EACH with every line of the file NAME, a JSON array; returns their number.  */
static size_t
each_row (const char *name, void (*each) (const json_t *row))
{
  char *text, *line;
  size_t size, n = 0;

  if (mm_read_file (path_of ("tests/interop/text", name, ""), 1 << 24, &text, &size) < 0)
    {
      printf ("# %s\n", mm_error_message ());
      return 0;
    }
  for (line = text; *line; n++)
    {
      char *end = strchr (line, '\n');
      json_t *row = json_loadb (line, (size_t) (end - line), JSON_ALLOW_NUL, NULL);

      each (row);
      json_decref (row);
      line = end + 1;
    }
  free (text);
  return n;
}

/* The tokenizer NAME of FOLDER with its encoder, loaded once; NULL if it is not there.  */
static struct mm_encoder *
encoder_of (const char *folder, const char *name, const char *tail,
            const struct mm_tokenizer **tokenizer)
{
  static struct { char name[64]; struct mm_tokenizer *t; struct mm_encoder *e; } known[32];
  int i = 0;

  for (; *known[i].name; i++)
    if (strcmp (known[i].name, name) == 0)
      {
        *tokenizer = known[i].t;
        return known[i].e;
      }
  if (mm_tokenizer_load (path_of (folder, name, tail), &known[i].t) < 0
      || mm_encoder_open (known[i].t, &known[i].e) < 0)
    {
      printf ("# %s\n", mm_error_message ());
      return NULL;
    }
  snprintf (known[i].name, sizeof known[i].name, "%s", name);
  *tokenizer = known[i].t;
  return known[i].e;
}

/* SHA-256 of IDS as 32-bit little-endian.  */
static void
digest (const struct mm_ids *ids, char text[MM_SHA256_TEXT])
{
  unsigned char *bytes = malloc (4 * ids->count + 1);

  for (size_t i = 0; i < ids->count; i++)
    for (int b = 0; b < 4; b++)
      bytes[4 * i + (size_t) b] = (unsigned char) (ids->data[i] >> 8 * b);
  if (mm_sha256_bytes (bytes, 4 * ids->count, text) < 0)
    *text = '\0';
  free (bytes);
}

/* Is WANT, a list or a number with the start of a digest, IDS?  */
static bool
same_ids (const json_t *want, const struct mm_ids *ids)
{
  const char *start = json_string_value (json_array_get (want, 1));
  char text[MM_SHA256_TEXT];

  if (start)
    {
      digest (ids, text);
      return (size_t) json_integer_value (json_array_get (want, 0)) == ids->count
             && strncmp (text, start, strlen (start)) == 0;
    }
  if (json_array_size (want) != ids->count)
    return false;
  for (size_t i = 0; i < ids->count; i++)
    if (json_integer_value (json_array_get (want, i)) != (json_int_t) ids->data[i])
      return false;
  return true;
}

static void
append (struct mm_ids *list, size_t value)
{
  if (mm_grow ("list", &list->data, &list->capacity, list->count + 1, sizeof *list->data) < 0)
    exit (99);
  list->data[list->count++] = (uint32_t) value;
}

static size_t wrong_ids, wrong_splits, wrong_cuts, cuts, wrong_texts;

static void
complain (const char *what, const char *name, const json_t *text)
{
  char *shown = json_dumps (text, JSON_ENCODE_ANY);

  printf ("# %s: %s: %.300s\n", what, name, shown);
  free (shown);
}

/* Every cut that is found leaves the ids as they are.  */
static void
check_cuts (struct mm_encoder *e, const struct mm_tokenizer *t, const json_t *text, unsigned flags,
            const struct mm_ids *whole)
{
  const char *s = json_string_value (text);
  size_t size = json_string_length (text), cut = size;

  while ((cut = mm_encode_cut (t, s, size, cut - (cut > 0), flags)) > 0)
    {
      struct mm_ids parts = { 0 };

      cuts++;
      if (mm_encode (e, s, cut, flags, &parts) < 0 || mm_encode (e, s + cut, size - cut, flags, &parts) < 0
          || parts.count != whole->count
          || memcmp (parts.data, whole->data, parts.count * sizeof *parts.data) != 0)
        {
          wrong_cuts++;
          complain ("cut", "", text);
        }
      free (parts.data);
    }
}

/* Ids of TEXT by the tokenizers that the object IDS names, "+" for special tokens parsed.  */
static void
check_ids (const json_t *text, json_t *want_by_name, const char *folder, const char *tail)
{
  const char *key;
  json_t *want;

  json_object_foreach (want_by_name, key, want)
    {
      bool special = key[strlen (key) - 1] == '+';
      const struct mm_tokenizer *t;
      struct mm_ids ids = { 0 };
      size_t size = 0, capacity = 0, count;
      char name[64], *back = NULL;
      struct mm_encoder *e;

      snprintf (name, sizeof name, "%.*s", (int) (strlen (key) - special), key);
      e = encoder_of (folder, name, tail, &t);
      if (!e || mm_encode (e, json_string_value (text), json_string_length (text),
                           special ? MM_PARSE_SPECIAL : 0, &ids) < 0 || !same_ids (want, &ids))
        {
          wrong_ids++;
          complain ("ids", key, text);
          free (ids.data);
          continue;
        }
      check_cuts (e, t, text, special ? MM_PARSE_SPECIAL : 0, &ids);
      if (mm_count (e, json_string_value (text), json_string_length (text), special ? MM_PARSE_SPECIAL : 0,
                    &count) < 0 || count != ids.count)
        {
          wrong_ids++;
          complain ("count", key, text);
        }
      /* Added tokens that swallow white space do not give it back, nor is it the text as it was where
         it was normalised (check_normal).  */
      if (strcmp (name, "gpt2-added.json") != 0 && !t->nfc
          && (mm_decode (t, ids.data, ids.count, false, &back, &size, &capacity) < 0
              || size != json_string_length (text)
              || (size && memcmp (back, json_string_value (text), size) != 0)))
        {
          wrong_texts++;
          complain ("text", key, text);
        }
      free (ids.data);
      free (back);
    }
}

/* Splits of row [text, by each pattern, ids], 0 standing for those before.  */
static void
check_splits (const json_t *row)
{
  const json_t *text = json_array_get (row, 0), *want = NULL;
  const char *s = json_string_value (text);
  size_t size = json_string_length (text), ends[MM_PIECES_MIN];

  for (unsigned pattern = 0; pattern < MM_PATTERN_GENERAL; pattern++)
    {
      struct mm_ids sizes = { 0 };
      char name[16];

      if (json_is_array (json_array_get (row, 1 + pattern)))
        want = json_array_get (row, 1 + pattern);
      for (size_t at = 0; at < size;)
        {
          size_t n = mm_pretokenize ((enum mm_pattern) pattern, s, size, at, ends, MM_PIECES_MIN);

          for (size_t k = 0; k < n; at = ends[k++])
            append (&sizes, ends[k] - at);
        }
      if (!same_ids (want, &sizes))
        {
          wrong_splits++;
          snprintf (name, sizeof name, "pattern %u", pattern);
          complain ("splits", name, text);
        }
      free (sizes.data);
    }
}

static void
check_case (const json_t *row)
{
  check_splits (row);
  check_ids (json_array_get (row, 0), json_array_get (row, 1 + MM_PATTERN_GENERAL), "tests/interop/text",
             "");
}

/* Row [pre-tokenizer, [text, starts and ends of pieces]...].  */
static void
check_general (const json_t *row)
{
  struct mm_tokenizer t = { 0 };
  struct mm_splitter *s = NULL;
  const json_t *one;
  size_t i;

  if (mm_load_pre_tokenizer ("split", json_array_get (row, 0), &t) < 0 || t.pattern != MM_PATTERN_GENERAL
      || mm_splitter_open (&t.split, &s) < 0)
    {
      wrong_splits++;
      complain (mm_error_message (), "", json_array_get (row, 0));
      return;
    }
  json_array_foreach (row, i, one)
    {
      const json_t *text = json_array_get (one, 0);
      struct mm_ids places = { 0 };
      size_t at = 0, ends[2], n = 0;
      mm_status st;

      if (i == 0)
        continue;
      st = mm_splitter_begin (s, json_string_value (text), json_string_length (text));
      while (st == MM_OK && (st = mm_splitter_next (s, &at, ends, 2, &n)) == MM_OK && n > 0)
        for (size_t k = 0; k < n; at = ends[k++])
          {
            append (&places, at);
            append (&places, ends[k]);
          }
      if (st < 0 || !same_ids (json_array_get (one, 1), &places))
        {
          wrong_splits++;
          complain ("general split", st < 0 ? mm_error_message () : "", json_array_get (row, 0));
          complain ("of", "", text);
        }
      free (places.data);
    }
  mm_splitter_close (s);
  mm_split_free (&t.split);
}

/* Row [text, its NFC, ids by tokenizer].  */
static void
check_normal (const json_t *row)
{
  const json_t *text = json_array_get (row, 0), *want = json_array_get (row, 1);
  struct mm_nfc nfc = { 0 };
  const struct mm_tokenizer *t;
  struct mm_ids ids = { 0 };
  char *back = NULL;
  size_t size = 0, capacity = 0;
  struct mm_encoder *e = encoder_of ("tests/interop/text", "qwen2.json", "", &t);
  bool good;

  good = mm_nfc_make (&nfc, json_string_value (text), json_string_length (text)) == MM_OK
         && nfc.size == json_string_length (want)
         && memcmp (nfc.text, json_string_value (want), nfc.size) == 0
         && mm_nfc_check (nfc.text, nfc.size) <= nfc.size;
  good &= e && mm_encode (e, json_string_value (text), json_string_length (text), MM_PARSE_SPECIAL, &ids)
          == MM_OK && mm_decode (t, ids.data, ids.count, false, &back, &size, &capacity) == MM_OK
          && size == nfc.size && memcmp (back, nfc.text, size) == 0;
  if (!good)
    {
      wrong_texts++;
      complain ("NFC", "", text);
    }
  free (ids.data);
  free (back);
  mm_nfc_free (&nfc);
  check_ids (text, json_array_get (row, 2), "tests/interop/text", "");
}

/* Row [text, ids by encoding] of the rank file.  */
static void
check_ranks (const json_t *row)
{
  check_ids (json_array_get (row, 0), json_array_get (row, 1), "tests/interop/text", "");
}

/* The same ids by vocab.json and merges.txt as by the tokenizer.json of the same tokenizer.  */
static void
check_pair (const json_t *row)
{
  json_t *want = json_object_get (json_array_get (row, 1 + MM_PATTERN_GENERAL), "gpt2-legacy.json");
  json_t *renamed = json_pack ("{s:O}", "small-vocab.json", want);

  check_ids (json_array_get (row, 0), renamed, "tests/interop/text", "");
  json_decref (renamed);
}

/* Either [text, ids by tokenizer] or [tokenizer, file, number, digest].  */
static void
check_real (const json_t *row)
{
  const struct mm_tokenizer *t;
  struct mm_ids ids = { 0 };
  struct mm_encoder *e;
  char hex[MM_SHA256_TEXT] = "", *text = NULL;
  size_t size = 0;

  if (json_array_size (row) == 2)
    {
      check_ids (json_array_get (row, 0), json_array_get (row, 1), "../shared/data/tokenizers",
                 ".tokenizer.json");
      return;
    }
  e = encoder_of ("../shared/data/tokenizers", json_string_value (json_array_get (row, 0)),
                  ".tokenizer.json", &t);
  if (e && mm_read_file (path_of ("../shared/data/text", json_string_value (json_array_get (row, 1)), ""),
                         1 << 24, &text, &size) == MM_OK
      && mm_encode (e, text, size, 0, &ids) == MM_OK)
    digest (&ids, hex);
  if (ids.count != (size_t) json_integer_value (json_array_get (row, 2))
      || strcmp (hex, json_string_value (json_array_get (row, 3))) != 0)
    {
      wrong_ids++;
      complain ("ids", json_string_value (json_array_get (row, 0)), json_array_get (row, 1));
    }
  free (ids.data);
  free (text);
}

int
main (void)
{
  srcdir = getenv ("srcdir") ? getenv ("srcdir") : ".";

  ok (each_row ("cases.jsonl", check_case) > 250, "the cases are there");
  ok (wrong_splits == 0, "pieces are those of the engine, by seven patterns");
  ok (wrong_ids == 0, "ids are those of HF, by ten tokenizers");
  ok (cuts > 1000 && wrong_cuts == 0, "cut where a cut is allowed, the ids stay");
  ok (wrong_texts == 0, "decoding gives the text back");
  ok (each_row ("splits.jsonl", check_general) > 30 && wrong_splits == 0,
      "pieces by splits that are not built in");
  ok (each_row ("normal.jsonl", check_normal) > 30 && wrong_texts == 0 && wrong_ids == 0 && wrong_cuts == 0,
      "text is normalised as HF does it, and decodes to that");

  ok (each_row ("ranks.jsonl", check_ranks) > 100 && wrong_ids == 0 && wrong_cuts == 0 && wrong_texts == 0,
      "ids with a rank file are tiktoken's, by five encodings");
  ok (each_row ("cases.jsonl", check_pair) > 250 && wrong_ids == 0, "vocab.json and merges.txt");

  if (access (path_of ("../shared/data/tokenizers", "gpt2", ".tokenizer.json"), R_OK) == 0)
    {
      wrong_ids = wrong_cuts = wrong_texts = 0;
      ok (each_row ("real.jsonl", check_real) > 50 && wrong_ids == 0,
          "ids with the tokenizers of MiniMind 2, MiniMind 3 and GPT-2, whole texts included");
      ok (wrong_cuts == 0 && wrong_texts == 0, "cuts and decoding with them");
    }
  else
    printf ("ok %d - the tokenizers of MiniMind and GPT-2 # SKIP not present\n", ++tap_count);
  return tap_done ();
}

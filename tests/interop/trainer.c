/* trainer.c -- trained vocabularies against those of HF's BpeTrainer (make-trainer-goldens.py), for any number
   of threads and however documents are cut; and the files that come out.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <minimind/bpe_trainer.h>
#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/tokenizer.h>

#include "../tap.h"

static const char *srcdir;

static char *
data_path (const char *name)
{
  static char path[4096];

  snprintf (path, sizeof path, "%s/../shared/data/text/%s", srcdir, name);
  return path;
}

/* ---- documents ---- */

/* Add TEXT, in pieces of about STEP bytes if it is not 0.  */
static bool
add (struct mm_bpe_trainer *t, const char *text, size_t size, size_t step)
{
  while (step && size > step)
    {
      size_t cut = mm_bpe_trainer_cut (t, text, size, step);

      if (cut == 0)
        break;
      if (mm_bpe_trainer_add (t, text, cut) < 0)
        return false;
      text += cut;
      size -= cut;
    }
  return mm_bpe_trainer_add (t, text, size) == MM_OK;
}

/* The file NAME: a text, or the field "text" of JSON Lines.  */
static bool
add_file (struct mm_bpe_trainer *t, const char *name, size_t step)
{
  char *text, *line, *end;
  size_t size;
  bool good = true;

  if (mm_read_file (data_path (name), 1 << 24, &text, &size) < 0)
    return false;
  if (!strstr (name, ".jsonl"))
    good = add (t, text, size, step);
  else
    for (line = text; good && *line; line = end + 1)
      {
        json_t *row, *field;

        end = strchr (line, '\n');
        if (!end)
          break;
        row = json_loadb (line, (size_t) (end - line), 0, NULL);
        field = json_object_get (row, "text");
        good = add (t, json_string_value (field), json_string_length (field), step);
        json_decref (row);
      }
  free (text);
  return good;
}

/* ---- what came out ---- */

/* SHA-256 of N strings, a line each.  */
static void
digest (char **lines, size_t n, char hex[MM_SHA256_TEXT])
{
  struct mm_sha256 *h;

  if (mm_sha256_open (&h) < 0)
    exit (99);
  for (size_t i = 0; i < n; i++)
    {
      mm_sha256_add (h, lines[i], strlen (lines[i]));
      mm_sha256_add (h, "\n", 1);
    }
  mm_sha256_close (h, hex);
}

/* Digests of merges and of tokens by id.  */
static bool
digest_model (const char *json, size_t *n_merges, char merges_hex[MM_SHA256_TEXT],
              char tokens_hex[MM_SHA256_TEXT])
{
  json_t *root = json_loads (json, 0, NULL), *model = json_object_get (root, "model");
  json_t *vocab = json_object_get (model, "vocab"), *merges = json_object_get (model, "merges");
  json_t *value, *pair;
  size_t n = json_object_size (vocab), i;
  char **lines = calloc (n + json_array_size (merges) + 1, sizeof *lines);
  const char *key;

  json_object_foreach (vocab, key, value)
    if (json_integer_value (value) < (json_int_t) n)
      lines[json_integer_value (value)] = strdup (key);
  for (i = 0; i < n; i++)
    if (!lines[i])
      return false;
  digest (lines, n, tokens_hex);
  for (i = 0; i < n; i++)
    free (lines[i]);
  json_array_foreach (merges, i, pair)
    {
      const char *left = json_string_value (json_array_get (pair, 0));
      const char *right = json_string_value (json_array_get (pair, 1));

      lines[i] = malloc (strlen (left) + strlen (right) + 2);
      sprintf (lines[i], "%s %s", left, right);
    }
  *n_merges = json_array_size (merges);
  digest (lines, *n_merges, merges_hex);
  for (i = 0; i < *n_merges; i++)
    free (lines[i]);
  free (lines);
  json_decref (root);
  return true;
}

/* Does it load, and do TEXT's ids decode to it?  */
static bool
round_trip (const char *json, const char *config, const char *text)
{
  struct mm_tokenizer *t;
  struct mm_encoder *e;
  struct mm_ids ids = { 0 };
  char *back = NULL;
  size_t size = 0, capacity = 0;
  bool good;

  if (mm_tokenizer_parse ("trained", json, strlen (json), config, strlen (config), &t) < 0
      || mm_encoder_open (t, &e) < 0)
    {
      printf ("# %s\n", mm_error_message ());
      return false;
    }
  good = mm_encode (e, text, strlen (text), 0, &ids) == MM_OK
         && mm_decode (t, ids.data, ids.count, false, &back, &size, &capacity) == MM_OK
         && size == strlen (text) && memcmp (back, text, size) == 0;
  free (ids.data);
  free (back);
  mm_encoder_close (e);
  mm_tokenizer_free (t);
  return good;
}

/* ---- one corpus ---- */

static bool
train (const json_t *row, int n_threads, size_t step, char **json, char **config,
       uint32_t *reached)
{
  const json_t *documents = json_array_get (row, 1), *special = json_array_get (row, 3), *one;
  const char *tokens[8];
  struct mm_bpe_options o = { .special = tokens, .n_special = json_array_size (special),
                              .n_threads = n_threads };
  struct mm_bpe_trainer *t;
  bool good = true;
  size_t i;

  o.vocab_size = (uint32_t) json_integer_value (json_array_get (row, 2));
  o.pattern = json_string_value (json_array_get (row, 8));
  for (i = 0; i < o.n_special; i++)
    tokens[i] = json_string_value (json_array_get (special, i));
  if (o.n_special > 0)
    o.eos = o.pad = tokens[0];
  if (mm_bpe_trainer_open (&o, &t) < 0)
    return false;
  if (json_is_string (documents))
    good = add_file (t, json_string_value (documents), step);
  else
    json_array_foreach (documents, i, one)
      good &= add (t, json_string_value (one), json_string_length (one), step);
  good = good && mm_bpe_trainer_finish (t, json, config, reached) == MM_OK;
  mm_bpe_trainer_close (t);
  return good;
}

static void
check_row (const json_t *row)
{
  const char *name = json_string_value (json_array_get (row, 0));
  char merges_hex[MM_SHA256_TEXT], tokens_hex[MM_SHA256_TEXT], title[128], *json, *config;
  size_t n_merges;
  uint32_t reached;

  if (json_is_string (json_array_get (row, 1)) && access (data_path (name), R_OK) != 0)
    {
      printf ("ok %d - %s # SKIP not present\n", ++tap_count, name);
      return;
    }
  for (int n_threads = 1; n_threads <= 3; n_threads += 2)
    {
      bool good = train (row, n_threads, n_threads == 3 ? 700 : 0, &json, &config, &reached);

      snprintf (title, sizeof title, "%s: HF's vocabulary, %d threads", name, n_threads);
      ok (good && digest_model (json, &n_merges, merges_hex, tokens_hex)
          && reached == json_integer_value (json_array_get (row, 4))
          && n_merges == (size_t) json_integer_value (json_array_get (row, 5))
          && strcmp (merges_hex, json_string_value (json_array_get (row, 6))) == 0
          && strcmp (tokens_hex, json_string_value (json_array_get (row, 7))) == 0, title);
      if (!good)
        {
          printf ("# %s\n", mm_error_message ());
          continue;
        }
      ok (round_trip (json, config, "the fisherman's 灯笼 aaaa abab\n\t!!"), "and it loads");
      free (json);
      free (config);
    }
}

/* ---- more of a tokenizer ---- */

/* Train TOKENS tokens on DOCUMENT, extending BASE if it is not NULL.  */
static struct mm_tokenizer *
extend (const struct mm_tokenizer *base, uint32_t tokens, const char *document, char **json)
{
  struct mm_bpe_options o = { .vocab_size = tokens, .base = base, .n_threads = 2 };
  struct mm_tokenizer *made = NULL;
  struct mm_bpe_trainer *t;
  char *config = NULL;
  uint32_t reached;

  *json = NULL;
  if (mm_bpe_trainer_open (&o, &t) < 0 || mm_bpe_trainer_add (t, document, strlen (document)) < 0
      || mm_bpe_trainer_finish (t, json, &config, &reached) < 0 || reached != tokens
      || mm_tokenizer_parse ("made", *json, strlen (*json), NULL, 0, &made) < 0)
    printf ("# %s\n", mm_error_message ());
  ok (base ? !config : config != NULL, "a configuration comes from nowhere but for new tokenizers");
  mm_bpe_trainer_close (t);
  free (config);
  return made;
}

/* The merges of JSON from number FROM on, done on IDS in their order: what the longer tokenizer makes of text.  */
static void
merge_on (const char *json, size_t from, struct mm_ids *ids)
{
  json_t *root = json_loads (json, 0, NULL), *pair;
  const json_t *model = json_object_get (root, "model"), *vocab = json_object_get (model, "vocab");
  size_t i;

  json_array_foreach (json_object_get (model, "merges"), i, pair)
    {
      const char *a = json_string_value (json_array_get (pair, 0)), *b = json_string_value (json_array_get (pair, 1));
      uint32_t left = (uint32_t) json_integer_value (json_object_get (vocab, a));
      uint32_t right = (uint32_t) json_integer_value (json_object_get (vocab, b));
      char both[256];
      size_t kept = 0;

      snprintf (both, sizeof both, "%s%s", a, b);
      for (size_t k = 0; i >= from && k < ids->count; k++)
        if (k + 1 < ids->count && ids->data[k] == left && ids->data[k + 1] == right)
          {
            ids->data[kept++] = (uint32_t) json_integer_value (json_object_get (vocab, both));
            k++;
          }
        else
          ids->data[kept++] = ids->data[k];
      if (i >= from)
        ids->count = kept;
    }
  json_decref (root);
}

static void
encode_word (const struct mm_tokenizer *t, const char *word, size_t size, struct mm_ids *ids)
{
  struct mm_encoder *e;

  ids->count = 0;
  if (mm_encoder_open (t, &e) < 0 || mm_encode (e, word, size, 0, ids) < 0)
    exit (99);
  mm_encoder_close (e);
}

/* Words that the old one cuts anywhere, learnt on.  */
static void
test_extension (void)
{
  static const char few[] = "low lower lowest the other then 灯笼灯笼 new newer newest "
                            "the low the new lower other lower";
  static const char more[] = "slower slowest lowering the otherness thenewest 灯笼里的灯笼 "
                             "widest wider wide widen wider widest lowering slower slower otherness 灯笼里";
  char *json = NULL, *longer_json = NULL;
  struct mm_tokenizer *old = extend (NULL, 280, few, &json);
  struct mm_tokenizer *longer = old ? extend (old, 300, more, &longer_json) : NULL;
  struct mm_ids want = { 0 }, found = { 0 };
  bool same = longer != NULL, kept = longer != NULL;
  size_t old_size, new_size;

  for (uint32_t id = 0; kept && id < 280; id++)
    {
      const char *a = mm_tokenizer_bytes (old, id, &old_size), *b = mm_tokenizer_bytes (longer, id, &new_size);

      kept = a && b && old_size == new_size && memcmp (a, b, old_size) == 0;
    }
  ok (kept && mm_tokenizer_vocab_size (longer) == 300, "all old ids are what they were");
  for (const char *word = more, *end; same && *word; word = end)
    {
      end = word + 1 + strcspn (word + 1, " ");
      encode_word (old, word, (size_t) (end - word), &want);
      merge_on (longer_json, 280 - 256, &want);
      encode_word (longer, word, (size_t) (end - word), &found);
      same = want.count == found.count && memcmp (want.data, found.data, want.count * sizeof *want.data) == 0;
      if (!same)
        printf ("# %.*s\n", (int) (end - word), word);
    }
  ok (same, "its ids are those of the old one, with the new merges done on them");
  free (json);
  free (longer_json);
  free (want.data);
  free (found.data);
  mm_tokenizer_free (old);
  mm_tokenizer_free (longer);
}

int
main (void)
{
  char path[4096], *text, *line, *end;
  size_t size;

  srcdir = getenv ("srcdir") ? getenv ("srcdir") : ".";
  snprintf (path, sizeof path, "%s/tests/interop/text/trained.jsonl", srcdir);
  if (mm_read_file (path, 1 << 24, &text, &size) < 0)
    {
      printf ("Bail out! %s\n", mm_error_message ());
      return 99;
    }
  for (line = text; (end = strchr (line, '\n')); line = end + 1)
    {
      json_t *row = json_loadb (line, (size_t) (end - line), 0, NULL);

      check_row (row);
      json_decref (row);
    }
  free (text);
  test_extension ();
  return tap_done ();
}

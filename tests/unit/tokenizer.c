/* Tokenizers: what is refused and how, roles, bytes, decoding, UTF-8, and the rules of added
   tokens.  That ids are HF's is tested in tests/interop/text.c.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include <minimind/files.h>
#include <minimind/tokenizer.h>

#include "../../lib/text/byte_table.h"
#include "../tap.h"
#include "tiny.h"

/* ---- a small tokenizer to start from ---- */

/* The spelling of TEXT in a byte-level vocabulary.  */
static char *
spelt (const char *text, char *out)
{
  char *p = out;

  for (; *text; text++)
    {
      uint32_t c = mm_table_code_point ((unsigned char) *text);

      if (c < 0x80)
        *p++ = (char) c;
      else
        {
          *p++ = (char) (0xc0 | c >> 6);
          *p++ = (char) (0x80 | (c & 0x3f));
        }
    }
  *p = '\0';
  return out;
}

static void
add_merge (json_t *root, const char *left, const char *right)
{
  json_t *model = json_object_get (root, "model"), *vocab = json_object_get (model, "vocab");
  char a[64], b[64], both[128];

  spelt (left, a);
  spelt (right, b);
  snprintf (both, sizeof both, "%s%s", a, b);
  if (!json_object_get (vocab, both))
    json_object_set_new (vocab, both, json_integer ((json_int_t) json_object_size (vocab)));
  json_array_append_new (json_object_get (model, "merges"), json_pack ("[s, s]", a, b));
}

static void
add_token (json_t *root, const char *text, int id, bool special)
{
  json_array_append_new (json_object_get (root, "added_tokens"),
                         json_pack ("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", id, "content", text,
                                    "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0,
                                    "special", (int) special));
}

/* Ids 0 to 2 special, 3 to 258 bytes in order, then he, ll, hell, hello, " w".  */
static json_t *
small_tokenizer (void)
{
  json_t *root = json_pack ("{s:s, s:n, s:n, s:[], s:n, s:{s:s, s:b, s:b}, s:n, s:{s:s}, "
                            "s:{s:s, s:n, s:{}, s:[]}}", "version", "1.0", "truncation", "padding",
                            "added_tokens", "normalizer", "pre_tokenizer", "type", "ByteLevel",
                            "add_prefix_space", 0, "use_regex", 1, "post_processor", "decoder",
                            "type", "ByteLevel", "model", "type", "BPE", "dropout", "vocab", "merges");
  json_t *vocab = json_object_get (json_object_get (root, "model"), "vocab");
  static const char *const special[] = { "<|endoftext|>", "<|im_start|>", "<|im_end|>" };
  char byte[2] = "", out[8];

  for (int i = 0; i < 3; i++)
    {
      json_object_set_new (vocab, special[i], json_integer (i));
      add_token (root, special[i], i, true);
    }
  json_object_set_new (vocab, "\304\200", json_integer (3));    /* byte 0 */
  for (int c = 1; c < 256; c++)
    {
      byte[0] = (char) c;
      json_object_set_new (vocab, spelt (byte, out), json_integer (3 + c));
    }
  add_merge (root, "h", "e");
  add_merge (root, "l", "l");
  add_merge (root, "he", "ll");
  add_merge (root, "hell", "o");
  add_merge (root, " ", "w");
  return root;
}

static mm_status
parse (const json_t *root, const char *config, struct mm_tokenizer **t)
{
  char *text = json_dumps (root, JSON_COMPACT);
  mm_status st = mm_tokenizer_parse ("t.json", text, strlen (text), config,
                                     config ? strlen (config) : 0, t);

  free (text);
  return st;
}

/* ---- refusals ---- */

/* Set the field PATH ("a.b": of the object a) to the JSON text VALUE, "" to leave it out.  */
static void
set_field (json_t *root, const char *path, const char *value)
{
  const char *dot = strchr (path, '.');
  char first[32];

  if (dot)
    {
      snprintf (first, sizeof first, "%.*s", (int) (dot - path), path);
      root = json_object_get (root, first);
      path = dot + 1;
    }
  if (*value)
    json_object_set_new (root, path, json_loads (value, JSON_DECODE_ANY, NULL));
  else
    json_object_del (root, path);
}

#define TOKEN(id, text, flags) \
  "[{\"id\": " id ", \"content\": \"" text "\", \"special\": false, \"normalized\": false" flags "}]"
#define PLAIN ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false"

#define SEQUENCE(step) \
  "{\"type\": \"Sequence\", \"pretokenizers\": [" step ", {\"type\": \"ByteLevel\", \"use_regex\": " \
  "false}]}"
#define SPLIT(regex, behavior) \
  SEQUENCE ("{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" regex "\"}, \"behavior\": \"" behavior \
            "\", \"invert\": false}")

#define SPECIAL "{\"<|endoftext|>\": 0, \"<|im_start|>\": 1, \"<|im_end|>\": 2, "

static const struct
{
  const char *path, *value;
  mm_status status;
  const char *words;            /* in the message */
} refusals[] = {
  { "model", "", MM_EFORMAT, "no model" },
  { "version", "\"2.0\"", MM_EUNSUP, "version 2.0" },
  { "version", "", MM_EFORMAT, "version" },
  { "model.type", "\"WordPiece\"", MM_EUNSUP, "model WordPiece" },
  { "model.type", "\"Unigram\"", MM_EUNSUP, "model Unigram" },
  { "model.dropout", "0.1", MM_EUNSUP, "dropout 0.1" },
  { "model.byte_fallback", "true", MM_EUNSUP, "byte_fallback" },
  { "model.continuing_subword_prefix", "\"##\"", MM_EUNSUP, "continuing_subword_prefix" },
  { "model.end_of_word_suffix", "\"</w>\"", MM_EUNSUP, "end_of_word_suffix" },
  { "model.vocab", "", MM_EFORMAT, "vocab" },
  { "model.merges", "", MM_EFORMAT, "merges" },
  { "model.merges", "[[\"a\"]]", MM_EFORMAT, "number 0: want a pair" },
  { "model.merges", "[[\"h\", \"e\"], [\"a\", 1]]", MM_EFORMAT, "number 1: want a pair" },
  { "model.merges", "[\"a b c\"]", MM_EFORMAT, "number 0: want two parts" },
  { "model.merges", "[\"ab\"]", MM_EFORMAT, "number 0: want two parts" },
  { "model.merges", "[\"q q\"]", MM_EFORMAT, "token qq is not in the vocabulary" },
  { "model.merges", "[[\"q\", \"zz\"]]", MM_EFORMAT, "token zz is not in the vocabulary" },
  { "model.vocab", "{}", MM_EUNSUP, "no token for 243 of the 256 bytes" },
  { "model.vocab", SPECIAL "\"a\": -1}", MM_EFORMAT, "token a: want an id" },
  { "model.vocab", SPECIAL "\"a\": 4194304}", MM_EFORMAT, "token a: want an id" },
  { "model.vocab", SPECIAL "\"a\": \"b\"}", MM_EFORMAT, "token a: want an id" },
  { "truncation", "{\"max_length\": 5}", MM_EUNSUP, "truncation" },
  { "padding", "{\"pad_id\": 0}", MM_EUNSUP, "padding" },
  { "normalizer", "{\"type\": \"NFKC\"}", MM_EUNSUP, "normalizer NFKC" },
  { "normalizer", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, {\"type\": "
    "\"Lowercase\"}]}", MM_EUNSUP, "normalizer Lowercase" },
  { "pre_tokenizer", "null", MM_EUNSUP, "no pre_tokenizer" },
  { "pre_tokenizer", "{\"type\": \"Metaspace\"}", MM_EUNSUP, "pre_tokenizer Metaspace" },
  { "pre_tokenizer.add_prefix_space", "true", MM_EUNSUP, "add_prefix_space" },
  { "pre_tokenizer.use_regex", "false", MM_EUNSUP, "use_regex" },
  { "pre_tokenizer", "{\"type\": \"Sequence\"}", MM_EFORMAT, "want a list of pretokenizers" },
  { "pre_tokenizer", SEQUENCE ("{\"type\": \"Whitespace\"}"), MM_EUNSUP, "pre_tokenizer Whitespace" },
  { "pre_tokenizer", SEQUENCE ("{\"type\": \"Digits\"}"), MM_EFORMAT, "individual_digits" },
  { "pre_tokenizer", "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\"}, "
    "{\"type\": \"Digits\", \"individual_digits\": true}]}", MM_EUNSUP, "stands behind ByteLevel" },
  { "pre_tokenizer", "{\"type\": \"Digits\", \"individual_digits\": true}", MM_EUNSUP, "no ByteLevel" },
  { "pre_tokenizer", SEQUENCE ("{\"type\": \"Split\"}"), MM_EFORMAT, "behavior" },
  { "pre_tokenizer", SPLIT ("x", "Doubled"), MM_EFORMAT, "behavior Doubled" },
  { "pre_tokenizer", SEQUENCE ("{\"type\": \"Split\", \"behavior\": \"Isolated\", \"pattern\": "
    "{\"String\": \"\"}}"), MM_EFORMAT, "want a pattern" },
  { "pre_tokenizer", SPLIT ("x*", "Isolated"), MM_EUNSUP, "matches the empty string" },
  { "pre_tokenizer", SPLIT ("x**", "Isolated"), MM_EUNSUP, "PCRE2 does not take" },
  { "pre_tokenizer", SPLIT ("(x", "Isolated"), MM_EUNSUP, "a ( without its )" },
  { "pre_tokenizer", SPLIT ("x)", "Isolated"), MM_EUNSUP, "a ) without its (" },
  { "pre_tokenizer", SPLIT ("(?<n>x)", "Isolated"), MM_EUNSUP, "this kind of group" },
  { "pre_tokenizer", SPLIT ("[a&&b]", "Isolated"), MM_EUNSUP, "an intersection" },
  { "pre_tokenizer", SPLIT ("[a[b]]", "Isolated"), MM_EUNSUP, "a class within a class" },
  { "pre_tokenizer", SPLIT ("[]a]", "Isolated"), MM_EUNSUP, "an empty class" },
  { "pre_tokenizer", SPLIT ("[ab", "Isolated"), MM_EUNSUP, "a class without an end" },
  { "pre_tokenizer", SPLIT ("[a-\\\\s]", "Isolated"), MM_EUNSUP, "a range of sets" },
  { "pre_tokenizer", SPLIT ("[\\\\P{L}]", "Isolated"), MM_EUNSUP, "a negated property" },
  { "pre_tokenizer", SPLIT ("\\\\p{Emoji}", "Isolated"), MM_EUNSUP, "this property" },
  { "pre_tokenizer", SPLIT ("\\\\pL", "Isolated"), MM_EUNSUP, "a property without braces" },
  { "pre_tokenizer", SPLIT ("(x)\\\\1", "Isolated"), MM_EUNSUP, "this escape" },
  { "pre_tokenizer", SPLIT ("\\\\bx", "Isolated"), MM_EUNSUP, "this escape" },
  { "pre_tokenizer", SPLIT ("\\\\xff", "Isolated"), MM_EUNSUP, "this escape" },
  { "pre_tokenizer", SPLIT ("^x", "Isolated"), MM_EUNSUP, "the anchor ^" },
  { "pre_tokenizer", SPLIT ("x{}", "Isolated"), MM_EUNSUP, "this repetition" },
  { "pre_tokenizer", SPLIT ("(?i:ss)", "Isolated"), MM_EUNSUP, "case folding of ss" },
  { "pre_tokenizer", SPLIT ("(?i:\303\251)", "Isolated"), MM_EUNSUP, "case folding outside ASCII" },
  { "pre_tokenizer", SPLIT ("(?i:[^a])", "Isolated"), MM_EUNSUP, "case folding of a set" },
  { "post_processor", "{\"type\": \"Unknown\"}", MM_EUNSUP, "post_processor Unknown" },
  { "post_processor", "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"Unknown\"}]}",
    MM_EUNSUP, "post_processor Unknown" },
  { "decoder", "{\"type\": \"WordPiece\"}", MM_EUNSUP, "decoder WordPiece" },
  { "decoder", "null", MM_EUNSUP, "decoder" },
  { "added_tokens", "{}", MM_EFORMAT, "want a list" },
  { "added_tokens", "[1]", MM_EFORMAT, "want objects" },
  { "added_tokens", TOKEN ("0", "x", ""), MM_EFORMAT, "single_word" },
  { "added_tokens", TOKEN ("0", "", PLAIN), MM_EFORMAT, "is empty" },
  { "added_tokens", TOKEN ("77", "<|endoftext|>", PLAIN), MM_EFORMAT, "has id 77" },
  { "added_tokens", TOKEN ("300", "new", PLAIN), MM_EFORMAT, "its id would be 264" },
  { "added_tokens", TOKEN ("236", "\303\251", PLAIN), MM_EUNSUP, "spelling of another token" },
  { "added_tokens", "[{\"id\": 264, \"content\": \"new\", \"special\": false, \"normalized\": false"
    PLAIN "}, {\"id\": 264, \"content\": \"new\", \"special\": true, \"normalized\": false" PLAIN "}]",
    MM_EFORMAT, "has id 264, but its id would be 265" },
  { "added_tokens", "[{\"id\": 0, \"content\": \"<|endoftext|>\", \"special\": true, "
    "\"normalized\": false" PLAIN "}, {\"id\": 0, \"content\": \"<|endoftext|>\", \"special\": true, "
    "\"normalized\": false" PLAIN "}]", MM_EFORMAT, "<|endoftext|> stands twice" },
  { "added_tokens", "[{\"id\": 264, \"content\": \" x\", \"special\": false, \"normalized\": false"
    PLAIN "}, {\"id\": 265, \"content\": \"yy\", \"special\": true, \"normalized\": false, "
    "\"single_word\": false, \"lstrip\": false, \"rstrip\": true}]", MM_EUNSUP, "rstrip" },
};

static void
test_refusals (void)
{
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    {
      json_t *root = small_tokenizer ();
      struct mm_tokenizer *t = NULL;
      char name[256];
      mm_status st;

      set_field (root, refusals[i].path, refusals[i].value);
      st = parse (root, NULL, &t);
      snprintf (name, sizeof name, "refused: %s = %.60s", refusals[i].path, refusals[i].value);
      ok (st == refusals[i].status && !t && strstr (mm_error_message (), refusals[i].words)
          && strncmp (mm_error_message (), "t.json", 6) == 0, name);
      if (st != refusals[i].status || !strstr (mm_error_message (), refusals[i].words))
        printf ("# %d %s\n", st, mm_error_message ());
      mm_tokenizer_free (t);
      json_decref (root);
    }
}

static void
test_vocabulary_refusals (void)
{
  json_t *root = small_tokenizer (), *vocab;
  struct mm_tokenizer *t;
  char text[4098];

  vocab = json_object_get (json_object_get (root, "model"), "vocab");
  json_object_del (vocab, "q");
  ok (parse (root, NULL, &t) == MM_EUNSUP && strstr (mm_error_message (), "0x71"),
      "a vocabulary without the byte q is refused");
  json_object_set_new (vocab, "q", json_integer (5));
  ok (parse (root, NULL, &t) == MM_EFORMAT && strstr (mm_error_message (), "id 5"),
      "two tokens of one id are refused");
  json_object_set_new (vocab, "q", json_integer (3 + 'q'));
  json_object_set_new (vocab, "", json_integer (264));
  ok (parse (root, NULL, &t) == MM_EFORMAT && strstr (mm_error_message (), "empty"),
      "an empty token is refused");
  json_decref (root);

  root = small_tokenizer ();
  memset (text, 'x', sizeof text);
  text[4097] = '\0';
  add_token (root, text, 264, false);
  ok (parse (root, NULL, &t) == MM_EUNSUP && strstr (mm_error_message (), "has 4097 bytes"),
      "a very long added token is refused");
  json_decref (root);
  ok (mm_tokenizer_parse ("x", "{", 1, NULL, 0, &t) == MM_EFORMAT, "damaged JSON is refused");
  ok (mm_tokenizer_parse ("x", "[]", 2, NULL, 0, &t) == MM_EFORMAT, "another document is refused");
}

/* ---- accepted forms ---- */

static void
test_accepted (void)
{
  static const struct { const char *path, *value; } forms[] = {
    { "model.type", "" }, { "model.dropout", "0.0" }, { "model.unk_token", "\"a\"" },
    { "model.continuing_subword_prefix", "\"\"" }, { "normalizer", "" },
    { "normalizer", "{\"type\": \"Sequence\", \"normalizers\": []}" },
    { "pre_tokenizer", "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\"}]}" },
    { "normalizer", "{\"type\": \"NFC\"}" },
    { "normalizer", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}" },
    { "pre_tokenizer", SPLIT ("\\\\s?[a-z\\\\d\\\\S]{2,3}+|(?i:'s|[dt])?x(?=y)|\\\\p{Han}{,3}z$", "Removed") },
    { "pre_tokenizer", SEQUENCE ("{\"type\": \"Digits\", \"individual_digits\": true}") },
    { "post_processor", "{\"type\": \"BertProcessing\"}" },
    { "post_processor", "{\"type\": \"ByteLevel\"}" }, { "added_tokens", "[]" },
    { "post_processor", "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {}}, "
      "{\"Sequence\": {}}]}" },
    { "post_processor", "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}]}" },
    { "model.merges", "[\"#version: 0.2\", \"h e\", \"l l\"]" },
  };

  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    {
      json_t *root = small_tokenizer ();
      struct mm_tokenizer *t;
      char name[256];

      set_field (root, forms[i].path, forms[i].value);
      snprintf (name, sizeof name, "accepted: %s = %.60s", forms[i].path, forms[i].value);
      ok (parse (root, NULL, &t) == MM_OK, name);
      mm_tokenizer_free (t);
      json_decref (root);
    }
}

/* ---- files and roles ---- */

static bool
roles_are (const json_t *root, const char *config, int bos, int eos, int pad)
{
  struct mm_tokenizer *t;
  bool good;

  if (parse (root, config, &t) < 0)
    return false;
  good = mm_tokenizer_bos (t) == bos && mm_tokenizer_eos (t) == eos && mm_tokenizer_pad (t) == pad;
  mm_tokenizer_free (t);
  return good;
}

static void
test_roles (void)
{
  json_t *root = small_tokenizer ();
  struct mm_tokenizer *t;

  ok (roles_are (root, NULL, -1, 2, -1), "without a configuration <|im_end|> is eos");
  ok (roles_are (root, "{}", -1, -1, -1), "a configuration without roles gives none");
  ok (roles_are (root, "{\"bos_token\": \"<|im_start|>\", \"eos_token\": {\"content\": "
                 "\"<|im_end|>\"}, \"pad_token\": null}", 1, 2, -1),
      "roles as a string, an object, null");
  ok (parse (root, "{\"eos_token\": \"<none>\"}", &t) == MM_EFORMAT
      && strstr (mm_error_message (), "eos_token: token <none>"), "an unknown eos is refused");
  ok (parse (root, "{\"eos_token\": 5}", &t) == MM_EFORMAT, "an eos that is no token is refused");
  ok (parse (root, "[]", &t) == MM_EFORMAT, "a configuration that is no object is refused");
  ok (parse (root, "{\"add_prefix_space\": true}", &t) == MM_EUNSUP, "add_prefix_space is refused");
  ok (parse (root, "{\"added_tokens_decoder\": {\"1\": {\"content\": \"<|im_end|>\"}}}", &t)
      == MM_EFORMAT && strstr (mm_error_message (), "has id 1"), "ids that disagree are refused");
  ok (parse (root, "{\"added_tokens_decoder\": {\"9\": {\"content\": \"<new>\"}}}", &t)
      == MM_EFORMAT && strstr (mm_error_message (), "missing"), "a token only there is refused");
  json_array_clear (json_object_get (root, "added_tokens"));
  ok (roles_are (root, NULL, -1, -1, -1), "without added tokens there is no eos");
  add_token (root, "<|endoftext|>", 0, true);
  ok (roles_are (root, NULL, -1, 0, -1), "<|endoftext|> is eos where nothing else is");
  json_decref (root);
}

static void
test_files (void)
{
  json_t *root = small_tokenizer ();
  char *text = json_dumps (root, JSON_COMPACT), dir[] = "/tmp/minimind.XXXXXX", path[128];
  static const char config[] = "{\"eos_token\": \"<|endoftext|>\"}";
  const char *json, *config_back;
  size_t json_size, config_size;
  struct mm_tokenizer *t;

  if (!mkdtemp (dir))
    exit (99);
  snprintf (path, sizeof path, "%s/x.tokenizer.json", dir);
  ok (mm_tokenizer_load (path, &t) == MM_ENOENT && !t, "a missing file");
  ok (mm_tokenizer_load (dir, &t) == MM_ENOENT, "a folder without tokenizer.json");
  if (mm_write_file (path, text, strlen (text)) < 0)
    exit (99);
  ok (mm_tokenizer_load (path, &t) == MM_OK && mm_tokenizer_eos (t) == 2, "a file by itself");
  mm_tokenizer_files (t, &json, &json_size, &config_back, &config_size);
  ok (json_size == strlen (text) && memcmp (json, text, json_size) == 0 && !config_back
      && config_size == 0, "the file is kept byte for byte");
  ok (strlen (mm_tokenizer_sha256 (t)) == 64, "with its digest");
  mm_tokenizer_free (t);

  snprintf (path, sizeof path, "%s/x.tokenizer_config.json", dir);
  if (mm_write_file (path, config, strlen (config)) < 0)
    exit (99);
  snprintf (path, sizeof path, "%s/x.tokenizer.json", dir);
  ok (mm_tokenizer_load (path, &t) == MM_OK && mm_tokenizer_eos (t) == 0,
      "the configuration beside it is read");
  mm_tokenizer_files (t, &json, &json_size, &config_back, &config_size);
  ok (config_size == strlen (config) && memcmp (config_back, config, config_size) == 0,
      "and kept");
  mm_tokenizer_free (t);

  snprintf (path, sizeof path, "%s/tokenizer.json", dir);
  if (mm_write_file (path, text, strlen (text) / 2) < 0)
    exit (99);
  ok (mm_tokenizer_load (dir, &t) == MM_EFORMAT, "a file cut in half is damaged");
  if (unlink (path) < 0 || mkdir (path, 0777) < 0)
    exit (99);
  ok (mm_tokenizer_load (dir, &t) == MM_EIO, "a folder in place of the file");
  if (mm_remove_tree (dir) < 0)
    exit (99);
  free (text);
  json_decref (root);
}

/* ---- ids and bytes ---- */

/* Do the ids of TEXT equal the N after it, ended by -1?  */
static bool
encodes (struct mm_encoder *e, const char *text, unsigned flags, const int *want)
{
  struct mm_ids ids = { 0 };
  bool good = mm_encode (e, text, strlen (text), flags, &ids) == MM_OK;
  size_t i = 0;

  for (; good && want[i] >= 0; i++)
    good = i < ids.count && ids.data[i] == (uint32_t) want[i];
  good &= i == ids.count;
  free (ids.data);
  return good;
}

#define IDS(...) (const int[]) { __VA_ARGS__, -1 }
#define BYTE(c) (3 + (c))

static void
test_encode (void)
{
  json_t *root = small_tokenizer ();
  struct mm_tokenizer *t;
  struct mm_encoder *e;
  struct mm_ids ids = { 0 };
  size_t count;

  add_token (root, "<x>", 264, false);
  ok (parse (root, NULL, &t) == MM_OK && mm_encoder_open (t, &e) == MM_OK, "a small tokenizer");
  ok (mm_tokenizer_vocab_size (t) == 265, "its size counts added tokens");
  ok (encodes (e, "hello w", 0, IDS (262, 263)), "merges apply");
  ok (encodes (e, "hellhe", 0, IDS (261, 259)), "in the order of ranks");
  ok (encodes (e, "", 0, IDS (-1)), "nothing gives nothing");
  ok (encodes (e, "h<x>e", 0, IDS (BYTE ('h'), 264, BYTE ('e'))),
      "an added token that is not special always matches");
  ok (encodes (e, "<|im_end|>", MM_PARSE_SPECIAL, IDS (2)), "a special token when asked for");
  ok (encodes (e, "<|im_end|>", 0, IDS (BYTE ('<'), BYTE ('|'), BYTE ('i'), BYTE ('m'), BYTE ('_'),
                                        BYTE ('e'), BYTE ('n'), BYTE ('d'), BYTE ('|'), BYTE ('>'))),
      "a special token is text otherwise");
  ok (mm_encode (e, "ab\xff" "c", 4, 0, &ids) == MM_EFORMAT && strstr (mm_error_message (), "byte 2"),
      "invalid UTF-8 is refused, naming the byte");
  ok (mm_encode (e, "h", 1, 0, &ids) == MM_OK && mm_encode (e, "e", 1, 0, &ids) == MM_OK
      && ids.count == 2 && ids.data[1] == BYTE ('e'), "ids are appended");
  ok (mm_count (e, "hello w<|im_end|>", 17, MM_PARSE_SPECIAL, &count) == MM_OK && count == 3,
      "ids are counted");
  ok (mm_count (e, "ab\xff", 3, 0, &count) == MM_EFORMAT && strstr (mm_error_message (), "byte 2"),
      "or what is no UTF-8 is told");
  free (ids.data);
  mm_encoder_close (e);
  mm_encoder_close (NULL);
  mm_tokenizer_free (t);
  mm_tokenizer_free (NULL);
  json_decref (root);
}

/* Without merges the ids of a text are its bytes, however many of them a piece has and whatever was remembered of
   pieces before: more are given here than can be.  */
static bool
bytes_come_back (uint32_t vocab_size)
{
  enum { SIZE = 5 << 20 };
  struct mm_tokenizer *t = tiny_tokenizer (vocab_size);
  char *text = malloc (SIZE);
  struct mm_encoder *e;
  struct mm_ids ids = { 0 };
  bool good = mm_encoder_open (t, &e) == MM_OK;
  uint32_t state = 1;

  for (size_t i = 0; i < SIZE; i++)
    {
      state = state * 1664525 + 1013904223;
      text[i] = " abcdefghijklmno"[state >> 28];
    }
  /* Half of it again, which is remembered in part.  */
  memcpy (text + SIZE / 2, text + SIZE / 4, SIZE / 4);
  good = good && mm_encode (e, text, SIZE, 0, &ids) == MM_OK && ids.count == SIZE;
  for (size_t i = 0; good && i < SIZE; i++)
    good = ids.data[i] == 3 + (uint32_t) (unsigned char) text[i];
  free (ids.data);
  free (text);
  mm_encoder_close (e);
  mm_tokenizer_free (t);
  return good;
}

static void
test_remembered (void)
{
  ok (bytes_come_back (300), "pieces are remembered with all their ids, of 16 bits");
  ok (bytes_come_back (70000), "and of 32");
}

static void
test_tokens (void)
{
  json_t *root = small_tokenizer ();
  struct mm_tokenizer *t;
  const char *bytes;
  size_t size;

  add_token (root, "\303\251t", 264, false);    /* characters of the byte table, yet text */
  if (parse (root, NULL, &t) < 0)
    exit (99);
  bytes = mm_tokenizer_bytes (t, 262, &size);
  ok (size == 5 && memcmp (bytes, "hello", 5) == 0, "bytes of a token");
  bytes = mm_tokenizer_bytes (t, 3, &size);
  ok (size == 1 && *bytes == '\0', "byte 0 has a token");
  bytes = mm_tokenizer_bytes (t, 264, &size);
  ok (size == 3 && memcmp (bytes, "\303\251t", 3) == 0, "an added token stands for its text");
  ok (!mm_tokenizer_bytes (t, 265, &size), "an id that does not exist has none");
  ok (mm_tokenizer_is_special (t, 2) && !mm_tokenizer_is_special (t, 264)
      && !mm_tokenizer_is_special (t, 100) && !mm_tokenizer_is_special (t, 1 << 30), "special tokens");
  ok (mm_tokenizer_find (t, "hello") == 262 && mm_tokenizer_find (t, "<|im_end|>") == 2
      && mm_tokenizer_find (t, " w") == 263 && mm_tokenizer_find (t, "hel") == MM_NO_TOKEN,
      "tokens are found by their text");
  mm_tokenizer_free (t);
  json_decref (root);
}

static void
test_decode (void)
{
  json_t *root = small_tokenizer ();
  struct mm_tokenizer *t;
  char *text = NULL;
  size_t size = 0, capacity = 0;

  if (parse (root, NULL, &t) < 0)
    exit (99);
  ok (mm_decode (t, (const uint32_t[]) { 1, 262, 99999, 263, 2 }, 5, false, &text, &size, &capacity)
      == MM_OK && size == 29 && memcmp (text, "<|im_start|>hello w<|im_end|>", 29) == 0,
      "tokens are joined, unknown ids skipped");
  ok (mm_decode (t, (const uint32_t[]) { 1, BYTE (0xe4), 2 }, 3, true, &text, &size, &capacity)
      == MM_OK && size == 30 && (unsigned char) text[29] == 0xe4,
      "bytes are appended as they are, special tokens left out");
  free (text);
  mm_tokenizer_free (t);
  json_decref (root);
}

/* ---- UTF-8 ---- */

static void
test_utf8 (void)
{
  static const struct { const char *text; size_t size, valid; bool truncated; } cases[] = {
    { "", 0, 0, false }, { "abc", 3, 3, false }, { "a\0b", 3, 3, false },
    { "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 18, 18, false },
    { "a\x80", 2, 1, false }, { "\xc0\x80", 2, 0, false }, { "\xc1\xbf", 2, 0, false },
    { "\xe0\x9f\xbf", 3, 0, false }, { "\xed\xa0\x80", 3, 0, false }, { "\xed\x9f\xbf", 3, 3, false },
    { "\xee\x80\x80", 3, 3, false }, { "\xf0\x8f\xbf\xbf", 4, 0, false },
    { "\xf4\x90\x80\x80", 4, 0, false }, { "\xf5\x80\x80\x80", 4, 0, false }, { "\xff", 1, 0, false },
    { "ab\xe4\xb8", 4, 2, true }, { "ab\xe4", 3, 2, true }, { "\xf0\x90\x80", 3, 0, true },
    { "\xe4\xb8" "a", 3, 0, false }, { "\xc2", 1, 0, true }, { "\xe4\xb8\xad\xe4\x20\x80", 6, 3, false },
    { "0123456789abcdef0123456789abcdef\x80", 33, 32, false },
    { "0123456789abcdef\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xed\xb0\x80xxxxxxxx", 36, 25, false },
  };
  bool good = true;

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      bool truncated = true;
      size_t valid = mm_utf8_check (cases[i].text, cases[i].size, &truncated);

      if (valid != cases[i].valid || truncated != cases[i].truncated)
        {
          printf ("# case %zu: valid up to %zu\n", i, valid);
          good = false;
        }
      good &= mm_utf8_check (cases[i].text, cases[i].size, NULL) == valid;
    }
  ok (good, "UTF-8 is checked to the byte");
  ok (mm_utf8_incomplete_tail ("a\xe4\xb8", 3) == 2 && mm_utf8_incomplete_tail ("\xf0\x90\x80", 3) == 3
      && mm_utf8_incomplete_tail ("a\xc3", 2) == 1 && mm_utf8_incomplete_tail ("", 0) == 0
      && mm_utf8_incomplete_tail ("abc", 3) == 0 && mm_utf8_incomplete_tail ("\xe4\xb8\xad", 3) == 0
      && mm_utf8_incomplete_tail ("\xff", 1) == 0 && mm_utf8_incomplete_tail ("\x80\x80\x80", 3) == 0,
      "what begins a character at the end is told");
}

/* What mm_utf8_check says of a long text, from what it says of a few bytes.  */
static size_t
valid_by_characters (const char *text, size_t size)
{
  size_t at = 0, n;

  while (at < size)
    {
      for (n = 1; n <= 4 && n <= size - at && mm_utf8_check (text + at, n, NULL) < n; n++)
        ;
      if (n > 4 || n > size - at)
        return at;
      at += n;
    }
  return at;
}

static size_t
draw (uint64_t *state, size_t n)
{
  *state = *state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  return (size_t) (*state >> 33) % n;
}

/* Texts of all kinds of characters, with a few bytes damaged, of some vectors' length.  */
static void
test_long_utf8 (void)
{
  static const char *const characters[] = {
    "a", "\n", "\302\200", "\337\277", "\340\240\200", "\344\270\255", "\355\237\277", "\356\200\200", "\357\277\277",
    "\360\220\200\200", "\364\217\277\277", "0123456789abcdef0123456789abcdef0123456789abcdef"
  };
  static const char bytes[] = "\200\217\220\237\240\277\300\301\302\340\355\360\364\365\377a";
  uint64_t state = 1;
  char text[400];
  size_t n_valid = 0;
  bool good = true;

  for (size_t i = 0; i < 40000 && good; i++)
    {
      size_t size = 0, want, damages;

      for (damages = 64 + draw (&state, 280); size < damages;)
        {
          const char *c = characters[draw (&state, sizeof characters / sizeof *characters)];

          size = (size_t) (stpcpy (text + size, c) - text);
        }
      size -= draw (&state, 4);
      for (damages = draw (&state, 3); damages > 0; damages--)
        text[draw (&state, size)] = bytes[draw (&state, sizeof bytes - 1)];
      want = valid_by_characters (text, size);
      good = mm_utf8_check (text, size, NULL) == want;
      n_valid += want == size;
    }
  ok (good && n_valid > 5000 && n_valid < 35000, "long texts are checked alike");
}

static void
test_cut (void)
{
  json_t *root = small_tokenizer ();
  struct mm_tokenizer *t;

  add_token (root, "a.b", 264, false);
  if (parse (root, NULL, &t) < 0)
    exit (99);
  ok (mm_encode_cut (t, "one two three", 13, 12, 0) == 7, "the last place before the limit");
  ok (mm_encode_cut (t, "one two three", 13, 7, 0) == 7, "the limit itself");
  ok (mm_encode_cut (t, "one two three", 13, 6, 0) == 3, "or before it");
  ok (mm_encode_cut (t, "onetwothree", 11, 11, 0) == 0, "none in a word");
  ok (mm_encode_cut (t, "xxa.bxx", 7, 7, 0) == 0, "none in an added token");
  ok (mm_encode_cut (t, "xxa.", 4, 4, 0) == 0, "nor in what may become one");
  ok (mm_encode_cut (t, "xxa.c", 5, 5, 0) == 3, "but in what may not");
  ok (mm_encode_cut (t, "ab\xe3\x80", 4, 4, 0) == 0, "none before a character cut off");
  mm_tokenizer_free (t);

  json_array_remove (json_object_get (root, "added_tokens"), 3);
  if (parse (root, NULL, &t) < 0)
    exit (99);
  ok (mm_encode_cut (t, "a<|im_end|>", 11, 9, 0) == 9
      && mm_encode_cut (t, "a<|im_end|>", 11, 9, MM_PARSE_SPECIAL) == 1,
      "none in a special token where it is parsed");
  mm_tokenizer_free (t);
  json_decref (root);
}

int
main (void)
{
  test_refusals ();
  test_vocabulary_refusals ();
  test_accepted ();
  test_roles ();
  test_files ();
  test_encode ();
  test_remembered ();
  test_tokens ();
  test_decode ();
  test_utf8 ();
  test_long_utf8 ();
  test_cut ();
  return tap_done ();
}

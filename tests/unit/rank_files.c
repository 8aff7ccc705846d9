/* Tokenizers of two files or of ranks: tiktoken's rank files, GPT-2's vocab.json with merges.txt.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <minimind/files.h>
#include <minimind/tokenizer.h>

#include "../tap.h"

/* Write TEXT to DIR/NAME.  */
static void
write_text (const char *dir, const char *name, const char *text)
{
  char path[256];

  snprintf (path, sizeof path, "%s/%s", dir, name);
  unlink (path);
  if (mm_write_file (path, text, strlen (text)) < 0)
    exit (99);
}

/* Loading PREFIX DIR/NAME, a file that holds TEXT, fails with STATUS and says WORDS.  */
static bool
load_fails (const char *dir, const char *prefix, const char *name, const char *text, mm_status status,
            const char *words)
{
  struct mm_tokenizer *t;
  char path[300];
  mm_status st;

  if (text)
    write_text (dir, name, text);
  snprintf (path, sizeof path, "%s%s/%s", prefix, dir, name);
  st = mm_tokenizer_load (path, &t);
  if (st != status || !strstr (mm_error_message (), words))
    printf ("# %d %s\n", st, mm_error_message ());
  mm_tokenizer_free (t);
  return st == status && !t && strstr (mm_error_message (), words);
}

/* The line of a rank file for TOKEN, SIZE bytes, to OUT; returns its end.  */
static char *
put_rank (char *out, const char *token, size_t size, int rank)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  for (size_t i = 0; i < size; i += 3)
    {
      uint32_t bits = 0;

      for (size_t k = 0; k < 3; k++)
        bits = bits << 8 | (i + k < size ? (unsigned char) token[i + k] : 0);
      for (size_t k = 0; k < 4; k++)
        *out++ = i + k > size ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
  return out + sprintf (out, " %d\n", rank);
}

/* A rank file becomes a tokenizer.json with all its tokens, some of which have to be escaped there.  */
static void
test_text (const char *dir)
{
  static const char *const more[] = { "\"\\", "\"\\\"", "<|fim_prefix|>" };
  static char text[8192];
  char path[PATH_MAX], *end = text;
  const char *json, *config;
  size_t json_size, config_size;
  struct mm_tokenizer *t;
  json_t *root, *model, *merges;

  for (int i = 0; i < 256; i++)
    end = put_rank (end, &(char) { (char) i }, 1, i);
  for (int i = 0; i < 3; i++)
    end = put_rank (end, more[i], strlen (more[i]), 256 + i);
  write_text (dir, "ranks.tiktoken", text);
  snprintf (path, sizeof path, "cl100k_base:%s/ranks.tiktoken", dir);
  ok (mm_tokenizer_load (path, &t) == MM_OK, "a rank file");
  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  root = json_loadb (json, json_size, JSON_REJECT_DUPLICATES, NULL);
  model = json_object_get (root, "model");
  merges = json_object_get (model, "merges");
  ok (json_object_size (json_object_get (model, "vocab")) == 256 + 3 + 4
      && json_integer_value (json_object_get (json_object_get (model, "vocab"), "\"\\\"")) == 257
      && json_integer_value (json_object_get (json_object_get (model, "vocab"), "<|endofprompt|>")) == 100276,
      "becomes a vocabulary with its special tokens");
  ok (json_array_size (merges) == 2 && strcmp (json_string_value (json_array_get (json_array_get (merges, 1), 0)),
                                               "\"\\") == 0
      && strcmp (json_string_value (json_array_get (json_array_get (merges, 1), 1)), "\"") == 0, "and merges");
  ok (mm_tokenizer_find (t, "<|fim_prefix|>") == 258 && mm_tokenizer_find (t, "<|fim_middle|>") == 100259,
      "a special token that has a rank keeps it");
  json_decref (root);
  mm_tokenizer_free (t);
}

static void
test_refusals (const char *dir)
{
  ok (load_fails (dir, "", "x.tiktoken", "YQ== 0\n", MM_EUSAGE, "say whose it is as NAME:FILE"),
      "a rank file of no known name");
  ok (load_fails (dir, "", "CL100K_base.tiktoken", "YQ== 0\n", MM_EUNSUP, "no token for 242 of the 256"),
      "one whose name tells, without all bytes");
  ok (load_fails (dir, "llama3:", "x.tiktoken", "YQ== 0\n", MM_EUNSUP, "no token for 242"),
      "one whose encoding is given");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", "", MM_EFORMAT, "x.tiktoken: the file is empty")
      && load_fails (dir, "", "x.tiktoken", "\n", MM_EFORMAT, "the file is empty")
      && load_fails (dir, "qwen:", "x.json", "", MM_EFORMAT, "the file is empty"), "an empty file");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", "YQ== 0\nYQ=\n", MM_EFORMAT, "line 2: want a token"),
      "a line without a rank");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", "Y*== 0\n", MM_EFORMAT, "line 1: want a token"),
      "what is no base64");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", "YQ== 4194304\n", MM_EFORMAT, "line 1: want a token"),
      "a rank that is too large");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", "YQ== x\n", MM_EFORMAT, "line 1: want a token"),
      "a rank that is no number");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", "YQ== 1\nYg== 1\n", MM_EFORMAT, "two tokens have rank 1"),
      "a rank that stands twice");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", "YQ== 1\nYQ== 2\n", MM_EFORMAT, "rank 2 stands twice"),
      "a token that stands twice");
  ok (load_fails (dir, "gpt2:", "x.tiktoken", " 5\n", MM_EFORMAT, "line 1"), "an empty token");
  ok (load_fails (dir, "gpt2:", "a.json", "{\"model\": {}}", MM_EUSAGE, "says itself what it is"),
      "a name for what needs none");
  ok (load_fails (dir, "none:", "a.json", NULL, MM_ENOENT, "No such file"), "a name that is none");
}

static void
test_pair (const char *dir)
{
  ok (load_fails (dir, "", "vocab.json", "{\"a\": 0}", MM_ENOENT, "merges.txt"), "no merges.txt beside");
  write_text (dir, "merges.txt", "#version: 0.2\na b c\n");
  ok (load_fails (dir, "", "vocab.json", NULL, MM_EFORMAT, "merges.txt: line 2: want two parts"),
      "a merge of three parts");
  write_text (dir, "merges.txt", "#version: 0.2\r\n\r\na b\r\n");
  ok (load_fails (dir, "", "merges.txt", NULL, MM_EUSAGE, "not GPT-2's"), "not GPT-2's vocabulary");
  ok (load_fails (dir, "qwen:", "vocab.json", NULL, MM_EUNSUP, "no token for 242"),
      "a vocabulary without all bytes");
  ok (load_fails (dir, "", "vocab.json", "[]", MM_EFORMAT, "want an object"), "a list for a vocabulary");
  ok (load_fails (dir, "", ".", NULL, MM_EFORMAT, "want an object"), "a folder that holds the two");
}

int
main (void)
{
  char dir[] = "/tmp/minimind.XXXXXX";

  if (!mkdtemp (dir))
    exit (99);
  test_text (dir);
  test_refusals (dir);
  test_pair (dir);
  if (mm_remove_tree (dir) < 0)
    exit (99);
  return tap_done ();
}

/* load_file.c -- the files of a tokenizer: which kind they are, and their texts.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/memory.h>

#include "known.h"

enum { FILE_LIMIT = 1 << 28 };  /* 256 MB, ten times the largest in use */

static bool
ends_in (const char *path, const char *tail)
{
  size_t size = strlen (path), n = strlen (tail);

  return size >= n && strcmp (path + size - n, tail) == 0;
}

/* PATH with TAIL, which it ends in, replaced; NULL when memory is short.  */
static char *
sibling (const char *path, const char *tail, const char *replacement)
{
  size_t stem = strlen (path) - strlen (tail);
  char *name;

  if (mm_alloc ("file name", stem + strlen (replacement) + 1, 1, &name) < 0)
    return NULL;
  memcpy (name, path, stem);
  strcpy (name + stem, replacement);
  return name;
}

/* One that cannot be looked at is taken to be there: to read it says why it cannot.  */
static bool
exists (const char *path)
{
  bool there;

  return mm_path_exists (path, &there) < 0 || there;
}

/* ---- vocab.json and merges.txt ---- */

/* The two names that the pair goes by, the vocabulary's first.  */
static const char *const pairs[][2] = { { "vocab.json", "merges.txt" }, { "encoder.json", "vocab.bpe" } };

static mm_status
read_pair (const struct mm_known *k, const char *vocab_name, const char *merges_name, char **json,
           char **config)
{
  json_t *vocab = NULL, *merges = NULL;
  char *text = NULL;
  size_t size;
  mm_status st = mm_json_read (vocab_name, FILE_LIMIT, &vocab);

  if (st == MM_OK)
    st = mm_read_file (merges_name, FILE_LIMIT, &text, &size);
  if (st == MM_OK)
    st = mm_bpe_merges_read (merges_name, text, size, &merges);
  if (st == MM_OK && !json_is_object (vocab))
    st = mm_fail (MM_EFORMAT, "%s: want an object of tokens and ids", vocab_name);
  /* Without a name it is GPT-2's, whose special token is in the vocabulary.  */
  if (st == MM_OK && !k && !json_object_get (vocab, "<|endoftext|>"))
    st = mm_fail (MM_EUSAGE, "%s: without <|endoftext|> it is not GPT-2's; say whose it is as NAME:FILE, with "
                  "NAME one of " MM_KNOWN_NAMES, vocab_name);
  if (st == MM_OK)
    st = mm_known_write (k ? k : mm_known_named ("gpt2", 4), vocab_name, vocab, merges, false, NULL, NULL, json,
                         config);
  json_decref (vocab);
  json_decref (merges);
  free (text);
  return st;
}

/* Is PATH one of such a pair?  Then read it and set *DONE.  */
static mm_status
try_pair (const struct mm_known *k, const char *path, char **json, char **config, bool *done)
{
  for (size_t i = 0; i < 4; i++)
    {
      const char *mine = pairs[i / 2][i % 2], *other = pairs[i / 2][1 - i % 2];
      char *name;
      mm_status st;

      if (!ends_in (path, mine))
        continue;
      name = sibling (path, mine, other);
      if (!name)
        return MM_ENOMEM;
      *done = true;
      st = i % 2 == 0 ? read_pair (k, path, name, json, config) : read_pair (k, name, path, json, config);
      free (name);
      return st;
    }
  return MM_OK;
}

/* ---- rank files ---- */

/* Where the first character of TEXT is that is no white space; SIZE if there is none.  */
static size_t
skip_space (const char *text, size_t size)
{
  size_t i = 0;

  while (i < size && strchr (" \t\r\n", text[i]) && text[i])
    i++;
  return i;
}

static mm_status
convert_ranks (const struct mm_known *k, const char *path, const char *text, size_t size, char **json,
               char **config)
{
  char sha256[MM_SHA256_TEXT];
  mm_status st = mm_sha256_bytes (text, size, sha256);

  if (st < 0)
    return st;
  if (skip_space (text, size) == size)
    return mm_fail (MM_EFORMAT, "%s: the file is empty", path);
  if (!k)
    k = mm_known_of_file (path, sha256);
  if (!k)
    return mm_fail (MM_EUSAGE, "%s: a rank file does not say which pattern it is for; say whose it is as "
                    "NAME:FILE, with NAME one of " MM_KNOWN_NAMES, path);
  return mm_bpe_ranks_text (k, path, text, size, json, config);
}

/* Is TEXT, of the file PATH, JSON rather than ranks?  A rank file has no brace.  */
static bool
is_json (const char *path, const char *text, size_t size)
{
  size_t i = skip_space (text, size);

  if (i == size)
    return !ends_in (path, ".tiktoken");
  return text[i] == '{' || text[i] == '[' || !memchr (text, ' ', size);
}

/* ---- all kinds ---- */

/* NAME:FILE; *K is the encoding where NAME is one and there is no file of the whole name.  */
static const char *
without_prefix (const char *path, const struct mm_known **k)
{
  const char *colon = strchr (path, ':');

  *k = colon && !exists (path) ? mm_known_named (path, (size_t) (colon - path)) : NULL;
  return *k ? colon + 1 : path;
}

/* The file that stands for a folder; NULL when memory is short.  */
static char *
file_of_folder (const char *path)
{
  char *file = mm_path_join (path, "tokenizer.json"), *other = mm_path_join (path, "vocab.json");
  bool pair = file && other && !exists (file) && exists (other);

  free (pair ? file : other);
  return pair ? other : file;
}

static mm_status
read_text (const struct mm_known *k, const char *path, char **json, size_t *json_size, char **config,
           char **config_name)
{
  char *text = NULL;
  size_t size = 0;
  bool done = false;
  mm_status st = try_pair (k, path, json, config, &done);

  if (st == MM_OK && !done)
    st = mm_read_file (path, FILE_LIMIT, &text, &size);
  if (st < 0)
    return st;
  if (!done && !is_json (path, text, size))
    {
      st = convert_ranks (k, path, text, size, json, config);
      done = true;
    }
  if (done)
    {
      free (text);
      *json_size = *json ? strlen (*json) : 0;
      return st;
    }
  *json = text;
  *json_size = size;
  if (k && skip_space (text, size) == size)
    return mm_fail (MM_EFORMAT, "%s: the file is empty", path);
  if (k)
    return mm_fail (MM_EUSAGE, "%s: a tokenizer.json says itself what it is; leave out %s:", path, k->name);
  if (!ends_in (path, "tokenizer.json"))
    return MM_OK;
  *config_name = sibling (path, "tokenizer.json", "tokenizer_config.json");
  return *config_name ? MM_OK : MM_ENOMEM;
}

mm_status
mm_load_text (const char *path, char **json, size_t *json_size, char **config, size_t *config_size,
              char **name, char **config_name)
{
  const struct mm_known *k;
  struct stat info;
  char *file = NULL;
  mm_status st;

  *json = *config = *name = *config_name = NULL;
  *json_size = *config_size = 0;
  path = without_prefix (path, &k);
  if (stat (path, &info) < 0)
    return mm_fail_errno (path);
  if (S_ISDIR (info.st_mode))
    {
      path = file = file_of_folder (path);
      if (!file)
        return mm_fail (MM_ENOMEM, "tokenizer: out of memory");
    }
  *name = strdup (path);
  st = *name ? read_text (k, path, json, json_size, config, config_name)
             : mm_fail (MM_ENOMEM, "tokenizer: out of memory");
  if (st == MM_OK && *config)
    *config_size = strlen (*config);
  else if (st == MM_OK && *config_name && exists (*config_name))
    st = mm_read_file (*config_name, FILE_LIMIT, config, config_size);
  free (file);
  if (st < 0)
    {
      free (*json);
      free (*config);
      free (*name);
      free (*config_name);
      *json = *config = *name = *config_name = NULL;
    }
  return st;
}

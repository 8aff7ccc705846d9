/* known.h -- tokenizers whose files do not say all that is needed: tiktoken's and GPT-2's formats.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  A rank file holds tokens and ranks; pattern, normalisation and special
   tokens stand in the program that reads it.  They stand here for the encodings in use.  Such files
   are made into the text of a tokenizer.json that means the same, so that whatever comes of them
   can be read by everybody.  */

#ifndef TEXT_KNOWN_H
#define TEXT_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <minimind/error.h>

#include "pretokenize.h"

/* Special tokens with ids that follow each other; a %d in the text counts from FROM.  */
struct mm_known_special
{
  const char *text;             /* NULL ends the list */
  int id, from, count;
};

struct mm_known
{
  const char *name, *other_name;        /* in options and in names of files, lower case */
  const char *sha256;           /* of the published rank file, or NULL */
  enum mm_pattern pattern;
  bool nfc;
  const char *bos, *eos;        /* or NULL */
  const struct mm_known_special *special;
};

/* The encoding called NAME, SIZE bytes; NULL if none is.  */
const struct mm_known *mm_known_named (const char *name, size_t size);

/* The encoding that the name of file PATH tells, or its digest; NULL if neither does.  */
const struct mm_known *mm_known_of_file (const char *path, const char *sha256);

/* All names, for messages.  */
#define MM_KNOWN_NAMES "gpt2, r50k_base, p50k_base, cl100k_base, o200k_base, qwen, llama3"

/* Lines of merges.txt as a list of pairs in the words of a tokenizer.json.  MM_EFORMAT.  */
mm_status mm_bpe_merges_read (const char *name, const char *text, size_t size,
                          json_t **merges) MM_NODISCARD;

/* The id of the token called NAME that the vocabulary will get, or -1.  */
typedef int64_t mm_known_find (const void *arg, const char *name);

/* The texts of a tokenizer.json and of a tokenizer_config.json; the caller frees both.  VOCAB gets K's special
   tokens; it is the model's last member but MERGES.  Either may be NULL, empty: then the caller puts its items there,
   and FIND (ARG) tells of them.  A token that is a whole piece comes before merges where WHOLE_FIRST.  */
mm_status mm_known_write (const struct mm_known *k, const char *name, json_t *vocab, json_t *merges, bool whole_first,
                          mm_known_find *find, const void *arg, char **json, char **config) MM_NODISCARD;

/* Read PATH, the file of a tokenizer of any kind, as those two texts; *CONFIG is NULL where there is
   none.  *NAME and *CONFIG_NAME (or NULL) are the files' names, for messages; the caller frees all.  */
mm_status mm_load_text (const char *path, char **json, size_t *json_size, char **config,
                        size_t *config_size, char **name, char **config_name) MM_NODISCARD;

/* The same for what has no file of its own.  TEXT is what tiktoken calls a rank file, lines of a token in base64 and
   its rank.  NAME stands in messages.  MM_EFORMAT.  */
mm_status mm_bpe_ranks_text (const struct mm_known *k, const char *name, const char *text, size_t size, char **json,
                             char **config) MM_NODISCARD;

#endif /* TEXT_KNOWN_H */

/* vocabulary.h -- the vocabulary and the merges of a tokenizer.json as they are spelt there.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  The two are nearly all of the file; they are read from its text without a tree, and the
   rest of the document, with an empty object and an empty list in their place, is what Jansson gets.  What is
   accepted is what Jansson accepts: where anything is unusual it is asked about the whole document.  */

#ifndef TEXT_VOCABULARY_H
#define TEXT_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include <minimind/error.h>

enum { MM_MAX_ID = (1 << 22) - 1 };     /* vocabularies go to a quarter of a million today */

struct mm_spelling
{
  const char *text;             /* in the document, or where escapes are written out; no NUL behind it */
  uint32_t size, id;
  bool is_bytes;                /* all characters are of the byte table; set by load_model.c */
};

struct mm_vocabulary
{
  struct mm_spelling *tokens;   /* in the file's order */
  size_t n, capacity;
  uint64_t *slots;              /* open addressing: hash << 32 | place in tokens + 1; 0 is free */
  size_t mask;
  char *unescaped;              /* texts that have escapes, or NULL */
};

struct mm_bpe_rule;

/* A tokenizer.json taken apart.  */
struct mm_tokenizer_json
{
  json_t *root;                 /* all but what follows */
  const char *vocab, *merges;   /* values of these in "model": an object and a list; NULL if there is none */
  size_t vocab_size, merges_size;
};

/* Take apart the SIZE bytes at TEXT, which stay where they are.  NAME stands in messages, here and below.
   MM_EFORMAT, and from the functions below too: as mm_json_parse has it where the document is no JSON.  */
mm_status mm_tokenizer_json_parse (const char *name, const char *text, size_t size,
                                   struct mm_tokenizer_json *json) MM_NODISCARD;

/* Read the vocabulary of JSON, whose document has SIZE bytes at TEXT.  Free V whatever the result.  */
mm_status mm_vocabulary_read (const char *name, const char *text, size_t size, const struct mm_tokenizer_json *json,
                              struct mm_vocabulary *v) MM_NODISCARD;
void mm_vocabulary_free (struct mm_vocabulary *v);

/* The place of the token spelt as the SIZE bytes at TEXT, or SIZE_MAX.  */
size_t mm_vocabulary_find (const struct mm_vocabulary *v, const char *text, size_t size);

/* Read the merges, each a pair of parts or one string with a space between them; the caller frees *RULES.  */
mm_status mm_vocabulary_merges (const char *name, const char *text, size_t size,
                                const struct mm_tokenizer_json *json, const struct mm_vocabulary *v,
                                struct mm_bpe_rule **rules, size_t *n_rules) MM_NODISCARD;

#endif /* TEXT_VOCABULARY_H */

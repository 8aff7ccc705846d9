/* tokenizer_impl.h -- what a loaded tokenizer is made of.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  */

#ifndef TEXT_TOKENIZER_IMPL_H
#define TEXT_TOKENIZER_IMPL_H

#include <stdbool.h>
#include <jansson.h>

#include <minimind/hash.h>
#include <minimind/tokenizer.h>

#include "added.h"
#include "bpe.h"
#include "pretokenize.h"
#include "seam.h"

enum { MM_MAX_ID = (1 << 22) - 1 };     /* vocabularies go to a quarter of a million today */

struct mm_tokenizer
{
  char *json, *config;          /* the files; config may be NULL */
  size_t json_size, config_size;
  char sha256[MM_SHA256_TEXT];

  struct mm_trie_key *texts;    /* by id: its bytes; value MM_TRIE_NONE if there is no such id */
  uint32_t n_ids;
  char *text_bytes;             /* what they point into */
  size_t n_text_bytes;

  struct mm_added_token *added;
  size_t n_added;
  bool *special;                /* by id */
  struct mm_added_set verbatim, normalized;

  enum mm_pattern pattern;
  bool ignore_merges;
  struct mm_trie vocabulary;    /* every token of the model, where merges are ignored for them */
  struct mm_bpe bpe;
  struct mm_seams *seams;       /* NULL where a part of a piece may have other ids than alone */

  int32_t bos, eos, pad;
};

/* load_added.c: the array "added_tokens", with the ids that HF gives them beside VOCAB.  NAME
   stands in messages, as below.  */
mm_status mm_load_added (const char *name, const json_t *added, const json_t *vocab,
                         struct mm_tokenizer *t) MM_NODISCARD;

/* load_model.c: vocabulary and merges from the object "model", after the added tokens.  */
mm_status mm_load_model (const char *name, const json_t *model,
                         struct mm_tokenizer *t) MM_NODISCARD;

/* load_pipeline.c: refuse what would change text or ids in other ways than lib/text does; find
   the pattern.  */
mm_status mm_load_pipeline (const char *name, const json_t *root,
                            struct mm_tokenizer *t) MM_NODISCARD;

/* load_config.c: roles, from tokenizer_config.json (NULL: by the names of tokens).  */
mm_status mm_load_config (const char *name, const json_t *config,
                          struct mm_tokenizer *t) MM_NODISCARD;

#endif /* TEXT_TOKENIZER_IMPL_H */

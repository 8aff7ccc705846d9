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
#include "normalize.h"
#include "pretokenize.h"
#include "seam.h"
#include "split.h"
#include "vocabulary.h"

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

  bool nfc;                     /* text is normalised */
  enum mm_pattern pattern;
  struct mm_split split;        /* where it is MM_PATTERN_GENERAL */
  bool ignore_merges;
  struct mm_trie vocabulary;    /* every token of the model, where merges are ignored for them */
  struct mm_bpe bpe;
  struct mm_seams *seams;       /* NULL where a part of a piece may have other ids than alone */

  int32_t bos, eos, pad;
};

/* load_added.c: the array "added_tokens", with the ids that HF gives them beside the vocabulary V.  NAME
   stands in messages, as below.  */
mm_status mm_load_added (const char *name, const json_t *added, const struct mm_vocabulary *v,
                         struct mm_tokenizer *t) MM_NODISCARD;

/* load_model.c: refuse what would change ids in the object "model"; and, after the added tokens, vocabulary and
   merges.  */
mm_status mm_load_model_options (const char *name, const json_t *model) MM_NODISCARD;
mm_status mm_load_model (const char *name, const struct mm_tokenizer_json *json, struct mm_vocabulary *v,
                         struct mm_tokenizer *t) MM_NODISCARD;

/* load_pipeline.c: refuse what would change text or ids in other ways than lib/text does; find
   normalizer and pattern.  */
mm_status mm_load_pipeline (const char *name, const json_t *root,
                            struct mm_tokenizer *t) MM_NODISCARD;

/* load_pre_tokenizer.c: the part of it between normalizer and model.  */
mm_status mm_load_pre_tokenizer (const char *name, const json_t *json,
                                 struct mm_tokenizer *t) MM_NODISCARD;

/* For both: the "type" of a step, "" if it has none; and MM_EUNSUP for the STEP of the kind WHAT.  */
const char *mm_load_type (const json_t *step);
mm_status mm_load_refuse (const char *name, const char *what, const json_t *step, const char *why);

/* load_config.c: roles, from tokenizer_config.json (NULL: by the names of tokens).  */
mm_status mm_load_config (const char *name, const json_t *config,
                          struct mm_tokenizer *t) MM_NODISCARD;

#endif /* TEXT_TOKENIZER_IMPL_H */

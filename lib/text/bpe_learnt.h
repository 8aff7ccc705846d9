/* bpe_learnt.h -- a vocabulary that grows while merges are learnt.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  */

#ifndef TEXT_BPE_LEARNT_H
#define TEXT_BPE_LEARNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "bpe.h"

struct mm_learnt_token
{
  size_t offset, size;          /* of its bytes in TEXT; size 0: a token that no merge can make */
};

struct mm_tokenizer;

/* All zero at first.  */
struct mm_learnt
{
  struct mm_learnt_token *tokens;       /* by id */
  size_t n_tokens, tokens_capacity;
  char *text;
  size_t text_size, text_capacity;
  uint32_t *by_text;            /* ids by hash of their text, at most half full */
  size_t by_text_capacity;
  struct mm_bpe_rule *rules;    /* LEFT is MM_BPE_NONE where a later rule is for the same pair */
  size_t n_rules, rules_capacity;
  uint32_t bytes[256];          /* id of each byte */
  const struct mm_tokenizer *base;      /* whose tokens came first and whose merges stand before RULES, or NULL */
  uint64_t *uses;               /* by id, once learnt: how often the corpus has it */
};

/* Append a token; its id is what N_TOKENS was.  No other has its text, unless SIZE is 0.  */
mm_status mm_learnt_add (struct mm_learnt *l, const char *text, size_t size) MM_NODISCARD;

/* The id of the token with this text, or MM_BPE_NONE.  */
uint32_t mm_learnt_find (const struct mm_learnt *l, const char *text, size_t size);

/* The token of the texts of LEFT and RIGHT together into *ID, appended if there is none: *FRESH
   tells.  */
mm_status mm_learnt_join (struct mm_learnt *l, uint32_t left, uint32_t right, uint32_t *id,
                          bool *fresh) MM_NODISCARD;

void mm_learnt_free (struct mm_learnt *l);

#endif /* TEXT_BPE_LEARNT_H */

/* corpus.h -- the inputs: opened as they are needed, of one tokenizer, and what becomes of each document.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_CORPUS_H
#define PACK_CORPUS_H

#include <minimind/hash.h>
#include <minimind/tokens.h>

#include "pack.h"

enum fate
{
  FATE_TRAIN,
  FATE_VALIDATION,              /* chosen by its hash, should documents be held out */
  FATE_DROPPED                  /* an equal document came before */
};

struct input
{
  struct mm_tokens *file;       /* NULL while it is closed */
  uint64_t documents, tokens;
  uint64_t first_document;      /* its number among all inputs' */
};

/* What a source holds.  */
struct source
{
  size_t inputs, first_input;
  uint64_t documents, tokens;   /* of those that are kept */
  uint64_t duplicates, duplicate_tokens;
  uint64_t turns;               /* of conversations, those dropped included */
  uint64_t last_length;         /* tokens of the last document that has any */
  uint64_t chosen_tokens;       /* of documents whose fate is validation */
  char hash[MM_SHA256_TEXT];    /* over those of its documents, however they are cut into files: XXH3-128 if some are
                                   held out by it, else SHA-256 */
};

struct corpus
{
  const struct pack_config *config;
  struct mm_tokenizer *given;   /* --tokenizer, or NULL */
  const struct mm_tokenizer *tokenizer;
  struct input *inputs;         /* config->n_inputs */
  struct source *sources;       /* config->n_sources */
  uint64_t documents;           /* of all inputs */
  uint8_t *fates;               /* two bits a document */
  bool with_mask;               /* some input has a loss mask */
  char *chat_template;          /* of the conversations; NULL where there are none */
};

/* Open each input once, see that the tokenizers agree, count.  Close CORPUS whatever the result.  */
mm_status corpus_open (const struct pack_config *c, struct corpus *corpus) MM_NODISCARD;
void corpus_close (struct corpus *corpus);

/* Let *F be input I; leave it when something else is read next.  Few inputs stay open, so that their
   number does not show in memory.  */
mm_status corpus_enter (struct corpus *corpus, size_t i, struct mm_tokens **f) MM_NODISCARD;
void corpus_leave (struct corpus *corpus, size_t i);

static inline enum fate
corpus_fate (const struct corpus *c, uint64_t document)
{
  return (enum fate) (c->fates[document / 4] >> 2 * (document % 4) & 3);
}

static inline void
corpus_set_fate (struct corpus *c, uint64_t document, enum fate fate)
{
  c->fates[document / 4] |= (uint8_t) (fate << 2 * (document % 4));
}

#endif /* PACK_CORPUS_H */

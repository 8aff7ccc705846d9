/* engine.h -- an open model and the sequence that it is at.
   SPDX-License-Identifier: Apache-2.0

   A sequence is begun with ids and grows by one chosen token after the other.  Keys and values of the sequence
   before serve the next as far as both begin alike; that changes no bit.  */

#ifndef GENERATE_ENGINE_H
#define GENERATE_ENGINE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/model.h>
#include <minimind/tokenizer.h>

#include "generate.h"

struct engine
{
  const struct generate_config *config;
  char *dir;                    /* the model folder */
  struct mm_tokenizer *tokenizer;
  struct mm_backend *backend;
  struct mm_model *model;       /* with the adapter, if one was given */
  size_t vocab_size;            /* of the model */
  size_t n_choices;             /* ids that both model and tokenizer have */
  int32_t end_of_turn;          /* ends the sequence as eos does; MM_NO_TOKEN: none */
  const volatile sig_atomic_t *stop;    /* NULL, or becomes not 0 when a person wants no more */

  struct mm_session *session;   /* has read the first of the ids */
  int32_t *ids;                 /* the sequence */
  size_t count, room;           /* ids; how many there may be */
  float *logits, *scratch;      /* [vocab_size]; logits after the last id that was read */
  int32_t *order;               /* [vocab_size] */
};

/* Open model, tokenizer and adapter as C names them.  MM_ECONFLICT when the tokenizer has ids that the model has
   not, or the adapter's base is another; the statuses of checkpoint.h, model.h, lora.h and tokenizer.h.  Close
   whatever the result.  */
mm_status engine_open (struct engine *e, const struct generate_config *c) MM_NODISCARD;
void engine_close (struct engine *e);

/* How many tokens a conversation may have: --context, or the model's positions.  MM_EUSAGE where there are fewer.  */
mm_status engine_context (const struct engine *e, size_t *context) MM_NODISCARD;

/* Memory for sequences of up to ROOM tokens, at least 1.  Call once.  */
mm_status engine_make_room (struct engine *e, size_t room) MM_NODISCARD;

/* The sequence is now IDS, 1 to room of them.  Returns how many were read before.  */
size_t engine_begin (struct engine *e, const int32_t *ids, size_t count);

/* Read what the sequence has, until a stop.  */
mm_status engine_read (struct engine *e) MM_NODISCARD;

enum engine_step
{
  ENGINE_TOKEN,                 /* the sequence has one more */
  ENGINE_END,                   /* eos or the end of the turn was chosen, and is not part of the sequence */
  ENGINE_FULL,                  /* no room */
  ENGINE_STOPPED                /* a person wants no more */
};

/* Choose the next token: *ID if *STEP is ENGINE_TOKEN.  MM_EFORMAT when the logits are not finite.  */
mm_status engine_next (struct engine *e, enum engine_step *step, int32_t *id) MM_NODISCARD;

#endif /* GENERATE_ENGINE_H */

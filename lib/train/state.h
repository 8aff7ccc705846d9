/* state.h -- trainer.json: what the next step depends on beside the tensors.
   SPDX-License-Identifier: Apache-2.0

     { "format": 1,
       "step": 100, "updates": 100, "skipped": 0, "skipped_in_a_row": 0,
       "epoch": 0, "cursor": 6400,
       "settings": { "numerics_version": 1, "seed": 42, ... } }

   A run that began with a model keeps that one's hash as base_sha256; one that trains an adapter, which needs the
   base again, its config.json's as base_config_sha256, and lora_rank, lora_alpha and lora_targets.

   Settings are those that the bits depend on, and no others: how often a run saves, reports or
   evaluates is not among them.  epoch and cursor (samples of the epoch that are done) follow from step
   and settings; they stand there for readers, and are checked.  */

#ifndef MM_TRAIN_STATE_H
#define MM_TRAIN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include <minimind/error.h>
#include <minimind/train.h>

#include "plan.h"

struct mm_train_state
{
  uint64_t step;                /* windows done, skipped ones included */
  uint64_t updates;             /* updates done: AdamW's t */
  uint64_t skipped;             /* step - updates */
  uint64_t skipped_in_a_row;    /* up to step */
};

/* The settings of a run as a new JSON object; what depends on the model that it begins with is added by
   mm_state_set_base.  */
mm_status mm_state_settings (const struct mm_train_config *c, const struct mm_plan *p,
                             const char *dataset_sha256, const char *tokenizer_sha256,
                             json_t **settings) MM_NODISCARD;

/* Add the hash of the model that a run begins with (mm_model_sha256) and, unless it is NULL, of its configuration.  */
mm_status mm_state_set_base (json_t *settings, const char *base_sha256, const char *config_sha256) MM_NODISCARD;

/* trainer.json's object, new.  SETTINGS is borrowed.  */
mm_status mm_state_json (const struct mm_train_state *s, const struct mm_plan *p, json_t *settings,
                         json_t **object) MM_NODISCARD;

/* Read OBJECT of the file NAME and check it against this run.  MM_EFORMAT if it is not what
   mm_state_json makes; MM_ECONFLICT listing each setting that differs and is not in ACCEPT (by comma;
   may be NULL) with both values.  "steps" may differ as long as the rates so far do not depend on it:
   always when constant, before the fall under wsd.  */
mm_status mm_state_read (const char *name, const json_t *object, const struct mm_plan *p,
                         const json_t *settings, const char *accept,
                         struct mm_train_state *s) MM_NODISCARD;

/* True if each name of the list is one that --accept may hold; their names for a message.  */
bool mm_state_may_accept (const char *list);
char *mm_state_accept_names (char *text, size_t size);

#endif /* MM_TRAIN_STATE_H */

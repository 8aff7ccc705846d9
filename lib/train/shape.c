/* shape.c -- which model a run trains, and whether the dataset fits it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>

#include "trainer.h"

static const char default_preset[] = "minimind2-small";

/* A model from scratch gets its special ids from the tokenizer that its checkpoints will carry.  */
static void
take_special_ids (const struct mm_tokenizer *t, struct mm_model_config *shape)
{
  shape->bos_id = mm_tokenizer_bos (t);
  shape->eos_id = mm_tokenizer_eos (t);
  shape->pad_id = mm_tokenizer_pad (t);
}

/* The tokenizer of the model folder DIR, where it has one, must be the dataset's.  */
static mm_status
check_tokenizer (const char *dir, const struct mm_dataset *data)
{
  const char *want = mm_tokenizer_sha256 (mm_dataset_tokenizer (data)), *found;
  char *path = mm_path_join (dir, "tokenizer.json");
  struct mm_tokenizer *t = NULL;
  bool there;
  mm_status st = path ? mm_path_exists (path, &there) : mm_fail (MM_ENOMEM, "%s: out of memory", dir);

  if (st == MM_OK && there)
    {
      st = mm_tokenizer_load (path, &t);
      found = st == MM_OK ? mm_tokenizer_sha256 (t) : want;
      if (st == MM_OK && strcmp (found, want) != 0)
        st = mm_fail (MM_ECONFLICT, "%s: want the tokenizer of %s, sha256 %.12s, found %.12s", path,
                      mm_dataset_path (data), want, found);
    }
  mm_tokenizer_free (t);
  free (path);
  return st;
}

static mm_status
read_model_folder (struct mm_trainer *t)
{
  char *config = NULL;
  mm_status st = mm_model_folder (t->config->model, &t->base);

  if (st == MM_OK && !(config = mm_path_join (t->base, "config.json")))
    st = mm_fail (MM_ENOMEM, "%s: out of memory", t->base);
  if (st == MM_OK)
    st = mm_config_read (config, &t->shape);
  if (st == MM_OK)
    st = check_tokenizer (t->base, t->data);
  free (config);
  return st;
}

static mm_status
check_fit (const struct mm_model_config *shape, const struct mm_dataset *data)
{
  uint32_t vocab = mm_tokenizer_vocab_size (mm_dataset_tokenizer (data));
  uint32_t seq_len = mm_dataset_seq_len (data);

  if (shape->vocab_size < vocab)
    return mm_fail (MM_EUSAGE, "%s: its tokenizer has %" PRIu32 " ids, the model's vocab_size is %" PRIu32,
                    mm_dataset_path (data), vocab, shape->vocab_size);
  if (shape->max_positions < seq_len)
    return mm_fail (MM_EUSAGE, "%s: rows of %" PRIu32 " tokens, the model has %" PRIu32 " positions",
                    mm_dataset_path (data), seq_len, shape->max_positions);
  return MM_OK;
}

static mm_status
make_shape (const struct mm_train_config *c, const struct mm_tokenizer *t, struct mm_model_config *shape)
{
  mm_status st = c->config ? mm_config_read (c->config, shape)
                           : mm_config_preset (c->preset ? c->preset : default_preset, mm_tokenizer_vocab_size (t),
                                               shape);

  if (st == MM_OK)
    take_special_ids (t, shape);
  return st;
}

mm_status
mm_trainer_shape (struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  mm_status st = c->model ? read_model_folder (t) : make_shape (c, mm_dataset_tokenizer (t->data), &t->shape);

  if (st == MM_OK)
    st = check_fit (&t->shape, t->data);
  if (st == MM_OK && c->lora_rank)
    st = mm_lora_measure (&t->shape, c->lora_rank, c->lora_targets, mm_dataset_seq_len (t->data), &t->lora);
  return st;
}

double
mm_trainer_token_flops (const struct mm_trainer *t)
{
  return t->lora.parameters ? t->lora.train_flops : mm_config_train_flops (&t->shape, t->plan.seq_len);
}

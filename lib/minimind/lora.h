/* lora.h -- low-rank adapters on a model's linear layers.
   SPDX-License-Identifier: Apache-2.0

     y = W x + s B (A x)        A [r, in], B [out, r], s = alpha / r

   With an adapter attached only A and B are trained: they are the model's trained parameters (model.h),
   named as PEFT names them, and backward leaves out what frozen weights make needless.  All passes and
   generation include it.
   Source: Hu et al. (2021); PEFT's tuners/lora for names and initial values.  */

#ifndef MINIMIND_LORA_H
#define MINIMIND_LORA_H

#include <stdint.h>

#include <minimind/error.h>
#include <minimind/model.h>

enum mm_lora_target
{
  MM_LORA_Q, MM_LORA_K, MM_LORA_V, MM_LORA_O, MM_LORA_GATE, MM_LORA_UP, MM_LORA_DOWN,
  MM_LORA_TARGETS
};

/* "q_proj" ... "down_proj".  */
const char *mm_lora_target_name (enum mm_lora_target t);

/* The set (bit 1 << target) that LIST names: names by comma, with or without _proj, or "all-linear".
   MM_EUSAGE, listing what there is.  */
mm_status mm_lora_targets (const char *list, unsigned *targets) MM_NODISCARD;

/* The adapter of one linear layer.  */
struct mm_lora_module
{
  uint32_t rank;                /* 0: none */
  float scale;                  /* alpha / rank */
};

/* Attach an adapter to M, made for training or not, all values zero: MODULES [n_layers * MM_LORA_TARGETS],
   layers outermost.  Call mm_model_refresh after its values were set.  MM_EINVAL if M has one, if no module
   has a rank, or for a rank beyond the smaller side of its matrix.  */
mm_status mm_lora_attach (struct mm_model *m, const struct mm_lora_module *modules) MM_NODISCARD;

/* Attach one of RANK to TARGETS of every layer, as it starts: A uniform in (-1, 1) / sqrt (in) by (SEED, index of the
   tensor), B zero; refreshed.  MM_EUSAGE for a rank or alpha that cannot be.  */
mm_status mm_lora_create (struct mm_model *m, uint32_t rank, double alpha, unsigned targets,
                          uint64_t seed) MM_NODISCARD;

/* The module of TARGET in LAYER; rank 0 where M has no adapter there.  */
struct mm_lora_module mm_lora_module (const struct mm_model *m, uint32_t layer, enum mm_lora_target target);

/* Where the values of A and B stand in the trained buffer, for a module with a rank.  */
void mm_lora_place (const struct mm_model *m, uint32_t layer, enum mm_lora_target target, size_t *a,
                    size_t *b);

#endif /* MINIMIND_LORA_H */

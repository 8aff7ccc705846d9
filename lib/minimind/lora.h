/* lora.h -- low-rank adapters on a model's linear layers.
   SPDX-License-Identifier: Apache-2.0

     y = W x + s B (A x)        A [r, in], B [out, r], s = alpha / r

   With an adapter attached only A and B are trained: they are the model's trained parameters (model.h),
   named as PEFT names them, and backward leaves out what frozen weights make needless.  All passes and
   generation include it.
   Source: Hu et al. (2021); PEFT's tuners/lora for names and initial values.  */

#ifndef MINIMIND_LORA_H
#define MINIMIND_LORA_H

#include <stdbool.h>
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

/* The list that mm_lora_targets reads as the set, in the order of the enum: "q_proj,v_proj".  Returns TEXT.  */
enum { MM_LORA_TARGETS_TEXT = 64 };
char *mm_lora_targets_text (unsigned targets, char text[MM_LORA_TARGETS_TEXT]);

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

bool mm_lora_attached (const struct mm_model *m);

/* What an adapter of RANK on TARGETS of every layer of a model of shape C comes to, without making one.  MM_EUSAGE as
   mm_lora_create.  */
struct mm_lora_sizes
{
  size_t parameters;
  size_t width;                 /* of mm_pass_bytes */
  double train_flops;           /* of training on a token of a row of SEQ_LEN: frozen weights have no gradient, nor
                                   has the input of the first layer's q, k and v */
  double adapter_flops;         /* of these, what the adapter adds to the model's own */
};
mm_status mm_lora_measure (const struct mm_model_config *c, uint32_t rank, unsigned targets, size_t seq_len,
                           struct mm_lora_sizes *s) MM_NODISCARD;

/* The module of TARGET in LAYER; rank 0 where M has no adapter there.  */
struct mm_lora_module mm_lora_module (const struct mm_model *m, uint32_t layer, enum mm_lora_target target);

/* ---- adapter folders ---- */

/* An adapter as PEFT writes it, in host memory: adapter_config.json and adapter_model.safetensors.  */
struct mm_adapter;

/* Open the folder DIR of an adapter for a model of shape C.  Tensors and their shapes must be those of C's linear
   layers, A and B of each; ranks are the tensors', and the configuration's where it gives any (r, rank_pattern); the
   scale is the configuration's (lora_alpha, alpha_pattern, use_rslora).  MM_EUNSUP for what changes the mathematics
   (DoRA, biases, other modules saved ...), by name; MM_ESHAPE for another model's; MM_EFORMAT for what is damaged or
   does not agree, a value that is not finite included; MM_ENOENT, MM_EIO.  */
mm_status mm_adapter_open (const char *dir, const struct mm_model_config *c, struct mm_adapter **a) MM_NODISCARD;
void mm_adapter_close (struct mm_adapter *a);   /* accepts NULL */

/* SHA-256 of the tensors' file; of the base that it was trained on (mm_model_sha256), NULL where it does not
   say.  */
const char *mm_adapter_sha256 (const struct mm_adapter *a);
const char *mm_adapter_base_sha256 (const struct mm_adapter *a);

/* MM_ECONFLICT if A, called NAME in messages, says that its base is another than the one of BASE_SHA256; warns where it
   says nothing.  */
mm_status mm_adapter_check_base (const struct mm_adapter *a, const char *name, const char *base_sha256) MM_NODISCARD;

/* Attach it to M, with its values; refreshed.  As mm_lora_attach.  */
mm_status mm_adapter_attach (const struct mm_adapter *a, struct mm_model *m) MM_NODISCARD;

/* Put its values into the adapter that M has; refreshed.  MM_ESHAPE, naming the first module whose rank or scale
   differs.  */
mm_status mm_adapter_put (const struct mm_adapter *a, struct mm_model *m) MM_NODISCARD;

/* Check the adapter folder DIR without its base: the configuration, each A with a B of its rank, which is the
   configuration's too, all values finite.  The statuses of mm_adapter_open.  */
mm_status mm_adapter_verify (const char *dir) MM_NODISCARD;

/* DELTA [out, in] += WEIGHT * s * B A of a module, in double; *HAS false, and nothing is done, where A has no
   such module.  */
void mm_adapter_delta (const struct mm_adapter *a, uint32_t layer, enum mm_lora_target target, double weight,
                       double *delta, bool *has);

/* Write the adapter of M into the folder DIR, not yet published, from VALUES (host, the layout of mm_model_trained):
   adapter_config.json and adapter_model.safetensors as PEFT reads them, with BASE_SHA256 in its metadata.
   MM_EEXIST where they are, MM_EIO.  */
mm_status mm_adapter_write (const struct mm_model *m, const float *values, const char *base_sha256,
                            const char *dir) MM_NODISCARD;

#endif /* MINIMIND_LORA_H */

/* model_config.h -- the shape of a model: presets and HuggingFace config.json.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_MODEL_CONFIG_H
#define MINIMIND_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>
#include <minimind/safetensors.h>

enum mm_architecture
{
  MM_LLAMA,                     /* LlamaForCausalLM */
  MM_QWEN3                      /* Qwen3ForCausalLM: q and k normed by head */
};

struct mm_model_config
{
  enum mm_architecture architecture;
  uint32_t hidden_size, n_layers, n_heads, n_kv_heads, head_dim, ffn_size, vocab_size;
  uint32_t max_positions;
  float rms_eps;
  double rope_theta;
  bool tied;                    /* the head shares the embedding */
  int32_t bos_id, eos_id, pad_id;       /* -1 for none */
};

/* NULL-terminated: "minimind2-small", "minimind2", "minimind-3", "tiny", "nano".  */
extern const char *const mm_preset_names[];

/* The preset NAME with VOCAB_SIZE.  MM_EUSAGE, listing the names.  */
mm_status mm_config_preset (const char *name, uint32_t vocab_size, struct mm_model_config *c) MM_NODISCARD;

/* Read a config.json.  Every dense Llama or Qwen3 shape is taken; mixture of experts, sliding windows,
   RoPE scaling, biases and other activations are refused by name (MM_EUNSUP); impossible numbers are
   MM_EFORMAT.  */
mm_status mm_config_read (const char *path, struct mm_model_config *c) MM_NODISCARD;

/* config.json and generation_config.json as transformers 4 and 5 read them, for weights of DTYPE (F32, BF16 or
   F16); the caller frees.  */
mm_status mm_config_text (const struct mm_model_config *c, enum mm_dtype dtype, char **config,
                          char **generation) MM_NODISCARD;

/* Distinct parameters, and training FLOPs a token (3 x forward, causal attention over T keys).  */
uint64_t mm_config_parameters (const struct mm_model_config *c);
double mm_config_train_flops (const struct mm_model_config *c, size_t seq_len);
double mm_config_forward_flops (const struct mm_model_config *c, size_t seq_len);

#endif /* MINIMIND_MODEL_CONFIG_H */

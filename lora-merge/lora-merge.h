/* lora-merge.h -- fold adapters into their base.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef LORA_MERGE_H
#define LORA_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include <minimind/cli.h>
#include <minimind/lora.h>
#include <minimind/model.h>
#include <minimind/safetensors.h>

struct lora_merge_adapter
{
  const char *dir;
  double weight;
};

struct lora_merge_config
{
  const char *base, *output;
  struct lora_merge_adapter *adapters;
  size_t n_adapters;
  enum mm_dtype dtype;          /* F32, BF16 or F16 */
  const char *probe;            /* text to compare logits on, or NULL */
  bool force;
  struct mm_compute compute;
};

/* W + sum over adapters of weight * s * B A for every linear layer, in double, rounded once to float32 and
   then to the dtype; a model folder.  Prints a line for each matrix.  MM_ECONFLICT for an adapter of another
   base or one that is in the base already; MM_EFORMAT for one that changes nothing.  */
mm_status lora_merge (const struct lora_merge_config *c) MM_NODISCARD;

/* What merging changed in one matrix.  */
struct lora_merge_change
{
  double norm, delta_norm;      /* Frobenius: of W, of what is added */
  size_t changed, size;         /* elements that differ as written, of how many */
};

/* Print how far apart the logits of TEXT are: base and merged, and (WITH, unless NULL: the base with its one adapter
   attached) applied and merged.  */
mm_status lora_merge_probe (const char *text, const char *base_dir, struct mm_model *base, struct mm_model *merged,
                            const struct mm_adapter *with) MM_NODISCARD;

#endif /* LORA_MERGE_H */

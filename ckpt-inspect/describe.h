/* describe.h -- what a path holds, as one JSON object.
   SPDX-License-Identifier: Apache-2.0

   Its fields are those of --json and, in the same order, the lines shown to people (print.c).  Strings of files
   that stand in it may hold anything; what tokens decode to is escaped already (pieces.h).  */

#ifndef INSPECT_DESCRIBE_H
#define INSPECT_DESCRIBE_H

#include <jansson.h>
#include <minimind/safetensors.h>

#include "ckpt-inspect.h"
#include "kind.h"

/* Add to D the fields of PATH, which is of KIND.  */
mm_status describe (const char *path, enum kind kind, const struct inspect_config *c, json_t *d) MM_NODISCARD;

/* The parts of it.  */
mm_status describe_model (const char *path, const struct inspect_config *c, json_t *d) MM_NODISCARD;
mm_status describe_adapter (const char *path, const struct inspect_config *c, json_t *d) MM_NODISCARD;
mm_status describe_safetensors (const char *path, const struct inspect_config *c, json_t *d) MM_NODISCARD;
mm_status describe_tokens (const char *path, const struct inspect_config *c, json_t *d) MM_NODISCARD;
mm_status describe_rows (const char *path, const struct inspect_config *c, json_t *d) MM_NODISCARD;
mm_status describe_dataset (const char *path, const struct inspect_config *c, json_t *d) MM_NODISCARD;
mm_status describe_tokenizer (const char *path, const struct inspect_config *c, json_t *d) MM_NODISCARD;

/* Add min, max, mean, std, norm (of finite values), zeros and nonfinite of T's values to D, nothing where its
   dtype has none.  */
mm_status stats_add (const struct mm_safetensors *file, const struct mm_tensor *t, json_t *d) MM_NODISCARD;

/* Number of elements of T.  */
uint64_t tensor_elements (const struct mm_tensor *t);

#endif /* INSPECT_DESCRIBE_H */

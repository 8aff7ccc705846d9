/* diff.h -- two paths compared, tensor by tensor.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef INSPECT_DIFF_H
#define INSPECT_DIFF_H

#include <stdbool.h>
#include <jansson.h>

#include "kind.h"

/* Compare A and B, safetensors files or folders with some, by the names of tensors (in datasets: of files and
   tensors); other files of folders, and tokenizers, by their bytes.  Run folders stand for their newest valid
   checkpoint.  *RESULT is a new object:

     same           a boolean
     compared       how many tensors are in both
     tensors        those that differ: name, and either dtype and shape of both, or elements, differing (in bits)
                    and max_abs_diff (null where there are no finite numbers)
     only_a only_b  names
     files          names of those that differ or stand on one side only  */
mm_status diff (const char *a, const char *b, json_t **result) MM_NODISCARD;

#endif /* INSPECT_DIFF_H */

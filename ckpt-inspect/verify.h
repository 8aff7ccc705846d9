/* verify.h -- everything that can be checked about a path.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef INSPECT_VERIFY_H
#define INSPECT_VERIFY_H

#include "kind.h"

/* MM_OK, or the first thing that is wrong with PATH: hashes (MANIFEST, dataset.json), JSON, headers, the tensors
   that the configuration asks for, the tokenizer, every id and flag of token data.  */
mm_status verify (const char *path, enum kind kind) MM_NODISCARD;

#endif /* INSPECT_VERIFY_H */

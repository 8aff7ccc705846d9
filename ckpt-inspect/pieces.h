/* pieces.h -- tokens as text that a person can read and a terminal survives (minimind/shown.h).
   SPDX-License-Identifier: Apache-2.0  */

#ifndef INSPECT_PIECES_H
#define INSPECT_PIECES_H

#include <stdint.h>

#include <minimind/tokenizer.h>

/* N tokens decoded: \[...] around special tokens and numbers that are no token, \| before documents that start
   behind the first token, \{ \} around targets unless all are.  STARTS and MASK may be NULL.  A new string, or NULL
   when memory is short.  */
char *pieces_decode (const struct mm_tokenizer *t, const uint32_t *ids, const uint8_t *starts,
                     const uint8_t *mask, size_t n);

#endif /* INSPECT_PIECES_H */

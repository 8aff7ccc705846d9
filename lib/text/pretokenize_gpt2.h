/* pretokenize_gpt2.h -- GPT-2's pattern: its meaning and its fast form.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  */

#ifndef TEXT_PRETOKENIZE_GPT2_H
#define TEXT_PRETOKENIZE_GPT2_H

#include "pretokenize.h"
#include "vector.h"

/* The end of the piece that starts at AT < SIZE: what the pattern means (pretokenize.c).  */
size_t mm_gpt2_end (const char *text, size_t size, size_t at);

/* mm_pretokenize for this pattern by the instructions of VECTOR, which the processor has.  */
size_t mm_gpt2_pieces (enum mm_vector vector, const char *text, size_t size, size_t at,
                       size_t *ends, size_t max);

#endif /* TEXT_PRETOKENIZE_GPT2_H */

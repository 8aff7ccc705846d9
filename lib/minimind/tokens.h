/* tokens.h -- token files: documents as ids, from tokenize to pack.
   SPDX-License-Identifier: Apache-2.0

   A safetensors file (minimind-files(5)): doc_offsets I64 [D+1], tokens U16 or U32 [N], loss_mask
   U8 [N] and turn_offsets I64 for conversations, tokenizer_json and tokenizer_config_json U8.
   Metadata: kind = "minimind-tokens", tokenizer_sha256, vocab_size, bos_id, eos_id, pad_id (-1 for
   none), documents, tokens.  */

#ifndef MINIMIND_TOKENS_H
#define MINIMIND_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>
#include <minimind/tokenizer.h>

/* ---- writing ---- */

struct mm_tokens_writer;

mm_status mm_tokens_create (const char *path, bool force, const struct mm_tokenizer *t,
                            struct mm_tokens_writer **w) MM_NODISCARD;

/* Append ids to the document under way; end it.  An id >= vocab_size is MM_EINVAL.  */
mm_status mm_tokens_add (struct mm_tokens_writer *w, const uint32_t *ids, size_t count) MM_NODISCARD;
mm_status mm_tokens_end_document (struct mm_tokens_writer *w) MM_NODISCARD;

/* MM_EINVAL if a document is under way.  Frees W whatever the result.  */
mm_status mm_tokens_commit (struct mm_tokens_writer *w) MM_NODISCARD;
void mm_tokens_abort (struct mm_tokens_writer *w);      /* accepts NULL */

/* ---- reading ---- */

struct mm_tokens;

/* Validate kind, shapes, metadata, tokenizer and the first and last offset; other offsets are
   checked as they are read.  MM_ENOENT, MM_EIO, MM_EFORMAT, MM_EUNSUP (a tokenizer of another
   kind).  */
mm_status mm_tokens_open (const char *path, struct mm_tokens **f) MM_NODISCARD;
void mm_tokens_close (struct mm_tokens *f);     /* accepts NULL */

const char *mm_tokens_path (const struct mm_tokens *f);
uint64_t mm_tokens_documents (const struct mm_tokens *f);
uint64_t mm_tokens_count (const struct mm_tokens *f);
bool mm_tokens_has_mask (const struct mm_tokens *f);
const struct mm_tokenizer *mm_tokens_tokenizer (const struct mm_tokens *f);

/* Document DOC's first token and length.  MM_EFORMAT if offsets decrease; MM_EINVAL beyond the
   last document.  */
mm_status mm_tokens_document (struct mm_tokens *f, uint64_t doc, uint64_t *first,
                              uint64_t *length) MM_NODISCARD;

/* COUNT ids from token FIRST on; MASK (unless NULL) gets the loss mask, ones where the file has
   none.  An id >= vocab_size or a mask above 1 is MM_EFORMAT naming file, token and id; a range
   beyond the end MM_EINVAL.  Buffered: cheap for ascending ranges; memory does not grow with the
   file.  One thread at a time.  */
mm_status mm_tokens_read (struct mm_tokens *f, uint64_t first, size_t count, uint32_t *ids,
                          uint8_t *mask) MM_NODISCARD;

#endif /* MINIMIND_TOKENS_H */

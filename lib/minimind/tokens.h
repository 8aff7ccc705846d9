/* tokens.h -- token files: documents as ids, from tokenize to pack.
   SPDX-License-Identifier: Apache-2.0

   A safetensors file (minimind-files(5)): doc_offsets I64 [D+1], tokens U16 or U32 [N], loss_mask
   U8 [N] and turn_offsets I64 (the token at which each turn begins, ascending) for conversations,
   tokenizer_json and tokenizer_config_json U8.
   Metadata: kind = "minimind-tokens", tokenizer_sha256, vocab_size, bos_id, eos_id, pad_id (-1 for
   none), documents, tokens; for conversations chat_template, chat_labels, turns, targets.  */

#ifndef MINIMIND_TOKENS_H
#define MINIMIND_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>
#include <minimind/tokenizer.h>

/* ---- ids as files keep them ---- */

/* Little-endian, in 2 bytes each, or 4 where the vocabulary is over 65,536.  PACKED may be IDS itself.  */
size_t mm_ids_width (uint32_t vocab_size);
void mm_ids_pack (const uint32_t *ids, size_t count, size_t width, void *packed);
void mm_ids_unpack (const void *packed, size_t count, size_t width, uint32_t *ids);

/* ---- writing ---- */

struct mm_tokens_writer;

mm_status mm_tokens_create (const char *path, bool force, const struct mm_tokenizer *t,
                            struct mm_tokens_writer **w) MM_NODISCARD;

/* A file of conversations, with a loss mask and the beginnings of turns; CHAT NULL: of texts.  */
struct mm_tokens_chat
{
  const char *template;         /* its name, as mm_chat_template_name */
  bool minimind;                /* labels as MiniMind finds them */
};
mm_status mm_tokens_create_chat (const char *path, bool force, const struct mm_tokenizer *t,
                                 const struct mm_tokens_chat *chat, struct mm_tokens_writer **w) MM_NODISCARD;

/* So many documents of text will probably come, UINT64_MAX (at first): no one knows.  If they do, ids go to where they
   will stay.  Before the first of them.  */
void mm_tokens_expect (struct mm_tokens_writer *w, uint64_t documents);

/* Append a conversation, a document of its own: COUNT ids, the mask of them (0 or 1), and the ids before the end of
   each turn, ascending, as in struct mm_chat_ids.  MM_EINVAL for an id >= vocab_size and in a file of texts, as
   mm_tokens_add in one of conversations.  */
mm_status mm_tokens_add_conversation (struct mm_tokens_writer *w, const uint32_t *ids, const uint8_t *mask,
                                      size_t count, const size_t *turn_ends, size_t n_turns) MM_NODISCARD;

/* Append ids to the document under way; end it.  An id >= vocab_size is MM_EINVAL.  */
mm_status mm_tokens_add (struct mm_tokens_writer *w, const uint32_t *ids, size_t count) MM_NODISCARD;
mm_status mm_tokens_add_packed (struct mm_tokens_writer *w, const void *ids, size_t count) MM_NODISCARD;
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

/* The name of the template that made a file of conversations; NULL for texts.  */
const char *mm_tokens_chat_template (const struct mm_tokens *f);

/* Open a token file, or a shard of another trainer:

     .npy               NumPy's format, versions 1 to 3: one dimension, C order, '<u2', '<u4', '<i4' or '<i8'
     llm.c's .bin       256 words, of them magic, version and count: 20240520, 1 (ids of 16 bits) or
                        20240801, 7 (of 32 bits)
     any other .bin     nanoGPT's: ids of 16 bits and nothing else

   They are told by their first bytes, nanoGPT's by its name.  T is the tokenizer of such files, MM_EUSAGE
   if it is NULL and one is met.  With SPLIT_AT_EOS a document ends behind each eos of T (MM_EUSAGE if
   there is none; where they end is kept in an unnamed file of the temporary folder, 8 bytes a
   document); else a file is one document.  T, which must outlive the file, also stands in for an equal
   tokenizer of a token file.  MM_EFORMAT names what such a file should hold.
   Source: llm.c, dev/data/data_common.py; nanoGPT, data/openwebtext/prepare.py; NumPy, NEP 1.  */
mm_status mm_tokens_open_any (const char *path, const struct mm_tokenizer *t, bool split_at_eos,
                              struct mm_tokens **f) MM_NODISCARD;

/* Is it a token file, with a tokenizer of its own?  */
bool mm_tokens_is_ours (const struct mm_tokens *f);

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

/* The same with ids as token files keep them, little-endian in mm_tokens_width bytes each: 2, or 4 where the
   vocabulary is over 65,536.  IDS may be NULL as well.  */
size_t mm_tokens_width (const struct mm_tokens *f);
mm_status mm_tokens_read_packed (struct mm_tokens *f, uint64_t first, size_t count, void *ids,
                                 uint8_t *mask) MM_NODISCARD;

/* The ids alone, packed, by as many threads at once as like; straight from the file, so better many at a time.  */
mm_status mm_tokens_read_shared (const struct mm_tokens *f, uint64_t first, size_t count, void *ids) MM_NODISCARD;

/* The turns of a file of conversations, 0 in one of texts; where turn I of them begins.  MM_EFORMAT for one outside
   the file; MM_EINVAL beyond the last.  */
uint64_t mm_tokens_turns (const struct mm_tokens *f);
mm_status mm_tokens_turn (struct mm_tokens *f, uint64_t i, uint64_t *turn) MM_NODISCARD;

/* *TURN = where the last turn of a conversation begins that begins behind token FROM and not behind
   token LIMIT; FROM if there is none.  MM_EFORMAT for a turn outside the file.  */
mm_status mm_tokens_turn_before (struct mm_tokens *f, uint64_t from, uint64_t limit,
                                 uint64_t *turn) MM_NODISCARD;

#endif /* MINIMIND_TOKENS_H */

/* tokens_file.h -- an open token file of any kind.  Internal to lib/data.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef DATA_TOKENS_FILE_H
#define DATA_TOKENS_FILE_H

#include <minimind/safetensors.h>
#include <minimind/tokens.h>

enum
{
  IDS_WINDOW = 1 << 18,         /* bytes, multiples of every element's width */
  SIDE_WINDOW = 1 << 16
};

/* A stretch of an array in memory.  The array is a tensor, or lies in a file from byte BASE on.  */
struct window
{
  const struct mm_tensor *tensor;       /* NULL: in FD */
  int fd;
  uint64_t base, total;         /* bytes */
  uint64_t from;                /* byte of the array at data[0] */
  size_t size, capacity;        /* bytes filled, at most */
  uint8_t *data;
};

struct mm_tokens
{
  struct mm_safetensors *file;  /* NULL: a file of others, open as ids.fd */
  const struct mm_tokenizer *tokenizer;
  struct mm_tokenizer *own;     /* the same, if it is this file's to free */
  uint32_t vocab_size;
  uint64_t documents, count;
  bool has_mask, one_document;
  enum mm_dtype dtype;          /* of the ids in the file: U16, U32, I32 or I64 */
  struct window offsets, ids, mask, turns;
  uint8_t side_data[3][SIDE_WINDOW];
  uint8_t ids_data[IDS_WINDOW];
  char path[];
};

/* Bytes of an id in the file.  */
static inline size_t
tokens_width (const struct mm_tokens *f)
{
  return mm_dtype_bits (f->dtype) / 8;
}

/* An empty one, its descriptors closed.  */
mm_status tokens_new (const char *path, struct mm_tokens **f) MM_NODISCARD;

/* Open PATH, a file of KIND that is none of ours; F->tokenizer stands.  */
enum tokens_kind { TOKENS_OURS, TOKENS_RAW, TOKENS_LLMC, TOKENS_NPY };
mm_status tokens_kind_of (const char *path, enum tokens_kind *kind) MM_NODISCARD;
mm_status tokens_open_foreign (struct mm_tokens *f, enum tokens_kind kind, bool split_at_eos) MM_NODISCARD;

#endif /* DATA_TOKENS_FILE_H */

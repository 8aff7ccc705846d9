/* dataset.h -- dataset folders: rows ready to train on.
   SPDX-License-Identifier: Apache-2.0

   Made by pack, read by pretrain, sft and eval: train-0000i-of-0000K.safetensors,
   validation-..., tokenizer.json, tokenizer_config.json, dataset.json.  Each part holds
   input_ids [rows, seq_len + 1] (U16 or U32), doc_starts U8 and, where not all ones,
   loss_mask U8 of the same shape.  */

#ifndef MINIMIND_DATASET_H
#define MINIMIND_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>
#include <minimind/tokenizer.h>

enum mm_split { MM_TRAIN, MM_VALIDATION };

enum
{
  MM_DATASET_MAX_SEQ_LEN = 1 << 20,
  MM_DATASET_MAX_PARTS = 256    /* a split; all are held open while reading */
};

/* ---- writing ---- */

struct mm_dataset_writer;

struct mm_dataset_options
{
  uint32_t seq_len;             /* T; rows hold T + 1 tokens */
  uint64_t shard_rows;          /* rows a part; 0: one part a split */
  bool with_mask;               /* write loss_mask */
  uint64_t rows[2];             /* by enum mm_split: how many will be added, where that is known: parts then
                                   get their place, and are hashed, as they are written; else 0 and 0 */
};

/* Files go into the folder DIR (an mm_output_dir's temporary).  The tokenizer's files are
   written too; T must live until commit.  MM_EINVAL if seq_len is 0 or too large.  */
mm_status mm_dataset_create (const char *dir, const struct mm_tokenizer *t,
                             const struct mm_dataset_options *o,
                             struct mm_dataset_writer **w) MM_NODISCARD;

/* Append a row: T + 1 ids, starts and (with_mask; else it may be NULL) mask.  MM_EINVAL for an id
   beyond the vocabulary and beyond the rows that were told, MM_EUSAGE when shard_rows makes more than
   MM_DATASET_MAX_PARTS parts.  */
mm_status mm_dataset_add (struct mm_dataset_writer *w, enum mm_split split, const uint32_t *ids,
                          const uint8_t *doc_starts, const uint8_t *mask) MM_NODISCARD;

/* The same with ids as the parts hold them, little-endian of 2 bytes, or of 4 where the vocabulary is over
   65,536 (mm_tokens_read_packed): they were checked by who made them.  */
mm_status mm_dataset_add_packed (struct mm_dataset_writer *w, enum mm_split split, const void *ids,
                                 const uint8_t *doc_starts, const uint8_t *mask) MM_NODISCARD;

/* Finish the parts (named by their final number) and dataset.json; REPORT is a JSON object text
   that is put in as "report", or NULL.  MM_EINVAL if fewer rows were added than told.  Frees W whatever the result.  */
mm_status mm_dataset_commit (struct mm_dataset_writer *w, const char *report) MM_NODISCARD;
void mm_dataset_abort (struct mm_dataset_writer *w);    /* accepts NULL */

/* ---- reading ---- */

struct mm_dataset;

/* Open the folder: parts complete, shapes alike, counts as dataset.json says, the tokenizer's
   hashes, and those of the parts if VERIFY.  MM_ENOENT, MM_EFORMAT; MM_EUNSUP for a later
   version of the format.  */
mm_status mm_dataset_open (const char *dir, bool verify, struct mm_dataset **d) MM_NODISCARD;
void mm_dataset_close (struct mm_dataset *d);   /* accepts NULL */

const char *mm_dataset_path (const struct mm_dataset *d);
uint32_t mm_dataset_seq_len (const struct mm_dataset *d);
uint64_t mm_dataset_rows (const struct mm_dataset *d, enum mm_split split);
const struct mm_tokenizer *mm_dataset_tokenizer (const struct mm_dataset *d);

/* SHA-256 over dataset.json: the identity that checkpoints keep.  */
const char *mm_dataset_sha256 (const struct mm_dataset *d);

/* Row ROW: T + 1 ids, starts, mask (ones where the dataset has none).  Checked: ids below the
   vocabulary's size, the first start is 1, flags 0 or 1; MM_EFORMAT names part and row.
   MM_EINVAL beyond the last row.  Safe from several threads.  */
mm_status mm_dataset_read (const struct mm_dataset *d, enum mm_split split, uint64_t row,
                           uint32_t *ids, uint8_t *doc_starts, uint8_t *mask) MM_NODISCARD;

/* Bytes of text behind the targets of validation rows are found by decoding; see eval.  */

#endif /* MINIMIND_DATASET_H */

/* llmc.h -- token files of llm.c: a header of 256 words, then ids.
   SPDX-License-Identifier: Apache-2.0

   Source: llm.c, dev/data/data_common.py.  Ids of 16 bits where the vocabulary allows (magic 20240520,
   version 1), else of 32 (20240801, 7).  Nothing but eos tells where a document ends, and no
   tokenizer goes with a file.  */

#ifndef PACK_LLMC_H
#define PACK_LLMC_H

#include <minimind/dataset.h>
#include <minimind/json.h>
#include <minimind/tokens.h>

struct llmc_writer;

/* Files train_000000.bin, val_000000.bin, ... in the folder DIR, each of FILE_TOKENS but the last of a split.
   MM_EUSAGE if a file of so many has 2 GiB or more: llm.c's reader counts in int.  */
mm_status llmc_create (const char *dir, const struct mm_tokenizer *t, uint64_t file_tokens,
                       struct llmc_writer **w) MM_NODISCARD;

/* Append COUNT tokens of F from FIRST on, a document.  */
mm_status llmc_add (struct llmc_writer *w, enum mm_split split, struct mm_tokens *f, uint64_t first,
                    uint64_t count) MM_NODISCARD;

/* Finish; *FILES lists them by split with tokens and SHA-256, and how many documents do not end with eos
   (json_decref it).  Frees W whatever the result.  */
mm_status llmc_commit (struct llmc_writer *w, json_t **files) MM_NODISCARD;
void llmc_abort (struct llmc_writer *w);        /* accepts NULL */

#endif /* PACK_LLMC_H */

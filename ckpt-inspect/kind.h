/* kind.h -- what a path is.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef INSPECT_KIND_H
#define INSPECT_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include <minimind/error.h>

enum kind
{
  KIND_CHECKPOINT,              /* a step folder */
  KIND_ADAPTER_CHECKPOINT,      /* a step folder of a run that trains an adapter */
  KIND_MODEL,                   /* a HuggingFace model folder */
  KIND_ADAPTER,                 /* a PEFT adapter folder */
  KIND_RUN,                     /* a folder of step folders */
  KIND_DATASET,                 /* a folder of rows */
  KIND_TOKENIZER_FOLDER,
  KIND_TOKENIZER,               /* tokenizer.json */
  KIND_TOKENS,                  /* a token file */
  KIND_ROWS,                    /* a part of a dataset */
  KIND_SAFETENSORS              /* any other */
};

extern const char *const kind_names[];

/* Look at PATH.  MM_ENOENT, MM_EIO, MM_EFORMAT for nothing known, MM_EUNSUP for formats known by name only.  */
mm_status kind_detect (const char *path, enum kind *kind) MM_NODISCARD;

bool kind_is_folder (enum kind kind);

/* Names in folder PATH that begin with PREFIX and end with SUFFIX, sorted, hidden ones left out; FOLDERS: those of
   folders, else those of regular files, with a SUFFIX of anything.  The caller frees them by names_free.  */
mm_status names_list (const char *path, const char *prefix, const char *suffix, bool folders, char ***names,
                      size_t *count) MM_NODISCARD;
void names_free (char **names, size_t count);

#endif /* INSPECT_KIND_H */

/* layout.h -- what the writer and the reader of dataset folders agree on.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef DATA_LAYOUT_H
#define DATA_LAYOUT_H

#include <stdio.h>

#include <minimind/dataset.h>

#define DATASET_KIND "minimind-dataset" /* of dataset.json */
#define DATASET_PART_KIND "minimind-rows"       /* of a part's metadata */
enum { DATASET_VERSION = 1, N_SPLITS = 2 };

static inline const char *
split_name (enum mm_split split)
{
  return split == MM_TRAIN ? "train" : "validation";
}

enum { PART_NAME = 80 };

/* "train-00000-of-00003.safetensors".  */
static inline void
part_name (char name[PART_NAME], enum mm_split split, size_t part, size_t parts)
{
  snprintf (name, PART_NAME, "%s-%05zu-of-%05zu.safetensors", split_name (split), part, parts);
}

#endif /* DATA_LAYOUT_H */

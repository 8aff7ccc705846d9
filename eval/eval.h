/* eval.h -- how well a model predicts a dataset.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef EVAL_H
#define EVAL_H

#include <stdbool.h>
#include <stddef.h>

#include <minimind/cli.h>
#include <minimind/dataset.h>
#include <minimind/error.h>

struct eval_config
{
  const char *model;            /* model folder or run folder */
  const char *data;             /* dataset folder */
  enum mm_split split;
  size_t batch;                 /* sequences at a time; the result does not depend on it */
  bool json;
  bool losses;                  /* print each target's loss instead of the summary */
  struct mm_compute compute;
};

/* Evaluate and print.  MM_EFORMAT when the split has no rows or no targets, or the loss is not
   finite; MM_ECONFLICT when the model's tokenizer is not the dataset's, or ids or positions would
   not fit the model; the statuses of dataset.h, checkpoint.h and model.h.  */
mm_status eval (const struct eval_config *c) MM_NODISCARD;

#endif /* EVAL_H */

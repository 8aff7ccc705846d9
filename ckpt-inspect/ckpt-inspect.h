/* ckpt-inspect.h -- what the tool is asked for, and the one call that does it.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef CKPT_INSPECT_H
#define CKPT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

enum inspect_action
{
  INSPECT_SHOW,
  INSPECT_VERIFY,
  INSPECT_SHA256,
  INSPECT_DIFF
};

struct inspect_config
{
  enum inspect_action action;
  char **paths;
  size_t n_paths;               /* >= 1; 1 for INSPECT_DIFF */
  const char *other;            /* what INSPECT_DIFF compares with */
  bool json;                    /* one object a line for each path */
  bool stats;                   /* INSPECT_SHOW: numbers of each tensor's values */
  int64_t samples;              /* documents, rows or tokens shown; -1: 3, or 8 tokens */
};

/* Do it for each path in turn, on standard output.  Stops at the first failure: MM_ENOENT, MM_EIO, MM_EFORMAT
   and MM_EUNSUP of what is read.  *DIFFERENT: INSPECT_DIFF found a difference.  */
mm_status ckpt_inspect (const struct inspect_config *c, bool *different) MM_NODISCARD;

#endif /* CKPT_INSPECT_H */

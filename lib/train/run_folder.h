/* run_folder.h -- what checkpoint.c needs to know of a run's folder.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_TRAIN_RUN_FOLDER_H
#define MM_TRAIN_RUN_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

/* The step folders of OUT, newest first; the caller frees *STEPS.  MM_ENOENT if there is no OUT.  */
mm_status mm_run_steps (const char *out, uint64_t **steps, size_t *count) MM_NODISCARD;

/* OUT/step-STEP as a new string.  */
mm_status mm_run_step_path (const char *out, uint64_t step, char **path) MM_NODISCARD;

/* Remove OUT/step-STEP, so that no moment shows half of it.  */
mm_status mm_run_remove_step (const char *out, uint64_t step) MM_NODISCARD;

/* Remove the step folders that are older than the KEEP newest complete ones; KEEP 0: none.  */
mm_status mm_run_retain (const char *out, int keep) MM_NODISCARD;

#endif /* MM_TRAIN_RUN_FOLDER_H */

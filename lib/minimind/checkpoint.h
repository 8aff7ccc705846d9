/* checkpoint.h -- step folders: a HuggingFace model folder, or PEFT's of an adapter, plus what training needs to go on.
   SPDX-License-Identifier: Apache-2.0

   OUT/step-00000100/ holds config.json, generation_config.json, model.safetensors (float32), tokenizer files,
   optimizer.safetensors (m.NAME, v.NAME), trainer.json and MANIFEST ("SHA256  NAME" lines that sha256sum -c
   reads; "# SIZE NAME" comments).  Of a model with an adapter (lora.h) only that is kept: adapter_config.json and
   adapter_model.safetensors stand in place of the first three.  Nothing of where or how it was computed stands in it.
   Written as a hidden folder, synced, renamed; never overwritten.  */

#ifndef MINIMIND_CHECKPOINT_H
#define MINIMIND_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include <minimind/error.h>
#include <minimind/model.h>
#include <minimind/tokenizer.h>

/* All that the next step depends on beside the tensors.  STATE is trainer.json's object.  */
struct mm_checkpoint
{
  uint64_t step;                /* updates done */
  json_t *state;
  const char *base_sha256;      /* to save a model with an adapter: of the model beneath it (mm_model_sha256) */
};

/* Make the run folder OUT (and its parents) if need be and hold it: an open-file-description lock on OUT/LOCK,
   until release or the process's end.  What earlier processes left unfinished in OUT is removed.  MM_EBUSY,
   naming the process, when another run holds it; MM_EUSAGE when OUT is a model, an adapter or a dataset; MM_EIO.
   Release, which accepts NULL, removes an OUT that take made and in which nothing was put.

   Whoever removes OUT under a run takes its lock away; another run may have made a new OUT.  check sees that:
   MM_EIO where OUT/LOCK is gone, MM_EBUSY where it is another file than the one locked.  */
struct mm_run_lock;
mm_status mm_run_lock_take (const char *out, struct mm_run_lock **lock) MM_NODISCARD;
mm_status mm_run_lock_check (const struct mm_run_lock *lock) MM_NODISCARD;
void mm_run_lock_release (struct mm_run_lock *lock);

/* Publish OUT/step-STEP from host buffers (VALUES, M, V laid out as mm_model_trained), then point OUT/latest at it
   and remove all that are older than the KEEP newest complete ones (KEEP 0: all stay), once the new one verifies
   when read back.  The caller holds OUT's lock and has just checked it.  A valid folder of that step is MM_EEXIST
   unless it holds the same bytes; a damaged one is moved to step-STEP.damaged.  MM_EIO on a full disk: nothing is
   left, older ones stand.  */
mm_status mm_checkpoint_save (const char *out, const struct mm_checkpoint *c, const struct mm_model *model,
                              const float *values, const float *m, const float *v,
                              const struct mm_tokenizer *t, int keep) MM_NODISCARD;

/* Check DIR against its MANIFEST: sizes, hashes, no file missing or extra.  MM_EFORMAT names the first
   that differs.  */
mm_status mm_checkpoint_verify (const char *dir) MM_NODISCARD;

/* The newest step folder of run folder OUT that verifies; *DIR is a new string, NULL if there is none (or no
   OUT).  Damaged ones are warned of and passed over; MM_EFORMAT if there are only such.  */
mm_status mm_checkpoint_newest (const char *out, char **dir) MM_NODISCARD;

/* Read a verified folder back: what is trained of MODEL (refreshed), M and V (host buffers), trainer.json, whose
   object the caller releases.  MM_ENOENT, MM_EIO, MM_EFORMAT, and MM_ESHAPE where tensors are not the model's.  */
mm_status mm_checkpoint_load (const char *dir, struct mm_model *model, float *m, float *v,
                              struct mm_checkpoint *c) MM_NODISCARD;

/* One digest of the folder: SHA-256 of the "SHA256  NAME" lines of its files, computed anew and sorted by name.
   MANIFEST takes no part, so that a model folder without one has a digest too.  */
mm_status mm_checkpoint_digest (const char *dir, char sha256[65]) MM_NODISCARD;

/* PATH itself if it holds config.json; else (a run folder) its newest valid step folder.  New string.
   MM_ENOENT, MM_EIO if it is no folder, MM_EFORMAT if it is neither kind or holds no valid step folder, and for an
   adapter's folder, saying what can be done with it.  */
mm_status mm_model_folder (const char *path, char **dir) MM_NODISCARD;

/* The same for an adapter: PATH itself if it holds adapter_config.json and no config.json, or the newest valid step
   folder of a run that trained one.  MM_EFORMAT for a model's folder.  */
mm_status mm_adapter_folder (const char *path, char **dir) MM_NODISCARD;

/* Either of the two.  */
mm_status mm_checkpoint_folder (const char *path, char **dir) MM_NODISCARD;

#endif /* MINIMIND_CHECKPOINT_H */

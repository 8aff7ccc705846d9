/* trainer.h -- everything that one run holds open, and what a step may do beside training.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_TRAIN_TRAINER_H
#define MM_TRAIN_TRAINER_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include <minimind/batch.h>
#include <minimind/comm.h>
#include <minimind/dataset.h>
#include <minimind/model.h>
#include <minimind/optimizer.h>
#include <minimind/train.h>

#include "plan.h"
#include "report.h"
#include "state.h"

struct mm_trainer
{
  const struct mm_train_config *config;
  struct mm_comm *comm;
  struct mm_dataset *data;
  struct mm_model_config shape; /* of the model */
  struct mm_plan plan;

  struct mm_run_lock *lock;     /* of the run folder */
  struct mm_backend *backend;
  struct mm_model *model;
  struct mm_optimizer optimizer;
  struct mm_pass *pass;
  struct mm_loader *loader;

  json_t *settings;             /* of trainer.json */
  struct mm_train_state state;
  uint64_t first;               /* steps done when this process began */
  uint64_t saved;               /* step of the newest checkpoint; UINT64_MAX: none */
  struct mm_runlog *log;
  struct mm_report report;
  double measured;              /* when the peak was last measured, s since the report began; 0: at the start */
};

/* Open data and ranks, find the model's shape, make the plan: all that --dry-run needs.  On failure too,
   mm_trainer_close is due.  T is zeroed first.  */
mm_status mm_trainer_open (const struct mm_train_config *c, struct mm_trainer *t) MM_NODISCARD;

/* Take the run folder, make the model, resume: from here on steps can be run.  */
mm_status mm_trainer_start (struct mm_trainer *t) MM_NODISCARD;
void mm_trainer_close (struct mm_trainer *t);

/* The shape of the model that the command line asks for, checked against the dataset: its tokenizer, its
   row length.  MM_ECONFLICT when the folder of --model has another tokenizer; MM_EUSAGE when ids or
   positions would not fit.  */
mm_status mm_trainer_shape (const struct mm_train_config *c, const struct mm_dataset *data,
                            struct mm_model_config *shape) MM_NODISCARD;

/* The checkpoint to go on from, checked against this run: *DIR is a new string, NULL if there is none;
   t->state is what its trainer.json says.  */
mm_status mm_trainer_find_checkpoint (struct mm_trainer *t, char **dir) MM_NODISCARD;

/* Read model and moments from DIR, found by mm_trainer_find_checkpoint.  */
mm_status mm_trainer_load (struct mm_trainer *t, const char *dir) MM_NODISCARD;

/* Print what the run would be on standard output.  */
mm_status mm_trainer_describe (const struct mm_trainer *t) MM_NODISCARD;

/* Now and then measure the peak again, on rank 0: at the start others may have used the machine.  */
void mm_trainer_measure_peak (struct mm_trainer *t);

/* Publish a checkpoint of t->state.step, unless it is that of t->saved.  MM_EGAVEUP, and nothing is
   written, if a parameter or moment is not finite.  */
mm_status mm_trainer_save (struct mm_trainer *t) MM_NODISCARD;

/* Mean loss in nats over the validation rows' targets, all ranks together.  Leaves the training state
   alone.  */
mm_status mm_trainer_validate (struct mm_trainer *t, double *loss, uint64_t *targets) MM_NODISCARD;

/* Show how the model goes on from the prompt.  */
mm_status mm_trainer_sample (struct mm_trainer *t) MM_NODISCARD;

/* The first parameter tensor that holds a non-finite value, or NULL; *ST tells whether reading went well.  */
const struct mm_param *mm_trainer_find_nonfinite (struct mm_trainer *t, const float *device, mm_status *st);

/* Warn of trainable tensors whose gradient has been zero in all updates so far: their first moment is.  */
mm_status mm_trainer_warn_untrained (struct mm_trainer *t) MM_NODISCARD;

#endif /* MM_TRAIN_TRAINER_H */

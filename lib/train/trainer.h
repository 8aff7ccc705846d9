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
#include <minimind/hash.h>
#include <minimind/lora.h>
#include <minimind/model.h>
#include <minimind/optimizer.h>
#include <minimind/train.h>

#include "balance.h"
#include "plan.h"
#include "report.h"
#include "state.h"

/* The sum of a window's gradient over the ranks.  */
struct mm_reduction
{
  bool on;                      /* between begin and end */
  size_t open;                  /* elements from here on have been handed over */
  double began;                 /* when the first were, of mm_now; 0: not yet */
  double seconds;               /* what it took from this rank's time */
  double all_seconds;           /* from the beginning to the end, hidden behind other work or not */
};

struct mm_trainer
{
  const struct mm_train_config *config;
  struct mm_comm *comm;
  struct mm_dataset *data;
  char *base;                   /* the folder that --model names; NULL: without */
  char base_sha256[MM_SHA256_TEXT];     /* of the model in it, once that is read; else "" */
  struct mm_model_config shape; /* of the model */
  struct mm_lora_sizes lora;    /* of the adapter that is trained; zeros: none */
  struct mm_plan plan;

  struct mm_run_lock *lock;     /* of the run folder */
  struct mm_backend *backend;
  struct mm_model *model;
  struct mm_optimizer optimizer;
  float *floats;                /* with --reduce=fast: the gradient as it is summed over ranks */
  bool floats_own;              /* by mm_backend_alloc */
  struct mm_reduction reduction;
  struct mm_pass *pass;
  struct mm_loader *loader;
  struct mm_balance balance;    /* with --balance, of several ranks */

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

/* Give the run folder back, to which nothing is written any more: before this process tells the other ranks that it
   ends, since a launcher may end all of them then.  */
void mm_trainer_leave_folder (struct mm_trainer *t);

/* The folder of --model, the shape of the model that the command line asks for, checked against the dataset: its
   tokenizer, its row length; the adapter's sizes.  MM_ECONFLICT when the folder has another tokenizer; MM_EUSAGE when
   ids or positions would not fit, or the adapter's rank.  */
mm_status mm_trainer_shape (struct mm_trainer *t) MM_NODISCARD;

/* FLOPs of training on one token.  */
double mm_trainer_token_flops (const struct mm_trainer *t);

/* ---- ranks ---- */

/* All ranks hold the same TEXT, which says what their WHAT is; else MM_ECONFLICT naming one that does not, with
   both texts.  */
mm_status mm_ranks_same (struct mm_comm *c, const char *what, const char *text) MM_NODISCARD;

/* All ranks are of this version and were given the same options.  */
mm_status mm_ranks_same_program (struct mm_comm *c, const struct mm_train_config *config) MM_NODISCARD;

/* Say which rank runs where, and warn of threads that outnumber processors.  */
mm_status mm_ranks_show (struct mm_trainer *t) MM_NODISCARD;

/* MM_EGAVEUP, naming a tensor and the ranks on both sides, if ranks' parameters differ.  */
mm_status mm_trainer_check_replicas (struct mm_trainer *t) MM_NODISCARD;

/* The optimizer, its gradient where other ranks reach it, its part of the moments.  */
mm_status mm_trainer_make_optimizer (struct mm_trainer *t) MM_NODISCARD;

/* Sum the gradient over the ranks, where they share the update only what is of this rank's part: begin before the
   window; more from the backward pass of its last micro-batch on this rank, a mm_pass_final_fn, waits for nobody; end
   after it.  *OVERFLOW is set on all ranks if a sum of floats is out of range.  */
mm_status mm_trainer_reduce_begin (struct mm_trainer *t) MM_NODISCARD;
mm_status mm_trainer_reduce_more (void *trainer, size_t from) MM_NODISCARD;
mm_status mm_trainer_reduce_end (struct mm_trainer *t, int *overflow) MM_NODISCARD;

/* Open the loader at window t->first.  With --balance (else the two below do nothing): before a step deal the window
   after it; after the step note what one of this rank's micro-batches took, SECONDS, 0 without one: collective.  */
mm_status mm_trainer_open_loader (struct mm_trainer *t) MM_NODISCARD;
mm_status mm_trainer_deal (struct mm_trainer *t) MM_NODISCARD;
mm_status mm_trainer_note_speed (struct mm_trainer *t, double seconds) MM_NODISCARD;

/* Parameters and moments, whole and on the host, between two steps.  Open makes room; gather fills it; put
   takes it over into the run's own state (parameters are to be refreshed then); close.  All collective where
   ranks share the moments out.  */
struct mm_whole
{
  float *values, *m, *v;        /* mm_model_size elements */
  float *copy;                  /* NULL: they stand in the run's own memory */
  bool in_gradient;             /* m and v do so in the gradient's */
};
mm_status mm_whole_open (struct mm_trainer *t, struct mm_whole *w) MM_NODISCARD;
mm_status mm_whole_gather (struct mm_trainer *t, struct mm_whole *w) MM_NODISCARD;
mm_status mm_whole_put (struct mm_trainer *t, const struct mm_whole *w) MM_NODISCARD;
mm_status mm_whole_close (struct mm_trainer *t, struct mm_whole *w) MM_NODISCARD;

/* ---- checkpoints ---- */

/* Rank 0 alone looks for them.  The checkpoint to go on from, checked against this run: *DIR is a new string,
   NULL if there is none; t->state is what its trainer.json says.  */
mm_status mm_trainer_find_checkpoint (struct mm_trainer *t, char **dir) MM_NODISCARD;

/* Read model and moments from DIR, found by rank 0's mm_trainer_find_checkpoint; the others get them from rank 0.  */
mm_status mm_trainer_load (struct mm_trainer *t, const char *dir) MM_NODISCARD;

/* Print what the run would be on standard output.  */
mm_status mm_trainer_describe (const struct mm_trainer *t) MM_NODISCARD;

/* Now and then measure the peak again, on rank 0: at the start others may have used the machine.  */
void mm_trainer_measure_peak (struct mm_trainer *t);

/* Publish a checkpoint of t->state.step, unless it is that of t->saved.  MM_EGAVEUP, and nothing is
   written, if a parameter or moment is not finite, or the ranks' parameters differ.  */
mm_status mm_trainer_save (struct mm_trainer *t) MM_NODISCARD;

/* Mean loss in nats over the validation rows' targets, all ranks together.  Leaves the training state
   alone.  */
mm_status mm_trainer_validate (struct mm_trainer *t, double *loss, uint64_t *targets) MM_NODISCARD;

/* Show how the model goes on from the prompt.  */
mm_status mm_trainer_sample (struct mm_trainer *t) MM_NODISCARD;

/* The first tensor that holds a non-finite value in VALUES, laid out as what is trained, on the host; or NULL.  */
const struct mm_param *mm_trainer_find_nonfinite (const struct mm_trainer *t, const float *values);

/* The same in the model that is frozen under an adapter, where the host sees it.  */
const struct mm_param *mm_trainer_find_nonfinite_frozen (const struct mm_trainer *t);

/* Warn of trainable tensors whose gradient has been zero in all updates so far: their first moment is.  */
mm_status mm_trainer_warn_untrained (struct mm_trainer *t) MM_NODISCARD;

#endif /* MM_TRAIN_TRAINER_H */

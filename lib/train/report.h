/* report.h -- what a run says of itself: progress, metrics, warnings.
   SPDX-License-Identifier: Apache-2.0

   Nothing here changes the bits of a checkpoint.  */

#ifndef MM_TRAIN_REPORT_H
#define MM_TRAIN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <minimind/backend.h>
#include <minimind/telemetry.h>

/* Where the time of a run goes.  MM_FORWARD and MM_BACKWARD stand together, as mm_model_gradient
   counts them.  */
enum mm_phase
{
  MM_DATA, MM_FORWARD, MM_BACKWARD, MM_REDUCE, MM_UPDATE, MM_WAIT,      /* a step; wait: for other ranks */
  MM_STEP_PHASES,
  MM_SAVE = MM_STEP_PHASES, MM_EVAL,                            /* beside it */
  MM_PHASES
};

/* One step, all ranks together.  */
struct mm_step_facts
{
  uint64_t step;                /* steps done, this one included */
  double loss_sum;              /* nats, over the targets; NaN if it was not finite */
  uint64_t targets, tokens;
  double rate, norm;            /* learning rate; gradient norm before clipping */
  bool skipped;
  double seconds[MM_STEP_PHASES];
  double reduction;             /* s of the sum over the ranks, what was hidden included */
};

struct mm_report
{
  /* Set by the caller.  */
  struct mm_runlog *log;        /* NULL: no log */
  struct mm_backend *backend;   /* NULL: -v has no profile */
  double token_flops;           /* FLOPs of training on one token */
  double peak;                  /* FLOP/s of all ranks' backends; the report raises it to what a step reached */
  uint64_t first, total;        /* steps: done at the start, of the whole run */
  uint64_t log_every, save_every;       /* steps; 0: never */
  const char *data;             /* the dataset's name */
  int ranks;
  uint64_t global_batch, batch_unit;    /* sequences; of a micro-batch on each rank */

  /* The report's own.  */
  double began;                 /* s of mm_now */
  double loss_sum;              /* since the last line of metrics, as targets, tokens, seconds */
  uint64_t targets, tokens;
  double seconds[MM_PHASES];
  double all[MM_PHASES];        /* seconds since the start */
  double reduction, all_reduction;      /* likewise */
  uint64_t saves;
  bool warned_data, warned_save;
  int warned_reduce;            /* times */
  struct mm_step_facts last;    /* step */
};

void mm_report_begin (struct mm_report *r);

/* After each step: progress on stderr, metrics when due, a warning when training waits for data, and when the
   sum over the ranks takes more than a twentieth of the time, or a tenth.  */
void mm_report_step (struct mm_report *r, const struct mm_step_facts *f);

/* After a save that took SECONDS; warns when saving takes more than a twentieth of the time.  */
void mm_report_save (struct mm_report *r, uint64_t step, double seconds);

/* After an evaluation that took SECONDS: mean LOSS in nats over TARGETS.  */
void mm_report_validation (struct mm_report *r, uint64_t step, double loss, uint64_t targets,
                           double seconds);

/* What gathered since the last line of metrics, and a summary; with -v the profile by operation, too.  */
void mm_report_end (struct mm_report *r);

/* The value that --save-every needs for saves to take a twentieth of the time, when EVERY makes them
   take SHARE of it, 0 to 1.  */
uint64_t mm_report_better_save_every (uint64_t every, double share);

/* The global batch, a multiple of UNIT, for which the sum over the ranks takes a twentieth of the time, when
   with BATCH it takes SHARE of it, 0 to 1: the rest of the time grows with the batch, the sum's does not.  */
uint64_t mm_report_better_global_batch (uint64_t batch, uint64_t unit, double share);

#endif /* MM_TRAIN_REPORT_H */

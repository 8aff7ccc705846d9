/* plan.h -- the shape of a run: how many steps, of how many micro-batches.
   SPDX-License-Identifier: Apache-2.0

   Everything follows from the command line, the number of rows and the number of ranks, before the
   first step: all ranks run the same count.  */

#ifndef MM_TRAIN_PLAN_H
#define MM_TRAIN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <minimind/batch.h>
#include <minimind/error.h>
#include <minimind/schedule.h>
#include <minimind/train.h>

struct mm_plan
{
  struct mm_order order;        /* seed, rows, global and micro-batch */
  struct mm_schedule schedule;  /* schedule.total is the length of the whole run, in steps */
  uint32_t seq_len;             /* tokens a row */
  int world_size;               /* ranks */
  uint64_t windows;             /* steps an epoch */
  uint64_t micro_batches;       /* of a full step */
  uint64_t passes;              /* micro-batches that the busiest rank runs in it */
  bool balance;                 /* passes are but the beginning: then by measured speed */
  double idle;                  /* share of all ranks' passes that have no micro-batch, 0 to 1 */
  uint64_t step_tokens;         /* of a full step */
};

/* DATA names the dataset in messages.  MM_EUSAGE, with values that fit: a global batch that is no
   multiple of the micro-batch or exceeds ROWS, more ranks than micro-batches, a warm-up longer than the
   run.  */
mm_status mm_plan_make (const struct mm_train_config *c, const char *data, uint64_t rows,
                        uint32_t seq_len, int world_size, struct mm_plan *p) MM_NODISCARD;

enum { MM_PLAN_TEXT = 200 };

/* "64 sequences a step = 16 micro-batches of 4 on 1 rank, 16 passes each", with the idle share where
   they don't divide, and with what --balance changes.  Returns TEXT.  */
char *mm_plan_equation (const struct mm_plan *p, char text[MM_PLAN_TEXT]);

#endif /* MM_TRAIN_PLAN_H */

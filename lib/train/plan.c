/* plan.c -- derive the shape of a run, refuse what cannot work with values that can.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>

#include <minimind/log.h>

#include "plan.h"

static mm_status
check_multiple (uint64_t global, uint64_t micro)
{
  uint64_t below = global / micro * micro, divisor = micro;

  if (global % micro == 0)
    return MM_OK;
  while (global % divisor != 0)
    divisor--;
  if (below == 0)
    return mm_fail (MM_EUSAGE, "--global-batch=%" PRIu64 " is smaller than --micro-batch=%" PRIu64
                    ": --micro-batch=%" PRIu64 " or --global-batch=%" PRIu64 " fit",
                    global, micro, global, micro);
  return mm_fail (MM_EUSAGE, "--global-batch=%" PRIu64 " is not a multiple of --micro-batch=%" PRIu64
                  ": --global-batch=%" PRIu64 ", --global-batch=%" PRIu64 " or --micro-batch=%" PRIu64
                  " fit", global, micro, below, below + micro, divisor);
}

static mm_status
check_rows (const char *data, uint64_t rows, uint64_t global, uint64_t micro)
{
  if (rows == 0)
    return mm_fail (MM_EFORMAT, "%s: no training rows", data);
  if (rows >= global)
    return MM_OK;
  if (rows < micro)
    micro = rows;
  return mm_fail (MM_EUSAGE, "%s has %s, fewer than --global-batch=%" PRIu64
                  ": --global-batch=%" PRIu64 " --micro-batch=%" PRIu64 " fits, or pack with a smaller"
                  " --seq-len for more rows", data, MM_COUNT (rows, "training row"), global,
                  rows / micro * micro, micro);
}

static mm_status
check_ranks (uint64_t micro_batches, uint64_t micro, int world_size)
{
  if ((uint64_t) world_size <= micro_batches)
    return MM_OK;
  return mm_fail (MM_EUSAGE, "%s for %s a step: at most %s, or --global-batch=%" PRIu64 ", fit",
                  MM_COUNT ((uint64_t) world_size, "rank"), MM_COUNT (micro_batches, "micro-batch"),
                  MM_COUNT (micro_batches, "rank"), micro * (uint64_t) world_size);
}

/* Length of the whole run in steps.  */
static mm_status
count_steps (const struct mm_train_config *c, uint64_t windows, uint64_t *steps)
{
  double exact = (c->epochs > 0 ? c->epochs : 1) * (double) windows;

  *steps = c->steps;
  if (c->steps == 0)
    {
      if (!(exact < 0x1p53))
        return mm_fail (MM_EUSAGE, "--epochs=%g of %" PRIu64 " steps are too many", c->epochs, windows);
      *steps = exact < 1 ? 1 : (uint64_t) (exact + 0.5);
    }
  if (c->warmup > *steps)
    return mm_fail (MM_EUSAGE, "--warmup=%" PRIu64 " is longer than the run of %s", c->warmup,
                    MM_COUNT (*steps, "step"));
  return MM_OK;
}

mm_status
mm_plan_make (const struct mm_train_config *c, const char *data, uint64_t rows, uint32_t seq_len,
              int world_size, struct mm_plan *p)
{
  uint64_t ranks = (uint64_t) world_size;
  double scale = c->lr_base_batch ? (double) c->global_batch / (double) c->lr_base_batch : 1;
  mm_status st = check_multiple (c->global_batch, c->micro_batch);

  if (st == MM_OK)
    st = check_rows (data, rows, c->global_batch, c->micro_batch);
  if (st == MM_OK)
    st = check_ranks (c->global_batch / c->micro_batch, c->micro_batch, world_size);
  if (st < 0)
    return st;

  *p = (struct mm_plan) { .seq_len = seq_len, .world_size = world_size, .balance = c->balance && world_size > 1 };
  p->order = (struct mm_order) { .seed = c->compute.seed, .rows = rows, .shuffle = true,
                                 .global_batch = c->global_batch, .micro_batch = c->micro_batch };
  p->windows = mm_order_windows (&p->order);
  p->micro_batches = c->global_batch / c->micro_batch;
  p->passes = (p->micro_batches + ranks - 1) / ranks;
  p->idle = 1 - (double) p->micro_batches / ((double) p->passes * (double) ranks);
  p->step_tokens = c->global_batch * seq_len;
  p->schedule = (struct mm_schedule) { .kind = c->schedule, .peak = c->learning_rate * scale,
                                       .min_ratio = c->min_lr_ratio, .warmup = c->warmup };
  return count_steps (c, p->windows, &p->schedule.total);
}

char *
mm_plan_equation (const struct mm_plan *p, char text[MM_PLAN_TEXT])
{
  int used = snprintf (text, MM_PLAN_TEXT, "%s a step = %s of %" PRIu64 " on %s, %s each",
                       MM_COUNT (p->order.global_batch, "sequence"), MM_COUNT (p->micro_batches, "micro-batch"),
                       p->order.micro_batch, MM_COUNT ((uint64_t) p->world_size, "rank"),
                       MM_COUNT (p->passes, "pass"));

  if (p->idle > 0)
    used += snprintf (text + used, (size_t) (MM_PLAN_TEXT - used), ", %.1f%% idle", 100 * p->idle);
  if (p->balance)
    snprintf (text + used, (size_t) (MM_PLAN_TEXT - used), ", at first: then dealt by measured speed");
  return text;
}

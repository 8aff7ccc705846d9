/* train.c -- the one training loop: load; for each step batch, forward, backward, reduce, update,
   report, save.
   SPDX-License-Identifier: Apache-2.0

   Ranks run the same steps.  Before each collective they agree on a status, so that none waits for one
   that failed; what they decide on (skip, stop) comes out of a sum that is the same on all.  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/ops.h>

#include "trainer.h"
#include "signals.h"

enum { MAX_SKIPPED_IN_A_ROW = 10, UNTRAINED_AFTER = 10 /* updates */ };

/* One window of the data, summed over micro-batches and, once reduced, over ranks.  */
struct window
{
  struct mm_loss loss;
  uint64_t tokens;
  uint64_t bad_sample;          /* first sample of the first micro-batch that overflowed; UINT64_MAX: none */
  bool stop;                    /* some rank was asked to stop */
  double norm, rate;
  double micro_batch;           /* seconds that one takes on this rank, 0: it has none here */
  double seconds[MM_STEP_PHASES];
};

/* Batch, forward, backward: all micro-batches of this rank.  */
static mm_status
run_window (struct mm_trainer *t, struct window *w)
{
  const struct mm_batch *b;
  mm_status st;

  while ((st = mm_loader_next (t->loader, t->state.step, &b, &w->seconds[MM_DATA])) == MM_OK && b)
    {
      bool was_fine = !w->loss.overflow, sums = mm_comm_size (t->comm) > 1 && mm_loader_is_last (t->loader);

      mm_pass_on_final (t->pass, sums ? mm_trainer_reduce_more : NULL, t);
      st = mm_model_gradient (t->pass, b, t->optimizer.grad, &w->loss, &w->seconds[MM_FORWARD]);
      if (st < 0)
        break;
      if (was_fine && w->loss.overflow)
        w->bad_sample = b->first;
      w->tokens += b->rows * b->seq_len;
    }
  w->seconds[MM_BACKWARD] -= t->reduction.seconds;
  if (w->tokens)
    w->micro_batch = (w->seconds[MM_FORWARD] + w->seconds[MM_BACKWARD])
                     * (double) (t->plan.order.micro_batch * t->plan.seq_len) / (double) w->tokens;
  return st == MM_OK ? mm_backend_sync (t->backend) : st;
}

/* Sum the window over the ranks.  The gradient's sum is brought to its end even if it is of no use.  */
static mm_status
reduce (struct mm_trainer *t, struct window *w)
{
  double began = mm_now () - t->reduction.seconds;
  int64_t sums[] = { w->loss.sum, (int64_t) w->loss.n_targets, w->loss.overflow != 0,
                     (int64_t) w->tokens, mm_signals_caught () != 0 };
  mm_status st = mm_comm_sum_i64 (t->comm, sums, sizeof sums / sizeof *sums);

  w->loss = (struct mm_loss) { sums[0], (uint64_t) sums[1], sums[2] != 0 };
  if (st == MM_OK)
    st = mm_trainer_reduce_end (t, &w->loss.overflow);
  w->tokens = (uint64_t) sums[3];
  w->stop = sums[4] > 0;
  w->seconds[MM_REDUCE] += mm_now () - began;
  return st;
}

/* The first of all ranks' bad samples.  */
static mm_status
first_bad_sample (struct mm_trainer *t, uint64_t *sample)
{
  size_t ranks = (size_t) mm_comm_size (t->comm);
  uint64_t *samples;
  mm_status st = mm_alloc ("samples", ranks, sizeof *samples, &samples);

  if (st < 0)
    return st;
  samples[mm_comm_rank (t->comm)] = *sample;
  st = mm_comm_all_gather (t->comm, samples, ranks, sizeof *samples, 1);
  for (size_t r = 0; r < ranks && st == MM_OK; r++)
    if (samples[r] < *sample)
      *sample = samples[r];
  free (samples);
  return st;
}

/* The first tensor that holds a non-finite value, or NULL.  */
static mm_status
find_nonfinite (struct mm_trainer *t, const struct mm_param **found)
{
  struct mm_whole w;
  mm_status st = mm_whole_open (t, &w), closed;

  if (st == MM_OK)
    st = mm_whole_gather (t, &w);
  *found = st == MM_OK ? mm_trainer_find_nonfinite (t, w.values) : NULL;
  if (!*found)
    *found = mm_trainer_find_nonfinite_frozen (t);
  closed = mm_whole_close (t, &w);
  return st < 0 ? st : closed;
}

/* Why a window gives no update, for people.  */
static mm_status
describe_skip (struct mm_trainer *t, const struct window *w, char *text, size_t size)
{
  uint64_t sample = w->bad_sample;
  const struct mm_param *p;
  mm_status st = first_bad_sample (t, &sample);

  if (st < 0)
    return st;
  if (w->loss.n_targets == 0)
    {
      snprintf (text, size, "no target token");
      return MM_OK;
    }
  st = find_nonfinite (t, &p);
  if (p)
    snprintf (text, size, "%s is not finite", p->name);
  else if (w->loss.overflow)
    snprintf (text, size, "loss or gradient not finite or out of range, first in the micro-batch of sample %"
              PRIu64, sample);
  else
    snprintf (text, size, "gradient norm not finite");
  return st;
}

/* Count and name a window without an update; give up when there are too many of them.  */
static mm_status
skip (struct mm_trainer *t, const struct window *w)
{
  struct mm_train_state *s = &t->state;
  uint64_t epoch, first, count;
  char why[256];
  mm_status st = describe_skip (t, w, why, sizeof why);

  if (st < 0)
    return st;
  mm_order_window (&t->plan.order, s->step, &epoch, &first, &count);
  s->skipped++;
  s->skipped_in_a_row++;
  mm_warn ("step %" PRIu64 ": no update: %s (samples %" PRIu64 " to %" PRIu64 " of epoch %" PRIu64 "; %"
           PRIu64 " skipped so far, %" PRIu64 " in a row)", s->step + 1, why, first, first + count - 1,
           epoch, s->skipped, s->skipped_in_a_row);
  if (t->log)
    mm_runlog_event (t->log, "skip",
                     json_pack ("{s:I, s:s, s:I, s:I, s:I}", "step", (json_int_t) s->step + 1, "why", why,
                                "epoch", (json_int_t) epoch, "first_sample", (json_int_t) first,
                                "samples", (json_int_t) count));
  if (s->skipped_in_a_row < MAX_SKIPPED_IN_A_ROW)
    return MM_OK;
  return mm_fail (MM_EGAVEUP, "step %" PRIu64 ": %d steps in a row without an update: %s", s->step + 1,
                  MAX_SKIPPED_IN_A_ROW, why);
}

/* Clip and AdamW, or skip the window.  */
static mm_status
update (struct mm_trainer *t, struct window *w)
{
  struct mm_optimizer *o = &t->optimizer;
  double began = mm_now ();
  mm_status st;

  w->rate = mm_schedule_rate (&t->plan.schedule, t->state.step);
  w->norm = NAN;
  if (w->loss.overflow || w->loss.n_targets == 0)
    st = mm_optimizer_skip (t->model, o);
  else
    st = mm_optimizer_step (t->model, o, w->rate, w->loss.n_targets, &w->norm);
  if (st == MM_OK)
    st = mm_backend_sync (t->backend);
  w->seconds[MM_UPDATE] += mm_now () - began;
  if (st < 0)
    return st;
  if (o->updates == t->state.updates)
    return skip (t, w);
  t->state.updates = o->updates;
  t->state.skipped_in_a_row = 0;
  return o->updates == UNTRAINED_AFTER ? mm_trainer_warn_untrained (t) : MM_OK;
}

static void
report (struct mm_trainer *t, const struct window *w, bool skipped)
{
  struct mm_step_facts f = { .step = t->state.step, .targets = w->loss.n_targets, .tokens = w->tokens,
                             .rate = w->rate, .norm = w->norm, .skipped = skipped,
                             .reduction = t->reduction.all_seconds };

  f.loss_sum = w->loss.overflow ? NAN : ldexp ((double) w->loss.sum, -MM_FIXED_BITS);
  for (int i = 0; i < MM_STEP_PHASES; i++)
    f.seconds[i] = w->seconds[i];
  mm_report_step (&t->report, &f);
}

/* One step of the run: afterwards t->state.step has risen by one.  */
static mm_status
step (struct mm_trainer *t, bool *stop)
{
  struct window w = { .bad_sample = UINT64_MAX };
  uint64_t updates = t->state.updates;
  mm_status st = mm_trainer_reduce_begin (t);
  double began;

  if (st == MM_OK)
    st = mm_trainer_deal (t);
  if (st == MM_OK)
    st = run_window (t, &w);
  began = mm_now ();
  st = mm_comm_agree (t->comm, st);
  w.seconds[MM_WAIT] += mm_now () - began;
  if (st < 0)
    {
      /* Nobody leaves while others' sums still come to its memory.  */
      mm_status ended = mm_trainer_reduce_end (t, &w.loss.overflow);

      return ended < 0 ? ended : st;
    }
  st = reduce (t, &w);
  if (st == MM_OK)
    st = mm_trainer_note_speed (t, w.micro_batch);
  if (st == MM_OK)
    st = update (t, &w);
  st = mm_comm_agree (t->comm, st);
  if (st < 0)
    return st;
  t->state.step++;
  report (t, &w, t->state.updates == updates);
  *stop = w.stop;
  return MM_OK;
}

static mm_status
evaluate (struct mm_trainer *t)
{
  double began = mm_now (), loss;
  uint64_t targets;
  mm_status st = mm_trainer_validate (t, &loss, &targets);

  if (st == MM_OK)
    mm_report_validation (&t->report, t->state.step, loss, targets, mm_now () - began);
  return st;
}

static bool
due (uint64_t every, uint64_t step)
{
  return every > 0 && step % every == 0;
}

/* What comes between two steps.  LAST: no other follows in this process.  */
static mm_status
between_steps (struct mm_trainer *t, bool last)
{
  const struct mm_train_config *c = t->config;
  uint64_t now = t->state.step;
  bool done = now == t->plan.schedule.total;
  mm_status st = MM_OK;

  mm_trainer_measure_peak (t);
  if (due (c->check_replicas, now))
    st = mm_trainer_check_replicas (t);
  if (st == MM_OK && (last || due (c->save_every, now)))
    st = mm_trainer_save (t);
  if (st == MM_OK && c->eval_every && (done || due (c->eval_every, now)))
    st = evaluate (t);
  if (st == MM_OK && mm_comm_rank (t->comm) == 0 && due (c->sample_every, now))
    st = mm_trainer_sample (t);
  return mm_comm_agree (t->comm, st);
}

/* Steps until the end of the run, or until somebody asks to stop.  */
static mm_status
run_steps (struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  uint64_t total = t->plan.schedule.total;
  mm_status st = MM_OK;
  bool stop = false;

  if (t->state.step >= total)
    {
      mm_info ("%s: complete with %s", c->output, MM_COUNT (total, "step"));
      return MM_OK;
    }
  while (st == MM_OK && t->state.step < total && !stop)
    {
      st = step (t, &stop);
      if (c->stop_after && t->state.step - t->first >= c->stop_after)
        stop = true;
      if (st == MM_OK)
        st = between_steps (t, stop || t->state.step == total);
    }
  if (st < 0)
    return st;
  mm_report_end (&t->report);
  if (t->state.step < total)
    return mm_fail (MM_ESTOPPED, "stopped and saved at step %" PRIu64 " of %" PRIu64
                    "; the same command goes on", t->state.step, total);
  return MM_OK;
}

mm_status
mm_train (const struct mm_train_config *c)
{
  struct mm_trainer t;
  mm_status st = mm_trainer_open (c, &t);

  if (st == MM_OK && c->dry_run)
    st = mm_comm_rank (t.comm) == 0 ? mm_trainer_describe (&t) : MM_OK;
  else if (st == MM_OK)
    {
      mm_signals_catch ();
      st = mm_trainer_start (&t);
      if (st == MM_OK)
        st = run_steps (&t);
      mm_signals_release ();
    }
  mm_trainer_leave_folder (&t);
  /* Whatever happened happened to all, and one tells.  */
  if (t.comm)
    st = mm_comm_agree (t.comm, st);
  mm_trainer_close (&t);
  return st;
}

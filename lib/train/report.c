/* report.c -- progress on stderr, lines of metrics, warnings about wasted time.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <jansson.h>

#include <minimind/elementary.h>
#include <minimind/log.h>

#include "report.h"

static const char *const phase_names[MM_PHASES]
  = { "data", "forward", "backward", "reduce", "update", "wait", "save", "eval" };

static const double allowed_share = 0.05;       /* of the time, for waiting and for saving each */
static const double settled = 20;               /* s before shares mean something */
static const double reduce_shares[] = { 0.05, 0.10 };   /* of the time, for a warning each */

void
mm_report_begin (struct mm_report *r)
{
  r->began = mm_now ();
  r->last.step = r->first;
}

static double
step_seconds (const double *seconds)
{
  double sum = 0;

  for (int i = 0; i < MM_STEP_PHASES; i++)
    sum += seconds[i];
  return sum;
}

static void
say_line (void *arg, const char *line)
{
  (void) arg;
  mm_verbose ("%s", line);
}

/* Where ELAPSED seconds went, by operation, for those who asked for more.  */
static void
say_profile (const struct mm_report *r, double elapsed)
{
  struct mm_limits l;

  if (!r->backend || mm_log_get_level () < MM_LOG_VERBOSE || r->last.step == r->first)
    return;
  if (mm_backend_limits (r->backend, 0, &l) < 0)
    {
      mm_verbose ("no profile: %s", mm_error_message ());
      return;
    }
  mm_verbose ("FMA peak %.0f GFLOP/s, %.0f sustained; memory is read at %.1f GB/s", 1e-9 * l.peak, 1e-9 * l.sustained,
              1e-9 * l.bandwidth);
  mm_backend_profile_table (r->backend, &l, (double) (r->last.step - r->first), elapsed, say_line, NULL);
}

/* JSON has no NaN and no infinity: null.  */
static json_t *
number (double x)
{
  return isfinite (x) ? json_real (x) : json_null ();
}

static json_t *
seconds_object (const double *seconds)
{
  json_t *object = json_object ();

  for (int i = 0; i < MM_PHASES; i++)
    json_object_set_new (object, phase_names[i], number (seconds[i]));
  return object;
}

/* Nats a target.  */
static double
step_loss (const struct mm_step_facts *f)
{
  return f->targets ? f->loss_sum / (double) f->targets : NAN;
}

/* Write what gathered since the last line, and begin anew.  */
static void
write_metrics (struct mm_report *r)
{
  const struct mm_step_facts *f = &r->last;
  double seconds = step_seconds (r->seconds);
  double speed = seconds > 0 ? (double) r->tokens / seconds : NAN;

  double loss = r->targets ? r->loss_sum / (double) r->targets : NAN;

  if (r->log)
    mm_runlog_metrics (r->log, f->step,
                       json_pack ("{s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o*}",
                                  "step", (json_int_t) f->step,
                                  "loss", number (loss),
                                  "learning_rate", number (f->rate),
                                  "grad_norm", number (f->norm),
                                  "target_tokens", (json_int_t) r->targets,
                                  "tokens_per_second", number (speed),
                                  "peak_share", number (speed * r->token_flops / r->peak),
                                  "seconds", seconds_object (r->seconds),
                                  "reduction_seconds", r->ranks > 1 ? number (r->reduction) : NULL));
  r->loss_sum = r->reduction = 0;
  r->targets = r->tokens = 0;
  memset (r->seconds, 0, sizeof r->seconds);
}

static void
show_progress (const struct mm_report *r)
{
  const struct mm_step_facts *f = &r->last;
  double speed = (double) f->tokens / step_seconds (f->seconds);
  double left = (mm_now () - r->began) / (double) (f->step - r->first) * (double) (r->total - f->step);
  char eta[32];

  if (!mm_progress_due ())
    return;
  mm_progress ("step %" PRIu64 "/%" PRIu64 "  loss %.4f  lr %.3g  norm %.3g  %.0f tokens/s"
               "  %.0f%% of peak  %s left", f->step, r->total, step_loss (f), f->rate, f->norm, speed,
               100 * speed * r->token_flops / r->peak, mm_format_seconds (left, eta));
}

static void
watch_data (struct mm_report *r)
{
  double all = step_seconds (r->all);

  if (r->warned_data || all < settled || r->all[MM_DATA] <= allowed_share * all)
    return;
  r->warned_data = true;
  mm_warn ("training waits for data %.0f%% of the time: reading %s is too slow",
           100 * r->all[MM_DATA] / all, r->data);
}

uint64_t
mm_report_better_global_batch (uint64_t batch, uint64_t unit, double share)
{
  double factor = share / (1 - share) * (1 - allowed_share) / allowed_share;

  return (uint64_t) ceil ((double) batch * factor / (double) unit) * unit;
}

/* What the sum over the ranks costs is the same for every global batch, the rest grows with it.  */
static void
watch_reduction (struct mm_report *r)
{
  double all = step_seconds (r->all), share = r->all[MM_REDUCE] / all;

  if (r->ranks < 2 || r->warned_reduce == 2 || all < settled || share <= reduce_shares[r->warned_reduce])
    return;
  r->warned_reduce = share > reduce_shares[1] ? 2 : 1;
  mm_warn ("summing gradients over %d ranks takes %.1f%% of the time, %.3g s a step of %.3g s: a slow link, or a"
           " step too small for it; --global-batch=%" PRIu64 " would take %.0f%%, --reduce=fast half as much",
           r->ranks, 100 * share, r->all[MM_REDUCE] / (double) (r->last.step - r->first),
           all / (double) (r->last.step - r->first),
           mm_report_better_global_batch (r->global_batch, r->batch_unit, share), 100 * allowed_share);
}

void
mm_report_step (struct mm_report *r, const struct mm_step_facts *f)
{
  r->last = *f;
  if (!f->skipped)
    {
      r->loss_sum += f->loss_sum;
      r->targets += f->targets;
    }
  r->tokens += f->tokens;
  r->reduction += f->reduction;
  r->all_reduction += f->reduction;
  for (int i = 0; i < MM_STEP_PHASES; i++)
    {
      r->seconds[i] += f->seconds[i];
      r->all[i] += f->seconds[i];
    }
  /* Measured on a busy machine, the peak was too low: it is what was reached, at least.  */
  if (step_seconds (f->seconds) > 0)
    r->peak = fmax (r->peak, (double) f->tokens * r->token_flops / step_seconds (f->seconds));
  show_progress (r);
  if (r->log_every && f->step % r->log_every == 0)
    write_metrics (r);
  watch_data (r);
  watch_reduction (r);
}

uint64_t
mm_report_better_save_every (uint64_t every, double share)
{
  double factor = share / (1 - share) * (1 - allowed_share) / allowed_share;

  return (uint64_t) ceil ((double) every * factor);
}

void
mm_report_save (struct mm_report *r, uint64_t step, double seconds)
{
  double elapsed = mm_now () - r->began, share;

  r->seconds[MM_SAVE] += seconds;
  r->all[MM_SAVE] += seconds;
  r->saves++;
  share = r->all[MM_SAVE] / elapsed;
  mm_verbose ("step %" PRIu64 ": saved in %.2f s", step, seconds);
  if (r->log)
    mm_runlog_event (r->log, "checkpoint", json_pack ("{s:I, s:o}", "step", (json_int_t) step,
                                                      "seconds", number (seconds)));
  /* As it is printed: "5%, not 5%" would help nobody.  */
  if (r->warned_save || r->saves < 2 || elapsed < settled || lround (100 * share) <= lround (100 * allowed_share))
    return;
  r->warned_save = true;
  mm_warn ("saving takes %.0f%% of the time: --save-every=%" PRIu64 " would take %.0f%%", 100 * share,
           mm_report_better_save_every (r->save_every, share), 100 * allowed_share);
}

void
mm_report_validation (struct mm_report *r, uint64_t step, double loss, uint64_t targets, double seconds)
{
  r->seconds[MM_EVAL] += seconds;
  r->all[MM_EVAL] += seconds;
  mm_info ("step %" PRIu64 ": validation loss %.4f, perplexity %.2f", step, loss,
           mm_exp (loss));
  if (r->log)
    mm_runlog_metrics (r->log, step, json_pack ("{s:I, s:o, s:I}", "step", (json_int_t) step,
                                                "validation_loss", number (loss),
                                                "validation_tokens", (json_int_t) targets));
}

void
mm_report_end (struct mm_report *r)
{
  double elapsed = mm_now () - r->began, percent = 100 / elapsed;
  char text[32];

  mm_progress_end ();
  if (r->log_every && r->tokens > 0)
    write_metrics (r);
  mm_info ("step %" PRIu64 "/%" PRIu64 "  loss %.4f  %s: %.0f%% forward and backward, %.0f%% update,"
           " %.0f%% waiting for data, %.0f%% saving, %.0f%% evaluating", r->last.step, r->total,
           step_loss (&r->last), mm_format_seconds (elapsed, text),
           percent * (r->all[MM_FORWARD] + r->all[MM_BACKWARD]), percent * r->all[MM_UPDATE],
           percent * r->all[MM_DATA], percent * r->all[MM_SAVE], percent * r->all[MM_EVAL]);
  say_profile (r, elapsed);
  if (r->ranks > 1)
    mm_info ("%d ranks: %.1f%% summing gradients (%.3g s, of which %.3g s beside other work), %.1f%% waiting for each"
             " other", r->ranks, percent * r->all[MM_REDUCE], r->all_reduction,
             fmax (0, r->all_reduction - r->all[MM_REDUCE]), percent * r->all[MM_WAIT]);
  if (r->log)
    mm_runlog_event (r->log, "end", json_pack ("{s:I, s:o, s:o}", "step", (json_int_t) r->last.step,
                                               "training_seconds", number (step_seconds (r->all)),
                                               "seconds", seconds_object (r->all)));
}

/* run.c -- open all that a run needs, in order; close it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include <minimind/checkpoint.h>
#include <minimind/log.h>

#include "run.h"

static mm_status
make_settings (struct mm_run *run)
{
  return mm_state_settings (run->config, &run->plan, mm_dataset_sha256 (run->data),
                            mm_tokenizer_sha256 (mm_dataset_tokenizer (run->data)), &run->settings);
}

mm_status
mm_run_open (const struct mm_train_config *c, struct mm_run *run)
{
  mm_status st;

  *run = (struct mm_run) { .config = c, .saved = UINT64_MAX };
  st = mm_comm_open ("auto", &run->comm);
  if (st == MM_OK)
    st = mm_dataset_open (c->data, !c->dry_run, &run->data);
  if (st == MM_OK)
    st = mm_run_shape (c, run->data, &run->shape);
  if (st == MM_OK)
    st = mm_plan_make (c, c->data, mm_dataset_rows (run->data, MM_TRAIN),
                       mm_dataset_seq_len (run->data), mm_comm_size (run->comm), &run->plan);
  if (st == MM_OK && c->eval_every && mm_dataset_rows (run->data, MM_VALIDATION) == 0)
    st = mm_fail (MM_EUSAGE, "%s has no validation rows: leave out --eval-every, or pack with --validation",
                  c->data);
  if (st == MM_OK)
    st = make_settings (run);
  return st;
}

/* The model that a run begins with: of --model, random, or for the checkpoint to be read into.  */
static mm_status
make_model (struct mm_run *run, bool resume)
{
  const struct mm_train_config *c = run->config;
  char *dir = NULL;
  mm_status st;

  if (!resume && c->model)
    {
      st = mm_model_folder (c->model, &dir);
      if (st == MM_OK)
        st = mm_model_open (run->backend, dir, true, &run->model);
      free (dir);
      return st;
    }
  st = mm_model_create (run->backend, &run->shape, true, &run->model);
  if (st == MM_OK && !resume)
    st = mm_model_init (run->model, c->compute.seed);
  return st;
}

static mm_status
make_optimizer (struct mm_run *run)
{
  const struct mm_train_config *c = run->config;

  run->optimizer = (struct mm_optimizer) { .beta1 = c->beta1, .beta2 = c->beta2, .eps = c->adam_eps,
                                           .weight_decay = c->weight_decay, .grad_clip = c->grad_clip };
  return mm_optimizer_create (run->model, &run->optimizer);
}

/* Model and optimizer as the first step wants them.  DIR: the checkpoint to go on from, or NULL.  */
static mm_status
make_state (struct mm_run *run, const char *dir)
{
  mm_status st = make_model (run, dir != NULL);

  if (st == MM_OK)
    st = make_optimizer (run);
  if (st == MM_OK && dir)
    {
      st = mm_run_load (run, dir);
      run->saved = run->state.step;
      mm_info ("going on from %s", dir);
    }
  run->first = run->state.step;
  return st;
}

static void
begin_report (struct mm_run *run)
{
  const struct mm_train_config *c = run->config;
  char text[MM_PLAN_TEXT];

  run->report = (struct mm_report) {
    .log = run->log, .first = run->first, .total = run->plan.schedule.total, .data = c->data,
    .token_flops = mm_config_train_flops (&run->shape, run->plan.seq_len),
    .peak = mm_backend_peak (run->backend) * mm_comm_size (run->comm),
    .log_every = c->log_every, .save_every = c->save_every
  };
  mm_info ("%.1f M parameters; %s; %" PRIu64 " steps of %" PRIu64 " tokens", 1e-6 * (double) mm_model_size (run->model),
           mm_plan_equation (&run->plan, text), run->plan.schedule.total, run->plan.step_tokens);
  mm_info ("%s backend, %s kernels, %d threads: FMA peak %.0f GFLOP/s", mm_backend_name (run->backend),
           mm_backend_kernels (run->backend), mm_backend_threads (run->backend), 1e-9 * run->report.peak);
  if (run->log)
    mm_runlog_event (run->log, "start",
                     json_pack ("{s:I, s:I, s:s, s:s, s:i, s:i, s:s}", "step", (json_int_t) run->first,
                                "steps", (json_int_t) run->plan.schedule.total,
                                "backend", mm_backend_name (run->backend),
                                "kernels", mm_backend_kernels (run->backend),
                                "threads", mm_backend_threads (run->backend),
                                "ranks", mm_comm_size (run->comm),
                                "version", PACKAGE_VERSION));
  mm_report_begin (&run->report);
}

mm_status
mm_run_start (struct mm_run *run)
{
  const struct mm_train_config *c = run->config;
  char *dir = NULL;
  mm_status st = mm_run_lock_take (c->output, &run->lock);

  if (st == MM_OK)
    st = mm_run_find_checkpoint (run, &dir);
  if (st == MM_OK)
    st = mm_backend_open (c->compute.backend, c->compute.threads, &run->backend);
  if (st == MM_OK)
    st = make_state (run, dir);
  free (dir);
  if (st == MM_OK)
    st = mm_pass_create (run->model, run->plan.order.micro_batch, run->plan.seq_len, true, &run->pass);
  if (st == MM_OK)
    st = mm_loader_open (run->data, MM_TRAIN, &run->plan.order, run->first, mm_comm_rank (run->comm),
                         mm_comm_size (run->comm), &run->loader);
  if (st == MM_OK)
    st = mm_runlog_open (c->output, c->metrics_file, &run->log);
  if (st == MM_OK)
    begin_report (run);
  return st;
}

void
mm_run_close (struct mm_run *run)
{
  mm_runlog_close (run->log);
  mm_loader_close (run->loader);
  mm_pass_free (run->pass);
  mm_optimizer_free (run->model, &run->optimizer);
  mm_model_free (run->model);
  mm_backend_close (run->backend);
  json_decref (run->settings);
  mm_dataset_close (run->data);
  mm_run_lock_release (run->lock);
  mm_comm_close (run->comm);
}

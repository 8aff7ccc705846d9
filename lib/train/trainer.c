/* trainer.c -- open all that a run needs, in order; close it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/checkpoint.h>
#include <minimind/log.h>

#include "trainer.h"

static mm_status
make_settings (struct mm_trainer *t)
{
  return mm_state_settings (t->config, &t->plan, mm_dataset_sha256 (t->data),
                            mm_tokenizer_sha256 (mm_dataset_tokenizer (t->data)), &t->settings);
}

/* What this rank can do by itself before the first step.  */
static mm_status
open_data (struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  mm_status st = mm_dataset_open (c->data, !c->dry_run, &t->data);

  if (st == MM_OK)
    st = mm_trainer_shape (t);
  if (st == MM_OK)
    st = mm_plan_make (c, c->data, mm_dataset_rows (t->data, MM_TRAIN),
                       mm_dataset_seq_len (t->data), mm_comm_size (t->comm), &t->plan);
  if (st == MM_OK && c->eval_every && mm_dataset_rows (t->data, MM_VALIDATION) == 0)
    st = mm_fail (MM_EUSAGE, "%s has no validation rows: leave out --eval-every, or pack with --validation",
                  c->data);
  if (st == MM_OK)
    st = make_settings (t);
  return st;
}

static mm_status
same_settings (struct mm_trainer *t)
{
  char *config = NULL, *generation = NULL, *settings = json_dumps (t->settings, JSON_COMPACT | JSON_SORT_KEYS);
  mm_status st = mm_ranks_same (t->comm, "dataset", mm_dataset_sha256 (t->data));

  if (st == MM_OK)
    st = mm_config_text (&t->shape, MM_F32, &config, &generation);
  if (st == MM_OK)
    st = mm_ranks_same (t->comm, "model", config);
  if (st == MM_OK)
    st = mm_ranks_same (t->comm, "run", settings ? settings : "");
  free (config);
  free (generation);
  free (settings);
  return st;
}

mm_status
mm_trainer_open (const struct mm_train_config *c, struct mm_trainer *t)
{
  mm_status st;

  *t = (struct mm_trainer) { .config = c, .saved = UINT64_MAX };
  st = mm_comm_open (c->transport, c->timeout, &t->comm);
  if (st < 0)
    return st;
  /* The others would say the same.  */
  if (mm_comm_rank (t->comm) > 0)
    mm_log_setup (mm_log_get_program (), MM_LOG_SILENT);
  st = mm_ranks_same_program (t->comm, c);
  if (st == MM_OK)
    st = mm_ranks_show (t);
  if (st == MM_OK)
    st = mm_comm_agree (t->comm, open_data (t));
  return st == MM_OK ? same_settings (t) : st;
}

/* The hash of the base's configuration: an adapter's folder does not hold one to compare with.  */
static mm_status
hash_configuration (const struct mm_model_config *shape, char sha256[MM_SHA256_TEXT])
{
  char *config = NULL, *generation = NULL;
  mm_status st = mm_config_text (shape, MM_F32, &config, &generation);

  if (st == MM_OK)
    st = mm_sha256_bytes (config, strlen (config), sha256);
  free (config);
  free (generation);
  return st;
}

/* Read the model of --model, which becomes a setting by its hash.  */
static mm_status
read_base (struct mm_trainer *t)
{
  char config_sha256[MM_SHA256_TEXT];
  mm_status st = mm_model_open (t->backend, t->base, &t->model);

  if (st == MM_OK)
    st = mm_model_sha256 (t->model, t->base_sha256);
  if (st == MM_OK)
    st = hash_configuration (mm_model_config (t->model), config_sha256);
  return st < 0 ? st : mm_state_set_base (t->settings, t->base_sha256, t->lora.parameters ? config_sha256 : NULL);
}

/* Rank 0 holds the run folder.  All have a backend and, where one is asked for, the model to begin with.  */
static mm_status
take_folder (struct mm_trainer *t)
{
  mm_status st = MM_OK;

  if (mm_comm_rank (t->comm) == 0)
    st = mm_run_lock_take (t->config->output, &t->lock);
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK)
    st = mm_backend_open (t->config->compute.backend, t->config->compute.threads, &t->backend);
  if (st == MM_OK && t->base)
    st = read_base (t);
  st = mm_comm_agree (t->comm, st);
  return st == MM_OK && t->base ? mm_ranks_same (t->comm, "base model", t->base_sha256) : st;
}

/* Rank 0 knows what is in the folder; the others learn whether to RESUME, and from where in the run.  DIR: the
   checkpoint to go on from, on rank 0 only, or NULL.  */
static mm_status
find_start (struct mm_trainer *t, char **dir, bool *resume)
{
  mm_status st = mm_comm_rank (t->comm) == 0 ? mm_trainer_find_checkpoint (t, dir) : MM_OK;

  st = mm_comm_agree (t->comm, st);
  *resume = *dir != NULL;
  if (st == MM_OK)
    st = mm_comm_broadcast (t->comm, resume, sizeof *resume, 0);
  return st == MM_OK ? mm_comm_broadcast (t->comm, &t->state, sizeof t->state, 0) : st;
}

/* What is trained: the base, an adapter on it, or a model from scratch; with RESUME, room for the checkpoint's.  */
static mm_status
make_model (struct mm_trainer *t, bool resume)
{
  const struct mm_train_config *c = t->config;
  mm_status st;

  if (t->base)
    return c->lora_rank ? mm_lora_create (t->model, c->lora_rank, c->lora_alpha, c->lora_targets, c->compute.seed)
                        : MM_OK;
  st = mm_model_create (t->backend, &t->shape, &t->model);
  if (st == MM_OK && !resume)
    st = mm_model_init (t->model, c->compute.seed);
  return st;
}

/* Model and optimizer as the first step wants them.  */
static mm_status
make_state (struct mm_trainer *t, const char *dir, bool resume)
{
  mm_status st = mm_comm_agree (t->comm, make_model (t, resume));

  if (st == MM_OK)
    st = mm_trainer_make_optimizer (t);
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK && resume)
    {
      st = mm_trainer_load (t, dir);
      t->saved = t->state.step;
      mm_info ("going on from %s", dir);
    }
  t->first = t->state.step;
  return st == MM_OK ? mm_trainer_check_replicas (t) : st;
}

/* What is trained, for people.  */
static void
describe_model (const struct mm_trainer *t, char *text, size_t size)
{
  char targets[MM_LORA_TARGETS_TEXT];

  if (t->lora.parameters)
    snprintf (text, size, "%zu parameters, frozen, and an adapter of %zu: rank %u on %s", mm_model_size (t->model),
              t->lora.parameters, t->config->lora_rank, mm_lora_targets_text (t->config->lora_targets, targets));
  else
    snprintf (text, size, "%zu parameters", mm_model_size (t->model));
}

static void
begin_report (struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  char text[MM_PLAN_TEXT], model[256];

  t->report = (struct mm_report) {
    .log = t->log, .backend = t->backend, .first = t->first, .total = t->plan.schedule.total, .data = c->data,
    .token_flops = mm_trainer_token_flops (t),
    .peak = mm_backend_peak (t->backend) * mm_comm_size (t->comm),
    .log_every = c->log_every, .save_every = c->save_every, .ranks = mm_comm_size (t->comm),
    .global_batch = c->global_batch, .batch_unit = c->micro_batch * (uint64_t) mm_comm_size (t->comm)
  };
  describe_model (t, model, sizeof model);
  mm_info ("%s; %s; %s of %s", model, mm_plan_equation (&t->plan, text),
           MM_COUNT (t->plan.schedule.total, "step"), MM_COUNT (t->plan.step_tokens, "token"));
  mm_info ("%s backend, %s kernels, %s: FMA peak %.0f GFLOP/s", mm_backend_name (t->backend),
           mm_backend_kernels (t->backend),
           MM_COUNT ((uint64_t) mm_backend_threads (t->backend), "thread"), 1e-9 * t->report.peak);
  if (t->log)
    mm_runlog_event (t->log, "start",
                     json_pack ("{s:I, s:I, s:s, s:s, s:i, s:i, s:s}", "step", (json_int_t) t->first,
                                "steps", (json_int_t) t->plan.schedule.total,
                                "backend", mm_backend_name (t->backend),
                                "kernels", mm_backend_kernels (t->backend),
                                "threads", mm_backend_threads (t->backend),
                                "ranks", mm_comm_size (t->comm),
                                "version", PACKAGE_VERSION));
  mm_backend_profile_reset (t->backend);
  mm_report_begin (&t->report);
}

mm_status
mm_trainer_start (struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  char *dir = NULL;
  bool resume;
  mm_status st = take_folder (t);

  if (st == MM_OK)
    st = find_start (t, &dir, &resume);
  if (st == MM_OK)
    st = make_state (t, dir, resume);
  free (dir);
  if (st == MM_OK)
    st = mm_pass_create (t->model, t->plan.order.micro_batch, t->plan.seq_len, true, &t->pass);
  if (st == MM_OK)
    st = mm_trainer_open_loader (t);
  if (st == MM_OK && mm_comm_rank (t->comm) == 0)
    st = mm_runlog_open (c->output, c->metrics_file, &t->log);
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK)
    begin_report (t);
  return st;
}

void
mm_trainer_measure_peak (struct mm_trainer *t)
{
  const double first = 8;       /* s; later moments at four times the time of the one before */
  double now = mm_now () - t->report.began;
  struct mm_backend *be;

  if (mm_comm_rank (t->comm) != 0 || now < first || now < 4 * t->measured
      || mm_backend_open (mm_backend_name (t->backend), mm_backend_threads (t->backend), &be) < 0)
    return;
  t->report.peak = fmax (t->report.peak, mm_backend_peak (be) * mm_comm_size (t->comm));
  t->measured = now;
  mm_backend_close (be);
}

void
mm_trainer_leave_folder (struct mm_trainer *t)
{
  mm_runlog_close (t->log);
  t->log = NULL;
  mm_run_lock_release (t->lock);
  t->lock = NULL;
}

void
mm_trainer_close (struct mm_trainer *t)
{
  mm_trainer_leave_folder (t);
  mm_loader_close (t->loader);
  mm_balance_close (&t->balance);
  mm_pass_free (t->pass);
  mm_optimizer_free (t->model, &t->optimizer);
  if (t->floats_own)
    mm_backend_release (t->backend, t->floats);
  mm_model_free (t->model);
  mm_backend_close (t->backend);
  json_decref (t->settings);
  free (t->base);
  mm_dataset_close (t->data);
  mm_comm_close (t->comm);
}

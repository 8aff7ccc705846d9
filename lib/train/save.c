/* save.c -- hand a finite state to the checkpoint writer; look at tensors from the host.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <minimind/checkpoint.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "trainer.h"

/* ---- looking at tensors ---- */

static const struct mm_param *
find_nonfinite (const struct mm_param *params, size_t count, const float *values)
{
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < params[i].size; k++)
      if (!isfinite (values[params[i].offset + k]))
        return &params[i];
  return NULL;
}

const struct mm_param *
mm_trainer_find_nonfinite (const struct mm_trainer *t, const float *values)
{
  struct mm_params trained = mm_model_trained (t->model);

  return find_nonfinite (trained.param, trained.count, values);
}

const struct mm_param *
mm_trainer_find_nonfinite_frozen (const struct mm_trainer *t)
{
  const float *values = mm_backend_host (t->backend, mm_model_values (t->model));

  if (!values || !mm_lora_attached (t->model))
    return NULL;
  return find_nonfinite (mm_model_param (t->model, 0), mm_model_n_params (t->model), values);
}

/* In *TRAINED: is a first moment of P, among those that this rank has, not zero?  */
static mm_status
look_trained (struct mm_trainer *t, const struct mm_param *p, int64_t *trained)
{
  enum { PIECE = 4096 };
  const struct mm_optimizer *o = &t->optimizer;
  size_t at = p->offset > o->first ? p->offset : o->first, end = p->offset + p->size;
  float buffer[PIECE];
  mm_status st = MM_OK;

  if (end > o->first + o->count)
    end = o->first + o->count;
  for (; at < end && !*trained && st == MM_OK; at += PIECE)
    {
      size_t n = end - at < PIECE ? end - at : PIECE;

      st = mm_backend_get (t->backend, buffer, o->m + (at - o->first), n * sizeof *buffer);
      for (size_t k = 0; k < n && st == MM_OK; k++)
        *trained |= buffer[k] != 0;
    }
  return st;
}

mm_status
mm_trainer_warn_untrained (struct mm_trainer *t)
{
  struct mm_params p = mm_model_trained (t->model);
  size_t n = p.count;
  int64_t *trained;
  mm_status st = mm_alloc ("tensors", n, sizeof *trained, &trained);

  if (st == MM_OK)
    st = mm_backend_sync (t->backend);
  for (size_t i = 0; i < n && st == MM_OK; i++)
    st = look_trained (t, &p.param[i], &trained[i]);
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK)
    st = mm_comm_sum_i64 (t->comm, trained, n);
  for (size_t i = 0; i < n && st == MM_OK; i++)
    if (!trained[i])
      mm_warn ("%s got no gradient in %" PRIu64 " updates: it is not being trained",
               p.param[i].name, t->optimizer.updates);
  free (trained);
  return st;
}

/* ---- saving ---- */

/* A checkpoint that holds a NaN is worse than none.  */
static mm_status
check_finite (const struct mm_trainer *t, const struct mm_whole *w)
{
  const float *buffers[] = { w->values, w->m, w->v };
  static const char *const what[] = { "the parameter", "the first moment of", "the second moment of" };

  for (int i = 0; i < 3; i++)
    {
      const struct mm_param *p = mm_trainer_find_nonfinite (t, buffers[i]);

      if (p)
        return mm_fail (MM_EGAVEUP, "step %" PRIu64 ": %s %s is not finite: nothing is saved",
                        t->state.step, what[i], p->name);
    }
  return MM_OK;
}

static mm_status
publish (struct mm_trainer *t, const struct mm_whole *w)
{
  const struct mm_train_config *c = t->config;
  struct mm_checkpoint checkpoint = { .step = t->state.step, .base_sha256 = t->base_sha256 };
  mm_status st = mm_run_lock_check (t->lock);

  if (st == MM_OK)
    st = mm_state_json (&t->state, &t->plan, t->settings, &checkpoint.state);
  if (st == MM_OK)
    st = mm_checkpoint_save (c->output, &checkpoint, t->model, w->values, w->m, w->v,
                             mm_dataset_tokenizer (t->data), c->keep);
  json_decref (checkpoint.state);
  return st;
}

/* Bring everything together, look at it, and let rank 0 write it.  */
static mm_status
save_whole (struct mm_trainer *t)
{
  struct mm_whole w;
  mm_status st = mm_comm_agree (t->comm, mm_whole_open (t, &w)), closed;

  if (st == MM_OK)
    st = mm_whole_gather (t, &w);
  if (st == MM_OK)
    st = check_finite (t, &w);
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK && mm_comm_rank (t->comm) == 0)
    st = publish (t, &w);
  closed = mm_whole_close (t, &w);
  return mm_comm_agree (t->comm, st < 0 ? st : closed);
}

mm_status
mm_trainer_save (struct mm_trainer *t)
{
  double began = mm_now ();
  mm_status st;

  if (t->saved == t->state.step)
    return MM_OK;
  st = mm_trainer_check_replicas (t);
  if (st == MM_OK)
    st = save_whole (t);
  if (st < 0)
    return st;
  t->saved = t->state.step;
  mm_report_save (&t->report, t->state.step, mm_now () - began);
  return MM_OK;
}

/* save.c -- hand a finite state to the checkpoint writer; look at tensors from the host.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/checkpoint.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "trainer.h"

/* Floats [AT, AT + N) of DEVICE as the host sees them: there, or in BUFFER of at least N.  */
static mm_status
look (struct mm_trainer *t, const float *device, size_t at, size_t n, float *buffer, const float **values)
{
  const float *host = mm_backend_host (t->backend, (void *) device);

  *values = host ? host + at : buffer;
  return host ? MM_OK : mm_backend_get (t->backend, buffer, device + at, n * sizeof *buffer);
}

static bool
is_finite (float x)
{
  return isfinite (x);
}

static bool
is_zero (float x)
{
  return x == 0;
}

/* True in *ALL if HOLDS for each element of P in DEVICE.  */
static mm_status
all_elements (struct mm_trainer *t, const float *device, const struct mm_param *p, bool (*holds) (float),
              bool *all)
{
  enum { PIECE = 4096 };
  float buffer[PIECE];
  const float *values;
  mm_status st = MM_OK;

  *all = true;
  for (size_t i = 0; i < p->size && *all && st == MM_OK; i += PIECE)
    {
      size_t n = p->size - i < PIECE ? p->size - i : PIECE;

      st = look (t, device, p->offset + i, n, buffer, &values);
      for (size_t k = 0; k < n && st == MM_OK; k++)
        *all = *all && holds (values[k]);
    }
  return st;
}

const struct mm_param *
mm_trainer_find_nonfinite (struct mm_trainer *t, const float *device, mm_status *st)
{
  bool finite = true;

  *st = mm_backend_sync (t->backend);
  for (size_t i = 0; i < mm_model_n_params (t->model) && *st == MM_OK; i++)
    {
      const struct mm_param *p = mm_model_param (t->model, i);

      *st = all_elements (t, device, p, is_finite, &finite);
      if (*st == MM_OK && !finite)
        return p;
    }
  return NULL;
}

mm_status
mm_trainer_warn_untrained (struct mm_trainer *t)
{
  bool untrained;
  mm_status st = mm_backend_sync (t->backend);

  for (size_t i = 0; i < mm_model_n_params (t->model) && st == MM_OK; i++)
    {
      const struct mm_param *p = mm_model_param (t->model, i);

      st = all_elements (t, t->optimizer.m, p, is_zero, &untrained);
      if (st == MM_OK && untrained)
        mm_warn ("%s got no gradient in %" PRIu64 " updates: it is not being trained", p->name,
                 t->optimizer.updates);
    }
  return st;
}

/* A checkpoint that holds a NaN is worse than none.  */
static mm_status
check_finite (struct mm_trainer *t)
{
  const float *buffers[] = { mm_model_values (t->model), t->optimizer.m, t->optimizer.v };
  static const char *const what[] = { "the parameter", "the first moment of", "the second moment of" };
  mm_status st = MM_OK;

  for (int i = 0; i < 3 && st == MM_OK; i++)
    {
      const struct mm_param *p = mm_trainer_find_nonfinite (t, buffers[i], &st);

      if (p)
        return mm_fail (MM_EGAVEUP, "step %" PRIu64 ": %s %s is not finite: nothing is saved",
                        t->state.step, what[i], p->name);
    }
  return st;
}

/* The three buffers on the host, in COPY where the device's memory is its own.  */
static mm_status
host_buffers (struct mm_trainer *t, const float *host[3], float **copy)
{
  float *device[] = { mm_model_values (t->model), t->optimizer.m, t->optimizer.v };
  size_t n = mm_model_size (t->model);
  mm_status st = MM_OK;

  *copy = NULL;
  if (!mm_backend_host (t->backend, device[0]))
    st = mm_alloc ("a copy of the model to save", n, sizeof device / sizeof *device * sizeof **copy, copy);
  for (int i = 0; i < 3 && st == MM_OK; i++)
    st = look (t, device[i], 0, n, *copy ? *copy + (size_t) i * n : NULL, &host[i]);
  return st;
}

static mm_status
publish (struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  struct mm_checkpoint checkpoint = { .step = t->state.step };
  const float *host[3];
  float *copy = NULL;
  mm_status st = mm_run_lock_check (t->lock);

  if (st == MM_OK)
    st = mm_state_json (&t->state, &t->plan, t->settings, &checkpoint.state);
  if (st == MM_OK)
    st = host_buffers (t, host, &copy);
  if (st == MM_OK)
    st = mm_checkpoint_save (c->output, &checkpoint, t->model, host[0], host[1], host[2],
                             mm_dataset_tokenizer (t->data), c->keep);
  free (copy);
  json_decref (checkpoint.state);
  return st;
}

mm_status
mm_trainer_save (struct mm_trainer *t)
{
  double began = mm_now ();
  mm_status st;

  if (t->saved == t->state.step)
    return MM_OK;
  st = check_finite (t);
  if (st == MM_OK && mm_comm_rank (t->comm) == 0)
    st = publish (t);
  st = mm_comm_agree (t->comm, st);
  if (st < 0)
    return st;
  t->saved = t->state.step;
  mm_report_save (&t->report, t->state.step, mm_now () - began);
  return MM_OK;
}

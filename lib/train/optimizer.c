/* optimizer.c -- gradient norm, clip and AdamW over a model's trained parameters.
   SPDX-License-Identifier: Apache-2.0

   The arithmetic of an element is mm_adamw_step's; here are the scalars, which numerics.md says are
   made in double and rounded once, and the walk over the parameter table.  */

#include <config.h>

#include <math.h>
#include <stdlib.h>

#include <minimind/elementary.h>
#include <minimind/memory.h>
#include <minimind/ops.h>
#include <minimind/optimizer.h>

static size_t
n_blocks (const struct mm_model *model)
{
  return (mm_model_trained (model).size + MM_GRAD_BLOCK - 1) / MM_GRAD_BLOCK;
}

mm_status
mm_optimizer_create (struct mm_model *model, struct mm_optimizer *o)
{
  struct mm_backend *be = mm_model_backend (model);
  size_t n = mm_model_trained (model).size;
  void *m = NULL, *v = NULL, *grad = o->grad_lent ? o->grad : NULL;
  mm_status st;

  o->squares = NULL;
  o->updates = 0;
  if (!o->gather)
    {
      o->first = 0;
      o->count = n;
    }
  st = mm_backend_alloc (be, "first moments", o->count * sizeof *o->m, &m);
  if (st == MM_OK)
    st = mm_backend_alloc (be, "second moments", o->count * sizeof *o->v, &v);
  if (st == MM_OK && !o->grad_lent)
    st = mm_backend_alloc (be, "gradient", n * sizeof *o->grad, &grad);
  if (st == MM_OK)
    st = mm_alloc ("gradient norm", n_blocks (model), sizeof *o->squares, &o->squares);
  o->m = m;
  o->v = v;
  o->grad = grad;
  if (st < 0)
    mm_optimizer_free (model, o);
  return st;
}

void
mm_optimizer_free (struct mm_model *model, struct mm_optimizer *o)
{
  if (!model)
    return;
  struct mm_backend *be = mm_model_backend (model);

  mm_backend_release (be, o->m);
  mm_backend_release (be, o->v);
  if (!o->grad_lent)
    mm_backend_release (be, o->grad);
  free (o->squares);
  o->m = o->v = NULL;
  o->grad = NULL;
  o->squares = NULL;
}

mm_status
mm_optimizer_skip (struct mm_model *model, struct mm_optimizer *o)
{
  return mm_backend_zero (mm_model_backend (model), o->grad, mm_model_trained (model).size * sizeof *o->grad);
}

/* Norm of the whole gradient: sums of squares by block, whoever made them, added in order.  */
static mm_status
gradient_norm (struct mm_model *model, struct mm_optimizer *o, uint64_t n_targets, double *norm)
{
  struct mm_backend *be = mm_model_backend (model);
  double sum = 0;
  mm_status st = mm_grad_squares (be, o->grad, o->first, o->count, n_targets,
                                  o->squares + o->first / MM_GRAD_BLOCK);

  if (st == MM_OK)
    st = mm_backend_sync (be);
  if (st == MM_OK && o->gather)
    st = o->gather (o->peers, o->squares, n_blocks (model), sizeof *o->squares, 1);
  if (st < 0)
    return st;
  for (size_t i = 0; i < n_blocks (model); i++)
    sum += o->squares[i];
  *norm = sqrt (sum);
  return MM_OK;
}

/* The scalars of update number T (from 1) but for the decay.  */
static struct mm_adamw
update_scalars (const struct mm_optimizer *o, double rate, uint64_t t, double norm)
{
  struct mm_adamw a = { .beta1 = (float) o->beta1, .beta2 = (float) o->beta2,
                        .eps = (float) o->eps, .decay = 1, .clip = 1 };
  double bc1 = 1 - mm_pow ((double) a.beta1, (double) t);
  double bc2 = 1 - mm_pow ((double) a.beta2, (double) t);

  a.step_size = (float) ((double) (float) rate / bc1);
  a.inv_sqrt_bc2 = (float) (1 / sqrt (bc2));
  if (o->grad_clip > 0 && norm > o->grad_clip)
    a.clip = (float) (o->grad_clip / norm);
  return a;
}

/* Elements [AT, AT + N), as far as they are of the part.  */
static mm_status
update_range (struct mm_model *model, struct mm_optimizer *o, const struct mm_adamw *a, size_t at, size_t n,
              uint64_t n_targets)
{
  size_t end = at + n, part_end = o->first + o->count;

  if (at < o->first)
    at = o->first;
  if (end > part_end)
    end = part_end;
  if (at >= end)
    return MM_OK;
  return mm_adamw_step (mm_model_backend (model), a, o->grad + at, n_targets, end - at,
                        mm_model_trained (model).values + at, o->m + (at - o->first), o->v + (at - o->first));
}

/* Parameters that follow each other and share the decay are updated in one call.  */
static mm_status
update_parameters (struct mm_model *model, struct mm_optimizer *o, struct mm_adamw a, float decay,
                   uint64_t n_targets)
{
  struct mm_params p = mm_model_trained (model);
  size_t i = 0;
  mm_status st = MM_OK;

  while (i < p.count && st == MM_OK)
    {
      const struct mm_param *first = &p.param[i];
      size_t at = first->offset, n = 0;

      for (; i < p.count && p.param[i].n_dims == first->n_dims; i++)
        n += p.param[i].size;
      a.decay = first->n_dims == 2 ? decay : 1;
      st = update_range (model, o, &a, at, n, n_targets);
    }
  return st;
}

/* What the other ranks have updated; the gradient of their parts is done with.  */
static mm_status
exchange_parameters (struct mm_model *model, struct mm_optimizer *o)
{
  struct mm_backend *be = mm_model_backend (model);
  size_t n = mm_model_trained (model).size, end = o->first + o->count;
  float *values = mm_backend_host (be, mm_model_trained (model).values);
  mm_status st = values ? mm_backend_sync (be)
                        : mm_fail (MM_EUNSUP, "backend %s: ranks cannot share the update", mm_backend_name (be));

  if (st == MM_OK)
    st = o->gather (o->peers, values, n, sizeof *values, MM_GRAD_BLOCK);
  if (st == MM_OK)
    st = mm_backend_zero (be, o->grad, o->first * sizeof *o->grad);
  if (st == MM_OK)
    st = mm_backend_zero (be, o->grad + end, (n - end) * sizeof *o->grad);
  return st;
}

mm_status
mm_optimizer_step (struct mm_model *model, struct mm_optimizer *o, double rate, uint64_t n_targets,
                   double *norm)
{
  float decay = (float) (1 - (double) (float) rate * (double) (float) o->weight_decay);
  mm_status st;

  *norm = NAN;
  if (n_targets == 0)
    return mm_optimizer_skip (model, o);
  st = gradient_norm (model, o, n_targets, norm);
  if (st < 0)
    return st;
  if (!isfinite (*norm))
    return mm_optimizer_skip (model, o);
  st = update_parameters (model, o, update_scalars (o, rate, o->updates + 1, *norm), decay, n_targets);
  if (st == MM_OK && o->gather)
    st = exchange_parameters (model, o);
  if (st == MM_OK)
    st = mm_model_refresh_trained (model);
  if (st == MM_OK)
    o->updates++;
  return st;
}

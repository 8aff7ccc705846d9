/* whole.c -- what is trained and its moments, whole and on the host, for checkpoints.
   SPDX-License-Identifier: Apache-2.0

   Where ranks share the moments out, these come together in the gradient's memory, which holds nothing
   between two steps and has room for both.  */

#include <config.h>

#include <stdlib.h>

#include <minimind/memory.h>
#include <minimind/ops.h>

#include "trainer.h"

mm_status
mm_whole_open (struct mm_trainer *t, struct mm_whole *w)
{
  struct mm_optimizer *o = &t->optimizer;
  size_t n = mm_model_trained (t->model).size;
  float *grad = mm_backend_host (t->backend, o->grad);
  mm_status st;

  *w = (struct mm_whole) { .values = mm_backend_host (t->backend, mm_model_trained (t->model).values) };
  if (!w->values)
    {
      st = mm_alloc ("a copy of model and moments", n, 3 * sizeof *w->copy, &w->copy);
      if (st < 0)
        return st;
      w->values = w->copy;
      w->m = w->copy + n;
      w->v = w->copy + 2 * n;
    }
  else if (o->gather)
    {
      w->in_gradient = true;
      w->m = grad;
      w->v = grad + n;
    }
  else
    {
      w->m = mm_backend_host (t->backend, o->m);
      w->v = mm_backend_host (t->backend, o->v);
    }
  return mm_backend_sync (t->backend);
}

/* Are the moments elsewhere than in W?  */
static bool
apart (const struct mm_whole *w)
{
  return w->copy || w->in_gradient;
}

mm_status
mm_whole_gather (struct mm_trainer *t, struct mm_whole *w)
{
  struct mm_optimizer *o = &t->optimizer;
  struct mm_params p = mm_model_trained (t->model);
  size_t n = p.size, bytes = o->count * sizeof *o->m;
  mm_status st = MM_OK;

  if (w->copy)
    st = mm_backend_get (t->backend, w->values, p.values, n * sizeof *w->values);
  if (st == MM_OK && apart (w))
    st = mm_backend_get (t->backend, w->m + o->first, o->m, bytes);
  if (st == MM_OK && apart (w))
    st = mm_backend_get (t->backend, w->v + o->first, o->v, bytes);
  if (st == MM_OK && o->gather)
    st = o->gather (o->peers, w->m, n, sizeof *w->m, MM_GRAD_BLOCK);
  if (st == MM_OK && o->gather)
    st = o->gather (o->peers, w->v, n, sizeof *w->v, MM_GRAD_BLOCK);
  return st;
}

mm_status
mm_whole_put (struct mm_trainer *t, const struct mm_whole *w)
{
  struct mm_optimizer *o = &t->optimizer;
  struct mm_params p = mm_model_trained (t->model);
  size_t bytes = o->count * sizeof *o->m;
  mm_status st = MM_OK;

  if (w->copy)
    st = mm_backend_put (t->backend, p.values, w->values, p.size * sizeof *w->values);
  if (st == MM_OK && apart (w))
    st = mm_backend_put (t->backend, o->m, w->m + o->first, bytes);
  if (st == MM_OK && apart (w))
    st = mm_backend_put (t->backend, o->v, w->v + o->first, bytes);
  return st;
}

mm_status
mm_whole_close (struct mm_trainer *t, struct mm_whole *w)
{
  free (w->copy);
  w->copy = NULL;
  return w->in_gradient ? mm_optimizer_skip (t->model, &t->optimizer) : MM_OK;
}

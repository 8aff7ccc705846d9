/* reduce.c -- sum the gradient of a window over the ranks.
   SPDX-License-Identifier: Apache-2.0

   Once a step: bucket by bucket, from the last parameters to the first, as the backward pass of a rank's last
   micro-batch finishes them; nobody waits for another rank before all have run theirs.  Exact: 64-bit integers, whose
   sum has no order.  Fast: float32, half the data, in an order that depends on the ranks.  Where ranks share the
   update, each needs the sum of its part only.  */

#include <config.h>

#include <minimind/log.h>
#include <minimind/ops.h>

#include "trainer.h"

/* Elements of SIZE bytes that make a bucket: whole blocks, at least one.  */
static size_t
bucket_elements (const struct mm_trainer *t, size_t size)
{
  size_t n = (size_t) t->config->bucket_mb * 1000000 / size / MM_GRAD_BLOCK * MM_GRAD_BLOCK;

  return n ? n : MM_GRAD_BLOCK;
}

mm_status
mm_trainer_reduce_begin (struct mm_trainer *t)
{
  size_t n = mm_model_trained (t->model).size, grain = t->config->zero ? MM_GRAD_BLOCK : 0;
  int64_t *grad = mm_backend_host (t->backend, t->optimizer.grad);
  mm_status st;

  t->reduction = (struct mm_reduction) { .open = n };
  if (mm_comm_size (t->comm) == 1)
    return MM_OK;
  if (!grad)
    return mm_fail (MM_EUNSUP, "backend %s: gradients cannot be summed over ranks", mm_backend_name (t->backend));
  st = t->config->fast ? mm_comm_begin_f32 (t->comm, t->floats, n, grain, bucket_elements (t, sizeof *t->floats))
                       : mm_comm_begin_i64 (t->comm, grad, n, grain, bucket_elements (t, sizeof *grad));
  t->reduction.on = st == MM_OK;
  return st;
}

/* All from element FROM on is final.  As floats it is the sum, not the mean: divided by one target.  */
static mm_status
hand_over (struct mm_trainer *t, size_t from)
{
  struct mm_reduction *r = &t->reduction;
  mm_status st = MM_OK;

  if (t->config->fast && from < r->open)
    st = mm_grad_values (t->backend, t->optimizer.grad + from, r->open - from, 1, t->floats + from);
  if (st == MM_OK)
    st = mm_backend_sync (t->backend);
  r->open = from;
  return st == MM_OK ? mm_comm_hand_over (t->comm, from) : st;
}

mm_status
mm_trainer_reduce_more (void *trainer, size_t from)
{
  struct mm_trainer *t = trainer;
  struct mm_reduction *r = &t->reduction;
  double now = mm_now ();
  mm_status st;

  if (r->began <= 0)
    r->began = now;
  st = hand_over (t, from);
  r->seconds += mm_now () - now;
  return st;
}

/* Floats of the sum to integers again.  */
static mm_status
take_floats (struct mm_trainer *t, int *overflow)
{
  struct mm_optimizer *o = &t->optimizer;
  int64_t too_large;
  mm_status st = mm_optimizer_skip (t->model, o);

  if (st == MM_OK)
    st = mm_accumulate (t->backend, t->floats + o->first, o->count, o->grad + o->first, overflow);
  if (st == MM_OK)
    st = mm_backend_sync (t->backend);
  too_large = *overflow != 0;
  if (st == MM_OK)
    st = mm_comm_sum_i64 (t->comm, &too_large, 1);
  *overflow = too_large != 0;
  return st;
}

mm_status
mm_trainer_reduce_end (struct mm_trainer *t, int *overflow)
{
  struct mm_reduction *r = &t->reduction;
  double now = mm_now ();
  mm_status st;

  if (!r->on)
    return MM_OK;
  r->on = false;
  st = hand_over (t, 0);
  if (st == MM_OK)
    st = mm_comm_end (t->comm);
  if (st == MM_OK && t->config->fast)
    st = take_floats (t, overflow);
  r->seconds += mm_now () - now;
  r->all_seconds = mm_now () - (r->began > 0 ? r->began : now);
  return st;
}

static mm_status
gather (void *peers, void *data, size_t count, size_t size, size_t grain)
{
  return mm_comm_all_gather (peers, data, count, size, grain);
}

mm_status
mm_trainer_make_optimizer (struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  struct mm_optimizer *o = &t->optimizer;
  size_t n = mm_model_trained (t->model).size, to;
  void *grad = NULL, *floats = NULL;
  mm_status st = MM_OK;

  *o = (struct mm_optimizer) { .beta1 = c->beta1, .beta2 = c->beta2, .eps = c->adam_eps,
                               .weight_decay = c->weight_decay, .grad_clip = c->grad_clip };
  if (mm_comm_size (t->comm) > 1 && mm_backend_host (t->backend, mm_model_trained (t->model).values))
    st = mm_comm_alloc (t->comm, "gradient", n * sizeof *o->grad, &grad);
  o->grad = grad;
  o->grad_lent = grad != NULL;
  if (st == MM_OK && c->fast && mm_comm_size (t->comm) > 1)
    {
      st = mm_comm_alloc (t->comm, "gradient in float32", n * sizeof *t->floats, &floats);
      if (st == MM_OK && !floats)
        {
          st = mm_backend_alloc (t->backend, "gradient in float32", n * sizeof *t->floats, &floats);
          t->floats_own = true;
        }
      t->floats = floats;
    }
  if (c->zero && mm_comm_size (t->comm) > 1)
    {
      mm_comm_part (t->comm, mm_comm_rank (t->comm), n, MM_GRAD_BLOCK, &o->first, &to);
      o->count = to - o->first;
      o->gather = gather;
      o->peers = t->comm;
    }
  return st == MM_OK ? mm_optimizer_create (t->model, o) : st;
}

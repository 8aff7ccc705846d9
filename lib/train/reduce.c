/* reduce.c -- sum the gradient of a window over the ranks.
   SPDX-License-Identifier: Apache-2.0

   Once a step, after the last micro-batch.  Exact: 64-bit integers, whose sum has no order.  Fast: float32,
   half the data, in an order that depends on the ranks.  Where ranks share the update, each needs the sum of
   its part only.  */

#include <config.h>

#include <minimind/ops.h>

#include "trainer.h"

/* Elements of SIZE bytes that make a bucket: whole blocks, at least one.  */
static size_t
bucket_elements (const struct mm_trainer *t, size_t size)
{
  size_t n = (size_t) t->config->bucket_mb * 1000000 / size / MM_GRAD_BLOCK * MM_GRAD_BLOCK;

  return n ? n : MM_GRAD_BLOCK;
}

/* Buckets from the last to the first: backward ends with the first.  */
static mm_status
sum_buckets (struct mm_trainer *t, int64_t *integers, float *floats)
{
  size_t n = mm_model_trained (t->model).size;
  size_t bucket = bucket_elements (t, floats ? sizeof *floats : sizeof *integers);
  mm_status st = MM_OK;

  for (size_t end = n, from; end > 0 && st == MM_OK; end = from)
    {
      from = (end - 1) / bucket * bucket;
      st = floats ? mm_comm_sum_f32 (t->comm, floats + from, end - from)
                  : mm_comm_sum_i64 (t->comm, integers + from, end - from);
    }
  return st;
}

/* The gradient as the host sees it.  */
static mm_status
host_gradient (struct mm_trainer *t, int64_t **grad)
{
  *grad = mm_backend_host (t->backend, t->optimizer.grad);
  return *grad ? MM_OK : mm_fail (MM_EUNSUP, "backend %s: gradients cannot be summed over ranks",
                                  mm_backend_name (t->backend));
}

static mm_status
reduce_exact (struct mm_trainer *t)
{
  int64_t *grad;
  mm_status st = host_gradient (t, &grad);

  if (st < 0)
    return st;
  if (t->config->zero)
    return mm_comm_reduce_scatter_i64 (t->comm, grad, mm_model_trained (t->model).size, MM_GRAD_BLOCK);
  return sum_buckets (t, grad, NULL);
}

/* Integers to floats (of the sum, not of the mean: divided by one target), and back.  */
static mm_status
reduce_fast (struct mm_trainer *t, int *overflow)
{
  struct mm_optimizer *o = &t->optimizer;
  size_t n = mm_model_trained (t->model).size;
  mm_status st = mm_grad_values (t->backend, o->grad, n, 1, t->floats);

  if (st == MM_OK)
    st = mm_backend_sync (t->backend);
  if (st == MM_OK)
    st = t->config->zero ? mm_comm_reduce_scatter_f32 (t->comm, t->floats, n, MM_GRAD_BLOCK)
                         : sum_buckets (t, NULL, t->floats);
  if (st == MM_OK)
    st = mm_optimizer_skip (t->model, o);
  if (st == MM_OK)
    st = mm_accumulate (t->backend, t->floats + o->first, o->count, o->grad + o->first, overflow);
  return st == MM_OK ? mm_backend_sync (t->backend) : st;
}

mm_status
mm_trainer_reduce (struct mm_trainer *t, int *overflow)
{
  int64_t too_large = 0;
  mm_status st;

  if (mm_comm_size (t->comm) == 1)
    return MM_OK;
  if (!t->config->fast)
    return reduce_exact (t);
  st = reduce_fast (t, overflow);
  too_large = *overflow != 0;
  if (st == MM_OK)
    st = mm_comm_sum_i64 (t->comm, &too_large, 1);
  *overflow = too_large != 0;
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

/* trainer.h (lib/train), with ranks: texts and parameters that differ are named; parts of a gradient.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <minimind/backend.h>
#include <minimind/log.h>

#include <train/trainer.h>

#include "../tap.h"
#include "small_model.h"

typedef int body_fn (struct mm_trainer *t, int rank, int size);

/* One rank's life: a small model, the same on all.  */
static int
live (int rank, int size, int fd, body_fn *body)
{
  static struct mm_train_config config = { .bucket_mb = 1, .zero = 1 };
  struct mm_trainer t = { .config = &config, .state = { .step = 12 } };
  int result;

  must (mm_comm_set_environment (rank, size, fd));
  must (mm_comm_open ("auto", 30, &t.comm));
  must (mm_backend_open ("cpu", 1, &t.backend));
  t.model = small_model (t.backend, &small_configs[0]);
  result = body (&t, rank, size);
  if (result)
    printf ("# rank %d: %d: %s\n", rank, result, mm_error_message ());
  must (mm_comm_barrier (t.comm));
  mm_optimizer_free (t.model, &t.optimizer);
  mm_model_free (t.model);
  mm_backend_close (t.backend);
  mm_comm_close (t.comm);
  return result;
}

/* Do all of SIZE ranks return 0?  */
static int
succeeds (int size, body_fn *body)
{
  int fd, status, good = 1;

  must (mm_comm_window (size, &fd));
  fflush (stdout);
  for (int r = 0; r < size; r++)
    if (fork () == 0)
      {
        int result = live (r, size, fd, body);

        fflush (stdout);
        _exit (result);
      }
  close (fd);
  while (wait (&status) > 0)
    good &= WIFEXITED (status) && WEXITSTATUS (status) == 0;
  return good;
}

/* ---- replicas ---- */

static int
says (mm_status st, int rank, const char *want)
{
  if (st != MM_EGAVEUP)
    return 1;
  return rank == 0 ? !strstr (mm_error_message (), want) : *mm_error_message () != '\0';
}

/* One bit of one weight of rank 1.  */
static void
flip (struct mm_trainer *t, const char *name)
{
  for (size_t i = 0; i < mm_model_n_params (t->model); i++)
    {
      const struct mm_param *p = mm_model_param (t->model, i);

      if (strcmp (p->name, name) == 0)
        ((unsigned char *) (mm_model_values (t->model) + p->offset + p->size - 1))[0] ^= 1;
    }
}

static int
replicas_of_three (struct mm_trainer *t, int rank, int size)
{
  static const char name[] = "model.layers.1.mlp.up_proj.weight";

  (void) size;
  if (mm_trainer_check_replicas (t) != MM_OK)
    return 1;
  if (rank == 1)
    flip (t, name);
  if (says (mm_trainer_check_replicas (t), rank, "differ in model.layers.1.mlp.up_proj.weight: rank 1 has other values"
            " than ranks 0, 2"))
    return 2;
  if (rank == 1)
    flip (t, name);
  return mm_trainer_check_replicas (t) != MM_OK;
}

static int
replicas_of_two (struct mm_trainer *t, int rank, int size)
{
  (void) size;
  if (rank == 1)
    flip (t, "model.norm.weight");
  return says (mm_trainer_check_replicas (t), rank, "rank 1 has other values than rank 0 (no side is the larger)");
}

/* ---- texts ---- */

static int
texts (struct mm_trainer *t, int rank, int size)
{
  mm_status st;

  if (mm_ranks_same (t->comm, "dataset", "one") != MM_OK)
    return 1;
  st = mm_ranks_same (t->comm, "dataset", rank == size - 1 ? "another" : "one");
  if (st != MM_ECONFLICT)
    return 2;
  return rank == 0 && !strstr (mm_error_message (), "rank 2 has another dataset than rank 0: found another, want one");
}

/* ---- gradients and moments in parts ---- */

static int
gradient (struct mm_trainer *t, int rank, int size)
{
  size_t n = mm_model_size (t->model);
  struct mm_optimizer *o = &t->optimizer;
  int overflow = 0;
  struct mm_whole w;

  must (mm_trainer_make_optimizer (t));
  must (mm_trainer_reduce_begin (t));
  for (size_t i = n / 3; i < n; i++)
    o->grad[i] = (int64_t) i * (rank + 1);
  /* Not all ranks have a backward pass.  */
  if (rank > 0 && mm_trainer_reduce_more (t, n / 3) != MM_OK)
    return 1;
  for (size_t i = 0; i < n / 3; i++)
    o->grad[i] = (int64_t) i * (rank + 1);
  if (mm_trainer_reduce_end (t, &overflow) != MM_OK || overflow
      || !(t->reduction.all_seconds >= t->reduction.seconds) || mm_trainer_reduce_end (t, &overflow) != MM_OK)
    return 1;
  for (size_t i = o->first; i < o->first + o->count; i++)
    if (o->grad[i] != (int64_t) i * size * (size + 1) / 2)
      return 2;
  for (size_t i = 0; i < o->count; i++)
    {
      o->m[i] = (float) (o->first + i);
      o->v[i] = -o->m[i];
    }
  must (mm_whole_open (t, &w));
  must (mm_whole_gather (t, &w));
  for (size_t i = 0; i < n; i++)
    if (w.m[i] != (float) i || w.v[i] != -(float) i)
      return 3;
  must (mm_whole_close (t, &w));
  for (size_t i = 0; i < n; i++)
    if (o->grad[i])
      return 4;
  return 0;
}

int
main (void)
{
  ok (succeeds (3, replicas_of_three), "of three ranks, the one whose parameters differ is named, with the tensor");
  ok (succeeds (2, replicas_of_two), "of two, both sides");
  ok (succeeds (3, texts), "a rank with another text is named, with both texts");
  ok (succeeds (2, gradient), "parts of the gradient are summed, parts of the moments come together");
  ok (succeeds (5, gradient), "with ranks that have no part, too");
  return tap_done ();
}

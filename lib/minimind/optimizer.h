/* optimizer.h -- AdamW over what is trained of a model, a flat buffer: all parameters, or an adapter's.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_OPTIMIZER_H
#define MINIMIND_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>
#include <minimind/model.h>

/* How ranks that share the update (ZeRO 1) exchange what each has made of its part: afterwards all hold all
   COUNT elements of SIZE bytes at DATA, on the host; parts are cut at multiples of GRAIN, as mm_share does.  */
typedef mm_status mm_optimizer_gather (void *peers, void *data, size_t count, size_t size, size_t grain);

struct mm_optimizer
{
  double beta1, beta2, eps, weight_decay, grad_clip;    /* grad_clip 0: none */

  /* NULL: this process updates everything.  Else elements [first, first + count) of the flat buffer are its
     part, cut at multiples of MM_GRAD_BLOCK; it may be empty.  */
  mm_optimizer_gather *gather;
  void *peers;
  size_t first, count;

  float *m, *v;                 /* device memory, of the part */
  int64_t *grad;                /* fixed-point sums of the window, mm_model_trained's size */
  bool grad_lent;               /* it is the caller's */
  double *squares;              /* host: of each block of MM_GRAD_BLOCK, scratch of the norm */
  uint64_t updates;             /* done so far */
};

/* Allocate m, v and, unless lent, grad on MODEL's backend, zeroed; the settings and the part are the
   caller's.  */
mm_status mm_optimizer_create (struct mm_model *model, struct mm_optimizer *o) MM_NODISCARD;
void mm_optimizer_free (struct mm_model *model, struct mm_optimizer *o);

/* Norm of the reduced gradient (of which the part need be there) over N_TARGETS, clip, AdamW, zero the gradient,
   refresh the model.  *NORM gets the norm before clipping.  When it is not finite, or N_TARGETS is 0 (*NORM is NaN
   then), nothing is updated and the gradient is zeroed: o->updates tells.  RATE is the learning rate of this
   update, rounded to float32 here.  Weight decay falls on matrices only.  Formulas: docs/numerics.md.  */
mm_status mm_optimizer_step (struct mm_model *model, struct mm_optimizer *o, double rate,
                             uint64_t n_targets, double *norm) MM_NODISCARD;

/* Forget the gradient of the window: the update is skipped.  */
mm_status mm_optimizer_skip (struct mm_model *model, struct mm_optimizer *o) MM_NODISCARD;

#endif /* MINIMIND_OPTIMIZER_H */

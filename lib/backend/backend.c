/* backend.c -- find a backend by name, its memory, and the profile of its operations.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "impl.h"

/* The best first: the order in which "auto" tries them.  */
static const struct mm_backend_ops *const backends[] = {
  &mm_cpu_ops,
};

static const char *const op_names[MM_N_OPS] = {
  [MM_OP_WEIGHT_SET] = "weight_set",
  [MM_OP_LINEAR] = "linear",
  [MM_OP_LINEAR_GRAD_INPUT] = "linear_grad_input",
  [MM_OP_LINEAR_GRAD_WEIGHT] = "linear_grad_weight",
  [MM_OP_SCALE] = "scale",
  [MM_OP_EMBED] = "embed",
  [MM_OP_EMBED_GRAD] = "embed_grad",
  [MM_OP_RMSNORM] = "rmsnorm",
  [MM_OP_RMSNORM_GRAD] = "rmsnorm_grad",
  [MM_OP_HEAD_NORM] = "head_norm",
  [MM_OP_HEAD_NORM_GRAD] = "head_norm_grad",
  [MM_OP_ROPE] = "rope",
  [MM_OP_ATTENTION] = "attention",
  [MM_OP_ATTENTION_GRAD] = "attention_grad",
  [MM_OP_SWIGLU] = "swiglu",
  [MM_OP_SWIGLU_GRAD] = "swiglu_grad",
  [MM_OP_HEAD_LOSS] = "head_loss",
  [MM_OP_ACCUMULATE] = "accumulate",
  [MM_OP_GRAD_SQUARES] = "grad_squares",
  [MM_OP_GRAD_VALUES] = "grad_values",
  [MM_OP_ADAMW_STEP] = "adamw_step",
};

static mm_status
open_one (const struct mm_backend_ops *ops, int n_threads, struct mm_backend **out)
{
  struct mm_backend *be;
  mm_status st = mm_alloc ("backend", 1, sizeof *be, &be);

  if (st < 0)
    return st;
  be->ops = ops;
  be->n_threads = n_threads;
  mm_backend_profile_reset (be);
  st = ops->open (be, n_threads);
  if (st < 0)
    mm_backend_close (be);
  else
    *out = be;
  return st;
}

mm_status
mm_backend_open (const char *name, int n_threads, struct mm_backend **be)
{
  enum { N_BACKENDS = sizeof backends / sizeof *backends };
  int is_auto = strcmp (name, "auto") == 0;

  *be = NULL;
  for (size_t i = 0; i < N_BACKENDS; i++)
    if (is_auto || strcmp (backends[i]->name, name) == 0)
      {
        mm_status st = open_one (backends[i], n_threads, be);

        /* No device here: "auto" goes on to the next, the last of which is the CPU.  */
        if (!(is_auto && st == MM_EDEVICE && i + 1 < N_BACKENDS))
          return st;
      }
  return mm_fail (MM_EUSAGE, "backend '%s' is not in this build (it has %s)", name, mm_backend_list ());
}

void
mm_backend_close (struct mm_backend *be)
{
  if (!be)
    return;
  be->ops->close (be);
  free (be);
}

const char *
mm_backend_name (const struct mm_backend *be)
{
  return be->ops->name;
}

const char *
mm_backend_kernels (const struct mm_backend *be)
{
  return be->ops->kernels (be);
}

int
mm_backend_threads (const struct mm_backend *be)
{
  return be->n_threads;
}

mm_status
mm_backend_alloc (struct mm_backend *be, const char *what, size_t bytes, void **p)
{
  *p = NULL;
  return be->ops->alloc (be, what, bytes, p);
}

void
mm_backend_release (struct mm_backend *be, void *p)
{
  if (p)
    be->ops->release (be, p);
}

mm_status
mm_backend_put (struct mm_backend *be, void *device, const void *host, size_t bytes)
{
  return bytes ? be->ops->put (be, device, host, bytes) : MM_OK;
}

mm_status
mm_backend_get (struct mm_backend *be, void *host, const void *device, size_t bytes)
{
  return bytes ? be->ops->get (be, host, device, bytes) : MM_OK;
}

void *
mm_backend_host (const struct mm_backend *be, void *device)
{
  return be->ops->shares_memory ? device : NULL;
}

mm_status
mm_backend_zero (struct mm_backend *be, void *device, size_t bytes)
{
  return bytes ? be->ops->zero (be, device, bytes) : MM_OK;
}

mm_status
mm_backend_sync (struct mm_backend *be)
{
  return be->ops->sync (be);
}

double
mm_backend_peak (struct mm_backend *be)
{
  return be->ops->peak (be);
}

mm_status
mm_backend_limits (struct mm_backend *be, size_t bytes, struct mm_limits *l)
{
  return be->ops->limits (be, bytes ? bytes : (size_t) 128 << 20, l);
}

size_t
mm_backend_profile (struct mm_backend *be, const struct mm_op_profile **ops)
{
  *ops = be->profile;
  return MM_N_OPS;
}

void
mm_backend_profile_reset (struct mm_backend *be)
{
  for (int i = 0; i < MM_N_OPS; i++)
    be->profile[i] = (struct mm_op_profile) { .name = op_names[i] };
}

/* A line of the table; what has neither FLOPs nor bytes has no limit.  */
static void
print_op (const struct mm_op_profile *o, const struct mm_limits *l, double steps, double seconds,
          mm_profile_print_fn *print, void *arg)
{
  char line[160];
  int used = snprintf (line, sizeof line, "%-20s %9.4f %6.1f%%", o->name, o->seconds / steps,
                       100 * o->seconds / seconds);

  if (o->flops > 0 || o->bytes > 0)
    snprintf (line + used, sizeof line - (size_t) used, " %9.1f %8.1f %8.1f%%", 1e-9 * o->flops / o->seconds,
              1e-9 * o->bytes / o->seconds, 100 * fmax (o->flops / l->peak, o->bytes / l->bandwidth) / o->seconds);
  print (arg, line);
}

void
mm_backend_profile_table (struct mm_backend *be, const struct mm_limits *l, double steps, double seconds,
                          mm_profile_print_fn *print, void *arg)
{
  struct mm_op_profile rest = { .name = "between them", .seconds = seconds };
  char line[160];

  snprintf (line, sizeof line, "%-20s %9s %7s %9s %8s %9s", "operation", "s a step", "share", "GFLOP/s", "GB/s",
            "of limit");
  print (arg, line);
  for (int i = 0; i < MM_N_OPS; i++)
    if (be->profile[i].calls > 0)
      {
        print_op (&be->profile[i], l, steps, seconds, print, arg);
        rest.seconds -= be->profile[i].seconds;
      }
  print_op (&rest, l, steps, seconds, print, arg);
}

/* lora_pass.c -- what an adapter adds to a linear layer, forward and backward.
   SPDX-License-Identifier: Apache-2.0

   u = s (A x) is [n, rank] for a whole site, and small: training keeps it.  Formulas: docs/numerics.md.  */

#include <config.h>

#include "impl.h"

static const struct mm_lora_site *
site_of (const struct mm_run *run, size_t l, enum mm_site site)
{
  return &run->model->lora->sites[l * MM_SITES + site];
}

/* Where u of SITE in layer L is.  */
static float *
inner_memory (const struct mm_run *run, size_t l, enum mm_site site)
{
  return run->layers[l].u + (size_t) site * run->n * run->lora_width;
}

/* [n, rank of the site] in U, and the columns of one part.  */
static struct mm_mat
inner (const struct mm_run *run, const struct mm_lora_site *s, float *u)
{
  return mm_mat (u, run->n, s->rank);
}

static struct mm_mat
inner_part (const struct mm_run *run, const struct mm_lora_site *s, const struct mm_lora_part *part, float *u)
{
  return mm_mat_cols (inner (run, s, u), part->u, part->rank);
}

/* Scale the columns of each part of U: mostly by one number.  */
static mm_status
scale_parts (const struct mm_run *run, const struct mm_lora_site *s, float *u)
{
  bool same = true;
  mm_status st = MM_OK;

  for (size_t i = 1; i < s->n_parts; i++)
    same = same && s->parts[i].scale == s->parts[0].scale;
  if (same && s->n_parts)
    return mm_scale (run->model->be, inner (run, s, u), s->parts[0].scale);
  for (size_t i = 0; st == MM_OK && i < s->n_parts; i++)
    st = mm_scale (run->model->be, inner_part (run, s, &s->parts[i], u), s->parts[i].scale);
  return st;
}

mm_status
mm_lora_linear (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat x, const struct mm_weight *w,
                struct mm_mat residual, struct mm_mat y)
{
  const struct mm_lora_site *s = site_of (run, l, site);
  struct mm_backend *be = run->model->be;
  struct mm_addend addends[MM_MOST_ADDENDS];
  float *u = inner_memory (run, l, site);
  mm_status st = MM_OK;

  if (s->rank)
    st = mm_linear (be, x, s->w_a, mm_no_mat (), inner (run, s, u));
  if (st == MM_OK)
    st = scale_parts (run, s, u);
  for (size_t i = 0; i < s->n_parts; i++)
    addends[i] = (struct mm_addend) { inner_part (run, s, &s->parts[i], u), s->parts[i].w_b, s->parts[i].y };
  return st == MM_OK ? mm_linear_plus (be, x, w, residual, addends, s->n_parts, y) : st;
}

mm_status
mm_lora_grad_inner (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy)
{
  const struct mm_lora_site *s = site_of (run, l, site);
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < s->n_parts; i++)
    {
      const struct mm_lora_part *part = &s->parts[i];

      st = mm_linear_grad_input (run->model->be, mm_mat_cols (dy, part->y, part->out), part->w_b, mm_no_mat (),
                                 inner_part (run, s, part, run->d_u));
    }
  return st < 0 ? st : scale_parts (run, s, run->d_u);
}

mm_status
mm_lora_grad_input (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy,
                    const struct mm_weight *w, struct mm_mat dx)
{
  const struct mm_lora_site *s = site_of (run, l, site);
  struct mm_addend addend = { inner (run, s, run->d_u), s->w_a, 0 };

  return mm_linear_grad_input_plus (run->model->be, dy, w, mm_no_mat (), &addend, s->rank > 0, dx);
}

mm_status
mm_lora_grad_weight (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy, struct mm_mat x,
                     int64_t *grad, int *overflow)
{
  const struct mm_lora_site *s = site_of (run, l, site);
  struct mm_backend *be = run->model->be;
  float *u = inner_memory (run, l, site);
  mm_status st = MM_OK;

  if (!s->rank)
    return MM_OK;
  for (size_t i = 0; st == MM_OK && i < s->n_parts; i++)
    {
      const struct mm_lora_part *part = &s->parts[i];

      st = mm_linear_grad_weight (be, mm_mat_cols (dy, part->y, part->out), inner_part (run, s, part, u),
                                  grad + part->b, overflow);
    }
  return st < 0 ? st : mm_linear_grad_weight (be, inner (run, s, run->d_u), x, grad + s->a, overflow);
}

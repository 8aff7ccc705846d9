/* sampling.c -- choosing the next token from logits.
   SPDX-License-Identifier: Apache-2.0

   Ids are ranked by logit, the lower id first where they are equal, so that the choice is a
   function of the logits' bits and the seed alone.  Ranking is a heap from which no more are
   taken than are kept: the whole vocabulary is never sorted for a few of its ids.  */

#include <config.h>

#include <math.h>

#include <minimind/elementary.h>
#include <minimind/model.h>
#include <minimind/random.h>

/* Candidates: ids in a heap, ids[0] ranked first, and behind it those taken out, so that the
   i-th taken is ids[count - 1 - i].  */
struct ranking
{
  const float *logits;
  int32_t *ids;
  size_t heap, count;
};

static bool
before (const struct ranking *r, int32_t a, int32_t b)
{
  return r->logits[a] > r->logits[b] || (r->logits[a] == r->logits[b] && a < b);
}

/* Let the id at I sink to where no id below it ranks before it.  */
static void
sink (struct ranking *r, size_t i)
{
  int32_t id = r->ids[i];

  for (;;)
    {
      size_t child = 2 * i + 1;

      if (child >= r->heap)
        break;
      if (child + 1 < r->heap && before (r, r->ids[child + 1], r->ids[child]))
        child++;
      if (!before (r, r->ids[child], id))
        break;
      r->ids[i] = r->ids[child];
      i = child;
    }
  r->ids[i] = id;
}

/* Take the first of those left.  */
static int32_t
take (struct ranking *r)
{
  int32_t id = r->ids[0];

  r->heap--;
  r->ids[0] = r->ids[r->heap];
  r->ids[r->heap] = id;
  if (r->heap > 0)
    sink (r, 0);
  return id;
}

/* Keep the TOP_K first and of these as few as have TOP_P of their weight; returns their number,
   *TOTAL their weight.  */
static size_t
keep (struct ranking *r, const float *weight, int top_k, double top_p, double *total)
{
  size_t kept = r->count;
  double sum = 0, enough;

  r->heap = r->count;
  for (size_t i = r->count / 2; i-- > 0;)
    sink (r, i);
  if (top_k > 0 && (size_t) top_k < kept)
    {
      kept = (size_t) top_k;
      *total = 0;
      for (size_t i = 0; i < kept; i++)
        *total += weight[take (r)];
    }
  if (top_p >= 1)
    return kept;

  enough = top_p * *total;
  for (size_t i = 0; i < kept; i++)
    {
      size_t taken = r->count - r->heap;

      sum += weight[i < taken ? r->ids[r->count - 1 - i] : take (r)];
      if (sum >= enough)
        kept = i + 1;
    }
  *total = sum;
  return kept;
}

int32_t
mm_sample (const struct mm_sampling *s, const float *logits, size_t n, uint64_t index,
           float *scratch, int32_t *order)
{
  struct ranking r = { .logits = logits, .ids = order };
  int32_t best = -1;
  double total = 0, target, sum = 0;
  bool ranked = s->top_k > 0 || s->top_p < 1;
  size_t kept;

  for (size_t i = 0; i < n; i++)
    if (logits[i] > -INFINITY)
      {
        order[r.count++] = (int32_t) i;
        if (best < 0 || logits[i] > logits[best])
          best = (int32_t) i;
      }
  if (best < 0 || !isfinite (logits[best]))
    return -1;
  if (s->temperature <= 0)
    return best;

  for (size_t i = 0; i < r.count; i++)
    {
      int32_t id = order[i];

      scratch[id] = mm_expf ((float) (((double) logits[id] - logits[best]) / s->temperature));
      total += scratch[id];
    }
  kept = ranked ? keep (&r, scratch, s->top_k, s->top_p, &total) : r.count;

  target = total * mm_uniform (s->seed, MM_RANDOM_SAMPLE, 0, index);
  for (size_t i = 0; i < kept; i++)
    {
      int32_t id = order[ranked ? r.count - 1 - i : i];

      sum += scratch[id];
      if (sum > target)
        return id;
    }
  return best;                  /* not reached: the sums are those of TOTAL, and target below it */
}

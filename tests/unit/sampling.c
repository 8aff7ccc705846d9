/* The next token: greedy, by temperature, top-k and top-p; against probabilities computed here.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>

#include <minimind/model.h>
#include <minimind/random.h>

#include "../tap.h"

enum { N = 1001, DRAWS = 20000 };

static float scratch[N];
static int32_t order[N];

static int32_t
sample (struct mm_sampling s, const float *logits, size_t n, uint64_t index)
{
  return mm_sample (&s, logits, n, index, scratch, order);
}

/* How often each id comes, of DRAWS.  */
static void
count (struct mm_sampling s, const float *logits, size_t n, int *counts)
{
  for (size_t i = 0; i < n; i++)
    counts[i] = 0;
  for (uint64_t i = 0; i < DRAWS; i++)
    counts[sample (s, logits, n, i)]++;
}

/* Are COUNTS those of probabilities P?  Six standard deviations: by chance one seed in 10^8.  */
static bool
fits (const int *counts, const double *p, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      double mean = DRAWS * p[i], spread = sqrt (mean * (1 - p[i]));

      if (fabs (counts[i] - mean) > 6 * spread)
        return false;
    }
  return true;
}

static void
test_greedy (void)
{
  const struct mm_sampling greedy = { .temperature = 0, .top_p = 1, .seed = 1 };
  const struct mm_sampling warm = { .temperature = 1, .top_p = 1, .seed = 1 };
  float ties[] = { 1, 3, 2, 3 }, holes[] = { NAN, -INFINITY, -5, NAN };
  float none[] = { NAN, -INFINITY }, huge[] = { 0, INFINITY };
  int counts[4];

  ok (sample (greedy, ties, 4, 0) == 1, "greedy takes the lowest id of the largest logit");
  ok (sample (greedy, holes, 4, 0) == 2, "greedy passes over NaN and -inf");
  count (warm, holes, 4, counts);
  ok (counts[2] == DRAWS, "sampling passes over NaN and -inf");
  ok (sample (greedy, none, 2, 0) == -1 && sample (warm, none, 2, 0) == -1,
      "without a finite logit there is no token");
  ok (sample (greedy, huge, 2, 0) == -1 && sample (warm, huge, 2, 0) == -1,
      "an infinite logit gives no token");
  ok (sample (greedy, ties, 0, 0) == -1, "nor does an empty vocabulary");
}

static void
test_temperature (void)
{
  float logits[5] = { 0, 1, -1, 2, 0.5f };
  const double temperatures[] = { 0.5, 1, 3 };
  struct mm_sampling s = { .top_p = 1, .seed = 7 };
  int counts[5], moved = 0;
  bool good = true;

  for (int t = 0; t < 3; t++)
    {
      double p[5], sum = 0;

      s.temperature = temperatures[t];
      for (int i = 0; i < 5; i++)
        sum += p[i] = exp (logits[i] / s.temperature);
      for (int i = 0; i < 5; i++)
        p[i] /= sum;
      count (s, logits, 5, counts);
      good = good && fits (counts, p, 5);
    }
  ok (good, "frequencies are those of softmax (logits / temperature)");

  for (uint64_t i = 0; i < 100; i++)
    {
      struct mm_sampling other = s;

      other.seed = 8;
      good = good && sample (s, logits, 5, i) == sample (s, logits, 5, i);
      moved += sample (s, logits, 5, i) != sample (other, logits, 5, i);
    }
  ok (good, "the same seed and index give the same token");
  ok (moved > 10, "another seed gives others");
  s.temperature = 1e-300;
  count (s, logits, 5, counts);
  ok (counts[3] == DRAWS, "a vanishing temperature is greedy");
}

/* Probabilities 0.5, 0.3, 0.15, 0.05 under shuffled ids.  */
static void
test_filters (void)
{
  const float logits[] = { logf (0.05f), logf (0.5f), logf (0.15f), logf (0.3f) };
  struct mm_sampling s = { .temperature = 1, .top_p = 1, .seed = 3 };
  int counts[4];

  s.top_k = 2;
  count (s, logits, 4, counts);
  ok (fits (counts, (double[]) { 0, 0.625, 0, 0.375 }, 4), "top-k keeps k, renormalised");
  s.top_k = 1;
  count (s, logits, 4, counts);
  ok (counts[1] == DRAWS, "top-k of 1 is greedy");
  s.top_k = 9;
  count (s, logits, 4, counts);
  ok (fits (counts, (double[]) { 0.05, 0.5, 0.15, 0.3 }, 4), "top-k beyond the vocabulary keeps all");

  s.top_k = 0;
  s.top_p = 0.79;
  count (s, logits, 4, counts);
  ok (fits (counts, (double[]) { 0, 0.625, 0, 0.375 }, 4), "top-p keeps the smallest set that reaches it");
  s.top_p = 0.81;
  count (s, logits, 4, counts);
  ok (fits (counts, (double[]) { 0, 0.5 / 0.95, 0.15 / 0.95, 0.3 / 0.95 }, 4), "and the one that crosses it");
  s.top_p = 1e-9;
  count (s, logits, 4, counts);
  ok (counts[1] == DRAWS, "top-p keeps one at least");

  s.top_k = 3;
  s.top_p = 0.83;               /* of 0.95: 0.8 / 0.95 = 0.842 reaches it, 0.8 would not */
  count (s, logits, 4, counts);
  ok (fits (counts, (double[]) { 0, 0.625, 0, 0.375 }, 4), "top-p counts what top-k left");
}

static const float *sorted_by;

static int
by_rank (const void *a, const void *b)
{
  int32_t i = *(const int32_t *) a, j = *(const int32_t *) b;

  if (sorted_by[i] != sorted_by[j])
    return sorted_by[i] > sorted_by[j] ? -1 : 1;
  return i < j ? -1 : 1;
}

/* A large vocabulary with many equal logits: each id kept by top-k is drawn, no other is.  */
static void
test_ranking (void)
{
  static float logits[N];
  static int32_t rank[N];
  static int counts[N];
  bool good = true;

  for (int i = 0; i < N; i++)
    {
      logits[i] = floorf (20 * (float) mm_uniform (1, MM_RANDOM_TEST, 0, i));
      rank[i] = i;
    }
  sorted_by = logits;
  qsort (rank, N, sizeof *rank, by_rank);
  for (int k = 1; k <= 64; k = 3 * k + 1)
    {
      /* So warm that all kept are about as likely.  */
      struct mm_sampling s = { .temperature = 1e4, .top_k = k, .top_p = 1, .seed = 5 };

      count (s, logits, N, counts);
      for (int i = 0; i < N; i++)
        good = good && (counts[rank[i]] > 0) == (i < k);
    }
  ok (good, "the k largest are kept, lower ids first where equal");
}

int
main (void)
{
  test_greedy ();
  test_temperature ();
  test_filters ();
  test_ranking ();
  return tap_done ();
}

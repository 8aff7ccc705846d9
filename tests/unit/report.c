/* report.h (lib/train): lines of metrics, and warnings about wasted time.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <minimind/json.h>
#include <minimind/log.h>

#include <train/report.h>

#include "../tap.h"
#include "scratch.h"

static struct mm_runlog *runlog;

static struct mm_report
begin (uint64_t log_every, int ranks)
{
  struct mm_report r = { .log = runlog, .token_flops = 50, .peak = 1000, .total = 100, .log_every = log_every,
                         .save_every = 10, .data = "dataset", .ranks = ranks };

  mm_report_begin (&r);
  return r;
}

/* A step of TARGETS targets and 64 tokens with LOSS nats a target: 8 seconds, a quarter of one for data.  */
static void
step (struct mm_report *r, uint64_t number, double loss, uint64_t targets, bool skipped)
{
  struct mm_step_facts f = { .step = number, .loss_sum = loss * (double) targets, .targets = targets, .tokens = 64,
                             .rate = 1e-3, .norm = skipped ? NAN : 0.5, .skipped = skipped,
                             .seconds = { 0.25, 2, 4, 1, 0.75 }, .reduction = 1.5 };

  mm_report_step (r, &f);
}

/* The N-th line of the metrics, from 0, parsed; NULL behind the last.  */
static json_t *
line (int n)
{
  FILE *f = fopen ("run/log/metrics.jsonl", "r");
  char text[1024];
  json_t *object = NULL;

  for (int i = 0; f && fgets (text, sizeof text, f); i++)
    if (i == n)
      object = json_loads (text, 0, NULL);
  if (f)
    fclose (f);
  return object;
}

static double
value (const json_t *object, const char *key)
{
  return json_number_value (json_object_get (object, key));
}

static void
test_peak (void)
{
  struct mm_report r = begin (0, 1);

  step (&r, 1, 4, 10, false);
  ok (r.peak == 1000, "a peak that was not reached stays");
  r.peak = 100;
  step (&r, 2, 4, 10, false);
  ok (r.peak == 400, "one that a step passed is what it reached");
  mm_report_end (&r);
}

static void
test_metrics (void)
{
  struct mm_report r = begin (3, 2);
  json_t *first, *second, *third;

  step (&r, 1, 4, 10, false);
  step (&r, 2, 1, 30, false);
  step (&r, 3, NAN, 20, true);
  mm_report_save (&r, 3, 2);
  step (&r, 4, NAN, 20, true);
  step (&r, 5, NAN, 20, true);
  step (&r, 6, NAN, 20, true);
  step (&r, 7, 2, 5, false);
  mm_report_end (&r);
  first = line (0);
  second = line (1);
  third = line (2);
  ok (value (first, "step") == 3 && value (second, "step") == 6 && value (third, "step") == 7 && !line (3),
      "a line each three steps, and what is left at the end");
  ok (value (first, "loss") == 1.75 && value (first, "target_tokens") == 40,
      "loss weighted by targets, skipped steps left out");
  ok (value (first, "tokens_per_second") == 8 && value (first, "peak_share") == 0.4
      && value (first, "learning_rate") == 1e-3, "speed, share of the peak, rate");
  ok (json_is_null (json_object_get (first, "grad_norm")) && value (third, "grad_norm") == 0.5,
      "the norm is the last step's; null when there is none");
  ok (json_is_null (json_object_get (second, "loss")) && value (second, "target_tokens") == 0,
      "only skipped steps: no loss");
  ok (value (json_object_get (first, "seconds"), "forward") == 6
      && value (json_object_get (first, "seconds"), "save") == 0
      && value (json_object_get (second, "seconds"), "save") == 2, "seconds by phase, a save's with the next line");
  ok (value (first, "reduction_seconds") == 4.5 && value (third, "reduction_seconds") == 1.5,
      "what the sum over ranks took, beside other work");
  json_decref (first);
  json_decref (second);
  json_decref (third);
}

/* What stands in the file that stderr went to.  */
static int
said (const char *text)
{
  char buffer[8192];
  FILE *f = fopen ("said", "r");
  size_t n = f ? fread (buffer, 1, sizeof buffer - 1, f) : 0;
  int count = 0;

  buffer[n] = '\0';
  for (const char *at = buffer; (at = strstr (at, text)) != NULL; at++)
    count++;
  if (f)
    fclose (f);
  return count;
}

static void
test_warnings (void)
{
  struct mm_report r = begin (0, 1);

  step (&r, 1, 1, 1, false);
  step (&r, 2, 1, 1, false);
  step (&r, 3, 1, 1, false);
  ok (said ("waits for data") == 0, "3% of the time for data is no reason to warn");
  r.all[MM_DATA] += 2;
  step (&r, 4, 1, 1, false);
  step (&r, 5, 1, 1, false);
  /* 3 of 34 seconds.  */
  ok (said ("waits for data 9% of the time: reading dataset") == 1, "9% is, once");
  r.began = mm_now () - 100;
  mm_report_save (&r, 10, 4);
  ok (said ("saving takes") == 0, "one save tells little");
  mm_report_save (&r, 20, 1.4);
  ok (said ("saving takes") == 0, "5.4% is told as the 5% that are allowed");
  mm_report_save (&r, 20, 4.6);
  mm_report_save (&r, 30, 6);
  ok (said ("saving takes 10% of the time: --save-every=22 would take 5%") == 1, "two that take 10% do, once");
}

int
main (void)
{
  scratch_enter ();
  if (!freopen ("said", "w", stderr) || setvbuf (stderr, NULL, _IONBF, 0) != 0
      || mkdir ("run", 0777) < 0 || mm_runlog_open ("run", NULL, &runlog) < 0)
    return 99;
  test_metrics ();
  test_peak ();
  test_warnings ();
  mm_runlog_close (runlog);
  return tap_done ();
}

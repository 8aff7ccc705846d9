/* plan.h (lib/train): the length of a run, its batches, and what is refused with values that fit.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <train/plan.h>

#include "../tap.h"

static struct mm_train_config
config (uint64_t global, uint64_t micro)
{
  return (struct mm_train_config) { .global_batch = global, .micro_batch = micro, .learning_rate = 1e-3,
                                    .min_lr_ratio = 0.1, .compute.seed = 42 };
}

static int
message_has (const char *text)
{
  return strstr (mm_error_message (), text) != NULL;
}

static void
test_lengths (void)
{
  struct mm_train_config c = config (8, 2);
  struct mm_plan p;

  ok (mm_plan_make (&c, "data", 100, 512, 1, &p) == MM_OK && p.windows == 13 && p.schedule.total == 13,
      "one epoch, the last window short");
  ok (p.micro_batches == 4 && p.passes == 4 && p.idle == 0 && p.step_tokens == 4096,
      "micro-batches, passes, tokens of a step");
  ok (p.order.rows == 100 && p.order.seed == 42 && p.order.shuffle && p.order.global_batch == 8
      && p.order.micro_batch == 2, "order of the samples");
  c.epochs = 2.5;
  ok (mm_plan_make (&c, "data", 96, 512, 1, &p) == MM_OK && p.schedule.total == 30, "2.5 epochs of 12");
  c.epochs = 0.001;
  ok (mm_plan_make (&c, "data", 96, 512, 1, &p) == MM_OK && p.schedule.total == 1, "at least one step");
  c.epochs = 1e300;
  ok (mm_plan_make (&c, "data", 96, 512, 1, &p) == MM_EUSAGE && message_has ("--epochs"),
      "too many epochs");
  c.steps = 7;
  ok (mm_plan_make (&c, "data", 96, 512, 1, &p) == MM_OK && p.schedule.total == 7, "--steps rules");
  c.warmup = 8;
  ok (mm_plan_make (&c, "data", 96, 512, 1, &p) == MM_EUSAGE && message_has ("--warmup=8"),
      "a warm-up longer than the run");
}

static void
test_rate (void)
{
  struct mm_train_config c = config (8, 2);
  struct mm_plan p;

  ok (mm_plan_make (&c, "data", 100, 16, 1, &p) == MM_OK && p.schedule.peak == 1e-3, "the rate as given");
  c.lr_base_batch = 32;
  ok (mm_plan_make (&c, "data", 100, 16, 1, &p) == MM_OK && p.schedule.peak == 1e-3 * 0.25,
      "scaled by global / base");
}

static void
test_ranks (void)
{
  struct mm_train_config c = config (16, 2);
  struct mm_plan p;
  char text[MM_PLAN_TEXT];

  ok (mm_plan_make (&c, "data", 100, 16, 3, &p) == MM_OK && p.passes == 3
      && fabs (p.idle - 1.0 / 9) < 1e-15, "8 micro-batches on 3 ranks: a ninth idle");
  ok (strcmp (mm_plan_equation (&p, text), "16 sequences a step = 8 micro-batches of 2 on 3 ranks, 3 passes"
              " each, 11.1% idle") == 0, "and the equation says so");
  ok (mm_plan_make (&c, "data", 100, 16, 9, &p) == MM_EUSAGE && message_has ("at most 8 ranks")
      && message_has ("--global-batch=18"), "more ranks than micro-batches");
}

/* The values after --global-batch= and --micro-batch= at the end of the message work.  */
static int
advice_works (uint64_t rows)
{
  const char *global = strstr (mm_error_message (), ": --global-batch=");
  const char *micro = global ? strstr (global, "--micro-batch=") : NULL;
  struct mm_train_config c;
  struct mm_plan p;

  if (!micro)
    return 0;
  c = config (strtoull (global + strlen (": --global-batch="), NULL, 10),
              strtoull (micro + strlen ("--micro-batch="), NULL, 10));
  return mm_plan_make (&c, "data", rows, 16, 1, &p) == MM_OK;
}

static void
test_refusals (void)
{
  struct mm_train_config c = config (10, 4);
  struct mm_plan p;

  ok (mm_plan_make (&c, "data", 100, 16, 1, &p) == MM_EUSAGE && message_has ("--global-batch=8")
      && message_has ("--global-batch=12") && message_has ("--micro-batch=2"),
      "no multiple: what fits is named");
  c = config (3, 4);
  ok (mm_plan_make (&c, "data", 100, 16, 1, &p) == MM_EUSAGE && message_has ("--micro-batch=3"),
      "micro-batch larger than the global one");
  c = config (64, 4);
  ok (mm_plan_make (&c, "data", 11, 16, 1, &p) == MM_EUSAGE && message_has ("data has 11 training rows")
      && advice_works (11), "fewer rows than the global batch: the advice works");
  ok (mm_plan_make (&c, "data", 3, 16, 1, &p) == MM_EUSAGE && advice_works (3),
      "and with fewer rows than the micro-batch");
  ok (mm_plan_make (&c, "data", 64, 16, 1, &p) == MM_OK && p.windows == 1, "just enough rows");
  c = config (1, 1);
  ok (mm_plan_make (&c, "data", 0, 16, 1, &p) == MM_EFORMAT, "no rows at all");
}

int
main (void)
{
  test_lengths ();
  test_rate ();
  test_ranks ();
  test_refusals ();
  return tap_done ();
}

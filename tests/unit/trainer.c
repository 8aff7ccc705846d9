/* trainer.h (lib/train): what a run looks for in its tensors, and what it advises.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <string.h>

#include <minimind/backend.h>
#include <minimind/random.h>

#include <train/trainer.h>

#include "../tap.h"
#include "scratch.h"
#include "small_model.h"

static struct mm_trainer t;

/* The run of a small model, with moments as if all of it had been trained.  */
static void
begin (void)
{
  static const struct mm_train_config config = { .output = "run" };

  t = (struct mm_trainer) { .config = &config, .saved = UINT64_MAX, .state = { .step = 12, .updates = 10 } };
  must (mm_comm_open ("self", 1, &t.comm));
  must (mm_backend_open ("cpu", 1, &t.backend));
  t.model = small_model (t.backend, &small_configs[1]);
  must (mm_optimizer_create (t.model, &t.optimizer));
  t.optimizer.updates = t.state.updates;
  mm_normal (1, MM_RANDOM_TEST, 0, 0, mm_model_size (t.model), 1e-3, t.optimizer.m);
}

static void
end (void)
{
  mm_optimizer_free (t.model, &t.optimizer);
  mm_model_free (t.model);
  mm_backend_close (t.backend);
  mm_comm_close (t.comm);
}

static const struct mm_param *
tensor (const char *name)
{
  for (size_t i = 0; i < mm_model_n_params (t.model); i++)
    if (strcmp (mm_model_param (t.model, i)->name, name) == 0)
      return mm_model_param (t.model, i);
  exit (99);
}

/* Number of lines that FN says on stderr, the last of them in LINE.  */
static int
lines_said (mm_status (*fn) (struct mm_trainer *), char line[256])
{
  int kept = dup (2), n = 0;
  FILE *said = fopen ("said", "w+");
  char next[256];

  line[0] = '\0';
  fflush (stderr);
  if (kept < 0 || !said || dup2 (fileno (said), 2) < 0)
    exit (99);
  must (fn (&t));
  fflush (stderr);
  dup2 (kept, 2);
  close (kept);
  rewind (said);
  for (; fgets (next, sizeof next, said); n++)
    strcpy (line, next);
  fclose (said);
  return n;
}

static void
test_untrained (void)
{
  const struct mm_param *p = tensor ("model.layers.1.self_attn.q_norm.weight");
  char line[256];

  ok (lines_said (mm_trainer_warn_untrained, line) == 0, "all tensors got a gradient: nothing to say");
  memset (t.optimizer.m + p->offset, 0, p->size * sizeof (float));
  ok (lines_said (mm_trainer_warn_untrained, line) == 1 && strstr (line, p->name) && strstr (line, "10 updates"),
      "one got none: it is named, with the number of updates");
  t.optimizer.m[p->offset + p->size - 1] = 1e-30f;
  ok (lines_said (mm_trainer_warn_untrained, line) == 0, "a single element suffices");
}

static void
test_nonfinite (void)
{
  static const float bad[] = { NAN, INFINITY, -INFINITY };
  const struct mm_param *p = tensor ("lm_head.weight");
  float *last = mm_model_values (t.model) + p->offset + p->size - 1, kept = *last;
  bool found = true;

  ok (mm_trainer_find_nonfinite (&t, mm_model_values (t.model)) == NULL,
      "all parameters are finite");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    {
      *last = bad[i];
      found = found && mm_trainer_find_nonfinite (&t, mm_model_values (t.model)) == p;
    }
  ok (found, "NaN and infinities are found in the last element of the last tensor");
  ok (mm_trainer_save (&t) == MM_EGAVEUP && strstr (mm_error_message (), "lm_head.weight is not finite")
      && strstr (mm_error_message (), "step 12"), "such a model is not saved");
  *last = kept;
  t.optimizer.v[p->offset] = INFINITY;
  ok (mm_trainer_save (&t) == MM_EGAVEUP && strstr (mm_error_message (), "second moment of lm_head.weight"),
      "nor such moments");
  t.optimizer.v[p->offset] = 0;
  ok (access ("run", F_OK) < 0, "nothing was written");
  t.saved = t.state.step;
  ok (mm_trainer_save (&t) == MM_OK && access ("run", F_OK) < 0, "a step that is saved already is not saved again");
}

static void
test_advice (void)
{
  /* A save takes the time of 10 steps: each 10 steps it takes a half, each 190 a twentieth.  */
  ok (mm_report_better_save_every (10, 0.5) == 190, "the advice for --save-every takes a twentieth");
  ok (mm_report_better_save_every (7, 0.05) == 7, "which is then kept");
}

int
main (void)
{
  scratch_enter ();
  begin ();
  test_untrained ();
  test_nonfinite ();
  test_advice ();
  end ();
  return tap_done ();
}

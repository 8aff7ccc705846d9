/* trainer.c -- fuzzing target: trainer.json, as a resumed run reads it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/json.h>
#include <minimind/train.h>
#include <train/state.h>

#include "fuzz.h"

enum { ROWS = 1000, SEQ_LEN = 16 };

/* What is accepted is what a run of these settings could have written.  */
static void
check (const struct mm_train_state *s, const struct mm_plan *p, json_t *settings)
{
  json_t *again;

  if (s->updates + s->skipped != s->step || s->skipped_in_a_row > s->skipped
      || mm_state_json (s, p, settings, &again) < 0)
    abort ();
  json_decref (again);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static struct mm_train_config config;
  static struct mm_plan plan;
  static json_t *settings;
  struct mm_train_state state;
  json_t *object;

  if (!settings)
    {
      mm_train_defaults (&config);
      config.data = config.output = "x";
      if (mm_plan_make (&config, "data", ROWS, SEQ_LEN, 1, &plan) < 0
          || mm_state_settings (&config, &plan, "d", "t", &settings) < 0)
        abort ();
    }
  if (mm_json_parse ("trainer.json", (const char *) data, size, &object) < 0)
    return 0;
  /* With the right settings under it the rest of the object is looked at too.  */
  for (int i = 0; i < 2; i++)
    {
      if (mm_state_read ("trainer.json", object, &plan, settings, NULL, &state) == MM_OK)
        check (&state, &plan, settings);
      if (json_is_object (object))
        json_object_set (object, "settings", settings);
    }
  json_decref (object);
  return 0;
}

/* state.h (lib/train): trainer.json there and back, and each setting that conflicts.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <train/state.h>

#include "../tap.h"

static const char sha_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char sha_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/* A run whose numbers don't survive a short decimal, so that exactness shows.  */
static struct mm_train_config
config (void)
{
  struct mm_train_config c;

  mm_train_defaults (&c);
  c.global_batch = 8;
  c.micro_batch = 2;
  c.learning_rate = 1.0 / 3;
  c.beta2 = 0.1 + 0.2;
  c.epochs = 3;
  return c;
}

static json_t *
settings (const struct mm_train_config *c, struct mm_plan *p)
{
  json_t *s = NULL;

  if (mm_plan_make (c, "data", 100, 512, 1, p) < 0
      || mm_state_settings (c, p, sha_a, sha_b, &s) < 0)
    exit (1);
  return s;
}

/* What stands in the file after STATE was written by C's run, parsed.  */
static json_t *
written (const struct mm_train_config *c, const struct mm_train_state *state)
{
  struct mm_plan p;
  json_t *s = settings (c, &p), *object, *again;
  char *text;

  if (mm_state_json (state, &p, s, &object) < 0)
    exit (1);
  text = json_dumps (object, JSON_INDENT (2));
  again = json_loads (text, 0, NULL);
  free (text);
  json_decref (object);
  json_decref (s);
  return again;
}

/* Read OBJECT by a run configured as C.  */
static mm_status
read_by (const struct mm_train_config *c, const json_t *object, struct mm_train_state *state)
{
  struct mm_plan p;
  json_t *s = settings (c, &p);
  mm_status st = mm_state_read ("trainer.json", object, &p, s, c->accept, state);

  json_decref (s);
  return st;
}

static int
message_has (const char *text)
{
  return strstr (mm_error_message (), text) != NULL;
}

static void
test_round_trip (void)
{
  struct mm_train_config c = config ();
  struct mm_train_state wrote = { .step = 17, .updates = 14, .skipped = 3, .skipped_in_a_row = 2 }, read = { 0 };
  json_t *object = written (&c, &wrote);

  ok (read_by (&c, object, &read) == MM_OK, "the same run reads what it wrote");
  ok (memcmp (&wrote, &read, sizeof read) == 0, "and gets the same counts");
  ok (json_integer_value (json_object_get (object, "epoch")) == 1
      && json_integer_value (json_object_get (object, "cursor")) == 32,
      "step 17 of 13 an epoch begins at sample 32 of epoch 1");
  c.save_every = 7;
  c.eval_every = 3;
  c.log_every = 9;
  c.keep = 1;
  c.stop_after = 5;
  c.compute.threads = 3;
  ok (read_by (&c, object, &read) == MM_OK, "how often it saves or reports, and threads, are free");
  json_decref (object);
}

/* Each setting in turn differs: refused by name with both values; --accept lets some through.  */
static void
test_conflicts (void)
{
  static const struct
  {
    const char *name, *message;
    bool acceptable;
  } cases[] = {
    { "seed", "seed: want 7, found 42", false },
    { "global_batch", "global_batch: want 16, found 8", false },
    { "micro_batch", "micro_batch: want 4, found 2", true },
    { "learning_rate", "learning_rate: want 0.5, found 0.333333333", true },
    { "min_lr_ratio", "min_lr_ratio: want 0.25, found 0.1", true },
    { "schedule", "schedule: want \"linear\", found \"cosine\"", true },
    { "warmup", "warmup: want 3, found 0", true },
    { "steps", "steps: want 26, found 39", true },
    { "beta1", "beta1: want 0.5, found 0.9", true },
    { "beta2", "beta2: want 0.5, found 0.3", true },
    { "weight_decay", "weight_decay: want 0.0, found 0.1", true },
    { "grad_clip", "grad_clip: want 2.0, found 1.0", true },
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      struct mm_train_config c = config (), other = c;
      struct mm_train_state state = { 0 };
      json_t *object = written (&c, &state);
      char name[120];

      switch (i)
        {
        case 0: other.compute.seed = 7; break;
        case 1: other.global_batch = 16; other.steps = 39; break;
        case 2: other.micro_batch = 4; break;
        case 3: other.learning_rate = 0.5; break;
        case 4: other.min_lr_ratio = 0.25; break;
        case 5: other.schedule = MM_LINEAR; break;
        case 6: other.warmup = 3; break;
        case 7: other.epochs = 2; break;
        case 8: other.beta1 = 0.5; break;
        case 9: other.beta2 = 0.5; break;
        case 10: other.weight_decay = 0; break;
        default: other.grad_clip = 2; break;
        }
      snprintf (name, sizeof name, "another %s conflicts, with both values", cases[i].name);
      ok (read_by (&other, object, &state) == MM_ECONFLICT && message_has (cases[i].message)
          && !message_has (";"), name);
      other.accept = cases[i].name;
      snprintf (name, sizeof name, "--accept=%s %s", cases[i].name,
                cases[i].acceptable ? "lets it through" : "is no option");
      ok (cases[i].acceptable ? read_by (&other, object, &state) == MM_OK
                              : !mm_state_may_accept (cases[i].name), name);
      json_decref (object);
    }
}

/* Values that the command line can't make differ.  */
static void
test_foreign (void)
{
  static const struct
  {
    const char *key, *value, *message;
  } cases[] = {
    { "numerics_version", "0", "numerics_version: want 1, found 0" },
    { "dataset_sha256", "\"cc\"", "dataset_sha256: want \"aaaa" },
    { "tokenizer_sha256", "\"cc\"", "tokenizer_sha256: want \"bbbb" },
    { "seq_len", "256", "seq_len: want 512, found 256" },
    { "adam_eps", "1e-6", "adam_eps: want 1e-8" },
    { "momentum", "0.9", "momentum: want absent, found 0.9" },
  };
  struct mm_train_config c = config ();
  struct mm_train_state state = { 0 };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      json_t *object = written (&c, &state), *s = json_object_get (object, "settings");
      char name[80];

      json_object_set_new (s, cases[i].key, json_loads (cases[i].value, JSON_DECODE_ANY, NULL));
      snprintf (name, sizeof name, "%s of another run or version conflicts", cases[i].key);
      ok (read_by (&c, object, &state) == MM_ECONFLICT && message_has (cases[i].message), name);
      c.accept = "numerics_version,steps";
      if (i == 0)
        ok (read_by (&c, object, &state) == MM_OK, "--accept takes a list");
      c.accept = NULL;
      json_decref (object);
    }
}

static void
test_several (void)
{
  struct mm_train_config c = config (), other = c;
  struct mm_train_state state = { 0 };
  json_t *object = written (&c, &state);

  other.compute.seed = 7;
  other.grad_clip = 2;
  ok (read_by (&other, object, &state) == MM_ECONFLICT && message_has ("seed: want 7, found 42; grad_clip:"),
      "all differences are listed");
  json_decref (object);
}

/* A wsd run may be made longer until its rate begins to fall; a constant one always.  */
static void
test_length (void)
{
  struct mm_train_config c = config (), longer;
  struct mm_train_state state = { .step = 80, .updates = 80 };
  json_t *object;

  c.schedule = MM_WSD;
  c.epochs = 0;
  c.steps = 100;
  longer = c;
  longer.steps = 200;
  object = written (&c, &state);
  ok (read_by (&longer, object, &state) == MM_OK, "wsd: longer before the fall");
  longer.steps = 90;
  ok (read_by (&longer, object, &state) == MM_ECONFLICT && message_has ("steps: want 90, found 100"),
      "wsd: not so short that the fall lies behind");
  json_decref (object);
  state.step = state.updates = 81;
  longer.steps = 200;
  object = written (&c, &state);
  ok (read_by (&longer, object, &state) == MM_ECONFLICT, "wsd: not in the fall");
  json_decref (object);
  c.schedule = longer.schedule = MM_CONSTANT;
  object = written (&c, &state);
  ok (read_by (&longer, object, &state) == MM_OK, "constant: any length");
  json_decref (object);
}

static void
test_damage (void)
{
  static const char *const damage[] = {
    "{\"step\": -1}", "{\"step\": 5}", "{\"step\": \"0\"}", "{\"step\": null}", "{\"format\": 2}", "{\"format\": null}",
    "{\"updates\": 1}", "{\"skipped_in_a_row\": 1}", "{\"skipped\": 1}", "{\"epoch\": 1}", "{\"cursor\": 8}",
    "{\"settings\": []}", "{\"settings\": null}"
  };
  struct mm_train_config c = config ();

  for (size_t i = 0; i < sizeof damage / sizeof *damage; i++)
    {
      struct mm_train_state state = { 0 };
      json_t *object = written (&c, &state), *change = json_loads (damage[i], 0, NULL);
      char name[80];

      json_object_update (object, change);
      snprintf (name, sizeof name, "damaged: %s", damage[i]);
      ok (read_by (&c, object, &state) == MM_EFORMAT && message_has ("trainer.json"), name);
      json_decref (change);
      json_decref (object);
    }
}

static void
test_accept (void)
{
  char text[512];

  ok (mm_state_may_accept ("steps") && mm_state_may_accept ("steps,beta1,grad_clip"), "lists of names");
  ok (!mm_state_may_accept ("") && !mm_state_may_accept ("steps,") && !mm_state_may_accept ("step")
      && !mm_state_may_accept ("steps,seed") && !mm_state_may_accept ("a-name-longer-than-any-setting-there-is"),
      "others are refused");
  mm_state_accept_names (text, sizeof text);
  ok (strstr (text, "numerics_version, ") && strstr (text, ", grad_clip"), "the names for a message");
}

int
main (void)
{
  test_round_trip ();
  test_conflicts ();
  test_foreign ();
  test_several ();
  test_length ();
  test_damage ();
  test_accept ();
  return tap_done ();
}

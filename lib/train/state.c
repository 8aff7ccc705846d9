/* state.c -- write, read and compare trainer.json.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/backend.h>
#include <minimind/json.h>
#include <minimind/lora.h>

#include "state.h"

enum { FORMAT = 1, VALUE_TEXT = 80 };

/* Settings that a user may change under way with --accept.  The others say which data comes next, so
   that the position in the checkpoint would mean something else.  */
static const char *const acceptable[] = {
  "numerics_version", "micro_batch", "learning_rate", "schedule", "min_lr_ratio", "warmup", "steps",
  "beta1", "beta2", "adam_eps", "weight_decay", "grad_clip", "reduce", NULL
};

/* Settings of an adapter, where one is trained.  */
static bool
add_lora (const struct mm_train_config *c, json_t *settings)
{
  char targets[MM_LORA_TARGETS_TEXT];

  return c->lora_rank == 0
         || (json_object_set_new (settings, "lora_rank", json_integer (c->lora_rank)) == 0
             && json_object_set_new (settings, "lora_alpha", json_real (c->lora_alpha)) == 0
             && json_object_set_new (settings, "lora_targets",
                                     json_string (mm_lora_targets_text (c->lora_targets, targets))) == 0);
}

mm_status
mm_state_set_base (json_t *settings, const char *base_sha256, const char *config_sha256)
{
  if (json_object_set_new (settings, "base_sha256", json_string (base_sha256)) < 0
      || (config_sha256 && json_object_set_new (settings, "base_config_sha256", json_string (config_sha256)) < 0))
    return mm_fail (MM_ENOMEM, "trainer.json: out of memory");
  return MM_OK;
}

mm_status
mm_state_settings (const struct mm_train_config *c, const struct mm_plan *p,
                   const char *dataset_sha256, const char *tokenizer_sha256, json_t **settings)
{
  *settings = json_pack (
    "{s:i, s:I, s:s, s:s, s:I, s:I, s:I, s:s, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:f, s:f}",
    "numerics_version", MM_NUMERICS_VERSION,
    "seed", (json_int_t) p->order.seed,
    "dataset_sha256", dataset_sha256,
    "tokenizer_sha256", tokenizer_sha256,
    "seq_len", (json_int_t) p->seq_len,
    "global_batch", (json_int_t) p->order.global_batch,
    "micro_batch", (json_int_t) p->order.micro_batch,
    "schedule", mm_schedule_names[p->schedule.kind],
    "learning_rate", p->schedule.peak,
    "min_lr_ratio", p->schedule.min_ratio,
    "warmup", (json_int_t) p->schedule.warmup,
    "steps", (json_int_t) p->schedule.total,
    "beta1", c->beta1, "beta2", c->beta2, "adam_eps", c->adam_eps,
    "weight_decay", c->weight_decay, "grad_clip", c->grad_clip);
  /* Exact sums leave no trace: there is no other way for one process.  */
  if (*settings && ((c->fast && json_object_set_new (*settings, "reduce", json_string ("fast")) < 0)
                    || !add_lora (c, *settings)))
    {
      json_decref (*settings);
      *settings = NULL;
    }
  return *settings ? MM_OK : mm_fail (MM_ENOMEM, "trainer.json: out of memory");
}

/* Where step STEP begins: its epoch, and the samples of it that are done.  */
static void
position (const struct mm_plan *p, uint64_t step, uint64_t *epoch, uint64_t *cursor)
{
  uint64_t count;

  mm_order_window (&p->order, step, epoch, cursor, &count);
}

mm_status
mm_state_json (const struct mm_train_state *s, const struct mm_plan *p, json_t *settings,
               json_t **object)
{
  uint64_t epoch, cursor;

  position (p, s->step, &epoch, &cursor);
  *object = json_pack (
    "{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:O}",
    "format", FORMAT,
    "step", (json_int_t) s->step,
    "updates", (json_int_t) s->updates,
    "skipped", (json_int_t) s->skipped,
    "skipped_in_a_row", (json_int_t) s->skipped_in_a_row,
    "epoch", (json_int_t) epoch,
    "cursor", (json_int_t) cursor,
    "settings", settings);
  return *object ? MM_OK : mm_fail (MM_ENOMEM, "trainer.json: out of memory");
}

/* True if NAME stands in LIST, a list by comma.  */
static bool
listed (const char *list, const char *name)
{
  size_t length = strlen (name);

  while (list)
    {
      size_t item = strcspn (list, ",");

      if (item == length && memcmp (list, name, length) == 0)
        return true;
      list = list[item] ? list + item + 1 : NULL;
    }
  return false;
}

bool
mm_state_may_accept (const char *list)
{
  char item[32];

  do
    {
      size_t length = strcspn (list, ","), i = 0;

      if (length >= sizeof item)
        return false;
      memcpy (item, list, length);
      item[length] = '\0';
      while (acceptable[i] && strcmp (acceptable[i], item) != 0)
        i++;
      if (!acceptable[i])
        return false;
      list += length;
    }
  while (*list++ == ',');
  return true;
}

char *
mm_state_accept_names (char *text, size_t size)
{
  size_t used = 0;

  text[0] = '\0';
  for (size_t i = 0; acceptable[i] && used < size; i++)
    used += (size_t) snprintf (text + used, size - used, "%s%s", i ? ", " : "", acceptable[i]);
  return text;
}

/* VALUE as it stands in the file, cut to fit.  */
static const char *
value_text (const json_t *value, char text[VALUE_TEXT])
{
  char *dumped = value ? json_dumps (value, JSON_ENCODE_ANY | JSON_REAL_PRECISION (9)) : NULL;

  snprintf (text, VALUE_TEXT, "%.70s", dumped ? dumped : "absent");
  free (dumped);
  return text;
}

/* The total length is of no account while no rate has come from the falling part.  */
static bool
length_is_free (const json_t *found, const struct mm_plan *p, uint64_t step)
{
  struct mm_schedule theirs = p->schedule;

  theirs.total = (uint64_t) json_integer_value (json_object_get (found, "steps"));
  if (p->schedule.kind != MM_CONSTANT && p->schedule.kind != MM_WSD)
    return false;
  return step <= mm_schedule_decay_start (&theirs) && step <= mm_schedule_decay_start (&p->schedule);
}

struct differences
{
  const char *accept;
  const struct mm_plan *plan;
  const json_t *found;
  uint64_t step;
  bool fixed;                   /* some cannot be accepted */
  char text[1024];
  size_t used;
  char names[256];              /* for --accept */
  size_t names_used;
};

/* Append setting KEY to the list when its values differ and it is not accepted.  */
static void
compare (struct differences *d, const char *key, const json_t *there, const json_t *here)
{
  char a[VALUE_TEXT], b[VALUE_TEXT];

  if ((there && here && json_equal (there, here)) || listed (d->accept, key))
    return;
  if (strcmp (key, "steps") == 0 && length_is_free (d->found, d->plan, d->step))
    return;
  d->fixed = d->fixed || !mm_state_may_accept (key);
  if (d->used < sizeof d->text)
    d->used += (size_t) snprintf (d->text + d->used, sizeof d->text - d->used,
                                  "%s%s: want %s, found %s", d->used ? "; " : "", key,
                                  value_text (here, a), value_text (there, b));
  if (d->names_used < sizeof d->names)
    d->names_used += (size_t) snprintf (d->names + d->names_used, sizeof d->names - d->names_used, "%s%s",
                                        d->names_used ? "," : "", key);
}

static mm_status
compare_settings (const char *name, const json_t *found, const json_t *wanted,
                  const struct mm_plan *p, const char *accept, uint64_t step)
{
  struct differences d = { .accept = accept, .plan = p, .found = found, .step = step };
  const char *key;
  json_t *value;

  json_object_foreach ((json_t *) wanted, key, value)
    compare (&d, key, json_object_get (found, key), value);
  json_object_foreach ((json_t *) found, key, value)
    if (!json_object_get (wanted, key))
      compare (&d, key, value, NULL);
  if (d.used == 0)
    return MM_OK;
  if (d.fixed)
    return mm_fail (MM_ECONFLICT, "%s: the checkpoint has other settings: %s (another --output begins anew)", name,
                    d.text);
  return mm_fail (MM_ECONFLICT, "%s: the checkpoint has other settings: %s (--accept=%s goes on nevertheless, another"
                  " --output begins anew)", name, d.text, d.names);
}

static mm_status
read_count (const char *name, const json_t *object, const char *key, uint64_t *value)
{
  int64_t number = 0;
  mm_status st = mm_json_integer (name, object, key, true, 0, INT64_MAX, &number);

  *value = (uint64_t) number;
  return st;
}

/* The counts agree with each other.  */
static mm_status
check_counts (const char *name, const struct mm_train_state *s)
{
  if (s->updates <= s->step && s->skipped == s->step - s->updates && s->skipped_in_a_row <= s->skipped)
    return MM_OK;
  return mm_fail (MM_EFORMAT, "%s: step %" PRIu64 ", updates %" PRIu64 ", skipped %" PRIu64 " and"
                  " skipped_in_a_row %" PRIu64 " do not fit together", name, s->step, s->updates,
                  s->skipped, s->skipped_in_a_row);
}

/* So does the position in the data.  */
static mm_status
check_position (const char *name, const struct mm_plan *p, const json_t *object, uint64_t step)
{
  uint64_t epoch = 0, cursor = 0, want_epoch, want_cursor;
  mm_status st = read_count (name, object, "epoch", &epoch);

  if (st == MM_OK)
    st = read_count (name, object, "cursor", &cursor);
  if (st < 0)
    return st;
  position (p, step, &want_epoch, &want_cursor);
  if (epoch == want_epoch && cursor == want_cursor)
    return MM_OK;
  return mm_fail (MM_EFORMAT, "%s: step %" PRIu64 " begins at sample %" PRIu64 " of epoch %" PRIu64
                  ", found cursor %" PRIu64 " of epoch %" PRIu64, name, step, want_cursor, want_epoch,
                  cursor, epoch);
}

mm_status
mm_state_read (const char *name, const json_t *object, const struct mm_plan *p,
               const json_t *settings, const char *accept, struct mm_train_state *s)
{
  const json_t *found = json_object_get (object, "settings");
  int64_t format;
  mm_status st = mm_json_integer (name, object, "format", true, FORMAT, FORMAT, &format);

  if (st == MM_OK)
    st = read_count (name, object, "step", &s->step);
  if (st == MM_OK)
    st = read_count (name, object, "updates", &s->updates);
  if (st == MM_OK)
    st = read_count (name, object, "skipped", &s->skipped);
  if (st == MM_OK)
    st = read_count (name, object, "skipped_in_a_row", &s->skipped_in_a_row);
  if (st == MM_OK)
    st = check_counts (name, s);
  if (st == MM_OK && !json_is_object (found))
    st = mm_fail (MM_EFORMAT, "%s: settings: want an object", name);
  if (st == MM_OK)
    st = compare_settings (name, found, settings, p, accept, s->step);
  if (st == MM_OK)
    st = check_position (name, p, object, s->step);
  return st;
}
